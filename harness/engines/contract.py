"""The contract that every engine keeps, as checks that ``engines verify`` and any tests can call.

A check raises `ContractBroken` with the position at which the contract is broken. It does not judge
what a schema allows: that mask, `consume`, `clone` and `follow` tell one story is an engine's duty
whatever it allows.
"""

from __future__ import annotations

import json
import random
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from harness.engines.servers import ServerEngine
from harness.inputs.vocabulary import Vocabulary
from harness.inputs.vocabulary_hostile import hostile_vocabulary
from harness.protocol import (
    Engine,
    FollowingMatcher,
    LeadingMatcher,
    Mask,
    Matcher,
    Refused,
    allows,
    complete_options,
    follow_by_mask,
    token_ids,
)

OBJECT = json.dumps(
    {
        "type": "object",
        "properties": {
            "name": {"type": "string"},
            "tags": {"type": "array", "items": {"enum": ["red", "green", "blue"]}, "maxItems": 3},
            "n": {"type": "integer"},
        },
        "required": ["name", "tags", "n"],
        "additionalProperties": False,
    }
)
TEXTS: Mapping[str, Sequence[str]] = {
    OBJECT: [
        '{"name": "the é\\n日b😀", "tags": ["red", "blue"], "n": -12}',
        '{"name":"","tags":[],"n":0}',
    ],
    '{"type": "integer"}': ["0", "120"],
    '{"anyOf": [{"type": "null"}, {"type": "array", "items": {"type": "number"}}]}': [
        "null",
        "[1, 2.5]",
    ],
    '{"type": "string", "maxLength": 3}': ['"ab"', '"日本a"'],
    '{"enum": [1, 12, "a", null]}': ["1", '"a"'],
}
"""Schemas, with texts of each that engines of every make are led along."""


def small_vocabulary(eos_count: int = 1) -> Vocabulary:
    """See `harness.inputs.vocabulary_hostile.hostile_vocabulary`."""
    return hostile_vocabulary(eos_count)


class ContractBroken(AssertionError):
    """The contract is broken: where and how."""


class NotAllowed(ContractBroken):
    """The engine does not allow a text that it was to be led along."""


def _hold(fact: object, message: str, *parts: object) -> None:
    """Raise `ContractBroken`, `parts` put into `message`; an ``assert`` could be switched off."""
    if not fact:
        raise ContractBroken(message.format(*parts))


