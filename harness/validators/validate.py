"""What two independent validators say of a text: a proof only where both say the same.

A text that is no JSON (RFC 8259) is invalid under every schema. What RFC 8259 leaves open is
contested: names that occur twice (section 4) and halves of surrogate pairs (section 8.2). Limits of
this program leave a text undecided.
"""

from __future__ import annotations

import marshal
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import chain
from typing import Any, Final, Literal

import jsonschema
import jsonschema_rs

from harness.errors import MaskcourtError
from harness.jsontext import strict_json
from harness.jsontext.pointers import follow, pointer, steps, values_in
from harness.jsontext.strict_json import keeps_numbers
from harness.schemas.schema import mapping, number
from harness.validators.drafts import draft_of
from harness.validators.format_rules import ASSERTION
from harness.validators.respelling import (
    FastFailures,
    Place,
    SlowFailures,
    ValidationFailure,
    first_failures,
    formats_last,
    short,
)

Verdict = Literal["valid", "invalid", "contested", "undecided"]

MAX_KNOWN = 20_000
"""Values whose judgement is remembered: many texts differ in nothing but their white space."""

_PLAIN = 2
"""The version of `marshal` that writes equal values of equal types, in equal order, alike."""

_FRAMES = 6000
"""Frames that jsonschema may use: some 20 for each of strict_json.MAX_DEPTH levels."""

_UNREAD: dict[type[strict_json.JsonError], tuple[Verdict, str]] = {
    strict_json.DuplicateKeys: ("contested", "duplicate_keys"),
    strict_json.LoneSurrogate: ("contested", "lone_surrogate"),
    strict_json.TooDeep: ("undecided", "too_deep"),
    strict_json.NumberOverflow: ("undecided", "number_range"),
    strict_json.JsonError: ("invalid", "not_json"),
}


class UnjudgeableError(MaskcourtError):
    """No validators for this schema: nothing can be proven under it.

    `reason` is one of ``not_json``, ``duplicate_keys``, ``lone_surrogate``, ``too_deep``,
    ``number_range``, ``number_precision``, ``not_a_schema``, ``unknown_draft``,
    ``unresolved_reference``, ``jsonschema_refuses``, ``jsonschema_rs_refuses``, ``both_refuse``.
    """

    def __init__(self, reason: str, message: str, hint: str | None = None) -> None:
        super().__init__(message, hint)
        self.reason = reason


@dataclass(frozen=True, slots=True)
class Opinion:
    """What ``jsonschema`` or ``jsonschema-rs`` says of a text."""

    validator: str
    valid: bool | None
    """None where it was not asked or failed."""
    errors: tuple[ValidationFailure, ...] = ()
    """In the validator's order, as many as were asked for."""
    failure: str = ""


@dataclass(frozen=True, slots=True)
class TextOutcome:
    """What both validators say of a text: ``valid`` and ``invalid`` are proofs, the others not.

    `reason` is "" where both say the same; ``not_json`` (invalid); ``duplicate_keys``,
    ``lone_surrogate``, ``validators_differ`` (contested); ``too_deep``, ``number_range``,
    ``number_precision``, ``pattern_limit``, ``validator_error`` (undecided). `detail` says why the
    text could not be read, with line and column.
    """

    verdict: Verdict
    reason: str
    opinions: tuple[Opinion, Opinion]
    detail: str = ""


_UNASKED = (Opinion("jsonschema", None), Opinion("jsonschema-rs", None))


