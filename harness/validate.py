"""What two independent validators say of a text: a proof only where both say the same.

`Validators` holds jsonschema and jsonschema-rs for one schema, set up alike: the same draft,
formats asserted, no network. A text that is no JSON (RFC 8259) is invalid under every schema.
What RFC 8259 leaves open is contested: names that occur twice (section 4) and halves of
surrogate pairs (section 8.2). Limits of this program leave a text undecided.
"""

from __future__ import annotations

import marshal
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice
from typing import Any, Literal

import jsonschema
import jsonschema_rs

from harness import strict_json
from harness.drafts import draft_of
from harness.errors import MaskcourtError
from harness.precision import keeps_numbers

Verdict = Literal["valid", "invalid", "contested", "undecided"]

MAX_COMPLAINTS = 16
"""Errors kept per opinion; the validators may name thousands."""

MAX_MESSAGE = 200
"""Characters kept of a message; validators quote whole instances in them."""

BACKTRACK_LIMIT = 1_000_000
"""Steps that jsonschema-rs may backtrack in one match of a pattern that needs backtracking."""

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


class Unjudgeable(MaskcourtError):
    """No validators for this schema: nothing can be proven under it.

    `reason` is one of ``not_json``, ``duplicate_keys``, ``lone_surrogate``, ``too_deep``,
    ``number_range``, ``number_precision``, ``not_a_schema``, ``unknown_draft``,
    ``unresolved_reference``, ``jsonschema_refuses``, ``jsonschema_rs_refuses``, ``both_refuse``.
    """

    def __init__(self, reason: str, message: str, hint: str | None = None) -> None:
        super().__init__(message, hint)
        self.reason = reason


@dataclass(frozen=True, slots=True)
class Complaint:
    """One error that a validator names.

    Pointers are JSON Pointers (RFC 6901). `schema_pointer` leads to the keyword in the schema, past
    references; `keyword` is ``false`` where the schema ``false`` itself stands in the way. For that
    one, jsonschema points at the object or array around what is forbidden.
    """

    keyword: str
    schema_pointer: str
    instance_pointer: str
    message: str


@dataclass(frozen=True, slots=True)
class Opinion:
    """What one validator says of a text.

    Attributes:
        validator: ``jsonschema`` or ``jsonschema-rs``.
        valid: None where it was not asked or failed.
        errors: At most MAX_COMPLAINTS, in the validator's order; only where asked to explain.
        failure: Why it could not say, where it failed.
    """

    validator: str
    valid: bool | None
    errors: tuple[Complaint, ...] = ()
    failure: str = ""


@dataclass(frozen=True, slots=True)
class Outcome:
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
    valid: Outcome(
        "valid" if valid else "invalid",
        "",
        (_SAY["jsonschema", valid], _SAY["jsonschema-rs", valid]),
    )
    for valid in (True, False)
}


