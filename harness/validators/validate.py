"""What two independent validators say of a text: a proof only where both say the same.

`Validators` holds jsonschema and jsonschema-rs for one schema, set up alike: the same draft, the
same rule for formats, no network. A text that is no JSON (RFC 8259) is invalid under every schema.
What RFC 8259 leaves open is contested: names that occur twice (section 4) and halves of
surrogate pairs (section 8.2). Limits of this program leave a text undecided.
"""

from __future__ import annotations

import marshal
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple

import jsonschema
import jsonschema_rs

from harness.errors import MaskcourtError
from harness.jsontext import strict_json
from harness.jsontext.pointers import pointer
from harness.jsontext.strict_json import keeps_numbers
from harness.validators.drafts import draft_of
from harness.validators.format_rules import ASSERTION
from harness.validators.validation_errors import (
    FastFailures,
    SlowFailures,
    ValidationFailure,
    short,
)

Verdict = Literal["valid", "invalid", "contested", "undecided"]

MAX_FAILURES = 16
"""Errors kept per opinion; the validators may name thousands."""

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
    """What one validator says of a text.

    Attributes:
        validator: ``jsonschema`` or ``jsonschema-rs``.
        valid: None where it was not asked or failed.
        errors: At most MAX_FAILURES, in the validator's order; only where asked to explain.
        failure: Why it could not say, where it failed.
    """

    validator: str
    valid: bool | None
    errors: tuple[ValidationFailure, ...] = ()
    failure: str = ""


@dataclass(frozen=True, slots=True)
class TextOutcome:
    """What both validators say of a text.

    Attributes:
        verdict: ``valid`` and ``invalid`` are proofs; ``contested`` and ``undecided`` are not.
        reason: "" where both validators say the same; ``not_json`` (invalid);
            ``duplicate_keys``, ``lone_surrogate``, ``validators_differ`` (contested);
            ``too_deep``, ``number_range``, ``number_precision``, ``pattern_limit``,
            ``validator_error`` (undecided).
        opinions: Of jsonschema and of jsonschema-rs, in this order.
        detail: Why the text could not be read, with line and column.
    """

    verdict: Verdict
    reason: str
    opinions: tuple[Opinion, Opinion]
    detail: str = ""


_UNASKED = (Opinion("jsonschema", None), Opinion("jsonschema-rs", None))
_SAY = {
    (name, valid): Opinion(name, valid)
    for name in ("jsonschema", "jsonschema-rs")
    for valid in (True, False)
}
_AGREED = {
    valid: TextOutcome(
        "valid" if valid else "invalid",
        "",
        (_SAY["jsonschema", valid], _SAY["jsonschema-rs", valid]),
    )
    for valid in (True, False)
}


def unread(error: type[strict_json.JsonError], detail: str = "") -> TextOutcome:
    """The outcome of a text that the strict reader refuses with this error."""
    verdict, reason = _UNREAD[error]
    return TextOutcome(verdict, reason, _UNASKED, detail)


NOT_KEPT = TextOutcome("undecided", "number_precision", _UNASKED)
"""The outcome of a text with a number that its reader does not keep."""


class Evaluated(NamedTuple):
    """What jsonschema-rs found on its way through a schema, at one subschema or keyword.

    Attributes:
        path: The way of evaluation, references included; a JSON Pointer.
        base: The identifier of the embedded schema in which it stands; "" where that is unknown.
        pointer: Where the subschema or keyword stands in that.
        instance: The part of the value; a JSON Pointer.
        valid: Whether the part is valid under it.
        failed: Whether it is a keyword that is itself broken.
    """

    path: str
    base: str
    pointer: str
    instance: str
    valid: bool
    failed: bool