class Validators:
    """Both validators for one schema, given as JSON text; `rule` says what formats are.

    Building raises the interpreter's recursion limit where it is lower than jsonschema needs, and
    an `UnjudgeableError` where the schema cannot be read without doubt, is of an unknown draft,
    refers to what is not in it (nothing is ever fetched), or is refused by a validator. A pattern
    on which Python's `re` explodes can keep `judge` busy for ever: it must be ended from outside.
    """

    def __init__(self, schema: str, rule: str = ASSERTION) -> None:
        if sys.getrecursionlimit() < _FRAMES:
            sys.setrecursionlimit(_FRAMES)
        self.schema = _read_schema(schema)
        draft = draft_of(self.schema)
        if draft is None:
            raise UnjudgeableError(
                "unknown_draft",
                f"unknown $schema {short(repr(self.schema['$schema']))}",
                "drafts 04, 06, 07, 2019-09 and 2020-12 are known",
            )
        refusals: dict[str, Exception] = {}
        try:
            self._slow, spelt = draft.build_jsonschema(self.schema, rule)
            self._slow_failures = SlowFailures(spelt)
        except Exception as error:  # noqa: BLE001 - a schema must not end the run
            refusals["jsonschema"] = error
        # Without backtracking first: linear in the text, so that no limit can falsify an answer.
        for self._backtracks in (False, True):
            try:
                self._fast, spelt = draft.build_jsonschema_rs(
                    self.schema, rule, backtracking=self._backtracks
                )
                self._fast_failures = FastFailures(spelt)
            except Exception as error:  # noqa: BLE001
                refusals["jsonschema-rs"] = error
            else:
                refusals.pop("jsonschema-rs", None)
                break
        if refusals:
            raise _refusal(refusals)
        self._judged: dict[tuple[bytes, int], TextOutcome] = {}
        self._roughly = _tells_only_sizes(self.schema)

    def screen(self, text: bytes) -> Place | TextOutcome:
        """The place of the first error, where jsonschema-rs calls the JSON `text` invalid.

        An opinion and no proof: what another text should avoid. Else its `judge`, with an error; so
        too for what its writing decides, and under a schema whose patterns need backtracking.
        """
        value = self._read(text)
        if isinstance(value, TextOutcome):
            return value
        if not self._backtracks and _asked(self._fast.is_valid, value)[0] is False:
            error, _ = _asked(self._first_error, value)
            if error is not None:
                return self._fast_failures.place(error)
        return self.judge_value(value, errors=1)

    def _first_error(self, value: object) -> jsonschema_rs.ValidationError | None:
        try:
            self._fast.validate(value)
        except jsonschema_rs.ValidationError as error:
            return error
        return None

    def reached(self, text: bytes) -> list[str]:
        """What jsonschema-rs found to hold in a text: subschemas and keywords, by their places.

        Declared members that are absent, and bounds just met, have places below their subschema's.
        """
        value = strict_json.parse(text)
        nodes, _ = _asked(lambda: self._fast.evaluate(value).list()["details"])
        places: set[str] = set()
        for node in nodes or ():
            if node["valid"]:
                place = node["schemaLocation"]
                part = follow(value, steps(node["instanceLocation"]))
                schema = follow(self.schema, steps(place.rpartition("#")[2]))
                size = number(len(part) if isinstance(part, str | list | dict) else part)
                below: list[str] = []
                if isinstance(schema, dict):
                    below = [key for key, one in schema.items() if number(one) == size is not None]
                    names = mapping(schema, "properties") if isinstance(part, dict) else {}
                    below += [name for name in names if name not in part]
                places |= {place, *(f"{place} {one}" for one in below)}
        return sorted(places)

    def judge(self, text: bytes, *, errors: int = 0) -> TextOutcome:
        """What both validators say of `text`, any bytes, naming so many errors of an invalid one.

        jsonschema-rs names its own only where more than one are asked for, or jsonschema none.
        """
        value = self._read(text)
        return value if isinstance(value, TextOutcome) else self.judge_value(value, errors=errors)

    def _read(self, text: bytes) -> Any:
        """The value of `text`; a `TextOutcome` where how it is written decides it."""
        try:
            value = strict_json.parse(text)
        except strict_json.JsonError as error:
            verdict, reason = _UNREAD[type(error)]
            return TextOutcome(verdict, reason, _UNASKED, str(error))
        if not keeps_numbers(text, roughly=self._roughly):
            return TextOutcome("undecided", "number_precision", _UNASKED)
        return value

    def judge_value(self, value: Any, *, errors: int = 0) -> TextOutcome:
        """What both validators say of a value that was read without doubt; see `judge`."""
        key = (marshal.dumps(value, _PLAIN), errors)
        if key not in self._judged:
            if len(self._judged) >= MAX_KNOWN:
                self._judged.clear()
            self._judged[key] = self._judge(value, errors=errors)
        return self._judged[key]

    def _judge(self, value: object, *, errors: int) -> TextOutcome:
        """What both validators say of a value; they never see the text that it was read from."""
        if self._backtracks and self._gave_up(value):
            failed = Opinion("jsonschema-rs", None, failure="backtracking limit reached")
            return TextOutcome("undecided", "pattern_limit", (_UNASKED[0], failed))
        fast, failure = _asked(self._fast.is_valid, value)
        slow = self._slow_opinion(value, errors)
        failures: tuple[ValidationFailure, ...] = ()
        if fast is False and errors > min(1, len(slow.errors)):
            found = self._fast.iter_errors(value)
            failures = first_failures(self._fast_failures.failure, found, errors)
        opinions = slow, Opinion("jsonschema-rs", fast, failures, failure)
        if slow.valid is None or fast is None:
            return TextOutcome("undecided", "validator_error", opinions)
        if slow.valid is not fast:
            return TextOutcome("contested", "validators_differ", opinions)
        return TextOutcome("valid" if fast else "invalid", "", opinions)

    def _slow_opinion(self, value: object, errors: int) -> Opinion:
        """That of jsonschema, which takes milliseconds for a value: the errors are asked for once.

        The verdict stands on the first alone. Formats come last: where something else is broken as
        well, they may be no more than annotations.
        """
        found = self._slow.iter_errors(value)
        try:
            first = next(found, None)
        except Exception as error:  # noqa: BLE001 - recursion without end, for one
            return Opinion("jsonschema", None, failure=_failure(error))
        if first is None or not errors:
            return Opinion("jsonschema", first is None)
        every = formats_last(chain([first], found))
        failures = first_failures(self._slow_failures.failure, every, errors)
        return Opinion("jsonschema", False, failures)

    def _gave_up(self, value: object) -> bool:
        """Whether jsonschema-rs reaches the limit, which it reports as an invalid value.

        Only looked for at the top of the errors: below, a wrong opinion of jsonschema-rs at
        worst makes the text contested, since Python's `re` knows no limit.
        """
        kind = jsonschema_rs.ValidationErrorKind.BacktrackLimitExceeded
        return any(isinstance(error.kind, kind) for error in self._fast.iter_errors(value))


