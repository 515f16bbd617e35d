"""A pattern is read as ECMA-262 says, by both libraries, or not at all."""

import json
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from harness.validators import ecma_patterns
from harness.validators.ecma_patterns import DIGITS, HIGHEST, PatternError, complement, tokens
from harness.validators.validate import UnjudgeableError, Validators


def searched(pattern: str, text: str) -> bool:
    return re.search(ecma_patterns.python_spelling(pattern), text) is not None


def opinions(pattern: str, value: str) -> list[bool | None]:
    outcome = Validators(json.dumps({"pattern": pattern})).judge(json.dumps(value).encode())
    return [one.valid for one in outcome.opinions]


READINGS = [
    # Anchors and sets, sections 22.2.2.4 and 22.2.2.9.
    ("b", "abc", True),
    ("^a$", "a\n", False),
    (r"^\d$", "٣", False),
    (r"^[\d]$", "٣", False),
    (r"^\w$", "é", False),
    (r"^\w$", "\u017f", False),
    (r"^\W$", "é", True),
    (r"^\s$", "\ufeff", True),
    (r"^[\s]$", "\u00a0", True),
    (r"^[\S]$", "\u00a0", False),
    (r"^[^\S]$", "\u00a0", True),
    (r"^\s$", "\x1c", False),
    (r"^\s$", "\x85", False),
    (r"^\s$", "\u180e", False),
    (r"^[$.]$", "$", True),
    (r"^[$.]$", "x", False),
    (r"^\$$", "$", True),
    ("^.$", "\U0001f600", True),
    ("^.$", "\r", False),
    ("^.$", "\u2028", False),
    ("^.$", "\u2029", False),
    ("^.$", "\x85", True),
    ("^[^a]$", "\n", True),
    # Word boundaries know ASCII alone.
    (r"a\b", "aé", True),
    (r"\b", "é", False),
    (r"^\B$", "", True),
    (r"\Bé", "é", True),
    # Classes.
    ("^[]$", "", False),
    ("^[^]$", "\n", True),
    ("^[[a]$", "[", True),
    ("^[a&&b]$", "&", True),
    ("^[a~~b]$", "~", True),
    (r"^[\b]$", "\b", True),
    (r"^[\w-]$", "-", True),
    ("^[+--]$", "-", True),
    ("^[😀-😁]$", "😁", True),
    # Escapes of characters.
    (r"^\cA$", "\x01", True),
    (r"^\0$", "\0", True),
    (r"^\u0041\u{42}\x43$", "ABC", True),
    (r"^\ud83d\ude00$", "😀", True),
    (r"^\/\-$", "/-", True),
    (r"^\p{Lu}\P{Lu}$", "Éé", True),
    (r"^[\p{L}1]$", "é", True),
    (r"^[^\p{gc=L}]$", "é", False),
    (r"^(?=.)[\p{Zs}\w]$", "\u2003", True),
    (r"^(?=.)[\p{Zs}\w]$", "é", False),
    # Properties by every name of section 22.2.2.9.
    (r"^\p{Letter}\p{Lowercase_Letter}\P{General_Category=Uppercase_Letter}$", "Éé1", True),
    (r"^\p{Cased_Letter}\p{Lt}\p{digit}$", "aǅ٣", True),
    (r"^\p{punct}$", "$", False),
    (r"^\p{Decimal_Number}$", "½", False),
    (r"^\p{Script=Greek}\p{sc=Latn}\p{Script=Old_Italic}$", "βa\U00010300", True),
    (r"^[^\p{Script=Cyrillic}]$", "ж", False),
    (r"^\p{Script=Latin}$", "\u3001", False),
    (r"^\p{Script_Extensions=Han}\P{Script=Han}$", "\u3001\u3001", True),
    (r"^\p{scx=Linear_A}\p{Script=SignWriting}$", "\U00010600\U0001d800", True),
    (r"^\p{Alphabetic}\p{White_Space}\p{ASCII}\p{Any}$", "é\u2003a\n", True),
    (r"^\p{Uppercase}\P{Lower}\p{Emoji_Presentation}$", "ÉÉ😀", True),
    (r"^(?!x)[\p{Hex_Digit}_]$", "g", False),
    # Annex B.
    (r"^\<$", "<", True),
    (r"^\_\:\@$", "_:@", True),
    ("^a}]$", "a}]", True),
    ("^{a}$", "{a}", True),
    ("^a{,2}$", "a{,2}", True),
    ("^a{,2}$", "aa", False),
    (r"^\{\{.+}}$", "{{x}}", True),
    (r"^[\w-.]$", "-", True),
    ("[[:alpha:]]", "b", False),
    # Groups.
    (r"^(?<x>b)\k<x>$", "bb", True),
    (r"^(a|b)\1$", "ab", False),
    ("^(?!a)b", "b", True),
    (r"^(?=.*\d)\w+$", "a1", True),
    (r"^(?!x)\w$", "é", False),
    (r"^(?!x)[\d]$", "٣", False),
    (r"^(?!x)\s$", "\x85", False),
    ("^(?!x).$", "\r", False),
    (r"(?!x)a\b", "aé", True),
    ("(?<=a)b", "ab", True),
]


