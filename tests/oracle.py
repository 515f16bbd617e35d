"""What is right at every position of a walk on miniatures, by enumeration: the languages are finite.

A `Trial` is a case, a vocabulary and a panel of miniatures, drawn at random by `trials`. For each
engine and each token behind a written text `Trial.whole_texts` lists every whole text that the engine
can finish through the token; `is_valid` says by plain comparison of values which of them are
valid. Nothing here uses the harness's own resolvers or validators.
"""

import json
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from hypothesis import strategies as st

from harness.comparison import resolvers
from harness.comparison.case_run import Rules
from harness.comparison.resolvers import Effort
from harness.inputs.cases import Case
from harness.inputs.vocabulary import Vocabulary, byte_vocabulary
from harness.runs.tables import Rows
from harness.verdict_kinds import BEYOND_BITS
from tests import miniatures
from tests.inprocess import UNCAPPED, case, default_options, records, run_case

LONGER = [
    *b'"a ab ab" "ab" b" [1 1] 12 20 tr rue true null {"a" } ab \xc3\xa9 \xc3\xa9" "\xc3 a\xc3'.split(),
    *(b", ", b'": '),
]
SCALARS = [None, True, False, 0, 1, 12, 120, 1.5, "", "a", "ab", "aé", "é", 'a"', "\\"]
VALUES = [*SCALARS, [], [1], [1, 12], {}, {"a": 1}, {"a": 1, "b": 12}]
SPELLINGS = [
    *("1.0", "12e0", "1 ", " 1", "[1 ]", '{"b": 12, "a": 1}', '"\\u0061"', '"\\u0061b"', "[ ]"),
    *("tru", '"a', "[1", "[1,]", "01", "13", '"abc"', '"é"a', "truefalse", "[1, 12, 120]"),
]
"""Texts beside the plain ones: other spellings of the values, things that are no JSON, neighbours."""

TAILS = [
    *("", "1", "12]", ", 1]", "]", '"', 'b"', 'é"', '"]', ".0", "0", "e0", " ", " ]", ": 1}", "}")
]
"""What may follow the beginning of a right text."""


Complaint = tuple[str, str, str]
"""Keyword, schema pointer, instance pointer."""


class ForbidsAndAccepts(miniatures.ForbidsOne, miniatures.AcceptsExtra):
    """Its mask and its consuming differ, and it can get stuck behind a token of its own mask."""


BARRED = (ForbidsAndAccepts, miniatures.ForbidsOne, miniatures.MaskLies, miniatures.ConsumeLies)
"""Engines that can get stuck: nothing is certain about how their continuations end."""
LIARS = [*BARRED, miniatures.AcceptsExtra, miniatures.ForgetsMaxItems]

RESOLVERS = {name: resolver(Effort()) for name, resolver in resolvers.RESOLVERS.items()}


def same(one: Any, other: Any) -> bool:
    """Equality of JSON values: 1 is 1.0 and not true."""
    if isinstance(one, bool) or isinstance(other, bool):
        return one is other
    if isinstance(one, list) and isinstance(other, list):
        return len(one) == len(other) and all(map(same, one, other))
    if isinstance(one, dict) and isinstance(other, dict):
        return one.keys() == other.keys() and all(same(one[key], other[key]) for key in one)
    return bool(type(one) is type(other) or isinstance(one, int | float)) and one == other


def is_valid(schema: dict[str, Any], text: bytes) -> bool:
    """Whether `text` is JSON and its value is allowed by a schema of the miniatures' kind."""
    return not complaints(schema, text)


def is_json(text: bytes) -> bool:
    """Whether `text` is one whole JSON value."""
    return ("json", "", "") not in complaints({}, text)


def complaints(schema: dict[str, Any], text: bytes) -> set[Complaint]:
    """All that is wrong with `text`; nothing where it is valid."""
    try:
        value = json.loads(text.decode())
    except ValueError:
        return {("json", "", "")}
    return broken(schema, value)


def broken(schema: dict[str, Any], value: Any) -> set[Complaint]:
    """All that is wrong with a value."""
    return set(_wrong(schema, value, "", ""))


def _wrong(schema: dict[str, Any], value: Any, where: str, what: str) -> Iterator[Complaint]:
    """What is wrong with the value at `what`, by the schema at `where`; both JSON Pointers."""
    for keyword, wanted in schema.items():
        if keyword in _RIGHT and not _RIGHT[keyword](value, wanted):
            yield keyword, f"{where}/{keyword}", what
    if isinstance(value, list) and "items" in schema:
        for number, one in enumerate(value):
            yield from _wrong(schema["items"], one, f"{where}/items", f"{what}/{number}")


