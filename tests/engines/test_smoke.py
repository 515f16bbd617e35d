"""An adapter that cannot drive what is installed is found out at once, and told so in words."""

from __future__ import annotations

import pytest

from harness import __version__
from harness.engines.smoke import made
from harness.errors import UsageError
from harness.inputs.vocabulary import byte_vocabulary
from tests import miniatures
from tests.inprocess import default_options

VOCABULARY = byte_vocabulary([b"true", b"tru", b'"a'], [b"<pad>"])
HONEST = miniatures.LanguageMatcher
HONEST_CONSUME = HONEST.consume


def fault(kind) -> str:
    """What is said of an adapter; nothing where it drives its engine."""
    try:
        made(kind, VOCABULARY, default_options(kind))
    except UsageError as error:
        return error.message
    return ""


@pytest.mark.parametrize(
    "kind",
    [miniatures.Enumerator, miniatures.AllowsEverything, miniatures.RefusesAll, miniatures.Chatty],
)
def test_what_an_engine_allows_is_its_own_affair(kind):
    assert fault(kind) == ""


def raising(*_):
    raise TypeError("Guide() takes no second argument")


@pytest.mark.parametrize(
    ("method", "replacement", "said"),
    [
        ("mask", raising, "when it masks, it raises TypeError: Guide() takes no second argument"),
        ("consume", raising, "when it consumes, it raises TypeError"),
        ("clone", raising, "when it ends, it raises TypeError"),
        ("mask", lambda self, out: None, "not every word was written"),
        ("mask", lambda self, out: out.fill(0xFFFFFFFF), "bits beyond the vocabulary"),
        ("consume", lambda self, token: True, "it takes token 0, which its mask forbids"),
        ("consume", lambda self, token: False, "which its mask allows"),
        ("clone", lambda self: self, "moved by its clone"),
        ("follow", lambda self, tokens: len(tokens), "its faster way to consume tokens"),
    ],
)
def test_what_goes_wrong_is_told(monkeypatch, method, replacement, said):
    monkeypatch.setattr(HONEST, method, replacement, raising=False)
    assert fault(miniatures.Enumerator).startswith(
        f"this adapter cannot drive maskcourt {__version__}: "
    )
    assert said in fault(miniatures.Enumerator)


def test_a_state_that_a_refused_token_moves_or_that_has_no_end(monkeypatch):
    def moved(self, token):
        taken = HONEST_CONSUME(self, token)
        self.ended |= not taken
        return taken

    def endless(self, token):
        taken = HONEST_CONSUME(self, token)
        self.ended = False
        return taken

    for consume, said in (
        (moved, "a token that it refuses moves it"),
        (endless, "allowed behind the end"),
    ):
        monkeypatch.setattr(HONEST, "consume", consume)
        assert said in fault(miniatures.Enumerator)


def test_errors_of_adapters_in_words_pass_and_so_does_a_missing_library(monkeypatch):
    def picky(self, vocabulary, options):
        raise UsageError("there is no such option")

    def absent(self, vocabulary, options):
        import no_such_library_anywhere  # noqa: F401

    monkeypatch.setattr(miniatures.Enumerator, "__init__", picky)
    assert fault(miniatures.Enumerator) == "there is no such option"
    monkeypatch.setattr(miniatures.Enumerator, "__init__", absent)
    assert "when it is made, it raises ModuleNotFoundError" in fault(miniatures.Enumerator)
    monkeypatch.setattr(miniatures.Enumerator, "DISTRIBUTION", "no-such-distribution")
    with pytest.raises(ModuleNotFoundError):
        fault(miniatures.Enumerator)
