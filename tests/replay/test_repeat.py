"""Replaying verdicts: what was proven comes out again, and what was not is told apart."""

import json
from dataclasses import replace
from types import SimpleNamespace
from typing import ClassVar

import pytest

from harness.completion.rollout import LIMIT
from harness.errors import RunDirectoryError, UsageError
from harness.inputs.vocabulary import byte_vocabulary
from harness.protocol import FollowingMatcher, set_bits
from harness.replay.repeat import Replayed, replay, same_engines
from harness.replay.witness_reader import every, named
from harness.runs.directory import RunDirectory
from tests.inprocess import UNCAPPED, case, run_case, study
from tests.miniatures import (
    AcceptsExtra,
    AllowsEverything,
    ConsumeLies,
    CrashesOnCompile,
    CrashesOnMask,
    Enumerator,
    ForbidsOne,
    HangsOnMask,
    LanguageMatcher,
    MaskLies,
    RefusesAll,
)
from tests.replaying import EOS, VOCABULARY, Book, replayed, stored

EXTRA = {"enum": ["ab", "cd"], "x-extra": ['"xy"', '"a']}
FORBIDDEN = {"enum": ["ab", "cd"], "x-forbidden": [['"a', "b"]]}


class Altered(Enumerator):
    """An engine whose masks are others."""

    def mask(self, matcher, mask):
        raise NotImplementedError

    def matcher(self, schema):
        engine, language = self, self.language(schema)

        class Matcher(LanguageMatcher):
            def allowed(self, language):
                return engine.mask(self, super().allowed(language))

        return Matcher(self.vocabulary, language, language)


class NeverStops(Altered):
    """Allows no end of sequence."""

    def mask(self, matcher, mask):
        return mask & ~matcher.vocabulary.eos_mask


class OneEnd(Altered):
    """Allows the first end of sequence alone."""

    def mask(self, matcher, mask):
        return mask & ~set_bits([matcher.vocabulary.eos_ids[1]], matcher.vocabulary.words)


class Dawdler(Altered):
    """Allows any number of blanks before the value."""

    def mask(self, matcher, mask):
        blank = set_bits([ord(" ")], matcher.vocabulary.words)
        return mask if matcher.written.strip() else mask | blank


def told(results: list[Replayed]) -> list[str]:
    """What differs, one line per verdict; empty where it agrees."""
    return [one.difference for one in results]


@pytest.fixture
def again(tmp_path):
    """Replay the verdicts that a function writes into the book of one case."""

    def write_and_replay(write, schema, *engines, value="ab"):
        book = Book("one", schema, value)
        write(book)
        return told(replayed(tmp_path, [book], engines))

    return write_and_replay


def walked(kind, engine, before, token, completion=None, accepter=None, *, end=True, reason=""):
    """What writes a verdict of a walk, and the engines that it is about."""

    def write(book):
        number = -1 if completion is None else book.completion(completion, end=end)
        by = accepter.__name__ if accepter else ""
        book.verdict(kind, engine.__name__, before, token, number, by, reason=reason)

    return write, [one for one in dict.fromkeys((accepter, engine)) if one]


def accepted(completion, kind="false_acceptance"):
    return walked(kind, AcceptsExtra, b'"', b"x", completion, AcceptsExtra)


def rejected(engine, accepter):
    return walked("false_rejection", engine, b'"a', b"b", b'"', accepter)


def dead(engine, completion=b"a"):
    return walked("dead_end", engine, b"", b'"', completion, end=False)


def lies(engine):
    return walked("mask_consume_mismatch", engine, b'"', b"a", b"b", end=False)


def repeated(engine, before, text, times):
    return walked("unbounded_repetition", engine, before, text, text * (times - 1), end=False)


def fed(kind, engine, text, consumed, token=-1, **others):
    """What writes a verdict of an instance, and its engine."""

    def write(book):
        number = book.instance(text)
        book.instance_verdict(kind, engine.__name__, number, consumed, token, **others)

    return write, [engine]