_TYPES: dict[str, type] = {"array": list, "boolean": bool, "null": type(None)}
_RIGHT: dict[str, Callable[[Any, Any], bool]] = {
    "enum": lambda value, values: any(same(value, one) for one in values),
    "const": same,
    "type": lambda value, name: isinstance(value, _TYPES[name]),
    "minItems": lambda value, least: not isinstance(value, list) or len(value) >= least,
    "maxItems": lambda value, most: not isinstance(value, list) or len(value) <= most,
}


@dataclass(frozen=True)
class Trial:
    """One case on a panel of miniatures.

    Attributes:
        schema: With the annotations that tell where masks and consuming differ.
        value: The reference.
        longer: Ordinary tokens beside the single bytes.
        engines: The panel.
    """

    schema: dict[str, Any]
    value: Any
    longer: tuple[bytes, ...]
    engines: tuple[type[miniatures.Enumerator], ...]

    @cached_property
    def vocabulary(self) -> Vocabulary:
        return byte_vocabulary(self.longer, [b"<pad>"])

    @cached_property
    def case(self) -> Case:
        return case(self.schema, self.value)

    @cached_property
    def languages(self) -> list[miniatures.Language]:
        kinds = [kind(self.vocabulary, default_options(kind)) for kind in self.engines]
        return [engine.language(self.schema) for engine in kinds]

    @cached_property
    def _begun(self) -> list[frozenset[bytes]]:
        """All that each engine's texts begin with."""
        return [
            frozenset(text[:end] for text in language.texts for end in range(len(text) + 1))
            for language in self.languages
        ]

    def run(self, resolver: str = "shared", rules: Rules = UNCAPPED) -> Rows:
        return run_case(self.engines, self.case, self.vocabulary, rules, RESOLVERS[resolver])

    def shows(self, engine: int, written: bytes, token: int) -> bool:
        """Whether the engine's mask behind `written` has the token."""
        language, text = self.languages[engine], self.bytes_of(token)
        barred = (written, text) in language.forbidden and token != self.vocabulary.eos
        if barred and self.engines[engine] is not miniatures.ConsumeLies:
            return False
        if token == self.vocabulary.eos:
            return written in language.texts
        return self._goes_on(engine, written, token)

    def whole_texts(self, engine: int, written: bytes, token: int) -> set[bytes]:
        """Every whole text that the engine can finish through `token`, which it shows."""
        language, text = self.languages[engine], self.bytes_of(token)
        if (written, text) in language.forbidden and token != self.vocabulary.eos:
            return set()
        if token == self.vocabulary.eos:
            return {written}
        begun = written + text
        return {
            one
            for one in language.texts
            if one.startswith(begun) and self._leads(language, begun, one)
        }

    def violates(self, engine: int, written: bytes, token: int) -> bool:
        """Whether mask and consuming differ about a token."""
        if self.engines[engine] not in (miniatures.MaskLies, miniatures.ConsumeLies):
            return False
        mentioned = (written, self.bytes_of(token)) in self.languages[engine].forbidden
        return mentioned and token != self.vocabulary.eos and self._goes_on(engine, written, token)

    def _goes_on(self, engine: int, written: bytes, token: int) -> bool:
        return written + self.bytes_of(token) in self._begun[engine]

    def _leads(self, language: miniatures.Language, begun: bytes, whole: bytes) -> bool:
        """Whether there is a way from `begun` to the end of `whole` past what is forbidden."""
        reached = {len(begun)}
        for at in range(len(begun), len(whole)):
            if at in reached:
                steps = (self.bytes_of(token) for token in self.vocabulary.starts(whole, at))
                reached |= {at + len(s) for s in steps if (whole[:at], s) not in language.forbidden}
        return len(whole) in reached

    def bytes_of(self, token: int) -> bytes:
        """A token's bytes; none for the end of generation."""
        return b"" if token == self.vocabulary.eos else self.vocabulary.tokens[token]


@dataclass(frozen=True)
class Split:
    """One disputed token as the masks have it.

    Attributes:
        place: Position and token.
        written: The text before it.
        accepters, rejecters: Engines, by number.
    """

    place: tuple[int, int]
    written: bytes
    accepters: tuple[int, ...]
    rejecters: tuple[int, ...]

    @property
    def token(self) -> int:
        return self.place[1]


