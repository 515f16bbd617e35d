"""A rule, and one trial of it: a library's fresh matchers after some consumed tokens.

Whatever a rule compares, it compares with a matcher that is new and was led to the place by nothing
but consuming. So a complaint rests on what is in the trial alone, and repeating it is repeating the
trial. This runs inside the host, next to the library, and needs nothing but numpy.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache, partial
from typing import Any

import numpy as np

from harness.completion.rollout import Preferences
from harness.completion.text_writer import TextWriter
from harness.inputs.vocabulary import Vocabulary
from harness.protocol import Library, LibraryCalls, Mask, Masks, Matcher, allows, mask_by, token_ids

Tokens = tuple[int, ...]
Complaints = Iterator[str]
"""What is wrong, in words; an empty text is nothing."""

_UNTOUCHED = 0xA5A5A5A5


class Unreachable(Exception):
    """The library does not consume the tokens that lead to where a rule is to be tried."""


class Subject:
    """A schema as one library compiled it; `mark` is told what is going to be tried after what."""

    def __init__(
        self,
        library: Library,
        vocabulary: Vocabulary,
        mark: Callable[[Tokens, Tokens | None], object] = lambda *_: None,
    ) -> None:
        self.library, self.vocabulary, self.mark = library, vocabulary, mark
        kept = max(1, (1 << 23) // vocabulary.words)  # 32 MiB
        self.mask_at: Callable[[Tokens], Mask] = lru_cache(kept)(self._mask_at)
        """The mask of a fresh matcher after some tokens; read-only. Raises as `at` does."""
        self.reaches: Callable[[Tokens], bool] = lru_cache(1 << 14)(
            lambda consumed: led(self.library.fresh(), consumed) == len(consumed)
        )
        """Whether a fresh matcher, which may take milliseconds, consumes all of some tokens."""

    def at(self, consumed: Tokens) -> Any:
        """The `LibraryCalls` of a fresh matcher after `consumed`; raises `Unreachable`.

        Calls that a rule needs are not None there, which no type says.
        """
        calls = self.library.fresh()
        if led(calls, consumed) < len(consumed):
            raise Unreachable
        return calls

    def _mask_at(self, consumed: Tokens) -> Mask:
        mask = self.mask(self.at(consumed))
        mask.setflags(write=False)
        return mask

    def mask(self, calls: LibraryCalls) -> Mask:
        """What a matcher says may come next, shape ``(words,)``, with all bits that it sets."""
        return mask_by(calls.mask, self.vocabulary.words)

    def ends_at(self, consumed: Tokens) -> bool:
        mask = self.mask_at(consumed)
        return any(allows(mask, end) for end in self.library.ends)

    def ordinary(self, mask: Mask) -> list[int]:
        found = token_ids(mask & self.vocabulary.ordinary_mask, self.vocabulary.size)
        return list(found.tolist())

    def named(self, token: int) -> str:
        return named(self.vocabulary, token)

    def differ(self, found: Mask, expected: Mask) -> str:
        """How a mask differs from the expected one, in words; empty where it does not."""
        differing = found ^ expected
        if not differing.any():
            return ""
        first = int(token_ids(differing, 32 * len(differing))[0])
        many = int(np.bitwise_count(differing).sum())
        which = "allowed" if allows(found, first) else "forbidden"
        return f"{many} bits differ: {self.named(first)} is {which} there"

    def moved(self, calls: LibraryCalls, consumed: Tokens, onward: Tokens = ()) -> str:
        """How a matcher is elsewhere than a fresh one after `consumed`, or goes on otherwise."""
        if words := self.differ(self.mask(calls), self.mask_at(consumed)):
            return words
        for count, token in enumerate(onward, 1):
            taken, expected = calls.consume(token), self.reaches(consumed + onward[:count])
            if taken != expected:
                which = "is consumed, and a fresh matcher refuses it" if taken else "is refused"
                return f"then {self.named(token)} {which}"
            if not taken or token in self.library.ends:
                return ""
            if words := self.differ(self.mask(calls), self.mask_at(consumed + onward[:count])):
                return f"then, after {self.named(token)}, {words}"
        return ""

    def empty_rows(self, count: int) -> Masks:
        """Rows for masks, shape ``(count, words)``, in which it shows whether they are written."""
        return np.full((count, self.vocabulary.words), _UNTOUCHED, dtype=np.uint32)


def named(vocabulary: Vocabulary, token: int) -> str:
    known = 0 <= token < vocabulary.size
    return f"token {token} {vocabulary.tokens[token]!r}" if known else f"id {token}"


def text_of(vocabulary: Vocabulary, tokens: Tokens) -> str:
    """What tokens write, for people."""
    return b"".join([vocabulary.tokens[token] for token in tokens]).decode("utf-8", "replace")


def untouched(row: Mask) -> bool:
    """Whether nothing was written to a row of `Subject.empty_rows`."""
    return bool((row == _UNTOUCHED).all())


def unlike(calls: LibraryCalls, expected: Mask) -> Mask:
    """The bits in which a mask, written over the inverse of the expected one, is not that.

    So a word that is not written shows in all its bits.
    """
    found = ~expected
    calls.mask(found)
    return found ^ expected


def unwritten(differing: Mask, within: Mask | np.uint32) -> int:
    """How many words of `unlike` were not written, if all that differ were not; else 0."""
    some = differing != 0
    return int(some.sum()) if np.array_equal(differing[some], (some * within)[some]) else 0


def led(calls: LibraryCalls, tokens: Sequence[int]) -> int:
    """How many of the leading `tokens` a matcher consumes; it stays after them."""
    return next((n for n, token in enumerate(tokens) if not calls.consume(token)), len(tokens))


def prefixed(words: str, text: str) -> str:
    """`text` after some words of where it was met; nothing where it is empty."""
    return f"{words}: {text}" if text else ""


@dataclass(frozen=True)
class TrialPlace:
    """Where rules are tried."""

    consumed: Tokens
    rest: Tokens
    """Tokens that may go on from there, with the end of sequence if the way comes to it."""
    draws: random.Random
    sweep: int | None
    """How many tokens are tried one by one; None for the whole vocabulary."""

    def some(self, tokens: Sequence[int], count: int) -> list[int]:
        """At most `count` of some tokens, drawn."""
        return self.draws.sample(tokens, min(len(tokens), count))


@dataclass(frozen=True)
class Offered:
    """The trials of a rule at a place, each of some tokens.

    `checks` says how many things were looked at to find these; None where each trial is one.
    """

    trials: Sequence[Tokens]
    checks: int | None = None


Judge = Callable[[Subject, Tokens, Tokens], Complaints]
"""Tries a rule after consumed tokens with some more. May raise whatever the library raises."""


@dataclass(frozen=True)
class Rule:
    """Something that a server relies on: `says` what holds where it is kept.

    `needs` names the calls (fields of `LibraryCalls`) without which it cannot be tried, `applies`
    says why it cannot be held against a library; with `shrinks` fewer tokens make a trial, too.
    """

    says: str
    needs: tuple[str, ...]
    offer: Callable[[Subject, TrialPlace], Offered]
    judge: Judge
    applies: Callable[[Library], str]
    shrinks: bool

    def missing(self, library: Library) -> str:
        """What keeps the rule from being tried, in words; empty where nothing does."""
        calls = library.fresh()
        lacking = [name for name in self.needs if getattr(calls, name) is None]
        return f"no {' and no '.join(lacking)}" if lacking else self.applies(library)


RULES: dict[str, Rule] = {}
"""All rules that were registered, by name."""


def rule(
    *needs: str,
    offer: Callable[[Subject, TrialPlace], Offered] = lambda *_: Offered([()]),
    applies: Callable[[Library], str] = lambda _: "",
    shrinks: bool = False,
) -> Callable[[Judge], Judge]:
    """Register a judge as the rule of its name; its docstring says what holds."""

    def register(judge: Judge) -> Judge:
        says = (judge.__doc__ or "").strip().rstrip(".")
        RULES[judge.__name__] = Rule(
            says[:1].lower() + says[1:], needs, offer, judge, applies, shrinks
        )
        return judge

    return register


@dataclass(frozen=True)
class Violation:
    """A trial in which a rule was broken."""

    consumed: Tokens
    tokens: Tokens | None
    """Those of the trial; None where it was still being looked for what to try."""
    complaint: str
    again: bool
    """Whether the same trial, repeated at once, gave a complaint."""
    written: str
    """What `consumed` writes, for people."""

    @property
    def size(self) -> tuple[bool, int, int, Tokens]:
        """By which the smallest of several is found; one that shows again is smaller."""
        tokens = self.tokens or ()
        return not self.again, len(self.consumed), len(tokens), tokens


@dataclass(frozen=True)
class RuleResult:
    """How a library keeps one rule on one case."""

    checks: int = 0
    """How many things were looked at."""
    broken: int = 0
    """How many trials broke it."""
    failed: int = 0
    """How many could not be judged because the library raised."""
    words: str = ""
    """Why it could not be tried, or what was raised first; else empty."""
    ended: str = ""
    """How the process ended over it, which leaves the rest of it untried; else empty."""
    crashed: bool = False
    """Whether that was a crash; the trial, where it is known, is all of `violated`."""
    violated: Sequence[Violation] = ()
    """The smallest of those that broke it."""

    @property
    def missing(self) -> bool:
        return not self.checks and not self.failed and bool(self.words)


def read_result(message: Mapping[str, Any]) -> RuleResult:
    """A `RuleResult` from JSON."""

    def read(consumed: Sequence[int], tokens: Sequence[int] | None, **rest: Any) -> Violation:
        return Violation(tuple(consumed), None if tokens is None else tuple(tokens), **rest)

    return RuleResult(**{**message, "violated": [read(**one) for one in message["violated"]]})


def judged(rule: Rule, subject: Subject, consumed: Tokens, tokens: Tokens | None) -> str | None:
    """The complaint of one trial; None where there is none, or it cannot be come to.

    Without tokens it is only looked for what there would be to try, which some processes die of.
    """
    subject.mark(consumed, tokens)
    try:
        if tokens is None:
            rule.offer(subject, TrialPlace(consumed, (), random.Random(0), 0))  # noqa: S311
            return None
        return next(filter(None, rule.judge(subject, consumed, tokens)), None)
    except Unreachable:
        return None
    except Exception:
        raise
    except BaseException as error:
        if type(error).__name__ != "PanicException":  # of libraries in Rust
            raise
        return f"it panics: {error}"


def hold(rule: Rule, subject: Subject, places: Iterable[TrialPlace]) -> RuleResult:
    """Try a rule at places; what it raises is the library's, and no complaint."""
    if words := rule.missing(subject.library):
        return RuleResult(words=words)
    checks, raised = 0, list[str]()
    violations: list[Violation] = []
    for place in places:
        subject.mark(place.consumed, None)
        trials: list[Tokens | None] = [None]
        while trials:
            tokens = trials.pop(0)
            try:
                if tokens is None:
                    offered = rule.offer(subject, place)
                    checks += len(offered.trials) if offered.checks is None else offered.checks
                    trials += offered.trials
                elif violation := _judged_twice(rule, subject, place.consumed, tokens):
                    violations.append(violation)
            except Unreachable:
                continue
            except MemoryError:
                raise
            except BaseException as error:  # noqa: BLE001 - a panic is none of Exception
                raised.append(" ".join(f"{type(error).__name__}: {error}".split())[:300])
    violations.sort(key=lambda one: one.size)
    first, kept = raised[0] if raised else "", violations[:3]
    return RuleResult(checks, len(violations), len(raised), first, violated=kept)


