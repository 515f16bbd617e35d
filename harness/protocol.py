"""What the harness asks of an engine: compile a schema, then mask, consume and clone.

This module is the whole border between the harness and an engine. It is imported inside hosts
that may run under another interpreter, so it needs nothing but numpy.

A *mask* is an array of `vocabulary.words` unsigned 32-bit words; bit ``i % 32`` of word
``i // 32`` says whether token ``i`` may come next. The bits of the end-of-sequence ids say
whether generation may end here. Bits beyond the vocabulary's size are zero.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from importlib.metadata import PackageNotFoundError, version
from typing import TYPE_CHECKING, Any, Protocol, Self, TypeVar, runtime_checkable

import numpy as np
import numpy.typing as npt

if TYPE_CHECKING:
    from harness.inputs.vocabulary import Vocabulary as Vocabulary  # noqa: PLC0414 - adapters use it
else:
    Vocabulary = object  # which adapters name in annotations alone

Mask = npt.NDArray[np.uint32]


class Refused(Exception):
    """The engine declines this schema; the message is the engine's own."""


@dataclass(frozen=True)
class Option:
    """One option that an engine spec may set, as in ``xgrammar[any_whitespace=false]``."""

    default: bool | int | str
    help: str
    choices: tuple[str, ...] | None = None


CONFIG = Option(
    "spec",
    "spec: as close to the specification as the engine can get; shipped: as its users get it",
    ("spec", "shipped"),
)
"""The option that selects a whole configuration; every built-in adapter has it as ``config``."""

ONLY_CONFIG = Option(
    CONFIG.default, "spec and shipped are the same: there is nothing to choose from", CONFIG.choices
)
"""The same for an engine that has one configuration."""


SEPARATORS = Option(
    "auto",
    "after items and keys, compact: ',' and ':'; spaced: ', ' and ': '; auto: the library's own",
    ("auto", "compact", "spaced"),
)
"""The option of adapters whose library can be told separators; what it stands for: `SEPARATED`."""

SEPARATED: Mapping[str, tuple[str, str]] = {"compact": (",", ":"), "spaced": (", ", ": ")}


def switch(help_text: str) -> Option:
    """An option that overrides one on-off setting of the configuration that `CONFIG` selects."""
    return Option("auto", f"{help_text}; auto: as config has it", ("auto", "true", "false"))


@dataclass(frozen=True)
class EngineInfo:
    """Which engine this is, exactly: part of every result that it takes part in."""

    name: str
    version: str
    options: Mapping[str, bool | int | str] = field(default_factory=dict)
    packages: Mapping[str, str] = field(default_factory=dict)
    """Versions of the distributions that decide the masks, the engine's own among them."""
    build: str = ""
    """What tells a build at hand, or a foreign adapter, from others; the harness sets it."""

    @classmethod
    def installed(
        cls,
        distribution: str,
        options: Mapping[str, bool | int | str],
        *others: str,
        name: str | None = None,
    ) -> Self:
        """An engine that is `distribution`, as installed, with those of `others` that are."""
        packages = {distribution: version(distribution)}
        for other in others:
            with suppress(PackageNotFoundError):
                packages[other] = version(other)
        return cls(name or distribution, packages[distribution], dict(options), packages)


@runtime_checkable
class Matcher(Protocol):
    """An engine's state for one schema. Not shared between threads."""

    def mask(self, out: Mask) -> None:
        """Overwrite `out`, shape ``(words,)``, with the tokens allowed next.

        Pure: asking twice gives the same mask, and nothing that follows changes by it. After an
        end-of-sequence token was consumed every bit is zero.
        """

    def consume(self, token: int) -> bool:
        """Advance by one token; False, with the state unchanged, when it is refused.

        Consuming an end-of-sequence id is refused unless the value may end here; after it the
        matcher has ended and refuses everything.
        """

    def clone(self) -> Self:
        """An independent matcher in the same state."""


@runtime_checkable
class FollowingMatcher(Matcher, Protocol):
    """A matcher that can try many tokens in one go, faster than mask and consume in turn."""

    def follow(self, tokens: Sequence[int]) -> int:
        """How many leading `tokens` may be consumed one after another; the state is unchanged.

        Must equal `follow_by_mask` on every input. What is inherited consumes on a clone.
        """
        trial = self.clone()
        return next((at for at, one in enumerate(tokens) if not trial.consume(one)), len(tokens))


