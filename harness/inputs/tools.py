"""Tools in files: what servers list, what models are given, what an HTTP API takes.

A list of tools is recognised by what is in it: the answer to ``tools/list`` of MCP, definitions as
OpenAI or Anthropic take them, or an OpenAPI document, whose request bodies are the schemas.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final
from urllib.parse import unquote

import yaml
from referencing import Registry
from referencing.exceptions import Unresolvable
from referencing.jsonschema import DRAFT202012

from harness.errors import InputError
from harness.jsontext.pointers import escape
from harness.printable import plural

MOST: Final = 1000
"""Tools of one server."""
_LARGEST: Final = 1 << 19
"""Characters of a schema: a model reads those of all tools before it answers."""
_SCHEMAS: Final = dict.fromkeys(("inputSchema", "input_schema", "parameters"), "")
_SCHEMAS["outputSchema"] = ".output"
"""Members of a definition that are schemas, and how each is told from the tool's arguments."""
_ANSWER: Final = frozenset(("name", "description", "strict", "type", "schema"))
_METHODS: Final = ("get", "put", "post", "delete", "options", "head", "patch", "trace", "query")
_COMPONENTS: Final = "#/components/schemas/"
_OPENAPI: Final = re.compile(rb"^[\"']?openapi[\"']?[ \t]*:", re.MULTILINE)


@dataclass(frozen=True)
class NamedSchema:
    """A schema's JSON text and what its user calls it: SERVER/TOOL where it is that of a `tool`."""

    name: str
    text: str
    tool: str = ""


def tools_in(value: Any, where: str, server: str) -> list[NamedSchema]:
    """The schemas of the tools in a JSON value, in their order; none where it is about none.

    `server` is what their server is called unless the value says so; raises `InputError` for a
    definition that has no schema, and for more than `MOST`.
    """
    if isinstance(value, dict) and "jsonrpc" in value:
        value = value.get("result")
    if isinstance(value, dict) and isinstance(value.get("openapi"), str):
        server = str(mapped(value, "info").get("title") or server)
        found = list(_Document(value, where).bodies())
    elif isinstance(value, dict) and isinstance(value.get("tools"), list):
        found = list(_defined(value["tools"], where))
        if not found:
            raise InputError(f"{where} lists no tool that has a schema")
    elif isinstance(value, list) and all(isinstance(one, dict) for one in value):
        found = list(_defined(value, where))
    else:
        found = list(_single(value, where))
    if len(found) > MOST:
        raise InputError(f"{where} has {plural(len(found), 'schema')}; at most {MOST:,} are taken")
    return _named(found, where, server)


def _named(found: list[tuple[str, Any]], where: str, server: str) -> list[NamedSchema]:
    """Each schema by its name; those of one name get numbers."""
    named: dict[str, NamedSchema] = {}
    server = re.sub(r"[^\w.@:+-]+", "-", server).strip("-")[:80] or "server"
    for tool, schema in found:
        about = f"{where}: tool {tool!r}"
        if not isinstance(schema, dict | bool):
            raise InputError(f"{about} has no schema: it is neither an object nor a boolean")
        if not tool.isprintable() or not tool:
            raise InputError(f"{about}: the name is empty or has control characters")
        text = json.dumps(schema, ensure_ascii=False)
        if len(text) > _LARGEST:
            raise InputError(f"{about}: its schema has {len(text):,} characters, too many to use")
        names = (tool, *(f"{tool}#{number}" for number in range(2, MOST + 2)))
        name = next(one for one in names if f"{server}/{one}" not in named)
        named[f"{server}/{name}"] = NamedSchema(f"{server}/{name}", text, name)
    return list(named.values())


def mapped(value: Any, name: str) -> Mapping[str, Any]:
    """A member that is an object; an empty one where there is none."""
    found = value.get(name) if isinstance(value, dict) else None
    return found if isinstance(found, dict) else {}


def _single(value: Any, where: str) -> Iterator[tuple[str, Any]]:
    """The schema of one definition, or of one structured answer, and none of anything else."""
    if not isinstance(value, dict):
        return
    answer = mapped(value, "json_schema") or value
    named = "name" in value and _SCHEMAS.keys() & value and "properties" not in value
    if named or (value.get("type") == "function" and mapped(value, "function")):
        yield from _defined([value], where)
    elif "schema" in answer and (answer is not value or _ANSWER.issuperset(value)):
        yield str(answer.get("name", "answer")), answer["schema"]


