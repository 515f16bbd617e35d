"""The challenger convicts whom all engines agree with, nobody who is right, and takes nothing away."""

import json
from collections import Counter
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from harness.inputs.vocabulary import Vocabulary, byte_vocabulary
from harness.jsontext.lexer import START, Mode, State, advance
from harness.protocol import Mask, set_bits
from harness.runs.tables import Rows
from harness.validators.validate import Validators
from harness.verdict_kinds import CHALLENGER, ERRORS, LEGAL
from tests.inprocess import case, records, run_case, study
from tests.miniatures import Enumerator, Schema
from tests.oracle import RESOLVERS, Trial, trials

KINDS = {
    **dict.fromkeys(b"-0123456789", "number"),
    ord('"'): "string",
    ord("{"): "object",
    ord("["): "array",
    ord("t"): "boolean",
    ord("f"): "boolean",
    ord("n"): "null",
}
TOKENS = (b'{"', b'":', b'",', b", ", b"  ", b"true", b"[[", b"]]", b"a\\", b"\\u00", b"1.", b"e1")
VOCABULARY = byte_vocabulary(TOKENS, [b"<pad>"])
CHALLENGED = study(cap=None, challenger=True)
TABLES = ("verdicts", "instance_verdicts", "disputes")


@lru_cache(maxsize=1 << 12)
def state_of(text: bytes) -> State | None:
    """The state behind a text; of one that grows, from byte to byte."""
    if len(text) < 9:
        return advance(START, text)
    before = state_of(text[:-1])
    return None if before is None else advance(before, text[-1:])


@dataclass(frozen=True)
class Typed:
    """All JSON texts whose values have the right types, at each depth others; and some errors.

    Attributes:
        types: The type that values have inside so many containers; any behind the last one.
        forbidden: Bytes that may not come.
        extra: Texts that may come besides.
    """

    types: tuple[str, ...]
    forbidden: bytes
    extra: tuple[bytes, ...]

    def mask(self, vocabulary: Vocabulary, written: bytes) -> Mask:
        """The tokens that may follow `written`, end of sequence included."""
        mask = self.behind(vocabulary, state_of(written)).copy()
        for text in self.extra:
            if text.startswith(written):
                ids = vocabulary.starts(text[len(written) :]) or vocabulary.eos_ids
                mask |= set_bits(ids, vocabulary.words)
        return mask

    @lru_cache(maxsize=1 << 12)  # noqa: B019 - few languages, asked for the same masks again
    def behind(self, vocabulary: Vocabulary, state: State | None) -> Mask:
        """The tokens that may follow a text in a state."""
        ids = [
            token
            for token, text in enumerate(vocabulary.tokens)
            if not vocabulary.special[token] and self.goes_on(state, text)
        ]
        if state is not None and state.can_end:
            ids += vocabulary.eos_ids
        return set_bits(ids, vocabulary.words)

    def goes_on(self, state: State | None, token: bytes) -> bool:
        """Whether a token may follow a text in a state."""
        for byte in token:
            if state is None or byte in self.forbidden:
                return False
            starts = state.mode in (Mode.VALUE, Mode.ITEM_OR_CLOSE) and byte in KINDS
            wanted = self.types[len(state.stack) :][:1]
            if starts and wanted and KINDS[byte] != wanted[0]:
                return False
            state = advance(state, bytes((byte,)))
        return state is not None


class Typist(Enumerator):
    """Honest, and knows every spelling of what it knows; faults are told by annotations."""

    def language(self, schema: Schema) -> Any:
        types, inner = [], schema
        while "type" in inner:
            types.append(inner["type"])
            inner = inner.get("items", inner.get("additionalProperties", {}))
        extra = tuple(text.encode() for text in schema.get("x-extra", ()))
        return Typed(tuple(types), schema.get("x-forbidden", "").encode(), extra)


class SecondTypist(Typist):
    """Another engine with the same errors."""


class StumblesBehind(Typist):
    """Fails behind what is no JSON."""

    def language(self, schema: Schema) -> Any:
        @dataclass(frozen=True)
        class Stumbling(Typed):
            def mask(self, vocabulary: Vocabulary, written: bytes) -> Mask:
                if written.startswith(b"]"):
                    raise RuntimeError("stumbles")
                return super().mask(vocabulary, written)

        return Stumbling(**vars(super().language(schema)))