_ABOUT_DIGITS: Final = frozenset(("multipleOf", "divisibleBy", "uniqueItems"))
_LARGEST_COMPARED: Final = 2**53


def _tells_only_sizes(schema: Any) -> bool:
    """Whether numbers are compared with some up to 2**53 alone, not divided: doubles will do."""
    for part in values_in(schema):
        if isinstance(part, dict):
            if part.keys() & _ABOUT_DIGITS or not str(part.get("$ref", "#")).startswith("#"):
                return False
        elif isinstance(part, int | float) and abs(part) > _LARGEST_COMPARED:
            return False
    return True


def _read_schema(schema: str) -> Any:
    try:
        value = strict_json.parse(schema)
    except strict_json.JsonError as error:
        raise UnjudgeableError(_UNREAD[type(error)][1], f"schema: {error}") from None
    if not isinstance(value, dict | bool):
        raise UnjudgeableError("not_a_schema", "a schema is an object, true or false")
    if not keeps_numbers(schema.encode(), roughly=True):
        raise UnjudgeableError(
            "number_precision", "schema: a number with more digits than a double"
        )
    return value


def _refusal(refusals: dict[str, Exception]) -> UnjudgeableError:
    referencing = jsonschema_rs.ValidationErrorKind.Referencing
    message = "; ".join(f"{name}: {_failure_about(error)}" for name, error in refusals.items())
    rust = refusals.get("jsonschema-rs")
    if len(refusals) == 2:
        reason = "both_refuse"
    elif rust is None:
        reason = "jsonschema_refuses"
    elif isinstance(getattr(rust, "kind", None), referencing):
        reason = "unresolved_reference"
    else:
        reason = "jsonschema_rs_refuses"
    return UnjudgeableError(reason, message)


def _failure_about(error: Exception) -> str:
    """What a metaschema says, at the deepest place in the schema that it names."""
    if isinstance(error, jsonschema.SchemaError):
        return f"{short(error.message)} at {pointer(error.absolute_path)!r}"
    if isinstance(error, jsonschema_rs.ValidationError):
        deepest: Any = max(_branches(error), key=lambda branch: len(branch.instance_path))
        return f"{short(deepest.message)} at {pointer(deepest.instance_path)!r}"
    return short(str(error).partition("\n")[0])


def _branches(error: Any) -> Iterator[Any]:
    yield error
    for branch in getattr(error.kind, "context", ()):
        for below in branch:
            yield from _branches(below)


def _asked(ask: Callable[..., Any], *args: object) -> tuple[Any, str]:
    """What jsonschema-rs answers, or None and why it failed."""
    try:
        return ask(*args), ""
    except (KeyboardInterrupt, SystemExit):
        raise
    except BaseException as error:  # noqa: BLE001 - a panic in Rust is no Exception
        return None, _failure(error)


def _failure(error: BaseException) -> str:
    return f"{type(error).__name__}: " + short(str(error).partition("\n")[0])