class Validators:
    """Both validators for one schema.

    Building raises the interpreter's recursion limit where it is lower than jsonschema needs. A
    pattern on which Python's `re` explodes can keep `judge` busy for ever, so run it where it can
    be ended from outside; `quick` always comes to an end.

    Args:
        schema: The JSON text of the schema.
        rule: What formats are, of `harness.validators.format_rules.FORMAT_RULES`.

    Attributes:
        schema: The schema, parsed.
        draft: The name of the schema's draft.
        backtracks: Whether jsonschema-rs must go back in patterns, so that it can reach a limit.
        slow_failures: Names the errors of jsonschema.
        fast_failures: Names the errors of jsonschema-rs.

    Raises:
        Unjudgeable: The schema cannot be read without doubt, is of an unknown draft, refers to
            what is not in it (nothing is ever fetched), or a validator refuses it.
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
        self.draft = draft.name
        refusals: dict[str, Exception] = {}
        try:
            self._slow, spelt = draft.build_jsonschema(self.schema, rule)
            self.slow_failures = SlowFailures(spelt)
        except Exception as error:  # noqa: BLE001 - a schema must not end the run
            refusals["jsonschema"] = error
        # Without backtracking first: linear in the text, so that no limit can falsify an answer.
        for self.backtracks in (False, True):
            try:
                self._fast, spelt = draft.build_jsonschema_rs(
                    self.schema, rule, backtracking=self.backtracks
                )
                self.fast_failures = FastFailures(spelt)
            except Exception as error:  # noqa: BLE001
                refusals["jsonschema-rs"] = error
            else:
                refusals.pop("jsonschema-rs", None)
                break
        if refusals:
            raise _refusal(refusals)
        self._quick: dict[bytes, bool | None] = {}
        self._suspicions: dict[bytes, ValidationFailure | None] = {}
        self._judged: dict[tuple[bytes, bool], TextOutcome] = {}

    @property
    def slow(self) -> Any:
        """The validator of jsonschema."""
        return self._slow

    def says_fast(self, value: object) -> bool | None:
        """What jsonschema-rs says of a value; None where it fails."""
        return _ask(self._fast, value)[0]

    def _is_valid(self, key: bytes, value: object) -> bool | None:
        if key not in self._quick:
            _make_room(self._quick)
            self._quick[key] = _ask(self._fast, value)[0]
        return self._quick[key]

    def screen(self, text: bytes) -> ValidationFailure | TextOutcome:
        """The error that jsonschema-rs names first where it alone calls the JSON `text` invalid.

        An opinion and no proof: it says what another text should avoid. For every other text its
        `judge`, explained; so too for what its writing decides, and under a schema whose patterns
        need backtracking.
        """
        value = self._read(text)
        if isinstance(value, TextOutcome):
            return value
        return self._suspicion(value) or self.judge_value(value, explain=True)

    def _suspicion(self, value: Any) -> ValidationFailure | None:
        if self.backtracks:
            return None
        key = marshal.dumps(value, _PLAIN)
        if key not in self._suspicions:
            _make_room(self._suspicions)
            error = None if self._is_valid(key, value) is not False else self.first_error(value)
            self._suspicions[key] = self.fast_failures([error], 1)[0] if error else None
        return self._suspicions[key]

    def evaluated(self, value: object) -> list[Evaluated]:
        """What jsonschema-rs found on its way, from the outside in; [] where it fails.

        Below a branch that a valid value does not hold nothing is told.
        """
        try:
            nodes = self._fast.evaluate(value).list()["details"]
        except (KeyboardInterrupt, SystemExit):
            raise
        except BaseException:  # noqa: BLE001 - a panic in Rust is no Exception
            return []
        return [
            Evaluated(
                node["evaluationPath"],
                *self.fast_failures.location(node["schemaLocation"]),
                node["instanceLocation"],
                node["valid"],
                bool(node.get("errors")),
            )
            for node in nodes
        ]

    def first_error(self, value: object) -> jsonschema_rs.ValidationError | None:
        """The error that jsonschema-rs names first; None where it names none, or fails."""
        try:
            self._fast.validate(value)
        except jsonschema_rs.ValidationError as error:
            return error
        except (KeyboardInterrupt, SystemExit):
            raise
        except BaseException:  # noqa: BLE001 - a panic in Rust is no Exception
            return None
        return None

    def judge(self, text: bytes, *, explain: bool = False) -> TextOutcome:
        """What both validators say of `text`, a JSON text in UTF-8.

        Args:
            text: Any bytes.
            explain: Collect the errors of each validator that says invalid; slower.
        """
        value = self._read(text)
        return value if isinstance(value, TextOutcome) else self.judge_value(value, explain=explain)

    @staticmethod
    def _read(text: bytes) -> Any:
        """The value of `text`; an `TextOutcome` where how it is written decides it."""
        try:
            value = strict_json.parse(text)
        except strict_json.JsonError as error:
            return unread(type(error), str(error))
        return value if keeps_numbers(text) else NOT_KEPT

    def judge_value(self, value: Any, *, explain: bool) -> TextOutcome:
        """What both validators say of a value that was read without doubt; see `judge`."""
        key = (marshal.dumps(value, _PLAIN), explain)
        if key not in self._judged:
            _make_room(self._judged)
            self._judged[key] = self._judge(value, explain=explain)
        return self._judged[key]

    def _judge(self, value: object, *, explain: bool) -> TextOutcome:
        """What both validators say of a value; they never see the text that it was read from."""
        if self.backtracks and self.gave_up(value):
            failed = Opinion("jsonschema-rs", None, failure="backtracking limit reached")
            return TextOutcome("undecided", "pattern_limit", (_UNASKED[0], failed))
        fast, fast_failure = _ask(self._fast, value)
        slow, slow_failure = _ask(self._slow, value)
        if fast is slow and fast is not None and not (explain and not fast):
            return _AGREED[fast]
        slow_errors: tuple[ValidationFailure, ...] = ()
        fast_errors: tuple[ValidationFailure, ...] = ()
        if explain and slow is False:
            slow_errors = self.slow_failures(self._slow.iter_errors(value), MAX_FAILURES)
        if explain and fast is False:
            fast_errors = self.fast_failures(self._fast.iter_errors(value), MAX_FAILURES)
        return compare(
            Opinion("jsonschema", slow, slow_errors, slow_failure),
            Opinion("jsonschema-rs", fast, fast_errors, fast_failure),
        )

    def gave_up(self, value: object) -> bool:
        """Whether jsonschema-rs reaches the limit, which it reports as an invalid value.

        Only looked for at the top of the errors: below, a wrong opinion of jsonschema-rs at
        worst makes the text contested, since Python's `re` knows no limit.
        """
        kind = jsonschema_rs.ValidationErrorKind.BacktrackLimitExceeded
        return any(isinstance(error.kind, kind) for error in self._fast.iter_errors(value))


def _make_room(known: dict[Any, Any]) -> None:
    if len(known) >= MAX_KNOWN:
        known.clear()


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


def _failure_about(schema_error: Exception) -> str:
    """What a metaschema says, at the deepest place in the schema that it names."""
    match schema_error:
        case jsonschema.SchemaError():
            return f"{short(schema_error.message)} at {pointer(schema_error.absolute_path)!r}"
        case jsonschema_rs.ValidationError():
            deepest: Any = max(_branches(schema_error), key=lambda error: len(error.instance_path))
            return f"{short(deepest.message)} at {pointer(deepest.instance_path)!r}"
    return _first_line(schema_error)


def _branches(error: Any) -> Iterator[Any]:
    """`error` and all errors that led to it."""
    yield error
    for branch in getattr(error.kind, "context", ()):
        for below in branch:
            yield from _branches(below)


def _ask(validator: Any, value: object) -> tuple[bool | None, str]:
    """What `validator` says of `value`, or why it failed."""
    try:
        return validator.is_valid(value), ""
    except (KeyboardInterrupt, SystemExit):
        raise
    except BaseException as error:  # noqa: BLE001 - a panic in Rust is no Exception
        return None, f"{type(error).__name__}: {_first_line(error)}"


def compare(slow: Opinion, fast: Opinion) -> TextOutcome:
    """The outcome of what jsonschema and jsonschema-rs say of one value."""
    opinions = (slow, fast)
    if slow.valid is None or fast.valid is None:
        return TextOutcome("undecided", "validator_error", opinions)
    if slow.valid is not fast.valid:
        return TextOutcome("contested", "validators_differ", opinions)
    return TextOutcome("valid" if slow.valid else "invalid", "", opinions)


def _first_line(error: BaseException) -> str:
    return short(str(error).partition("\n")[0])
