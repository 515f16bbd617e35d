"""Miniatures: tiny engines in pure Python whose behaviour is known exactly, honest or not.

Every engine here can be named in an engine spec, as ``tests.miniatures:AcceptsExtra``. The honest
one, `Enumerator`, allows a finite set of texts: each value that its schema allows, in the default
and the compact style of `json.dumps`. It understands ``enum``, ``const``, ``type: boolean`` and
``null``, and arrays of these with ``minItems`` and ``maxItems``; it refuses all other schemas.
Each of the others does as it does but for one fault. Where a fault must know where, an annotation
in the schema tells it; validators ignore these annotations:

``x-extra``: Texts that `AcceptsExtra` allows beside those of the schema.
``x-forbidden``: Pairs ``[written, token]``: after the first `ForbidsOne` forbids the second, and `MaskLies` hides it.
``x-open``: Texts that `NeverEnds` allows with any ASCII letters behind them, and never an end.
``x-letters``: The only letters that it allows there; all where this is missing.
``x-repeats``: A list ``[written, token, times]``: behind the first, `Repeats` allows the second that often.
``x-fault``: The text behind which the adapters show their faults that contradict themselves.
``x-crash``: Brings out the fault of those that fail altogether. For those that fail in a mask, its value
    is the number of tokens consumed before.
"""

import itertools
import json
import os
import signal
import sys
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any, ClassVar, NoReturn, Self

import numpy as np

from harness import __version__
from harness.inputs.vocabulary import Vocabulary
from harness.protocol import (
    EngineInfo,
    Mask,
    Option,
    Refused,
    allows,
    follow_by_mask,
    set_bits,
)

Schema = dict[str, Any]
Options = Mapping[str, bool | int | str]

_KNOWN = {"enum", "const", "type", "items", "minItems", "maxItems"}
_IGNORED = {"$schema", "$id", "title", "description"}
_LETTERS = frozenset(b"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ")
_ENDLESS = 10**9


def values_of(schema: Schema) -> list[Any]:
    """Every value that `schema` allows.

    Raises:
        Refused: There is something in it that the miniatures do not understand.
    """
    unknown = {key for key in schema if not key.startswith("x-")} - _KNOWN - _IGNORED
    if unknown:
        raise Refused(f"no miniature understands {', '.join(sorted(unknown))}")
    match schema:
        case {"enum": [*values]}:
            return values
        case {"const": value}:
            return [value]
        case {"type": "boolean"}:
            return [True, False]
        case {"type": "null"}:
            return [None]
        case {"type": "array", "items": dict(items), "maxItems": int(most)}:
            inner = values_of(items)
            lengths = range(schema.get("minItems", 0), most + 1)
            return [list(some) for n in lengths for some in itertools.product(inner, repeat=n)]
    raise Refused("a miniature needs enum, const, boolean, null, or an array with maxItems")


def texts_of(values: Iterable[Any], *, compact: bool = True) -> frozenset[bytes]:
    """`values` as JSON texts, in the default and, if wanted, the compact style."""
    styles: list[tuple[str, str]] = [(", ", ": "), (",", ":")][: 1 + compact]
    return frozenset(
        json.dumps(value, ensure_ascii=False, separators=style).encode()
        for value in values
        for style in styles
    )


def _texts(schema: Schema, annotation: str) -> frozenset[bytes]:
    return frozenset(text.encode() for text in schema.get(annotation, ()))


@dataclass(frozen=True)
class Language:
    """What an engine allows: some finite texts, but for some tokens, and texts without an end."""

    texts: frozenset[bytes]
    forbidden: frozenset[tuple[bytes, bytes]] = frozenset()
    """Pairs of what is written and the token that must not come next."""
    open: frozenset[bytes] = frozenset()
    """What may be followed by letters for ever."""
    letters: frozenset[int] = _LETTERS
    """By which."""

    @lru_cache(maxsize=1 << 14)  # noqa: B019 - few languages, asked for the same masks again
    def mask(self, vocabulary: Vocabulary, written: bytes) -> Mask:
        """The tokens that may follow `written`, end of sequence included; read-only."""
        rests = [text[len(written) :] for text in self.texts if text.startswith(written)]
        ahead = [text[len(written) :] for text in self.open if text.startswith(written)]
        ids = {token for rest in (*rests, *ahead) for token in vocabulary.starts(rest)}
        if any(
            written.startswith(start) and self.letters.issuperset(written[len(start) :])
            for start in self.open
        ):
            ids |= _lettered_ids(vocabulary, self.letters)
        if b"" in rests:
            ids |= set(vocabulary.eos_ids)
        for before, token in self.forbidden:
            if before == written:
                ids -= set(vocabulary.ids_of(token))
        mask = set_bits(ids, vocabulary.words)
        mask.setflags(write=False)
        return mask