class TestReadings:
    @pytest.mark.parametrize(("pattern", "value", "expected"), READINGS)
    def test_are_those_of_ecma_262_in_both_validators(self, pattern, value, expected):
        assert opinions(pattern, value) == [expected, expected]

    @pytest.mark.parametrize(("pattern", "value", "expected"), READINGS[::3])
    def test_are_the_same_of_names_of_properties(self, pattern, value, expected):
        text = json.dumps({value: 1}).encode()
        forbidding = Validators(json.dumps({"patternProperties": {pattern: False}}))
        closed = {"patternProperties": {pattern: {}}, "additionalProperties": False}
        unevaluated = {"patternProperties": {pattern: {}}, "unevaluatedProperties": False}
        assert forbidding.judge(text).verdict == ("invalid" if expected else "valid")
        for schema in (closed, unevaluated):
            verdict = Validators(json.dumps(schema)).judge(text).verdict
            assert verdict == ("valid" if expected else "invalid")

    @pytest.mark.parametrize("pattern", [r"^(a)|b\1$", r"^(a)?b\1$"])
    def test_a_group_that_took_no_part_matches_nothing_and_is_never_proven(self, pattern):
        """Section 22.2.2.7.2; jsonschema-rs has the match fail."""
        assert opinions(pattern, "b") == [True, False]


class TestRefusals:
    @pytest.mark.parametrize(
        "pattern",
        ["[", "(", ")", "*", "a**", "^*", "a++", "a{2,1}", "[b-a]", "(?>a)", "(?#a)", "(?P<a>b)",
         "(?i)a", "(?<a>b)(?<a>c)", "(?<1>a)", "\\", r"\ud800", r"(?<a>b)\k<c>"],
    )  # fmt: skip
    def test_of_what_is_no_pattern_in_either_reading(self, pattern):
        assert not ecma_patterns.is_pattern(pattern, unicode=True)
        assert not ecma_patterns.is_pattern(pattern, unicode=False)
        with pytest.raises(PatternError):
            ecma_patterns.python_spelling(pattern)
        with pytest.raises(UnjudgeableError) as caught:
            Validators(json.dumps({"pattern": pattern}))
        assert caught.value.reason == "both_refuse"

    @pytest.mark.parametrize(
        "pattern", [r"\Aa", r"a\Z", r"a\z", r"\h", r"\e", r"\1", r"\07", r"\8", r"\x4", r"\u1",
                    r"\c", r"[\c]", r"\k<a>", r"\p\-"]
    )  # fmt: skip
    def test_of_what_annex_b_reads_as_letters_and_nobody_means(self, pattern):
        assert ecma_patterns.is_pattern(pattern, unicode=False)
        assert not ecma_patterns.is_pattern(pattern, unicode=True)
        with pytest.raises(PatternError, match="other dialects"):
            ecma_patterns.rust_spelling(pattern, backtracking=False)

    @pytest.mark.parametrize("pattern", ["(?i:a)", "(?s-i:a)"])
    def test_of_flags_of_a_part(self, pattern):
        assert ecma_patterns.is_pattern(pattern, unicode=True)
        with pytest.raises(PatternError, match="flags"):
            ecma_patterns.python_spelling(pattern)

    @pytest.mark.parametrize("pattern", [r"\1(a)", r"(?:(a)|b)*\1", r"(a\1)", r"(?=(a))\1"])
    def test_of_references_on_which_engines_differ(self, pattern):
        with pytest.raises(PatternError, match="refers to a group"):
            ecma_patterns.python_spelling(pattern)

    @pytest.mark.parametrize(
        "name", ["Xx", "Greek", "letter", "lowercase_letter", "alphabetic", "Script=greek",
                 "script=Greek", "Script=Xyz", "IsGreek", "gc=Greek", "Script=L", "Alphabetic=Yes"]
    )  # fmt: skip
    def test_of_properties_by_names_that_are_none(self, name):
        """Section 22.2.1.9: names are matched as they are, unlike in either library."""
        for pattern in (rf"^\p{{{name}}}$", rf"[\P{{{name}}}]"):
            assert not ecma_patterns.is_pattern(pattern, unicode=True)
            with pytest.raises(PatternError):
                ecma_patterns.python_spelling(pattern)

    @pytest.mark.parametrize("pattern", [r"a\b+", r"\B{2}", r"\u{41}*", "a|" * 20_000])
    def test_of_what_the_library_takes_or_cannot_bear(self, pattern):
        assert not ecma_patterns.is_pattern(pattern, unicode=False)


