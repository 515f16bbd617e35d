"""How the key or value that is being written may be finished.

A value suffix is the text up to the end of that value, and the open containers after it; the
container suffixes then say what follows.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any, Final, NamedTuple

from harness.completion.container_suffixes import (
    ClosingPlan,
    ContainerSuffixes,
    LastWritten,
    Reuse,
    memoised,
)
from harness.completion.literal_suffixes import (
    StringProgress,
    StringRule,
    StringSlot,
    first_characters,
    least_rest,
    number_rests,
    spelled_rest,
)
from harness.jsontext.lexer import Mode
from harness.jsontext.partial import Cursor, Frames, parse_number, path_of, with_value
from harness.jsontext.pointers import MISSING
from harness.schemas.formats import FORMATS
from harness.schemas.patterns import pattern
from harness.schemas.probable_values import Variant, automata, distinct, in_turn, property_names
from harness.schemas.schema import count, listed, mapping, strings, types

MAX_VALUE_SUFFIXES: Final = 14
_ANY_VALUES: Final[tuple[Any, ...]] = (None, 1, "", {}, [])
_EXAMPLES = 4
_MAX_RULES = 4
_MAX_LEAST = 5000
_LITERALS: Final = {ord("t"): True, ord("f"): False, ord("n"): None}


class ValueSuffix(NamedTuple):
    """A text that finishes what is being written."""

    text: bytes
    frames: Frames
    """The open containers after it."""
    last_written: LastWritten = LastWritten.AFTER


class ValueSuffixes(ContainerSuffixes):
    """The value suffixes for one schema and one reference, and its container suffixes."""

    def candidates(
        self, cursor: Cursor, progress: StringProgress | None = None
    ) -> list[ValueSuffix]:
        """The suffixes for what `cursor` is in the middle of, likeliest first.

        `progress` is that of the string that it is in, when known.
        """
        match cursor.mode:
            case Mode.AFTER | Mode.DONE:
                found = [ValueSuffix(b"", cursor.frames)]
            case Mode.KEY_STRING:
                found = list(self._keys(cursor, progress))
            case Mode.STRING:
                found = list(self._strings(cursor, progress))
            case Mode.LITERAL:
                value = _LITERALS[cursor.atom[0]]
                rest = json.dumps(value).encode()[len(cursor.atom) :]
                found = [ValueSuffix(rest, with_value(cursor.frames, value))]
            case mode if mode.in_number:
                found = list(self._numbers(cursor))
            case _:
                found = list(self._between(cursor))
        return list(
            dict.fromkeys(
                suffix._replace(frames=self.canonical(suffix.frames))
                for suffix in found[:MAX_VALUE_SUFFIXES]
            )
        )

    def _between(self, cursor: Cursor) -> Iterator[ValueSuffix]:
        """The suffixes where a key, a colon or a value must come."""
        frames, depth, mode = cursor.frames, len(cursor.frames), cursor.mode
        space = b"" if cursor.spaced else self.layout.between(depth)
        if mode is Mode.KEY:
            yield ValueSuffix(space, frames, LastWritten.NEED)
            return
        if mode in (Mode.KEY_OR_CLOSE, Mode.ITEM_OR_CLOSE):
            yield ValueSuffix(b"", frames, LastWritten.FRESH)
            if mode is Mode.KEY_OR_CLOSE:
                return
            space = b"" if cursor.spaced else self.layout.edge(depth)
        elif mode is Mode.COLON:
            space = b":" + self.layout.colon
        elif not frames:
            space = b""
        elif frames[-1].is_object:
            space = b"" if cursor.spaced else self.layout.colon
        for value in self.probable(frames):
            yield self._whole(space, frames, value)

    def _whole(self, before: bytes, frames: Frames, value: Any) -> ValueSuffix:
        text = before + self.layout.dump(value, len(frames))
        return ValueSuffix(text, with_value(frames, value))

    @memoised
    def probable(self, frames: Frames) -> list[Any]:
        """Values for what is written next in the innermost container."""
        schemas = self.slot_schemas(frames)
        out = list(in_turn(self.values.examples(schema, _EXAMPLES) for schema in schemas))
        slot = [frames[-1].slot] if frames else []
        path = (*path_of(frames), *(key for key in slot if key is not None))
        own = self.reference_at(path, exact=True)
        if own is not MISSING:
            fitting = any(self.fits(schema, own) for schema in schemas)
            out.insert(0 if fitting else 1, own)
        elif (near := self.reference_at(path)) is not MISSING:
            out.insert(1, near)
        return distinct(out or _ANY_VALUES)

    def _numbers(self, cursor: Cursor) -> Iterator[ValueSuffix]:
        schemas = self.slot_schemas(cursor.frames)

        def fits(value: Any) -> bool:
            return any(self.values.fits(schema, value) for schema in schemas)

        written = cursor.atom.decode()
        texts = [self.layout.dump(value, 0).decode() for value in self.probable(cursor.frames)]
        known = [text[len(written) :] for text in texts if text.startswith(written)]
        for rest in [*known, *number_rests(cursor.atom, cursor.mode, fits)]:
            if rest and rest[0] not in "0123456789.eE+-":
                continue
            value = parse_number(written + rest)
            yield ValueSuffix(rest.encode(), with_value(cursor.frames, value))

    def _strings(self, cursor: Cursor, progress: StringProgress | None) -> Iterator[ValueSuffix]:
        slot = self.string_slot(cursor.frames, Mode.STRING)
        pending, written = cursor.state.part, cursor.written
        for rest in slot.rests(progress or slot.begin(written), pending):
            text = spelled_rest(pending, rest, self.layout)
            if text is not None:
                yield ValueSuffix(text + b'"', with_value(cursor.frames, written + rest))
        yield ValueSuffix(least_rest(pending) + b'"', with_value(cursor.frames, written))

    def _keys(self, cursor: Cursor, progress: StringProgress | None) -> Iterator[ValueSuffix]:
        frames = cursor.frames
        slot = self.string_slot(frames, Mode.KEY_STRING)
        pending, written = cursor.state.part, cursor.written
        taken = frames[-1].names
        rests = list(slot.rests(progress or slot.begin(written), pending))
        rests += [char + "_" for char in first_characters(pending)]
        names = [rest for rest in dict.fromkeys(rests) if written + rest not in taken]
        if not names:
            longest = max(map(len, taken), default=0)
            names = [char + "_" * longest for char in first_characters(pending)]
        spelt = ((rest, spelled_rest(pending, rest, self.layout)) for rest in names)
        found = [(rest, text) for rest, text in spelt if text is not None][:MAX_VALUE_SUFFIXES]
        later: list[ValueSuffix] = []
        for at, (rest, text) in enumerate(found):
            inner = (*frames[:-1], frames[-1]._replace(key=written + rest))
            before = text + b'":' + self.layout.colon
            suffixes = [self._whole(before, inner, value) for value in self.probable(inner)]
            yield suffixes[0]
            later += suffixes[1 : 4 if at < 2 else 2]
        yield from later
        if not found:
            # No spelling is left that stands for a character: a lone surrogate, never valid.
            before = least_rest(pending) + b'__": '
            yield self._whole(before, (*frames[:-1], frames[-1]._replace(key="\x00")), None)

    @memoised
    def string_slot(self, frames: Frames, mode: Mode) -> StringSlot:
        """What a key (`Mode.KEY_STRING`) or a string value should be at this place."""
        return self._key_slot(frames) if mode is Mode.KEY_STRING else self._value_slot(frames)

    def _value_slot(self, frames: Frames) -> StringSlot:
        schemas = self.slot_schemas(frames)
        variants = [variant for schema in schemas for variant in self.values.variants(schema)]
        variants = [variant for variant in variants if "string" in (types(variant) or ("string",))]
        values = strings(self.probable(frames))
        chosen = [value for variant in variants for value in _choices(variant)]
        targets = tuple(dict.fromkeys([*values[:1], *chosen, *values]))
        free = [variant for variant in variants if not _choices(variant)]
        rules = [rule for variant in free for rule in _rules(variant)]
        sample = next((value for value in values if any(map(_unreadable, free))), None)
        least = min(map(_least, free), default=0)
        return StringSlot(targets, tuple(dict.fromkeys(rules))[:_MAX_RULES], least, sample)

    def _key_slot(self, frames: Frames) -> StringSlot:
        variants = self.variants(frames)
        taken = frames[-1].names
        source = self.reference_at(path_of(frames))
        names = [name for name, _ in self.remaining(frames, ClosingPlan(Reuse.AFTER))]
        names += list(source) if isinstance(source, dict) else []
        names += property_names(variants)
        rules: dict[StringRule, None] = {}
        for variant in variants:
            naming = variant.get("propertyNames")
            if isinstance(naming, dict):
                names += strings(self.values.examples(naming, 8))
                for inner in self.values.variants(naming):
                    rules.update(dict.fromkeys(_rules(inner)))
            for expression in mapping(variant, "patternProperties"):
                automaton = pattern(expression)
                if automaton is not None:
                    rules[StringRule(automaton, 0)] = None
        targets = [name for name in dict.fromkeys(names) if name not in taken]
        return StringSlot((*targets, *taken), tuple(rules)[:_MAX_RULES])


def _choices(variant: Variant) -> list[str]:
    return strings([variant["const"]] if "const" in variant else listed(variant.get("enum")))


def _least(variant: Variant) -> int:
    return min(count(variant.get("minLength")) or 0, _MAX_LEAST)


def _rules(variant: Variant) -> list[StringRule]:
    return [StringRule(automaton, _least(variant)) for automaton in automata(variant)]


def _unreadable(variant: Variant) -> bool:
    """Whether a pattern or a format decides that no automaton stands for."""
    expression, wanted = variant.get("pattern"), variant.get("format")
    if isinstance(expression, str) and pattern(expression) is None:
        return True
    return isinstance(wanted, str) and wanted not in FORMATS