def _judged_twice(
    rule: Rule, subject: Subject, consumed: Tokens, tokens: Tokens
) -> Violation | None:
    """One trial, made again where it complains, with as few tokens as complain."""
    complaint = judged(rule, subject, consumed, tokens)
    if complaint is None:
        return None
    again = judged(rule, subject, consumed, tokens) is not None
    for count in range(1, len(tokens) if rule.shrinks and again else 0):
        if shorter := judged(rule, subject, consumed, tokens[:count]):
            complaint, tokens = shorter, tokens[:count]
            break
    return Violation(consumed, tokens, complaint, again, text_of(subject.vocabulary, consumed))


@dataclass(frozen=True)
class Thoroughness:
    """How much is tried of a case; all choices depend on the seed."""

    seed: int = 0
    samples: int = 2
    """Texts of each schema that each engine writes, to be tried along."""
    positions: int = 6
    """Places of each text."""
    whole: int = 2
    """Places of each case where all of a large vocabulary is tried."""
    tokens: int = 1000
    """That are tried at the other places."""


def routes_of(
    start: Matcher, vocabulary: Vocabulary, references: Sequence[bytes], how: Thoroughness, key: str
) -> list[Tokens]:
    """The routes of a case: along each reference as far as it is allowed, then the samples.

    A way that comes to the end has an end of sequence as its last token. `start` stays where it is.
    """

    def longest_first(text: bytes, offset: int) -> Sequence[int]:
        return vocabulary.starts(text, offset)[::-1]

    routes = [
        along(start.clone(), vocabulary, text, partial(longest_first, text)) for text in references
    ]
    if how.samples:
        writer = TextWriter(vocabulary, Preferences.of(vocabulary))
        written = writer.write(start, [], f"{how.seed}/{key}", range(how.samples))
        routes += [one.tokens for one in written]
    return list(dict.fromkeys(routes))