@dataclass(frozen=True)
class Contract:
    """What is checked, and how thoroughly: `sample` tokens of a vocabulary with more than that."""

    vocabulary: Vocabulary
    sample: int = 2000
    seed: int = 0
    positions: int = 5
    """At how many positions inside of each text a state is examined, beside its ends."""
    specials_leak: bool = False
    """Whether the engine allows special tokens as text (a known fault of a configuration)."""

    def check(self, engine: Engine, texts: Mapping[str, Sequence[str]]) -> None:
        """Walk along `texts`, by schema; the engine must accept them in some tokenisation.

        Raises:
            ContractBroken: The contract is broken.
            NotAllowed: The engine does not allow a text.
        """
        for schema, some in texts.items():
            lead = self.leader(engine, schema)
            for text in some:
                try:
                    lead(text)
                except ContractBroken as error:
                    raise type(error)(f"{engine.info.name}, {schema}, {text}: {error}") from error

    def leader(self, engine: Engine, schema: str) -> Callable[[str], None]:
        """Compile `schema`; gives what walks along one text of it, and raises as `check` does."""
        start = engine.compile(schema)

        def lead(text: str) -> None:
            rng = random.Random(f"{self.seed}/{schema}/{text}")  # noqa: S311 - to be repeated
            self._walk(start.clone(), text.encode(), rng)

        return lead

    def _walk(self, matcher: Matcher, text: bytes, rng: random.Random) -> None:
        examined = {0, len(text), *(rng.randrange(len(text)) for _ in range(self.positions))}
        at = 0
        self._examine(matcher, text, at, rng)
        while at < len(text):
            token = self._step(mask_of(matcher, self.vocabulary), text, at, rng)
            _hold(matcher.consume(token), "refuses {} of its mask behind {!r}", token, text[:at])
            before, at = at, at + len(self.vocabulary.tokens[token])
            if any(before < one <= at for one in examined):
                self._examine(matcher, text, at, rng)
        self._check_end(matcher)

    def _step(self, mask: Mask, text: bytes, at: int, rng: random.Random) -> int:
        """A token that goes on along `text` from `at`, and that `mask` allows."""
        allowed = [one for one in self.vocabulary.starts(text, at) if allows(mask, one)]
        if not allowed:
            raise NotAllowed(f"no token may be taken behind {text[:at]!r}")
        return rng.choice(allowed)

    def _examine(self, matcher: Matcher, text: bytes, at: int, rng: random.Random) -> None:
        try:
            mask = mask_of(matcher, self.vocabulary)
            self._check_mask(mask)
            self._check_agreement(matcher, mask, rng)
            if isinstance(matcher, FollowingMatcher):
                self._check_follow(matcher, mask, text[at:], rng)
            assert_same(mask_of(matcher, self.vocabulary), mask, "asking changed the state")
            self._check_clone(matcher, mask, rng)
        except ContractBroken as error:
            raise ContractBroken(f"behind {text[:at]!r}: {error}") from error

    def _check_mask(self, mask: Mask) -> None:
        words = mask[-1:].view(np.uint8)
        beyond = np.unpackbits(words, bitorder="little")[self.vocabulary.size % 32 or 32 :]
        _hold(not beyond.any(), "bits beyond the vocabulary are set")
        ends = {allows(mask, token) for token in self.vocabulary.eos_ids}
        _hold(len(ends) == 1, "end-of-sequence ids differ")
        if not self.specials_leak:
            leaked = mask & self.vocabulary.special_mask & ~self.vocabulary.eos_mask
            _hold(not leaked.any(), "special tokens are allowed")

    def _check_agreement(self, matcher: Matcher, mask: Mask, rng: random.Random) -> None:
        """`consume` accepts what the mask allows, refuses the rest, and stays where it is then."""
        stubborn, tokens = matcher.clone(), self.vocabulary.tokens
        for count, token in enumerate(self._tokens(mask, rng)):
            if allows(mask, token):
                taken = matcher.clone().consume(token)
                _hold(taken, "refuses token {} {!r} of its mask", token, tokens[token])
                continue
            taken = stubborn.consume(token)
            _hold(not taken, "takes token {} {!r}, not in its mask", token, tokens[token])
            if count % 64 == 0:
                assert_same(mask_of(stubborn, self.vocabulary), mask, "moved by a refused token")
        size = self.vocabulary.size
        for token in (-1, -size, size, size + 5, (size + 31) // 32 * 32, 2**31, 2**40):
            _hold(not stubborn.consume(token), "takes {}, which is no id", token)
        assert_same(mask_of(stubborn, self.vocabulary), mask, "moved by refused tokens")

    def _tokens(self, mask: Mask, rng: random.Random) -> list[int]:
        size = self.vocabulary.size
        if size <= self.sample:
            return list(range(size))
        allowed = token_ids(mask, size).tolist()
        special = np.flatnonzero(self.vocabulary.special).tolist()
        some = rng.sample(range(size), self.sample // 2)
        return special + some + rng.sample(allowed, min(len(allowed), self.sample // 2))

    def _check_follow(
        self, matcher: FollowingMatcher, mask: Mask, rest: bytes, rng: random.Random
    ) -> None:
        for tokens in self._continuations(mask, rest, rng):
            fast = matcher.follow(tokens)
            slow = follow_by_mask(matcher, tokens, self.vocabulary.words)
            _hold(fast == slow, "follows {} of {}, but {} by its masks", fast, tokens, slow)
            if isinstance(matcher, LeadingMatcher) and tokens:
                led = matcher.follow_behind(tokens[0], tokens[1:])
                message = "follows {} of {} behind the first, not {}"
                _hold(led == slow, message, led, tokens, slow)
                if led == len(tokens):
                    self._check_led(matcher, mask, tokens[1:], rng)

    def _check_led(
        self, matcher: LeadingMatcher, mask: Mask, tail: list[int], rng: random.Random
    ) -> None:
        """What stands before a tail that worked may change: no answer is remembered."""
        for first in rng.sample(self._tokens(mask, rng), 8):
            led = matcher.follow_behind(first, tail)
            slow = follow_by_mask(matcher, [first, *tail], self.vocabulary.words)
            _hold(led == slow, "follows {} of {} behind {}, not {}", led, tail, first, slow)

    def _continuations(self, mask: Mask, rest: bytes, rng: random.Random) -> Iterator[list[int]]:
        """Good and bad continuations: to the end, beyond it, with what must stop them amid."""
        vocabulary, eos = self.vocabulary, self.vocabulary.eos
        greedy = vocabulary.encode_greedy(rest)
        yield []
        for end in vocabulary.eos_ids:
            yield [end]
            yield [end, end]
            yield [*greedy, end]
        yield [*greedy, eos, eos, *greedy]
        for _ in range(3):
            tokens = [*self._split(rest, rng), eos]
            yield tokens
            cut = rng.randrange(len(tokens))
            anything = rng.randrange(vocabulary.size)
            special = rng.choice(np.flatnonzero(vocabulary.special).tolist())
            for stray in (eos, special, vocabulary.size, -1, anything):
                yield [*tokens[:cut], stray, *tokens[cut:]]
        allowed = token_ids(mask, vocabulary.size).tolist()
        for _ in range(5 if allowed else 0):
            noise = [rng.randrange(vocabulary.size) for _ in range(3)]
            yield [rng.choice(allowed), *noise, eos]
            yield [rng.choice(allowed), rng.choice(allowed), *greedy, eos]

    def _split(self, text: bytes, rng: random.Random) -> list[int]:
        tokens, at = [], 0
        while at < len(text):
            tokens.append(rng.choice(self.vocabulary.starts(text, at)))
            at += len(self.vocabulary.tokens[tokens[-1]])
        return tokens

    def _check_clone(self, matcher: Matcher, mask: Mask, rng: random.Random) -> None:
        """Neither a clone nor its original notices what the other one consumes."""
        allowed = token_ids(mask, self.vocabulary.size).tolist()
        if not allowed:
            return
        first, second = matcher.clone(), matcher.clone()
        token = rng.choice(allowed)
        _hold(first.consume(token), "a clone refuses {} of its mask", token)
        assert_same(mask_of(matcher, self.vocabulary), mask, "moved by its clone")
        assert_same(mask_of(second, self.vocabulary), mask, "moved by another clone")
        again = first.clone()
        _hold(second.consume(token), "another clone refuses {} of its mask", token)
        after = mask_of(second, self.vocabulary)
        assert_same(mask_of(first, self.vocabulary), after, "the same token led elsewhere")
        assert_same(mask_of(again, self.vocabulary), after, "a clone of a clone is elsewhere")

    def _check_end(self, matcher: Matcher) -> None:
        before = mask_of(matcher, self.vocabulary)
        for eos in self.vocabulary.eos_ids:
            _hold(allows(before, eos), "{} may not end a complete text", eos)
            ended = matcher.clone()
            _hold(ended.consume(eos), "refuses {} at the end", eos)
            for one in (ended, ended.clone()):
                after = mask_of(one, self.vocabulary)
                _hold(not after.any(), "something is allowed after the end")
                for token in (*self.vocabulary.eos_ids, 32, 125, 257, -1, self.vocabulary.size):
                    _hold(not one.consume(token), "takes {} after the end", token)
                if isinstance(one, FollowingMatcher):
                    followed = [one.follow(tokens) for tokens in ([eos], [32], [])]
                    _hold(not any(followed), "follows {} tokens after the end", followed)
            assert_same(mask_of(matcher, self.vocabulary), before, "moved by its clone's end")


def check_refusal(engine: Engine, schema: str, message: str) -> None:
    """The engine declines `schema` with a message of its own in which `message` is found."""
    told = _raised(Refused, lambda: engine.compile(schema))
    _hold(told is not None, "compiles {}", schema)
    _hold(re.search(message, told or ""), "refuses {} with {!r}", schema, told)


def _raised(kind: type[Exception], call: Callable[[], object]) -> str | None:
    """The message with which `call` raises an exception of `kind`; None where it raises none."""
    try:
        call()
    except kind as error:
        return str(error)
    return None


def check_identity(engine: Engine, version: str | None = None) -> None:
    """The engine says which one it is: distribution, exact version, all options.

    A server is no distribution: its version is its release, its options are those of its backends.
    """
    kind: Any = type(engine)
    info = engine.info
    _hold(version in {None, info.version}, "is {}, not {}", info.version, version)
    if isinstance(engine, ServerEngine):
        return
    driven = info.packages.get(kind.DISTRIBUTION)
    _hold(driven == info.version, "is {}, its distribution {}", info.version, driven)
    known = list(complete_options(kind.OPTIONS, {}))
    _hold(list(info.options) == known, "has options {}, not {}", list(info.options), known)


def check_token_bytes(engine: Engine, vocabulary: Vocabulary, unknown: Sequence[int] = ()) -> None:
    """The library holds the vocabulary's bytes; it can be asked about all ids but `unknown`."""
    known = engine.token_bytes(range(vocabulary.size))
    for token, found in enumerate(known):
        expected = None if token in unknown else vocabulary.ordinary.get(token)
        _hold(found == expected, "holds {!r} for token {} {!r}", found, token, expected)


def mask_of(matcher: Matcher, vocabulary: Vocabulary) -> Mask:
    """The mask, which overwrites whatever was in the array before and is the same every time."""
    ones = np.full(vocabulary.words, 0xFFFFFFFF, dtype=np.uint32)
    zeros = np.zeros(vocabulary.words, dtype=np.uint32)
    matcher.mask(ones)
    matcher.mask(zeros)
    assert_same(ones, zeros, "two masks of one state differ, or not every word was written")
    return ones


def assert_same(one: Mask, other: Mask, where: str) -> None:
    """Raise `ContractBroken` unless two masks are equal."""
    if not np.array_equal(one, other):
        raise ContractBroken(f"{where}: {int(np.bitwise_count(one ^ other).sum())} bits differ")