class Engine(Protocol):
    """A constrained-decoding library in one exact version and configuration.

    Class attributes are readable without the library being installed.
    """

    OPTIONS: Mapping[str, Option]
    DISTRIBUTION: str
    """The PyPI distribution whose version is the engine's version."""
    # It may also have `TESTED`, a version of that distribution with which it keeps the rules: where
    # none is installed and none is asked for, that is installed for its hosts. `SLOW_MASKS` is True
    # where a mask takes milliseconds, `SLOW_TEXTS` where to consume a token does: less is asked of
    # such an engine. `SCRIPT_NEEDS` are further requirements of its texts in ``adapters/scripts``,
    # templates of functions' bodies that ask the library alone (`harness.bugs.scripts`).

    info: EngineInfo

    def __init__(self, vocabulary: Vocabulary, options: Mapping[str, bool | int | str]) -> None:
        """Import the library and prepare it for `vocabulary`; `options` hold every key."""

    def compile(self, schema: str) -> Matcher:
        """A matcher at the start of a text, for the JSON Schema whose JSON text is `schema`.

        Raises:
            Refused: The engine declines the schema. An engine that is lazy computes its first
                mask here, so that what it cannot do shows at compilation.
        """

    # `compile_regex(pattern)` does the same for a regular expression that the whole text matches,
    # where the class has a `REGEX_DIALECT`: `ecma`, `python` or `rust`, the one that it documents.

    # `bytes_differ_on_purpose` may be true where a configuration is known to hold other bytes than
    # the vocabulary for some tokens: no defect of the adapter.

    def token_bytes(self, ids: Sequence[int]) -> list[bytes | None]:
        """What the library itself holds as the bytes of `ids`; None where it cannot be asked."""


Masks = npt.NDArray[np.uint32]
"""Masks one below the other, shape ``(rows, words)``, rows beside each other in memory."""


@dataclass(frozen=True)
class LibraryCalls:
    """A library's own matcher, as a server drives it: each call is the library's own.

    `maskcourt protocol` holds these calls against each other. What a library, or this version of
    it, has no call for is None and is shown as missing. An adapter puts nothing right here; all
    that it does is to turn an exception that stands for a refusal into one.

    Attributes:
        mask: Write the mask of the next token, as `Matcher.mask`. Bits beyond the vocabulary may be
            anything.
        consume: Advance by one token; False where it is refused, and the state may be spoilt then.
        native: The library's matcher, for calls that are given several.
        attempt: As `consume`, but a refused token leaves the state as it is.
        rollback: Undo so many tokens; `reset` undoes all.
        completed: Whether what was consumed is a complete text, so that generation may end here.
        terminated: Whether no token but an end of sequence may follow.
        forced_bytes: Bytes that must come next; empty where there are none.
        forced_tokens: Tokens that may come next without a look at the mask.
        validate: How many of the leading tokens may be consumed; the state stays.
        draft_masks: Write the mask here, and that after each token of a draft, as far as it may be
            consumed, to the rows of an array; the state stays.
        draft_tree: The same of a tree: some tokens, and after which of them each stands, -1 for
            here. The rows of refused tokens may hold anything.
        fill_row: Write the mask to one row of an array.
        fill_rows: Write the masks of several matchers to rows of an array, on several threads.
    """

    mask: Callable[[Mask], object]
    consume: Callable[[int], bool]
    native: Any = None
    attempt: Callable[[int], bool] | None = None
    clone: Callable[[], LibraryCalls] | None = None
    rollback: Callable[[int], object] | None = None
    reset: Callable[[], object] | None = None
    completed: Callable[[], bool] | None = None
    terminated: Callable[[], bool] | None = None
    forced_bytes: Callable[[], bytes] | None = None
    forced_tokens: Callable[[], Sequence[int]] | None = None
    validate: Callable[[Sequence[int]], int] | None = None
    draft_masks: Callable[[Sequence[int], Masks], object] | None = None
    draft_tree: Callable[[Sequence[int], Sequence[int], Masks], object] | None = None
    fill_row: Callable[[Masks, int], object] | None = None
    fill_rows: Callable[[Sequence[LibraryCalls], Sequence[int], Masks], object] | None = None


@dataclass(frozen=True)
class Library:
    """One schema, compiled by a library, with what was told to it.

    Attributes:
        fresh: A matcher at the start of a text, new each time.
        special_is_text: Whether it was told, on purpose, that special tokens are text.
        documented: What its documentation says that it does otherwise, by the name of the rule
            (`harness.protocol_checks.rules.RULES`), with the words and where they stand.
        by_adapter: Whether the calls are an adapter's that gives none of the library's own.
    """

    fresh: Callable[[], LibraryCalls]
    ends: tuple[int, ...]
    special_is_text: bool = False
    documented: Mapping[str, str] = field(default_factory=dict)
    by_adapter: bool = False


@runtime_checkable
class ServingEngine(Engine, Protocol):
    """An engine whose adapter gives its library's own calls."""

    def library(self, schema: str) -> Library:
        """`schema` as `compile` compiles it, or refuses it, to be asked without the adapter."""


_M = TypeVar("_M", bound=Matcher)