def _defined(tools: list[Any], where: str) -> Iterator[tuple[str, Any]]:
    """The schemas of definitions; a tool of a model's own, and one without arguments, has none."""
    for number, tool in enumerate(tools):
        body = mapped(tool, "function") or tool
        body = body if isinstance(body, dict) else {}
        name = body.get("name")
        schemas = {suffix: body[one] for one, suffix in _SCHEMAS.items() if one in body}
        if isinstance(name, str) and "" in schemas:
            yield from ((name + suffix, schema) for suffix, schema in schemas.items())
        elif not isinstance(tool, dict) or "type" not in tool:
            raise InputError(f"{where}: tool {number} ({name!r}) has no name or no schema")


class _Document:
    """An OpenAPI document, and what its references lead to."""

    def __init__(self, document: dict[str, Any], where: str) -> None:
        if not document["openapi"].startswith(("3.1", "3.2")):
            raise InputError(f"{where} is OpenAPI {document['openapi'][:9]}", "3.1 has JSON Schema")
        self._document, self._where = document, where
        resource = DRAFT202012.create_resource(document)
        self._resolver = Registry[Any]().with_resource("", resource).resolver()

    def bodies(self) -> Iterator[tuple[str, Any]]:
        """The schemas of request bodies by operation, with what they refer to."""
        for path, item in mapped(self._document, "paths").items():
            for method in _METHODS:
                operation = mapped(self._seen(item), method)
                content = mapped(self._seen(operation.get("requestBody")), "content")
                for kind in content:
                    media = mapped(content, kind)
                    if kind.partition(";")[0].strip() == "application/json" and "schema" in media:
                        name = operation.get("operationId") or f"{method.upper()} {path}"
                        yield str(name), self._complete(media["schema"])

    def _seen(self, value: Any) -> Any:
        is_reference = isinstance(value, dict) and "$ref" in value
        return self._looked_up(value["$ref"]) if is_reference else value

    def _looked_up(self, reference: str) -> Any:
        try:
            return self._resolver.lookup(reference).contents
        except (Unresolvable, ValueError, AttributeError):
            message = f"{self._where} refers to what is not in it: {reference!r}"
            raise InputError(message, "references to other files are not read") from None

    def _complete(self, schema: Any) -> Any:
        """A schema whose references lead to definitions of its own."""
        definitions: dict[str, Any] = {}
        whole = self._moved(schema, definitions)
        return {**whole, "$defs": definitions} if definitions else whole

    def _moved(self, part: Any, definitions: dict[str, Any]) -> Any:
        if isinstance(part, list):
            return [self._moved(one, definitions) for one in part]
        if not isinstance(part, dict):
            return part
        out = {name: self._moved(one, definitions) for name, one in part.items()}
        if isinstance(reference := part.get("$ref"), str):
            name = unquote(reference.removeprefix(_COMPONENTS))
            if name not in definitions:
                definitions[name] = None
                definitions[name] = self._moved(self._looked_up(reference), definitions)
            out["$ref"] = f"#/$defs/{escape(name)}"
        return out


class _Yaml(yaml.SafeLoader):
    """YAML as OpenAPI has it: JSON's scalars, and nothing that is written once and stands often."""

    def compose_node(self, parent: yaml.Node | None, index: int) -> yaml.Node | None:
        if self.check_event(yaml.AliasEvent):
            raise yaml.YAMLError("aliases are not read")
        return super().compose_node(parent, index)


_Yaml.yaml_implicit_resolvers = {
    first: [(tag, how) for tag, how in some if tag.rpartition(":")[2] in ("int", "float", "null")]
    for first, some in yaml.SafeLoader.yaml_implicit_resolvers.items()
}
_Yaml.add_implicit_resolver("tag:yaml.org,2002:bool", re.compile("true|false"), ["t", "f"])


def read_yaml(raw: bytes, where: str) -> Any:
    """An OpenAPI document that is written in YAML; None where it is none."""
    if not _OPENAPI.search(raw):
        return None
    try:
        # As JSON has it: names are strings, and there are no dates.
        return json.loads(json.dumps(yaml.load(raw, _Yaml), allow_nan=False))  # noqa: S506 - safe
    except (yaml.YAMLError, ValueError, TypeError, RecursionError) as error:
        message = " ".join(str(error).split())
        raise InputError(f"{where} cannot be read as YAML: {message[:200]}") from None