@st.composite
def typed(draw):
    """A schema of nested types, and a value that is valid under it."""
    leaves = {"number": [0, -1, 12.5], "string": ["", "a/b", 'é"'], "boolean": [True, False]}
    kind = draw(st.sampled_from([*leaves, "null"]))
    schema: dict[str, Any] = {"type": kind}
    value: Any = draw(st.sampled_from(leaves.get(kind, [None])))
    for container in draw(st.lists(st.sampled_from(["array", "object"]), max_size=2)):
        if container == "array":
            schema, value = {"type": "array", "items": schema}, [value] * draw(st.integers(0, 2))
        else:
            schema = {"type": "object", "additionalProperties": schema}
            value = draw(st.sampled_from([{}, {"a": value}, {"a": value, "": value}]))
    return schema, value


def errors(rows: Rows) -> list[dict[str, Any]]:
    """The verdicts that call an engine wrong, but for what no specification forbids."""
    wrong = [kind for kind in ERRORS if kind not in LEGAL]
    return [one for one in records(rows, "verdicts") if one["kind"] in wrong]


class TestHonestEngines:
    @given(typed(), st.sampled_from([[Typist], [Typist, SecondTypist]]), st.sampled_from([None, 4]))
    def test_are_never_convicted(self, schema_and_value, engines, cap):
        one = case(*schema_and_value)
        for resolver in RESOLVERS.values():
            rows = run_case(engines, one, VOCABULARY, replace(CHALLENGED, cap=cap), resolver)
            assert errors(rows) == []
            assert records(rows, "cases")[0]["status"] == "walked"


class TestAnErrorThatAllShare:
    def run(self, fault: Schema, value: Any, engines: Any = (Typist, SecondTypist)) -> Rows:
        return run_case(engines, case({**fault}, value), VOCABULARY, CHALLENGED)

    @pytest.mark.parametrize("engines", [(Typist,), (Typist, SecondTypist)])
    def test_a_token_that_all_forbid_convicts_all(self, engines):
        rows = self.run({"type": "array", "x-forbidden": "\\"}, ["a/"], engines)
        found = errors(rows)
        assert {one["kind"] for one in found} == {"false_rejection"}
        assert {one["engine"] for one in found} == {one.__name__ for one in engines}
        assert {one["accepter"] for one in found} == {CHALLENGER}
        texts = {VOCABULARY.tokens[one["token"]] for one in found}
        assert texts >= {b"\\", b"\\u00", b"a\\"}
        assert all(b"\\" in text for text in texts)

    def test_the_proof_is_a_valid_text_through_the_token(self):
        schema = {"type": "array", "x-forbidden": " e."}
        rows = self.run(schema, [12])
        places = {one["position"]: one["offset"] for one in records(rows, "positions")}
        completions = {one["completion"]: one for one in records(rows, "completions")}
        validators = Validators(json.dumps(schema))
        assert errors(rows)
        for one in errors(rows):
            completion = completions[one["completion"]]
            token = VOCABULARY.tokens[one["token"]]
            text = b"[12]"[: places[one["position"]]] + token + completion["text"]
            assert [said.valid for said in validators.judge(text).opinions] == [True, True]
            spelled = b"".join(VOCABULARY.tokens[token] for token in completion["tokens"][:-1])
            assert spelled == completion["text"]
            assert completion["tokens"][-1] == VOCABULARY.eos
            assert token[one["refused_at"]] in b" e."

    def test_an_end_that_all_forbid_amid_the_reference(self):
        class NeverEndsShort(Typist):
            def language(self, schema):
                class Longer(Typed):
                    def mask(self, vocabulary, written):
                        mask = super().mask(vocabulary, written).copy()
                        if len(written) < 2:
                            mask &= ~vocabulary.eos_mask
                        return mask

                return Longer(("number",), b"", ())

        rows = run_case([NeverEndsShort], case({"type": "number"}, 12), VOCABULARY, CHALLENGED)
        (found,) = errors(rows)
        assert (found["kind"], found["token"], found["accepter"]) == (
            "never_stops",
            VOCABULARY.eos,
            CHALLENGER,
        )

    @pytest.mark.parametrize("resolver", RESOLVERS)
    def test_a_token_that_all_allow_convicts_all(self, resolver):
        one = case({"type": "number", "x-extra": ["]"]}, 12)
        rows = run_case([Typist, SecondTypist], one, VOCABULARY, CHALLENGED, RESOLVERS[resolver])
        found = errors(rows)
        assert {(one["engine"], one["kind"], one["accepter"]) for one in found} == {
            ("Typist", "false_acceptance", "Typist"),
            ("SecondTypist", "false_acceptance", "SecondTypist"),
        }
        assert {VOCABULARY.tokens[one["token"]] for one in found} == {b"]"}
        disputes = [one for one in records(rows, "disputes") if not one["rejecters"]]
        assert {one["accepters"] for one in disputes} == {0b11}

    def test_the_challenger_is_no_engine(self):
        rows = self.run({"type": "number", "x-forbidden": " "}, 1)
        for table in ("verdicts", "engines", "masks", "timings", "costs"):
            assert CHALLENGER not in {one["engine"] for one in records(rows, table)}
        assert {one["judged"] for one in records(rows, "positions")} == {0b11}
        assert {one["disputed_tokens"] for one in records(rows, "positions")} == {0}