def copied(matcher: _M, **changed: Any) -> _M:
    """A copy of `matcher` with other attributes; in a third of the time that copy.copy takes."""
    twin = object.__new__(type(matcher))
    twin.__dict__.update(matcher.__dict__, **changed)
    return twin


def calls_of(matcher: Matcher) -> LibraryCalls:
    """What an adapter's matcher answers itself, where it gives none of its library's own calls."""
    return LibraryCalls(
        matcher.mask,
        matcher.consume,
        matcher,
        attempt=matcher.consume,
        clone=lambda: calls_of(matcher.clone()),
        validate=getattr(matcher, "follow", None),
    )


def library_of(start: Callable[[], Matcher], ends: tuple[int, ...], **about: Any) -> Library:
    """An adapter as a library; `start` gives a matcher at the start of a text, new each time."""
    return Library(lambda: calls_of(start()), ends, by_adapter=True, **about)


def allows(mask: Mask, token: int) -> bool:
    """Whether the bit of `token` is set in `mask`."""
    return bool((int(mask[token >> 5]) >> (token & 31)) & 1)


def set_bits(ids: Iterable[int], words: int) -> Mask:
    """A mask of `words` words with exactly the bits of `ids` set."""
    index = np.fromiter(ids, dtype=np.int64)
    bits = np.zeros(words * 32, dtype=np.uint8)
    bits[index] = 1
    return np.packbits(bits, bitorder="little").view(np.uint32)


def token_ids(mask: Mask, size: int) -> npt.NDArray[np.int32]:
    """The ids below `size` whose bits are set in `mask`, ascending."""
    words = np.flatnonzero(mask)
    if len(words) > 256:  # then it is faster to look at all bits of the mask
        bits = np.unpackbits(mask.view(np.uint8), bitorder="little", count=size)
        every: npt.NDArray[np.int32] = np.flatnonzero(bits.view(np.bool_)).astype(np.int32)
        return every
    bits = np.unpackbits(mask[words].view(np.uint8), bitorder="little")
    at = np.flatnonzero(bits.view(np.bool_))
    ids: npt.NDArray[np.int32] = (words[at >> 5] * 32 + (at & 31)).astype(np.int32)
    return ids[ids < size]


def mask_by(write: Callable[[Mask], object], words: int) -> Mask:
    """What `write`, as `Matcher.mask`, writes; a mask that is not written allows nothing."""
    mask = np.zeros(words, dtype=np.uint32)
    write(mask)
    return mask


def nth_token(mask: Mask, index: int) -> int:
    """``token_ids(mask, …)[index]``, without listing the others; it must have so many."""
    ends = np.cumsum(np.bitwise_count(mask), dtype=np.int64)
    word = int(np.searchsorted(ends, index, side="right"))
    bits = int(mask[word])
    for _ in range(index - (int(ends[word - 1]) if word else 0)):
        bits &= bits - 1  # without its lowest bit
    return word * 32 + (bits & -bits).bit_length() - 1


def follow_by_mask(matcher: Matcher, tokens: Sequence[int], words: int) -> int:
    """How many leading `tokens` a clone of `matcher` allows, its mask looked at before each.

    The slow, obvious definition of "allowed token by token" that every faster way is held to.
    """
    trial = matcher.clone()
    for count, token in enumerate(tokens):
        mask = mask_by(trial.mask, words)
        inside = 0 <= token < 32 * words
        if not inside or not allows(mask, token) or not trial.consume(token):
            return count
    return len(tokens)


def complete_options(
    known: Mapping[str, Option], given: Mapping[str, Any]
) -> dict[str, bool | int | str]:
    """`given` with the defaults of `known` filled in, in the order of `known`.

    Raises:
        KeyError: An option that is not known; its argument is the name.
        ValueError: A value of the wrong type, or not among the choices.
    """
    for name in given:
        if name not in known:
            raise KeyError(name)
    out: dict[str, bool | int | str] = {}
    for name, option in known.items():
        value = given.get(name, option.default)
        if type(value) is not type(option.default):
            wanted = type(option.default).__name__
            raise ValueError(f"{name}={value!r} is not of type {wanted}")
        if option.choices and value not in option.choices:
            raise ValueError(f"{name}={value!r} is not one of {', '.join(option.choices)}")
        out[name] = value
    return out


def settle_switches(
    options: Mapping[str, bool | int | str], presets: Mapping[str, Mapping[str, bool]]
) -> dict[str, bool]:
    """The on-off settings of the preset that ``config`` names, with explicit ones put over them.

    An explicit ``true`` or ``false`` wins over the configuration, whichever is written first:
    ``xgrammar[config=shipped,strict_mode=false]`` is as shipped but for `strict_mode`.
    """
    preset = presets[str(options["config"])]
    return {
        name: value if options[name] == "auto" else options[name] == "true"
        for name, value in preset.items()
    }