PLAIN = {"enum": ["ab"]}
TOO_LATE = {**FORBIDDEN, "x-forbidden": [['"', "a"]]}
INVALID = {"enum": ["cd"], "x-extra": ['"ab"'], "x-forbidden": []}
HONEST = {**FORBIDDEN, "x-forbidden": []}
TWICE = (b"", b"{", b'"a": 1, "a": 2}', AllowsEverything)
LYING = "the mask of ConsumeLies allows the token, which is then not consumed"
AGREES = "mask and consumption of ForbidsOne agree: the last token is forbidden"
OTHER_REASON = "the text is invalid, but not because it is not json"
OTHER_TEXT = "what is repeated is neither white space nor digits alone"

NO_B = ("false_rejection", ForbidsOne, b'"ab"', 2, ord("b"))
ALSO_C = {**FORBIDDEN, "enum": ["ab", "ac"]}

REPEATED = [
    (accepted(b'y"'), EXTRA, ""),
    (accepted(b'z"'), EXTRA, "AcceptsExtra allows 2 of 5 tokens"),
    # the last token, the end of sequence, is looked at like any other
    (accepted(b"y"), EXTRA, "AcceptsExtra allows 3 of 4 tokens"),
    (accepted(b'y"'), {"enum": ["ab", "xy"]}, "the validators say valid"),
    (accepted(b'y"', "contested"), EXTRA, "the validators say invalid"),
    (walked("contested", AllowsEverything, *TWICE), EXTRA, ""),
    (rejected(ForbidsOne, Enumerator), FORBIDDEN, ""),
    (rejected(ForbidsOne, Enumerator), TOO_LATE, "ForbidsOne allows 1 tokens, not exactly 2"),
    (rejected(Enumerator, AcceptsExtra), INVALID, "Enumerator allows 1 tokens, not exactly 2"),
    (rejected(ConsumeLies, Enumerator), FORBIDDEN, LYING),
    (rejected(Enumerator, Enumerator), FORBIDDEN, "Enumerator allows 3 tokens, not exactly 2"),
    (rejected(ForbidsOne, ForbidsOne), FORBIDDEN, "ForbidsOne allows 2 of 5 tokens"),
    (walked("never_stops", NeverStops, b'"ab"', EOS, b"", Enumerator, end=False), PLAIN, ""),
    (walked("never_stops", NeverStops, b'"ab"', EOS), PLAIN, ""),
    (walked("never_stops", Enumerator, b'"ab"', EOS), PLAIN,
     "Enumerator allows 5 tokens, not exactly 4"),
    (walked("never_stops", NeverStops, b'"a', EOS), PLAIN, "the validators say invalid"),
    (walked("stops_too_early", AcceptsExtra, b'"a', EOS, None, AcceptsExtra), EXTRA, ""),
    (walked("stops_too_early", AcceptsExtra, b'"a', EOS, None, AcceptsExtra),
     {**EXTRA, "x-extra": []}, "AcceptsExtra allows 2 of 3 tokens"),
    (walked("stops_too_early", AcceptsExtra, b'"cd"', EOS), {**PLAIN, "x-extra": ['"cd"']},
     OTHER_REASON, "cd"),
    (dead(ForbidsOne), FORBIDDEN, ""),
    (walked("dead_end", ForbidsOne, b'"', b"a"), FORBIDDEN, ""),
    (dead(ForbidsOne), {**FORBIDDEN, "enum": ["ab", "ac"]},
     "the mask of ForbidsOne is not empty there"),
    (dead(ForbidsOne), {"enum": ["cd"], "x-forbidden": []}, "ForbidsOne allows 1 of 2 tokens"),
    (lies(MaskLies), FORBIDDEN, ""),
    (lies(ConsumeLies), FORBIDDEN, ""),
    (lies(ForbidsOne), FORBIDDEN, AGREES),
    (lies(Enumerator), FORBIDDEN, "Enumerator allows 3 tokens, not exactly 2"),
    (repeated(Dawdler, b"", b" ", LIMIT), PLAIN, ""),
    (repeated(Dawdler, b"", b" ", LIMIT - 1), PLAIN,
     f"only {LIMIT - 1} tokens are repeated, not {LIMIT}"),
    (repeated(Enumerator, b'"', b"a", LIMIT), {"enum": ["a" * LIMIT]}, OTHER_TEXT, "a" * LIMIT),
    (fed("false_acceptance", AcceptsExtra, b'"xy"', 5), EXTRA, ""),
    (fed("false_acceptance", AcceptsExtra, b'"xy"', 5), PLAIN, "AcceptsExtra allows 1 of 5 tokens"),
    (fed("false_acceptance", AcceptsExtra, b'"xy"', 5), {"enum": ["ab", "xy"]},
     "the validators say valid"),
    (fed("false_rejection", ForbidsOne, b'"ab"', 2, ord("b")), FORBIDDEN, ""),
    (fed("false_rejection", ForbidsOne, b'"ab"', 2, ord("b")), HONEST,
     "ForbidsOne allows 3 tokens, not exactly 2"),
    (fed(*NO_B, effect="spelling", spelling=b'"a\\u0062"'), FORBIDDEN,
     "ForbidsOne allows 2 of 10 tokens of the spelling"),
    (fed(*NO_B, effect="spelling", spelling=b'"ac"'), ALSO_C, ""),
    (fed(*NO_B, effect="trap", spelling=b'"cd"'), FORBIDDEN, ""),
    (fed("never_stops", NeverStops, b'"ab"', 4, EOS), PLAIN, ""),
    (fed("mask_consume_mismatch", MaskLies, b'"ab"', 2, ord("b")), FORBIDDEN, ""),
]  # fmt: skip
"""A verdict, the schema under which it is repeated, what differs, and the text that was walked."""