class TestSpellings:
    @pytest.mark.parametrize("pattern", ["^[a-z0-9_]+$", "^(a|b)?c{2,3}$", "a-b:c/d@e", r"^\d+$"])
    def test_ordinary_patterns_stay_for_jsonschema_rs(self, pattern):
        assert ecma_patterns.rust_spelling(pattern, backtracking=False) == pattern

    def test_errors_name_patterns_as_they_were_written(self):
        schema = {"patternProperties": {"^.$": {"pattern": "^.}$"}}}
        outcome = Validators(json.dumps(schema)).judge(b'{"a": "b"}', errors=16)
        for opinion in outcome.opinions:
            (error,) = opinion.errors
            assert error.schema_pointer == "/patternProperties/^.$/pattern"
            assert "'^.}$'" in error.message or '"^.}$"' in error.message

    @given(st.text(alphabet="ab$.[]^\\ds-|()*{},1?:=!<>k\n😀é", max_size=10))
    def test_what_both_readings_take_python_reads(self, pattern):
        try:
            spelt = ecma_patterns.python_spelling(pattern)
        except PatternError:
            return
        assert re.compile(spelt)
        assert bool(ecma_patterns.rust_spelling(pattern, backtracking=True)) == bool(pattern)

    @given(st.text(alphabet="ab.[]^\\dw-|()*?", max_size=8), st.text(max_size=4))
    def test_a_pattern_behind_an_empty_look_ahead_means_the_same(self, pattern, text):
        """The other engine of jsonschema-rs has the same reading."""
        try:
            plain = Validators(json.dumps({"pattern": pattern}))
            other = Validators(json.dumps({"pattern": f"(?=)(?:{pattern})"}))
        except UnjudgeableError:
            return
        value = json.dumps(text).encode()
        assert plain.judge(value).verdict == other.judge(value).verdict


class TestSyntax:
    @given(st.lists(st.tuples(st.integers(0, 60), st.integers(0, 9)), max_size=5))
    def test_the_complement_of_the_complement_is_the_set(self, spans):
        ranges = tuple((low, low + more) for low, more in spans)
        inside = {point for low, high in ranges for point in range(low, high + 1)}
        outside = complement(ranges)
        for point in range(72):
            assert (point in inside) != any(low <= point <= high for low, high in outside)
        assert complement(complement(DIGITS)) == DIGITS
        assert complement(()) == ((0, HIGHEST),)

    @given(st.text(alphabet="ab$.[]^\\ds-|()*{},1?:=!<>k", max_size=10), st.booleans())
    def test_every_token_keeps_its_spelling(self, pattern, unicode):
        try:
            parsed = tokens(pattern, unicode=unicode)
        except PatternError:
            return
        assert "".join(token.source for token in parsed) == pattern
