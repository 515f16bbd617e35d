"""An adapter that cannot drive what is installed is found out at once, and told so in words."""

from importlib.metadata import version

import pytest

from harness.errors import UsageError
from harness.inputs.vocabulary import byte_vocabulary
from harness.protocol_checks.smoke import opened
from tests import miniatures
from tests.inprocess import default_options

VOCABULARY = byte_vocabulary([b"true", b"tru", b'"a'], [b"<pad>"])
HONEST = miniatures.LanguageMatcher
HONEST_CONSUME = HONEST.consume


def fault(kind) -> str:
    """What is said of an adapter; nothing where it drives its engine."""
    try:
        opened(kind, VOCABULARY, default_options(kind))
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


def moved(self, token):
    taken = HONEST_CONSUME(self, token)
    self.ended |= not taken
    return taken


def endless(self, token):
    taken = HONEST_CONSUME(self, token)
    self.ended = False
    return taken


@pytest.mark.parametrize(
    ("method", "replacement", "said"),
    [
        ("mask", raising, "along a text, it raises TypeError: Guide() takes no second argument"),
        ("clone", raising, "along a text, it raises TypeError"),
        ("mask", lambda self, out: None, "mask_written: after '', 9 of 9 words are not written"),
        ("mask", lambda self, out: out.fill(0xFFFFFFFF), "beyond: after '', id 261 is in the mask"),
        ("consume", lambda self, token: True, "id -261 is consumed"),
        ("consume", lambda self, token: False, "b'f' is in the mask, and is refused"),
        ("consume", moved, "changed the state"),
        ("consume", endless, "after the end, token 256"),
        ("clone", lambda self: self, "changed the state"),
        ("follow", lambda self, tokens: len(tokens), "validate: after ''"),
    ],
)
def test_what_goes_wrong_is_told(monkeypatch, method, replacement, said):
    monkeypatch.setattr(HONEST, method, replacement, raising=False)
    assert fault(miniatures.Enumerator).startswith(
        f"this adapter cannot drive maskcourt {version('maskcourt')}: "
    )
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
