"""Calls made of the accepted answers of BFCL: the first one, and what differs from it in one way."""

from harness.impact.bfcl import OPTIONAL, BfclQuestion, accepted_value


def first_call(question):
    """The call of the first accepted values, without what may be left out."""
    required = question.function["parameters"].get("required", ())
    arguments = {
        name: accepted_value(next((value for value in values if value != OPTIONAL), OPTIONAL))
        for name, values in question.accepted.items()
        if OPTIONAL not in values or name in required
    }
    return {"name": question.expected, "arguments": arguments}


def question(parameters, accepted, required=(), name="f"):
    """A question about one function with the documented `parameters`."""
    documented = {"type": "dict", "properties": parameters, "required": list(required)}
    function = {"name": name, "description": "Does it.", "parameters": documented}
    return BfclQuestion("q", (), (function,), name, accepted)


def call(name="f", /, **arguments):
    return {"name": name, "arguments": arguments}


def mutants(asked):
    """The first call and its neighbours: what is changed, and the answer."""
    base = first_call(asked)
    yield "accepted", base
    yield "other name", {**base, "name": base["name"] + "_"}
    yield "other case of the name", {**base, "name": base["name"].swapcase()}
    for other in asked.functions:
        if other["name"] != asked.expected:
            yield "other function", {**base, "name": other["name"]}
            break
    yield "no arguments", {**base, "arguments": {}}

    def put(name, value):
        return {**base, "arguments": {**base["arguments"], name: value}}

    yield "unexpected parameter", put("unexpected_", 1)
    for name, values in asked.accepted.items():
        left = {key: one for key, one in base["arguments"].items() if key != name}
        yield "left out", {**base, "arguments": left}
        for accepted in values:
            yield "another accepted value", put(name, accepted_value(accepted))
            for kind, changed in neighbours(accepted_value(accepted)):
                yield kind, put(name, changed)


def neighbours(value):
    """What differs from a value in one way."""
    yield "null", None
    yield "empty string", ""
    yield "bool", True
    yield "int", 1
    yield "in a list", [value]
    match value:
        case bool():
            yield "other bool", not value
            yield "bool as int", int(value)
            yield "bool as text", str(value)
        case int():
            yield "int as float", float(value)
            yield "int as text", str(value)
            yield "next int", value + 1
        case float():
            yield "float cut to int", int(value)
            yield "float as text", str(value)
            yield "next float", value + 0.5
        case str():
            yield "other case", value.swapcase()
            yield "spaces", f" {value} "
            yield "punctuation", value.replace(" ", "-") + "."
            yield "ignored signs", "/".join(value.split(" ")) + "_*^"
            yield "sign that counts", value + ";"
            yield "quotes", value.replace("'", '"') + "'"
            yield "other text", value + "x"
        case list():
            yield "empty list", []
            yield "other order", value[::-1]
            yield "shorter list", value[:-1]
            yield "longer list", [*value, *value[-1:]]
            yield "mixed list", [*value[:-1], None]
            for at, part in enumerate(value[:2]):
                for kind, changed in neighbours(part):
                    yield f"item: {kind}", [*value[:at], changed, *value[at + 1 :]]
        case dict():
            yield "empty object", {}
            yield "unexpected member", {**value, "unexpected_": 1}
            for name, member in value.items():
                rest = {key: one for key, one in value.items() if key != name}
                yield "member left out", rest
                for kind, changed in neighbours(member):
                    yield f"member: {kind}", {**value, name: changed}
