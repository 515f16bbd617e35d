"""The automaton of a pattern against other programs, on every short text over a small alphabet."""

import itertools

import pytest

from harness.regex_constraint.automata import DEAD, PatternAutomaton
from harness.regex_constraint.dialects import read
from harness.regex_constraint.opinions import NotJudged, say
from harness.schemas.patterns import TOO_LARGE

ALPHABET = "ab1 \n\u00e9"
TEXTS = ["".join(some) for size in range(4) for some in itertools.product(ALPHABET, repeat=size)]
PATTERNS = [
    "a|ab|b*", "(a|b)*1", "a{2}b?", "(a{0,2}b){1,2}", "[^a]", "[a-b1]+", ".", "a*?b", "(a?b)*",
    r"\d+|\w", r"\s?a", r"[^\s]b", "(^a|b)1?", "a(b$|1)", "^$", "$^", "a?^b", "(|a)+", "\u00e9+",
    r"[\s\S]{2}", "(a*)*b", "a$b?",
]  # fmt: skip


def automaton(pattern, dialect="ecma", **how):
    meaning = read(pattern, dialect, **how)
    return PatternAutomaton(meaning.narrow)


@pytest.mark.parametrize("pattern", PATTERNS)
def test_it_takes_what_both_opinions_take(pattern):
    """Texts that match; and where it stands still, no text goes on to a match."""
    meaning = read(pattern, "ecma")
    tried = PatternAutomaton(meaning.narrow)
    matching = [text for text in TEXTS if tried.matches(text)]
    begun = {text[:at] for text in matching for at in range(len(text) + 1)}
    for text in TEXTS:
        assert set(say(meaning.opinions, text)) == {text in matching}, text
        state = tried.after(0, text)
        if state == DEAD:
            assert text not in begun
        else:
            assert tried.matches(text + tried.shortest(state))


@pytest.mark.parametrize(
    ("pattern", "text", "matching"),
    [
        (".", "\n", ""),
        (".", "\r", "rust python"),
        (".", "\u2028", "rust python"),
        (r"\d", "\u0663", "rust python"),
        (r"\w", "\u00e9", "rust python"),
        (r"\s", "\u00a0", "ecma rust python"),
        (r"\s", "\ufeff", "ecma"),
        (r"\s", "\x1c", ""),  # `re` takes it, `regex` does not
        ("[^a]", "\n", "ecma rust python"),
        ("a$", "a\n", ""),
        ("ab", "xab", ""),
        (r"\p{Lu}", "\u00c9", "ecma rust"),
        (r"\u{1f600}", "\U0001f600", "ecma rust"),
        (r"\ud83d\ude00", "\U0001f600", "ecma rust"),
        ("a{,1}", "a", "python"),
        ("[]a]", "]", "python"),
        ("(?<x>a)", "a", "ecma rust"),
    ],
)
def test_dialects_differ(pattern, text, matching):
    found = []
    for dialect in ("ecma", "rust", "python"):
        try:
            meaning = read(pattern, dialect)
            matches = PatternAutomaton(meaning.narrow).matches(text)
            if matches and all(say(meaning.opinions, text)):
                found.append(dialect)
        except NotJudged:
            pass
    assert " ".join(found) == matching


@pytest.mark.parametrize(
    ("pattern", "dialect", "why"),
    [
        ("a(?=b)", "ecma", "looks around"),
        (r"\bab", "ecma", "boundaries of words"),
        (r"(a)\1", "rust", "refers to a group"),
        ("a++", "python", "possessive"),
        ("a++", "ecma", "no pattern"),
        ("(?i)a", "python", "sets flags"),
        ("(?i:a)", "ecma", "sets flags"),
        ("(a$)b?", "python", "before a line feed"),
        ("[a[b]]", "rust", "operators or classes"),
        ("a{", "rust", "brace"),
        ("(", "ecma", "no pattern"),
        ("[^\\s\\S]", "ecma", "nothing matches"),
        ("((a{100}){100}){100}", "ecma", TOO_LARGE),
    ],
)
def test_what_no_automaton_says_is_not_judged_and_why(pattern, dialect, why):
    with pytest.raises(NotJudged, match=why):
        automaton(pattern, dialect)


def test_a_character_that_not_every_version_of_unicode_knows_is_open():
    new = "\U0001e6c0"  # of Unicode 17; Python 3.11 knows version 14
    meaning = read(r"\w", "rust")
    assert not PatternAutomaton(meaning.narrow).matches(new)
    assert PatternAutomaton(meaning.wide).matches(new)


def test_a_schema_s_pattern_is_searched_for():
    searched = automaton("a|^b$", search=True)
    assert [searched.matches(text) for text in ("xay", "b", "bb", "")] == [True, True, False, False]
