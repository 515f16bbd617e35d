"""dotjson's adapter, on a fake of the documented calls: the library itself was never run."""

import sys
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from adapters import dotjson
from adapters.dotjson import DotJSONEngine
from adapters.llguidance import LLGuidanceEngine
from harness.engines import environments
from harness.engines.environments import listed_engines, provide
from harness.engines.specs import parse_spec
from harness.errors import UsageError
from harness.inputs.vocabulary import Vocabulary
from harness.inputs.vocabulary_hostile import hostile_vocabulary
from harness.protocol import EngineInfo, Mask, allows, complete_options
from harness.protocol_checks.adapters import (
    OBJECT,
    TEXTS,
    check_adapter,
    check_refusal,
)
from harness.protocol_checks.trial import Thoroughness

pytestmark = pytest.mark.engines


class FakeTokenSet:
    """What is documented of a set of allowed tokens."""

    def __init__(self, mask: Mask) -> None:
        self._mask = mask

    def contains(self, token_id: int) -> bool:
        return allows(self._mask, token_id)


class FakeVocabulary:
    """The tokens that it was made of, as another engine takes them."""

    def __init__(self, own: Vocabulary) -> None:
        self.own = own

    @classmethod
    def from_tuples(cls, tokens: list[bytes], token_ids: list[int], eos_token_ids: list[int]):
        known: list[bytes] = [b""] * (max([*token_ids, *eos_token_ids]) + 1)
        for token, text in zip(token_ids, tokens, strict=True):
            known[token] = text
        special = [at for at, text in enumerate(known) if not text]
        return cls(Vocabulary.from_tokens("fake", known, special, eos_token_ids))


class FakeIndex:
    """A schema, compiled by an engine that is here."""

    def __init__(self, schema: str, vocabulary: FakeVocabulary, disallow_whitespace: bool = False):
        if '"not"' in schema:
            raise ValueError("unsupported keyword: not")
        given = {"whitespace": "none"} if disallow_whitespace else {}
        engine = LLGuidanceEngine(vocabulary.own, complete_options(LLGuidanceEngine.OPTIONS, given))
        self.words = vocabulary.own.words
        self.start = engine.compile(schema)


class FakeGuide:
    """A text of an index, which cannot be copied."""

    def __init__(self, index: FakeIndex) -> None:
        self._index = index
        self._matcher: Any = index.start.clone()

    def get_start_tokensets(self) -> list[FakeTokenSet]:
        return [self._set()]

    def get_next_tokensets(self, sampled_tokens: list[int]) -> list[FakeTokenSet]:
        (token,) = sampled_tokens
        assert self._matcher.consume(token), "a token that was not allowed"
        return [self._set()]

    def _set(self) -> FakeTokenSet:
        mask = np.zeros(self._index.words, dtype=np.uint32)
        self._matcher.mask(mask)
        return FakeTokenSet(mask)


FAKE = SimpleNamespace(Vocabulary=FakeVocabulary, Index=FakeIndex, Guide=FakeGuide)


@pytest.fixture
def make(monkeypatch):
    """Opens the engine with the fake in the library's place."""
    monkeypatch.setitem(sys.modules, "dotjson", FAKE)
    info = EngineInfo("dotjson", "0.0", packages={"dotjson": "0.0"})
    monkeypatch.setattr(dotjson.EngineInfo, "installed", lambda *_, **__: info)
    return lambda vocabulary, **options: DotJSONEngine(
        vocabulary, complete_options(DotJSONEngine.OPTIONS, options)
    )


@pytest.mark.parametrize("ends", [1, 2])
def test_it_keeps_the_contract(make, ends):
    vocabulary = hostile_vocabulary(ends)
    texts = {schema: some[:1] for schema, some in TEXTS.items()}
    check_adapter(make(vocabulary), vocabulary, texts, Thoroughness(positions=3))


def test_a_refusal_bears_the_librarys_words(make):
    check_refusal(make(hostile_vocabulary(1)), '{"not": {}}', "unsupported keyword: not")


def test_white_space_is_an_option(make):
    vocabulary = hostile_vocabulary(1)
    spaced = b'{"name": "a'
    matchers = [make(vocabulary, disallow_whitespace=off).compile(OBJECT) for off in (False, True)]
    loose, tight = (one.follow(list(spaced)) for one in matchers)
    assert (loose, tight) == (len(spaced), spaced.index(b" "))


def test_the_unrelated_package_of_that_name_is_refused(monkeypatch):
    monkeypatch.setitem(sys.modules, "dotjson", SimpleNamespace(load=open))
    with pytest.raises(UsageError, match=r"is not that of \.txt: it has no Vocabulary"):
        DotJSONEngine(hostile_vocabulary(1), complete_options(DotJSONEngine.OPTIONS, {}))


@pytest.mark.parametrize("spec", ["dotjson", "dotjson@0.1.0"])
def test_it_is_never_installed_from_the_index(monkeypatch, spec):
    monkeypatch.setattr(environments, "_find", lambda *_: None)
    with pytest.raises(UsageError, match="is not installed") as found:
        provide(parse_spec(spec))
    assert "another package of this name" in str(found.value.hint)
    assert "never run" in listed_engines()["dotjson"]["remark"]