def named(rows: Rows) -> dict[str, Counter[str]]:
    """The rows of a case, with completions and disputes in place of their numbers."""
    completions = {one["completion"]: one for one in records(rows, "completions")}
    disputes = {
        (one["walk"], one["position"], one["dispute"]): one for one in records(rows, "disputes")
    }
    found: dict[str, Counter[str]] = {}
    for table in TABLES:
        lines = []
        for one in records(rows, table):
            if table == "verdicts":
                completion = completions.get(one["completion"], {})
                place = (one["walk"], one["position"], one["dispute"])
                one = {**one, **completion, "completion": 0, "dispute": disputes.get(place)}  # noqa: PLW2901
                if one["dispute"]:
                    one["dispute"] = {**one["dispute"], "dispute": 0}
            lines.append(repr(sorted((name, str(value)) for name, value in one.items())))
        found[table] = Counter(lines)
    return found


class TestTakesNothingAway:
    @settings(max_examples=settings.default.max_examples // 2)
    @given(trials(), st.sampled_from([None, 3]), st.sampled_from(["stop", "continue"]))
    def test_every_verdict_without_it_is_there_with_it(self, trial: Trial, cap, on_dropout):
        for resolver in RESOLVERS:
            rules = study(cap=cap, on_dropout=on_dropout, walks=2)
            before = named(trial.run(resolver, rules))
            after = named(trial.run(resolver, replace(rules, challenger=True)))
            for table in TABLES:
                assert not before[table] - after[table], table

    @pytest.mark.parametrize("value", [120, -1.5])
    def test_where_an_engine_fails_over_a_challenge(self, value):
        """It is brought back to the position, and takes part to the end."""
        one = case({"type": "number", "x-extra": ["]"], "x-forbidden": "e"}, value)
        engines = [StumblesBehind, SecondTypist, Typist]
        before = named(run_case(engines, one, VOCABULARY, study(cap=None)))
        rows = run_case(engines, one, VOCABULARY, CHALLENGED)
        for table in TABLES:
            assert not before[table] - named(rows)[table], table
        failed = [each for each in records(rows, "engines") if each["outcome"] != "compiled"]
        assert [(each["engine"], each["stage"]) for each in failed] == [
            ("StumblesBehind", "challenge")
        ]
        assert {each["judged"] for each in records(rows, "positions")} == {0b111}
        assert {each["engine"] for each in errors(rows)} == {kind.__name__ for kind in engines}


class TestOneAlone:
    def test_is_walked_to_the_end(self):
        rows = run_case([Typist], case({"type": "number"}, 120), VOCABULARY, CHALLENGED)
        (found,) = records(rows, "cases")
        assert (found["status"], found["judged"]) == ("walked", 1)
        assert max(one["offset"] for one in records(rows, "positions")) == 3

    def test_is_not_without_a_challenger(self):
        rows = run_case([Typist], case({"type": "number"}, 120), VOCABULARY, study())
        assert records(rows, "cases")[0]["reason"] == "fewer_than_two_engines"

    def test_where_none_compiles_nothing_is_walked(self):
        rows = run_case([Enumerator], case({"minimum": 1}, 2), VOCABULARY, CHALLENGED)
        assert records(rows, "cases")[0]["reason"] == "no_engine"