def along(
    matcher: Matcher, vocabulary: Vocabulary, text: bytes, tokens_at: Callable[[int], Sequence[int]]
) -> Tokens:
    """Along a text, by the first allowed of the tokens that are named for each offset."""
    way: list[int] = []
    at = 0
    while True:
        mask = mask_by(matcher.mask, vocabulary.words)
        if at == len(text):
            return (*way, vocabulary.eos) if allows(mask, vocabulary.eos) else tuple(way)
        token = next((one for one in tokens_at(at) if allows(mask, one)), -1)
        if token < 0 or not matcher.consume(token):
            return tuple(way)
        way.append(token)
        at += len(vocabulary.tokens[token])


def places_of(
    routes: Sequence[Tokens], vocabulary: Vocabulary, how: Thoroughness, key: str
) -> Iterator[TrialPlace]:
    """Places along routes, each once: the start and the end of each, and some between.

    The choice of tokens depends on `key`, the places on `how` alone.
    """
    places: dict[Tokens, Tokens] = {}
    for number, way in enumerate(routes or [()]):
        last = len(way) - (way[-1:] != () and way[-1] in vocabulary.eos_ids)
        draws = random.Random(f"{how.seed}/{number}/{last}")  # noqa: S311 - to be repeated
        between = draws.sample(range(1, last), min(max(last - 1, 0), max(how.positions - 2, 0)))
        for at in (0, *between, last):
            places.setdefault(way[:at], way[at : at + 5])
    small = vocabulary.size <= 4096  # always gone through as a whole
    for number, (consumed, rest) in enumerate(places.items()):
        draws = random.Random(f"{how.seed}/{key}/{number}")  # noqa: S311 - as above
        yield TrialPlace(consumed, rest, draws, None if small or number < how.whole else how.tokens)