def written_at(trial: Trial, rows: Rows) -> dict[int, bytes]:
    """The text before each position."""
    reference = trial.case.valid[0].text
    return {one["position"]: reference[: one["offset"]] for one in records(rows, "positions")}


def splits(trial: Trial, rows: Rows) -> Iterator[Split]:
    """Every disputed token of the positions that were walked, from the languages alone."""
    everyone = range(len(trial.engines))
    tokens = [*range(256), trial.vocabulary.eos, *range(257, trial.vocabulary.size - 1)]
    for position, written in written_at(trial, rows).items():
        for token in tokens:
            accepters = tuple(e for e in everyone if trial.shows(e, written, token))
            rejecters = tuple(e for e in everyone if e not in accepters)
            if accepters and rejecters:
                yield Split((position, token), written, accepters, rejecters)


Verdict = dict[str, Any]


def verdicts_at(rows: Rows) -> dict[tuple[int, int], list[Verdict]]:
    """The verdicts in disputes by position and token; errors of other kinds are not among them."""
    found: dict[tuple[int, int], list[Verdict]] = {}
    for verdict in records(rows, "verdicts"):
        if verdict["kind"] not in BEYOND_BITS and verdict["dispute"] >= 0:
            found.setdefault((verdict["position"], verdict["token"]), []).append(verdict)
    return found


def flaws(rows: Rows) -> list[Verdict]:
    """The verdicts on errors of other kinds, and those on which all engines agree."""
    return [
        one for one in records(rows, "verdicts") if one["kind"] in BEYOND_BITS or one["dispute"] < 0
    ]


def acceptance_of(trial: Trial, split: Split) -> str:
    """What a wrong acceptance of a disputed token is called."""
    too_early = split.token == trial.vocabulary.eos and not is_json(split.written)
    return "stops_too_early" if too_early else "false_acceptance"


def rejection_of(trial: Trial, split: Split) -> str:
    """What a wrong rejection of a disputed token is called."""
    return "never_stops" if split.token == trial.vocabulary.eos else "false_rejection"


def _leaf() -> st.SearchStrategy[dict[str, Any]]:
    some = st.lists(st.sampled_from(VALUES), min_size=1, max_size=5)
    return st.one_of(
        some.map(lambda values: {"enum": _distinct(values)}),
        st.sampled_from(VALUES).map(lambda value: {"const": value}),
        st.sampled_from([{"type": "boolean"}, {"type": "null"}]),
    )


def _distinct(values: Sequence[Any]) -> list[Any]:
    return [
        value for at, value in enumerate(values) if not any(map(same, values[:at], [value] * at))
    ]


def _array(items: dict[str, Any], least: int, more: int) -> dict[str, Any]:
    if "enum" in items:
        items = {"enum": items["enum"][:2]}
    return {"type": "array", "items": items, "minItems": least, "maxItems": least + more}


@st.composite
def trials(draw: st.DrawFn, engines: Sequence[type] = (), most: int = 3) -> Trial:
    """A schema, its annotations, a reference, a vocabulary and up to `most` engines."""
    arrays = st.builds(_array, _leaf(), st.integers(0, 1), st.integers(0, 1))
    schema = draw(st.one_of(_leaf(), arrays))
    values = miniatures.values_of(schema)
    plain = sorted(text.decode() for text in miniatures.texts_of(values))
    written = [json.dumps(value, ensure_ascii=False) for value in VALUES]
    turned = st.builds(_turned, st.sampled_from(plain), st.integers(0, 8), st.sampled_from(TAILS))
    extra = st.sampled_from([*written, *SPELLINGS]) | turned
    extras = draw(st.lists(extra, max_size=4))
    longer = draw(st.lists(st.sampled_from(LONGER), max_size=8))
    barred_in = st.sampled_from([*plain, *(text for text in extras if text)])
    barred = st.builds(_part, barred_in, st.integers(0, 4), st.integers(1, 3))
    schema |= {"x-extra": extras, "x-forbidden": draw(st.lists(barred, max_size=3))}
    known = [miniatures.Enumerator, *(engines or LIARS)]
    panel = draw(st.lists(st.sampled_from(known), min_size=2, max_size=most, unique=True))
    return Trial(schema, draw(st.sampled_from(values)), tuple(longer), tuple(panel))


def _turned(text: str, at: int, tail: str) -> str:
    return text[:at] + tail


def _part(text: str, at: int, length: int) -> list[str]:
    at = min(at, len(text) - 1)
    return [text[:at], text[at : at + length]]
