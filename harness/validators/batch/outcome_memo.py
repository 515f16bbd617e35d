"""What jsonschema's answer owes to the content of one value: asked once per distinct outcome.

Thousands of documents may differ in one value only. jsonschema takes milliseconds for each, and
nearly always the same ones: most keywords look at types, names and sizes of containers, and at
what others say of parts. Here it runs with keywords that *record*: every evaluation of a keyword
that looks into the changed value is noted with its answer, as a *question*. The rule:

    Two documents that differ only in this value, and for which all questions that were noted of
    the one have the same answers of the other, have the same outcome.

Why this is exact. jsonschema is a deterministic program. It gets at the content of the value only
through the functions of `CONTENT_KEYWORDS`; all others treat two strings, or two numbers,
alike (`harness.validators.formats` has ``format`` say nothing of numbers). So it does the same on
both documents up to the first question; as the answers are the same, up to the second; and so on to
the end. What is not evaluated, because something before it decided, is not asked on the other
document either. Messages quote the content; they are not part of an outcome.

A keyword records where its instance *is* the changed value, or holds it, by identity and not by
equality: values travel through jsonschema by reference, and the value is an object of its own
(`unique`) while jsonschema runs. Where that cannot be told, the run teaches nothing.

A name (the key of a member) is looked at by many more keywords: they ask whether the schema's own
names are there, and whether patterns match. Two names that are no string anywhere in the schema,
and that the same patterns of ``patternProperties`` match, are alike to them (`Names`); what looks
at the name as a value, below ``propertyNames``, records as above.

What teaches nothing, so that every document is asked about by itself: exceptions (a recursion may
end sooner for a deeper caller), keywords that are not listed here, schemas under another dialect.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cache
from itertools import pairwise
from typing import Any, Final, Literal

import jsonschema
import jsonschema.validators
from jsonschema_specifications import REGISTRY as METASCHEMAS  # type: ignore[import-untyped]

from harness.validators.drafts import draft_of

ValueKind = Literal["string", "number", "name"]

STRUCTURE: Final = frozenset(
    {
        *("$ref", "$dynamicRef", "$recursiveRef"),
        *("allOf", "anyOf", "oneOf", "not", "if"),
        *("properties", "patternProperties", "additionalProperties", "unevaluatedProperties"),
        *("propertyNames", "required", "minProperties", "maxProperties"),
        *("dependencies", "dependentRequired", "dependentSchemas"),
        *("items", "prefixItems", "additionalItems", "unevaluatedItems", "contains"),
        *("minItems", "maxItems"),
    }
)
"""Keywords that look at types, names and sizes, and hand parts on to others, which record."""

_OF_TEXT = frozenset({"pattern", "format", "minLength", "maxLength"})

CONTENT_KEYWORDS: Final[dict[str, frozenset[str]]] = {
    "string": _OF_TEXT | {"enum", "const"},
    "name": _OF_TEXT,
    "number": frozenset(
        {
            *("enum", "const", "type", "multipleOf"),
            *("minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum"),
        }
    ),
    "container": frozenset({"enum", "const", "uniqueItems"}),
}
"""Keywords that tell one string from another, one name from another that is like it (which is in no
``enum`` or ``const``), one number from another (``type`` knows integers), and one array or object
from another that differs from it in nothing but one such value."""

_KNOWN = STRUCTURE.union(*CONTENT_KEYWORDS.values())


@dataclass(frozen=True, slots=True)
class Question:
    """One evaluation of a keyword that looks into the changed value.

    `instance` is the container that holds the value, which is changed in place; None stands for
    the value itself.
    """

    function: Callable[..., Any]
    validator: Any
    wanted: Any
    instance: Any
    schema: Any

    @property
    def key(self) -> tuple[object, ...]:
        """Equal for questions that have the same answer for every value."""
        return self.function, type(self.validator), id(self.schema), id(self.instance)

    def answer(self, value: object) -> bool:
        """Whether the keyword finds an error, the changed value being `value`."""
        instance = value if self.instance is None else self.instance
        errors = self.function(self.validator, self.wanted, instance, self.schema) or ()
        return any(True for _ in errors)


class Tree:
    """Outcomes by the answers that lead to them, for one place in one document.

    A deterministic program asks its first question always; which one is next depends on the
    answers so far. A leaf holds whatever outcome it was taught.
    """

    def __init__(self) -> None:
        self._root: _MemoNode | None = None

    def find(self, value: object) -> Any:
        """The outcome for `value`, which stands in the document already; None if not known yet."""
        node = self._root
        while node is not None:
            if node.question is None:
                return node.outcome
            try:
                node = node.after.get(node.question.answer(value))
            except Exception:  # noqa: BLE001 - what fails is looked at by itself
                return None
        return None

    def learn(self, noted: list[tuple[Question, bool]], outcome: object) -> None:
        """Remember `outcome` behind these questions, which were asked in this order.

        Raises:
            AssertionError: Another question was asked behind the same answers before.
        """
        node = self._root = self._root or _MemoNode(noted[0][0] if noted else None)
        for (question, answer), (following, _) in pairwise([*noted, (None, False)]):
            assert question is not None
            assert node.question is not None
            assert node.question.key == question.key, "jsonschema is no deterministic program"
            node = node.after.setdefault(answer, _MemoNode(following))
        node.outcome = outcome


@dataclass(slots=True)
class _MemoNode:
    question: Question | None
    after: dict[bool, _MemoNode] = field(default_factory=dict)
    outcome: Any = None


class Names:
    """The names that jsonschema cannot tell apart under one schema, but as values.

    The published metaschemas count as parts of every schema, which may refer to them.

    Attributes:
        schemas: The objects in the schema, by identity: nothing is known of others.
    """

    def __init__(self, schema: object) -> None:
        own, metaschemas = _parts(schema), _metaschemas()
        self.schemas = own.objects | metaschemas.objects
        self._strings = own.strings | metaschemas.strings
        self._patterns = _compiled(own.patterns | metaschemas.patterns)

    def alike(self, name: str) -> tuple[bool, ...] | None:
        """The same for names that are alike; None for one that is like no other."""
        if self._patterns is None or name in self._strings:
            return None
        return tuple(pattern.search(name) is not None for pattern in self._patterns)


@dataclass(frozen=True)
class _Parts:
    """What is in a schema: its objects by identity, its strings, and patterns of names."""

    objects: set[int] = field(default_factory=set)
    strings: set[str] = field(default_factory=set)
    patterns: set[str] = field(default_factory=set)


def _parts(schema: object) -> _Parts:
    parts = _Parts()
    pending = [schema]
    while pending:
        part = pending.pop()
        if isinstance(part, dict):
            parts.objects.add(id(part))
            parts.strings.update(part)
            pending += part.values()
            below = part.get("patternProperties")
            if isinstance(below, dict):
                parts.patterns.update(below)
        elif isinstance(part, list):
            pending += part
        elif isinstance(part, str):
            parts.strings.add(part)
    return parts


@cache
def _metaschemas() -> _Parts:
    return _parts([METASCHEMAS.contents(uri) for uri in METASCHEMAS])


def _compiled(patterns: set[str]) -> list[re.Pattern[str]] | None:
    try:
        return [re.compile(pattern) for pattern in patterns]
    except re.error:  # a property may be called patternProperties
        return None


@dataclass
class _Recording:
    """One run of jsonschema: what it asked about the changed value."""

    kind: ValueKind
    value: object
    schemas: set[int] | None
    path: set[int]
    noted: list[tuple[Question, bool]] = field(default_factory=list)
    seen: set[tuple[Any, ...]] = field(default_factory=set)
    doubtful: bool = False

    def concerns(self, keyword: str, instance: object) -> bool:
        """Whether `keyword` looks into the changed value when it looks at `instance`."""
        if keyword in STRUCTURE:
            return False
        if instance is self.value:
            return keyword not in _KNOWN or keyword in CONTENT_KEYWORDS[self.kind]
        if keyword in _KNOWN and keyword not in CONTENT_KEYWORDS["container"]:
            return False
        return _holds(instance, self.value)

    def note(self, keyword: str, question: Question, answer: bool) -> None:
        """Note that `question` had this answer."""
        if keyword not in _KNOWN or not (
            question.instance is None or id(question.instance) in self.path
        ):
            self.doubtful = True
        if question.key not in self.seen:
            self.seen.add(question.key)
            self.noted.append((question, answer))

    def met(self, schema: object) -> None:
        """Note that `schema` is evaluated."""
        if self.schemas is not None and isinstance(schema, dict):
            self.doubtful |= id(schema) not in self.schemas


class _Active:
    """The recording that keywords write to; none but while `RecordingValidator.run` is at work."""

    recording: _Recording | None = None


class RecordingValidator:
    """jsonschema for one schema, with keywords that record.

    Args:
        validator: A validator of `harness.validators.drafts.Draft.build_jsonschema`.

    Raises:
        TypeError: `validator` is none.
    """

    def __init__(self, validator: Any) -> None:
        if not hasattr(validator, "VALIDATORS"):
            raise TypeError("not a validator of jsonschema")
        plain: Any = type(validator)
        self._validator = _recording_class(plain)(
            validator.schema,
            registry=validator._registry,  # noqa: SLF001 - as jsonschema's own evolve does
            format_checker=validator.format_checker,
        )
        self.names = Names(validator.schema)

    def run(
        self, document: object, path: set[int], kind: ValueKind, value: object
    ) -> RecordedRun | None:
        """The first error of `document`, and what was asked about `value` in it.

        Args:
            document: The document.
            path: The identities of the containers that hold the value.
            kind: What the value is; a ``name`` is the key of a member.
            value: What `unique` made of it, standing in the document.

        Returns:
            None where the run teaches nothing.
        """
        recording = _Recording(kind, value, self.names.schemas if kind == "name" else None, path)
        _Active.recording = recording
        try:
            error = next(self._validator.iter_errors(document), None)
        except Exception:  # noqa: BLE001 - whoever asks the plain validator will see it
            return None
        finally:
            _Active.recording = None
        return None if recording.doubtful else RecordedRun(error, recording.noted)


@dataclass(frozen=True)
class RecordedRun:
    """What a run of jsonschema said, and what it asked on its way there."""

    error: jsonschema.ValidationError | None
    noted: list[tuple[Question, bool]]


class _String(str):
    __slots__ = ()


class _Integer(int):
    __slots__ = ()


class _Float(float):
    __slots__ = ()


def unique(value: Any) -> Any:
    """An object equal to `value`, a string or a number, that is no other: Python shares small ones.

    To jsonschema it is the same: that asks for types with ``isinstance``.
    """
    own = _String if isinstance(value, str) else _Integer if isinstance(value, int) else _Float
    return own(value)


def _holds(instance: object, value: object) -> bool:
    """Whether `instance` has `value` in it, by identity, as a value or as a name."""
    pending = [instance]
    while pending:
        part = pending.pop()
        if part is value:
            return True
        if isinstance(part, dict):
            pending += part
            pending += part.values()
        elif isinstance(part, list):
            pending += part
    return False


def _recorded(keyword: str, function: Callable[..., Any]) -> Callable[..., Any]:
    """`function`, recorded where it looks into the changed value."""

    def asked(validator: Any, wanted: Any, instance: Any, schema: Any) -> Any:
        recording = _Active.recording
        if recording is None or not recording.concerns(keyword, instance):
            return function(validator, wanted, instance, schema)
        about = None if instance is recording.value else instance
        errors = list(function(validator, wanted, instance, schema) or ())
        question = Question(function, validator, wanted, about, schema)
        recording.note(keyword, question, bool(errors))
        return errors

    return asked


@cache
def _recording_class(plain: Any) -> Any:
    """The class `plain` of `harness.validators.drafts`, with keywords that record."""
    keywords = {name: _recorded(name, function) for name, function in plain.VALIDATORS.items()}
    made = jsonschema.validators.extend(plain, keywords)
    made.evolve = _evolve(plain)
    return made


def _evolve(plain: Any) -> Callable[..., Any]:
    """What `plain` does for another schema, with the class that records in its place."""

    def evolve(self: Any, **changes: Any) -> Any:
        made = plain.evolve(self, **changes)
        recording = _Active.recording
        if recording is not None:
            recording.met(made.schema)
        if type(made) is type(self):
            return made
        draft = draft_of(made.schema)
        known = draft is not None and type(made) is draft.repaired
        if draft is None or not known:
            if recording is not None:
                recording.doubtful = True
            return made
        return _recording_class(draft.repaired)(
            made.schema,
            registry=made._registry,  # noqa: SLF001 - as jsonschema's own evolve does
            format_checker=made.format_checker,
            _resolver=made._resolver,  # noqa: SLF001
        )

    return evolve