@pytest.mark.parametrize(("verdict", "schema", "difference", "value"), [
    (*one, "ab")[:4] for one in REPEATED
])  # fmt: skip
def test_a_verdict_comes_out_again_or_what_differs_is_said(
    again, verdict, schema, difference, value
):
    write, engines = verdict
    assert again(write, schema, *engines, value=value) == [difference]


@pytest.mark.parametrize(("also", "difference"), [
    ([], ""), ([['"a', "b"]], "ForbidsOne allows 2 of 5 tokens of the spelling"),
])  # fmt: skip
def test_a_spelling_may_be_written_byte_by_byte(tmp_path, also, difference):
    """The engine refuses a token of two bytes, and takes them one by one, if it does."""
    vocabulary = byte_vocabulary([b'b"'])
    schema = {"enum": ["ab"], "x-forbidden": [['"a', 'b"'], *also]}
    book = Book("one", schema, "ab", vocabulary)
    token = vocabulary.tokens.index(b'b"')
    write, engines = fed(*NO_B[:4], token, effect="spelling", spelling=b'"ab"')
    write(book)
    assert told(replayed(tmp_path, [book], engines)) == [difference]


def test_of_two_ends_one_that_is_allowed_is_enough(tmp_path):
    """With two tokens that end a text, forbidding one of them is no error of this kind."""
    plain = byte_vocabulary([], [b"<other>"])
    vocabulary = type(plain).from_tokens("two", plain.tokens, [256, 257], [256, 257])
    book = Book("one", PLAIN, "ab", vocabulary)
    book.verdict("never_stops", "OneEnd", b'"ab"', vocabulary.eos_ids[1])
    (difference,) = told(replayed(tmp_path, [book], [OneEnd]))
    assert difference == "OneEnd allows another end of sequence there"