@lru_cache(maxsize=16)
def _lettered_ids(vocabulary: Vocabulary, letters: frozenset[int]) -> frozenset[int]:
    ordinary = np.flatnonzero(~vocabulary.special).tolist()
    return frozenset(one for one in ordinary if letters.issuperset(vocabulary.tokens[one]))


class LanguageMatcher:
    """Walks a `Language`. What the mask shows and what is consumed can be told apart."""

    def __init__(self, vocabulary: Vocabulary, language: Language, shown: Language) -> None:
        self.vocabulary = vocabulary
        self.language = language
        self.shown = shown
        self.written = b""
        self.count = 0
        self.ended = False

    def mask(self, out: Mask) -> None:
        out[:] = self.allowed(self.shown)

    def consume(self, token: int) -> bool:
        known = 0 <= token < self.vocabulary.size
        if not known or not allows(self.allowed(self.language), token):
            return False
        if token in self.vocabulary.eos_ids:
            self.ended = True
        else:
            self.written += self.vocabulary.tokens[token]
        self.count += 1
        return True

    def clone(self) -> Self:
        twin = object.__new__(type(self))
        twin.__dict__ |= self.__dict__  # as `copy` does, in a fifth of its time
        return twin

    def allowed(self, language: Language) -> Mask:
        """The mask of `language` here; nothing at all behind the end."""
        if self.ended:
            return np.zeros(self.vocabulary.words, dtype=np.uint32)
        return language.mask(self.vocabulary, self.written)


class Enumerator:
    """The honest miniature."""

    OPTIONS: ClassVar[Mapping[str, Option]] = {
        "compact": Option(True, "allow the compact style beside the default one"),
    }
    DISTRIBUTION = "maskcourt"
    Matcher: ClassVar[type[LanguageMatcher]] = LanguageMatcher

    def __init__(self, vocabulary: Vocabulary, options: Options) -> None:
        packages = {self.DISTRIBUTION: __version__}
        self.info = EngineInfo(type(self).__name__, __version__, dict(options), packages)
        self.vocabulary = vocabulary
        self.compact = bool(options["compact"])

    def compile(self, schema: str) -> LanguageMatcher:
        """A matcher for `schema`.

        Raises:
            Refused: The schema is not one of the few that are understood.
        """
        parsed = json.loads(schema)
        if not isinstance(parsed, dict):
            raise Refused("no miniature understands a schema that is no object")
        return self.matcher(parsed)

    def matcher(self, schema: Schema) -> Any:
        """What `compile` answers for the parsed `schema`; here is where most engines differ."""
        language = self.language(schema)
        return self.Matcher(self.vocabulary, language, language)

    def language(self, schema: Schema) -> Language:
        """What this engine believes that `schema` allows."""
        return Language(texts_of(values_of(schema), compact=self.compact))

    def token_bytes(self, ids: Sequence[int]) -> list[bytes | None]:
        """The vocabulary's own bytes; None for special ids."""
        special = self.vocabulary.special
        return [None if special[token] else self.vocabulary.tokens[token] for token in ids]


class AcceptsExtra(Enumerator):
    """False acceptances at will: allows the texts of ``x-extra`` as well."""

    def language(self, schema: Schema) -> Language:
        honest = super().language(schema)
        return replace(honest, texts=honest.texts | _texts(schema, "x-extra"))


class ForgetsMaxItems(Enumerator):
    """A real-life false acceptance: arrays may have up to two items more than ``maxItems``."""

    def language(self, schema: Schema) -> Language:
        if "maxItems" in schema:
            schema = {**schema, "maxItems": schema["maxItems"] + 2}
        return super().language(schema)


class ForbidsOne(Enumerator):
    """False rejections at will: forbids the tokens of ``x-forbidden``."""

    def language(self, schema: Schema) -> Language:
        pairs = schema.get("x-forbidden", ())
        forbidden = frozenset((written.encode(), token.encode()) for written, token in pairs)
        return replace(super().language(schema), forbidden=forbidden)


class ForcingLanguage(Language):
    """Allows one token alone, the longest, wherever all texts go on with the same bytes."""

    def mask(self, vocabulary: Vocabulary, written: bytes) -> Mask:
        rests = [text[len(written) :] for text in self.texts if text.startswith(written)]
        alike = bytes(one[0] for one in itertools.takewhile(_all_one, zip(*rests, strict=False)))
        longest = vocabulary.starts(alike)[-1:]
        return set_bits(longest, vocabulary.words) if longest else super().mask(vocabulary, written)


def _all_one(bytes_: Sequence[int]) -> bool:
    return len(set(bytes_)) == 1


class Forces(Enumerator):
    """Forces tokens: every other cut of bytes that are certain is a false rejection."""

    def language(self, schema: Schema) -> Language:
        return ForcingLanguage(super().language(schema).texts)