class Validators:
    """Both validators for one schema.

    Building raises the interpreter's recursion limit where it is lower than jsonschema needs. A
    pattern on which Python's `re` explodes can keep `judge` busy for ever, so run it where it can
    be ended from outside; `quick` always comes to an end.

    Args:
        schema: The JSON text of the schema.

    Raises:
        Unjudgeable: The schema cannot be read without doubt, is of an unknown draft, refers to
            what is not in it (nothing is ever fetched), or a validator refuses it.
    """

    def __init__(self, schema: str) -> None:
        if sys.getrecursionlimit() < _FRAMES:
            sys.setrecursionlimit(_FRAMES)
        self._schema = _read_schema(schema)
        draft = draft_of(self._schema)
        if draft is None:
            raise Unjudgeable(
                "unknown_draft",
                f"unknown $schema {_short(repr(self._schema['$schema']))}",
                "drafts 04, 06, 07, 2019-09 and 2020-12 are known",
            )
        self.draft = draft.name
        refusals: dict[str, Exception] = {}
        try:
            self._slow = draft.build_jsonschema(self._schema)
        except Exception as error:  # noqa: BLE001 - a schema must not end the run
            refusals["jsonschema"] = error
        # Without backtracking first: linear in the text, so that no limit can falsify an answer.
        self._backtracks = False
        try:
            self._fast = draft.build_jsonschema_rs(self._schema, jsonschema_rs.RegexOptions())
        except Exception:  # noqa: BLE001
            self._backtracks = True
            options = jsonschema_rs.FancyRegexOptions(backtrack_limit=BACKTRACK_LIMIT)
            try:
                self._fast = draft.build_jsonschema_rs(self._schema, options)
            except Exception as error:  # noqa: BLE001
                refusals["jsonschema-rs"] = error
        if refusals:
            raise _refusal(refusals)
        self._places: dict[int, str] | None = None
        self._quick: dict[bytes, bool | None] = {}
        self._judged: dict[tuple[bytes, bool], Outcome] = {}

    def quick(self, text: bytes) -> bool | None:
        """Whether jsonschema-rs alone calls `text` valid; None where it cannot say.

        An answer is an opinion and not yet a proof. None stands for every text whose `judge` is
        decided by how it is written, not-JSON (False) excepted, and for every text under a schema
        whose patterns need backtracking.
        """
        try:
            value = strict_json.parse(text)
        except strict_json.JsonError as error:
            return False if type(error) is strict_json.JsonError else None
        if self._backtracks or not keeps_numbers(text):
            return None
        key = marshal.dumps(value, _PLAIN)
        if key not in self._quick:
            _make_room(self._quick)
            self._quick[key] = _ask(self._fast, value)[0]
        return self._quick[key]

    def weigh(self, text: bytes, *, explain: bool = False) -> Outcome | None:
        """As `judge`; None where jsonschema-rs alone already calls `text` invalid.

        None is an opinion and no proof: it says that another text is worth trying first.
        """
        return None if self.quick(text) is False else self.judge(text, explain=explain)

    def judge(self, text: bytes, *, explain: bool = False) -> Outcome:
        """What both validators say of `text`, a JSON text in UTF-8.

        Args:
            text: Any bytes.
            explain: Collect the errors of each validator that says invalid; slower.
        """
        try:
            value = strict_json.parse(text)
        except strict_json.JsonError as error:
            verdict, reason = _UNREAD[type(error)]
            return Outcome(verdict, reason, _UNASKED, str(error))
        if not keeps_numbers(text):
            return Outcome("undecided", "number_precision", _UNASKED)
        key = (marshal.dumps(value, _PLAIN), explain)
        if key not in self._judged:
            _make_room(self._judged)
            self._judged[key] = self._judge(value, explain=explain)
        return self._judged[key]

    def _judge(self, value: object, *, explain: bool) -> Outcome:
        """What both validators say of a value; they never see the text that it was read from."""
        if self._backtracks and self._gave_up(value):
            failed = Opinion("jsonschema-rs", None, failure="backtracking limit reached")
            return Outcome("undecided", "pattern_limit", (_UNASKED[0], failed))
        fast, fast_failure = _ask(self._fast, value)
        slow, slow_failure = _ask(self._slow, value)
        if fast is slow and fast is not None and not (explain and not fast):
            return _AGREED[fast]
        return _compare(
            Opinion("jsonschema", slow, self._slow_errors(value, slow, explain), slow_failure),
            Opinion("jsonschema-rs", fast, self._fast_errors(value, fast, explain), fast_failure),
        )

    def _gave_up(self, value: object) -> bool:
        """Whether jsonschema-rs reaches the limit, which it reports as an invalid value.

        Only looked for at the top of the errors: below, a wrong opinion of jsonschema-rs at
        worst makes the text contested, since Python's `re` knows no limit.
        """
        kind = jsonschema_rs.ValidationErrorKind.BacktrackLimitExceeded
        return any(isinstance(error.kind, kind) for error in self._fast.iter_errors(value))

    def _slow_errors(
        self, value: object, valid: bool | None, explain: bool
    ) -> tuple[Complaint, ...]:
        if valid is not False or not explain:
            return ()
        if self._places is None:
            self._places = _places(self._slow.schema)
        places = self._places
        return _collected(_complaint(error, places) for error in self._slow.iter_errors(value))

    def _fast_errors(
        self, value: object, valid: bool | None, explain: bool
    ) -> tuple[Complaint, ...]:
        if valid is not False or not explain:
            return ()
        return _collected(map(_rust_complaint, self._fast.iter_errors(value)))


def _collected(complaints: Iterator[Complaint]) -> tuple[Complaint, ...]:
    """The first MAX_COMPLAINTS, or those before the validator failed in looking for more."""
    found: list[Complaint] = []
    try:
        found.extend(islice(complaints, MAX_COMPLAINTS))
    except Exception:  # noqa: BLE001 - the verdict stands on the first error alone
        return tuple(found)
    return tuple(found)