class TestSamples:
    """Texts that engines wrote, as a run proves and stores it."""

    @pytest.mark.parametrize(
        ("kind", "schema", "engine"),
        [
            ("false_acceptance", {"const": 1, "x-extra": ["2"]}, AcceptsExtra),
            ("stops_too_early", {"const": [1], "x-extra": ["["]}, AcceptsExtra),
            ("false_rejection", {"enum": [1, 12], "x-forbidden": [["1", "2"]]}, ForbidsOne),
            ("dead_end", {"const": "ab", "x-forbidden": [['"a', "b"]]}, ForbidsOne),
            ("mask_consume_mismatch", {"const": "ab", "x-forbidden": [['"a', "b"]]}, ConsumeLies),
            ("mask_consume_mismatch", {"enum": [1, 12], "x-forbidden": [["1", "2"]]}, MaskLies),
        ],
    )
    def test_come_out_again(self, tmp_path, kind, schema, engine):
        vocabulary = replace(VOCABULARY, pattern=r"(?s:.)")  # of bytes alone, which are canonical
        book = Book("one", {}, "ab", vocabulary)
        engines = (engine, Enumerator)
        rules = study(samples=16)
        book.rows = run_case(engines, case(schema, name="one"), vocabulary, rules)
        results = replayed(tmp_path, [book], engines)
        assert told(results) == [""] * len(results)
        witness = next(one.witness for one in results if one.witness.kind == kind)
        assert (witness.name[0], witness.evidence, witness.engine) == (
            *("s", "sample"),
            engine.__name__,
        )

    def test_do_not_where_the_engine_does_not_err(self, tmp_path):
        schema = {"const": 1, "x-extra": ["2"]}
        book = Book("one", {}, "ab")
        book.rows = run_case([AcceptsExtra], case(schema, name="one"), VOCABULARY, study(samples=8))
        book.rows.replace("cases", schema=[json.dumps({"const": 1})])
        results = replayed(tmp_path, [book], [AcceptsExtra])
        assert told(results) == ["AcceptsExtra allows 0 of 2 tokens"]


class TestEngines:
    def write(self, book):
        about = (b'"', b"x", book.completion(b'y"'))
        for engine in ("AcceptsExtra", "RefusesAll", "CrashesOnCompile", "CrashesOnMask"):
            book.verdict("false_acceptance", engine, *about, engine)

    def test_one_that_fails_does_not_touch_what_is_said_of_others(self, again):
        schema = {**EXTRA, "x-crash": 1}
        engines = (AcceptsExtra, RefusesAll, CrashesOnCompile, CrashesOnMask)
        assert again(self.write, schema, *engines) == [
            "",
            "RefusesAll does not compile the schema again: refused",
            "CrashesOnCompile does not compile the schema again: crashed",
            "CrashesOnMask crashed",
        ]

    def fails_behind_five_tokens(self, again, kind, **changes):
        """What comes of a text of four tokens and one of five, where `kind` fails over a mask."""

        def write(book):
            for rest in (b'y"', b'yz"'):
                about = (b'"', b"x", book.completion(rest), "FailsBehindExtra")
                book.verdict("false_acceptance", "FailsBehindExtra", *about)

        schema = {"enum": ["ab"], "x-extra": ['"xy"', '"xyz"'], "x-crash": 5}
        engine = type("FailsBehindExtra", (AcceptsExtra, kind), {"fail": kind.fail, **changes})
        return again(write, schema, engine)

    def test_a_text_at_which_one_fails_is_apart_from_others_that_are_asked_with_it(self, again):
        told = self.fails_behind_five_tokens(again, CrashesOnMask)
        assert told == ["", "FailsBehindExtra crashed"]

    @pytest.mark.parametrize(
        ("kind", "slow", "difference"),
        [
            (HangsOnMask, True, ""),
            (HangsOnMask, False, "FailsBehindExtra timed out"),
            (CrashesOnMask, True, "FailsBehindExtra crashed"),
        ],
    )
    def test_slow_masks_that_take_too_long_are_looked_at_where_the_engine_stops(
        self, again, kind, slow, difference
    ):
        matcher = type("Follows", (kind.Matcher,), {"follow": FollowingMatcher.follow})
        changes = {"Matcher": matcher, "SLOW_MASKS": slow}
        assert self.fails_behind_five_tokens(again, kind, **changes) == ["", difference]

    def test_one_that_the_run_does_not_know(self, again):
        with pytest.raises(RunDirectoryError, match="'CrashesOnCompile' in column engine"):
            again(self.write, EXTRA, AcceptsExtra)

    def test_validators_that_refuse_the_schema(self, again):
        about = (AllowsEverything, b"", b"1", b"", AllowsEverything)
        write, engines = walked("false_acceptance", *about)
        (difference,) = again(write, {"type": "nonsense"}, *engines, value=1)
        assert difference.startswith("the validators refuse the schema: ")