class MaskLies(ForbidsOne):
    """Breaks the contract: leaves the tokens of ``x-forbidden`` out of its mask, yet takes them."""

    def matcher(self, schema: Schema) -> LanguageMatcher:
        shown = self.language(schema)
        return LanguageMatcher(self.vocabulary, replace(shown, forbidden=frozenset()), shown)


class ConsumeLies(ForbidsOne):
    """Breaks the contract: shows the tokens of ``x-forbidden`` in its mask, yet refuses them."""

    def matcher(self, schema: Schema) -> LanguageMatcher:
        taken = self.language(schema)
        return LanguageMatcher(self.vocabulary, taken, replace(taken, forbidden=frozenset()))


class NeverEnds(Enumerator):
    """Goes on for ever: allows letters without end behind the texts of ``x-open``."""

    def language(self, schema: Schema) -> Language:
        letters = frozenset(schema["x-letters"].encode()) if "x-letters" in schema else _LETTERS
        return replace(super().language(schema), open=_texts(schema, "x-open"), letters=letters)


class Repeats(Enumerator):
    """Goes on in one place: allows the same token again and again, as often as ``x-repeats`` says.

    What is repeated changes nothing about what may be written behind it.
    """

    class Matcher(LanguageMatcher):
        where = b""
        again = -1
        times = 0

        def allowed(self, language: Language) -> Mask:
            mask = super().allowed(language)
            if self.ended or self.written != self.where or not self.times:
                return mask
            return mask | set_bits([self.again], len(mask))

        def consume(self, token: int) -> bool:
            here = self.written == self.where and token == self.again and self.times > 0
            if not here or self.ended:
                return super().consume(token)
            self.times -= 1
            return True

    def matcher(self, schema: Schema) -> Any:
        matcher = super().matcher(schema)
        if "x-repeats" in schema:
            where, token, matcher.times = schema["x-repeats"]
            matcher.where, matcher.again = where.encode(), self.vocabulary.ids_of(token.encode())[0]
        return matcher


class AllowsEverything(Enumerator):
    """Constrains nothing: every ordinary token and the end, at every position, of any schema."""

    class Matcher(LanguageMatcher):
        def allowed(self, language: Language) -> Mask:
            if self.ended:
                return super().allowed(language)
            return self.vocabulary.ordinary_mask | self.vocabulary.eos_mask

    def compile(self, schema: str) -> LanguageMatcher:
        nothing = Language(frozenset())
        return self.Matcher(self.vocabulary, nothing, nothing)


class Contradicts(Enumerator):
    """An adapter of the honest engine; those below contradict themselves behind ``x-fault``."""

    class Matcher(LanguageMatcher):
        where: bytes | None = None
        asked = 0

        def at_fault(self) -> bool:
            return self.written == self.where and not self.ended

        def without(self, mask: Mask) -> Mask:
            """A mask without what is lost."""
            return mask & ~set_bits(self.vocabulary.ids_of(b"2"), len(mask))

    def matcher(self, schema: Schema) -> Any:
        matcher = super().matcher(schema)
        matcher.where = schema["x-fault"].encode() if "x-fault" in schema else None
        return matcher


class LeavesMask(Contradicts):
    """Leaves the array as it was."""

    class Matcher(Contradicts.Matcher):
        def mask(self, out: Mask) -> None:
            if not self.at_fault():
                super().mask(out)


class ChangesMask(Contradicts):
    """Loses the token ``2`` at every other asking, the first among them."""

    class Matcher(Contradicts.Matcher):
        def mask(self, out: Mask) -> None:
            self.asked += 1
            super().mask(out)
            if self.at_fault() and self.asked % 2:
                out[:] = self.without(out)


class LosesInClones(Contradicts):
    """Clones that are made there have lost the token ``2``."""

    class Matcher(Contradicts.Matcher):
        lost = False

        def clone(self) -> Self:
            twin = super().clone()
            twin.lost = self.lost or self.at_fault()
            return twin

        def allowed(self, language: Language) -> Mask:
            mask = super().allowed(language)
            return self.without(mask) if self.lost and self.at_fault() else mask


class ClonesMove(Contradicts):
    """What a clone of a clone that was made there consumes, the first one consumes, too."""

    class Matcher(Contradicts.Matcher):
        twin_of: Any = None

        def clone(self) -> Self:
            twin = super().clone()
            twin.twin_of = self if self.at_fault() else None
            return twin

        def consume(self, token: int) -> bool:
            if self.at_fault() and self.twin_of is not None and self.twin_of.at_fault():
                LanguageMatcher.consume(self.twin_of, token)
            return super().consume(token)


class GoesBeyond(Contradicts):
    """Sets the last bit of the mask, which stands for no token."""

    class Matcher(Contradicts.Matcher):
        def mask(self, out: Mask) -> None:
            super().mask(out)
            if self.at_fault():
                out[-1] |= np.uint32(1 << 31)