def _make_room(known: dict[Any, Any]) -> None:
    if len(known) >= MAX_KNOWN:
        known.clear()


def _read_schema(schema: str) -> Any:
    try:
        value = strict_json.parse(schema)
    except strict_json.JsonError as error:
        raise Unjudgeable(_UNREAD[type(error)][1], f"schema: {error}") from None
    if not isinstance(value, dict | bool):
        raise Unjudgeable("not_a_schema", "a schema is an object, true or false")
    if not keeps_numbers(schema.encode(), roughly=True):
        raise Unjudgeable("number_precision", "schema: a number with more digits than a double")
    return value


def _refusal(refusals: dict[str, Exception]) -> Unjudgeable:
    referencing = jsonschema_rs.ValidationErrorKind.Referencing
    message = "; ".join(f"{name}: {_complaint_about(error)}" for name, error in refusals.items())
    rust = refusals.get("jsonschema-rs")
    if len(refusals) == 2:
        reason = "both_refuse"
    elif rust is None:
        reason = "jsonschema_refuses"
    elif isinstance(getattr(rust, "kind", None), referencing):
        reason = "unresolved_reference"
    else:
        reason = "jsonschema_rs_refuses"
    return Unjudgeable(reason, message)


def _complaint_about(schema_error: Exception) -> str:
    """What a metaschema says, at the deepest place in the schema that it names."""
    match schema_error:
        case jsonschema.SchemaError():
            return f"{_short(schema_error.message)} at {_pointer(schema_error.absolute_path)!r}"
        case jsonschema_rs.ValidationError():
            deepest: Any = max(_branches(schema_error), key=lambda error: len(error.instance_path))
            return f"{_short(deepest.message)} at {_pointer(deepest.instance_path)!r}"
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


def _compare(slow: Opinion, fast: Opinion) -> Outcome:
    opinions = (slow, fast)
    if slow.valid is None or fast.valid is None:
        return Outcome("undecided", "validator_error", opinions)
    if slow.valid is not fast.valid:
        return Outcome("contested", "validators_differ", opinions)
    return Outcome("valid" if slow.valid else "invalid", "", opinions)


def _complaint(error: jsonschema.ValidationError, places: dict[int, str]) -> Complaint:
    path = [str(part) for part in error.absolute_schema_path]
    keyword = str(error.validator or "false")
    place = places.get(id(error.schema))
    # The path of jsonschema leaves references out; the subschema itself is found by identity.
    pointer = _pointer(path) if place is None else place + _pointer([keyword])
    return Complaint(keyword, pointer, _pointer(error.absolute_path), _short(error.message))


def _rust_complaint(error: jsonschema_rs.ValidationError) -> Complaint:
    keyword = error.kind.name
    if keyword == "falseSchema":
        last = error.schema_path[-1] if error.schema_path else ""
        keyword = str(last) if last in _MAY_BE_FALSE else "false"
    return Complaint(
        keyword, _pointer(error.schema_path), _pointer(error.instance_path), _short(error.message)
    )


_MAY_BE_FALSE = {"additionalProperties", "additionalItems", "items", "unevaluatedProperties"}
"""Keywords whose value false jsonschema reports as themselves, jsonschema-rs as falseSchema."""


def _places(schema: object) -> dict[int, str]:
    """The pointer of every object in `schema`, by identity."""
    found: dict[int, str] = {}
    pending = [("", schema)]
    while pending:
        pointer, part = pending.pop()
        if isinstance(part, dict):
            found[id(part)] = pointer
            pending += [(pointer + _pointer([key]), below) for key, below in part.items()]
        elif isinstance(part, list):
            pending += [(f"{pointer}/{index}", below) for index, below in enumerate(part)]
    return found


def _pointer(parts: Any) -> str:
    return "".join("/" + str(part).replace("~", "~0").replace("/", "~1") for part in parts)


def _short(message: str) -> str:
    """`message` without its middle: what is quoted stands in front, what is said of it behind."""
    half = MAX_MESSAGE // 2
    return message if len(message) <= MAX_MESSAGE else f"{message[: half - 1]}…{message[-half:]}"


def _first_line(error: BaseException) -> str:
    return _short(str(error).partition("\n")[0])