class TestARun:
    """In processes of their own, as the command does it."""

    ENGINES = (Enumerator, AcceptsExtra, ForbidsOne)
    SPECS = tuple(f"tests.miniatures:{engine.__name__}" for engine in ENGINES)

    @pytest.fixture(scope="class")
    @classmethod
    def run(cls, tmp_path_factory) -> RunDirectory:
        """A real run with a false acceptance and a false rejection."""
        few = case({**EXTRA, **FORBIDDEN}, "ab", name="few")
        book = Book("few", {}, "ab")
        book.rows = run_case(cls.ENGINES, few, vocabulary=VOCABULARY, rules=UNCAPPED)
        specs = dict(zip([one.__name__ for one in cls.ENGINES], cls.SPECS, strict=True))
        for table in ("verdicts", "instance_verdicts"):
            lists = book.rows.lists(table)
            there = [column for column in ("engine", "accepter") if column in lists]
            named = {column: [specs.get(one, one) for one in lists[column]] for column in there}
            book.rows.replace(table, **named)
        return stored(tmp_path_factory.mktemp("run"), [book], cls.SPECS)

    @pytest.mark.processes
    def test_what_was_proven_comes_out_again(self, run):
        results = list(replay(run, every(run)))
        assert [str(one) for one in results if not one.agrees] == []
        texts = {(one.witness.kind, one.witness.text) for one in results}
        assert texts >= {("false_acceptance", b'"xy"'), ("false_rejection", b'"ab"')}

    @pytest.mark.processes
    @pytest.mark.parametrize(
        ("keys", "other", "message"),
        [
            (("engines", SPECS[1], "packages"), {"maskcourt": "0.0.1"}, r"AcceptsExtra as .*0\.0"),
            (("vocabulary", "sha256"), "0", "is not the one that"),
        ],
    )
    def test_another_engine_or_vocabulary_is_refused(self, run, keys, other, message):
        manifest = json.loads((run.path / "run.json").read_text())
        about = manifest["identity"]
        for key in keys[:-1]:
            about = about[key]
        about[keys[-1]] = other
        with pytest.raises(UsageError, match=message):
            next(replay(RunDirectory(run.path, manifest, trusted=True), named(run, ["0"])))


class TestSameEngines:
    """An engine beside what the manifest says of it."""

    STORED: ClassVar = {"a": {"packages": {"a": "1"}, "options": {"config": "spec"}}}

    def now(self, packages=None, **options):
        return {"a": SimpleNamespace(packages=packages or {"a": "1"}, options=options)}

    def test_an_option_that_there_was_not_yet_has_its_default(self):
        same_engines(self.now(config="spec", separators="auto"), self.STORED)

    def test_another_version_or_option_or_one_that_is_gone_is_told(self):
        for options in ({"config": "shipped"}, {"separators": "auto"}):
            with pytest.raises(UsageError, match="which now are"):
                same_engines(self.now(**options), self.STORED)
        with pytest.raises(UsageError, match="installed is"):
            same_engines(self.now({"a": "2"}, config="spec"), self.STORED)