class FollowsAll(Contradicts):
    """Its faster way allows everything."""

    class Matcher(Contradicts.Matcher):
        def follow(self, tokens: Sequence[int]) -> int:
            if self.at_fault():
                return len(tokens)
            return follow_by_mask(self, tokens, self.vocabulary.words)


class Hasty(Enumerator):
    """Has a faster way that allows everything, and counts how often that was asked."""

    class Matcher(LanguageMatcher):
        asked = 0

        def follow(self, tokens: Sequence[int]) -> int:
            Hasty.Matcher.asked += 1
            return len(tokens)


class RefusesAll(Enumerator):
    """Declines every schema."""

    def compile(self, schema: str) -> NoReturn:
        raise Refused("this engine refuses every schema")


class Chatty(Enumerator):
    """Prints whenever it is asked, in Python and below it, to both descriptors."""

    class Matcher(LanguageMatcher):
        def mask(self, out: Mask) -> None:
            _chatter("mask")
            super().mask(out)

    def matcher(self, schema: Schema) -> Any:
        _chatter("compile")
        return super().matcher(schema)


def _chatter(what: str) -> None:
    sys.stdout.write(f"chatty: {what} on stdout\n")
    sys.stderr.write(f"chatty: {what} on stderr\n")
    os.write(1, f"chatty: {what} on descriptor 1\n".encode())
    os.write(2, f"chatty: warning: {what} on descriptor 2\n".encode())


def crash() -> None:
    """Die of SIGSEGV."""
    os.kill(os.getpid(), signal.SIGSEGV)


def leave() -> None:
    """End the process with status 3, without any signal."""
    os._exit(3)


def spin() -> None:
    """Hang, and burn the processor doing so, after a word of warning."""
    print("this may take long", flush=True)  # noqa: T201 - engines do
    for _ in range(_ENDLESS):
        sum(range(1000))


def sleep() -> None:
    """Hang, and use no processor time."""
    time.sleep(_ENDLESS)


def eat_memory() -> None:
    """Take memory and write to it, 16 MiB at a time, until stopped."""
    hoard = []
    for _ in range(_ENDLESS):
        hoard.append(bytearray(b"\1") * (16 << 20))  # noqa: PERF401 - all of it must be kept


def raise_error() -> None:
    """Raise an exception that is no `Refused`."""
    raise RuntimeError("a miniature raised on purpose")


class FailsOnCompile(Enumerator):
    """Fails in the way of its class when it compiles a schema with ``x-crash``."""

    fail: ClassVar[Callable[[], None]]

    def matcher(self, schema: Schema) -> LanguageMatcher:
        if "x-crash" in schema:
            type(self).fail()
        return super().matcher(schema)


CrashesOnCompile = type("CrashesOnCompile", (FailsOnCompile,), {"fail": crash})
ExitsOnCompile = type("ExitsOnCompile", (FailsOnCompile,), {"fail": leave})
HangsOnCompile = type("HangsOnCompile", (FailsOnCompile,), {"fail": spin})
EatsMemory = type("EatsMemory", (FailsOnCompile,), {"fail": eat_memory})
RaisesOnCompile = type("RaisesOnCompile", (FailsOnCompile,), {"fail": raise_error})


class FailsOnMask(Enumerator):
    """Fails in the way of its class at the mask behind as many tokens as ``x-crash`` says."""

    fail: ClassVar[Callable[[], None]]

    class Matcher(LanguageMatcher):
        after = -1
        fail: Callable[[], None] = crash

        def mask(self, out: Mask) -> None:
            if self.count == self.after:
                self.fail()
            super().mask(out)

    def matcher(self, schema: Schema) -> Any:
        matcher = super().matcher(schema)
        matcher.after, matcher.fail = schema.get("x-crash", -1), type(self).fail
        return matcher


CrashesOnMask = type("CrashesOnMask", (FailsOnMask,), {"fail": crash})
HangsOnMask = type("HangsOnMask", (FailsOnMask,), {"fail": spin})
RaisesOnMask = type("RaisesOnMask", (FailsOnMask,), {"fail": raise_error})
SleepsOnMask = type("SleepsOnMask", (FailsOnMask,), {"fail": sleep})
EatsOnMask = type("EatsOnMask", (FailsOnMask,), {"fail": eat_memory})


class HangsBehindExtra(AcceptsExtra, HangsOnMask):
    """Allows the texts of ``x-extra``; behind more tokens than the others have, it hangs there."""

    fail = spin


class SlowMasks(Enumerator):
    """Needs a tenth of a second of processor time for every mask."""

    class Matcher(LanguageMatcher):
        def mask(self, out: Mask) -> None:
            began = time.process_time()
            while time.process_time() - began < 0.1:
                sum(range(1000))
            super().mask(out)
