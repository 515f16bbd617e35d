"""Replaying verdicts: what was proven comes out again, and what was not is told apart."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import ClassVar

import pytest

from harness.completion.rollout import LIMIT
from harness.errors import RunDirectoryError, UsageError
from harness.inputs.vocabulary import byte_vocabulary
from harness.protocol import set_bits
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
        directory = tmp_path / str(len(list(tmp_path.iterdir())))
        directory.mkdir()
        return told(replayed(directory, [book], engines))

    return write_and_replay


@pytest.mark.parametrize(
    ("kind", "completion", "schema", "difference"),
    [
        ("false_acceptance", b'y"', EXTRA, ""),
        ("false_acceptance", b'z"', EXTRA, "AcceptsExtra allows 2 of 5 tokens"),
        # the last token, the end of sequence, is looked at like any other
        ("false_acceptance", b"y", EXTRA, "AcceptsExtra allows 3 of 4 tokens"),
        ("false_acceptance", b'y"', {"enum": ["ab", "xy"]}, "the validators say valid"),
        ("contested", b'y"', EXTRA, "the validators say invalid"),
    ],
)
def test_acceptances(again, kind, completion, schema, difference):
    def write(book):
        about = ("AcceptsExtra", b'"', b"x", book.completion(completion), "AcceptsExtra")
        book.verdict(kind, *about)

    assert again(write, schema, AcceptsExtra) == [difference]


def test_what_is_contested(again):
    def twice(book):
        completion = book.completion(b'"a": 1, "a": 2}')
        book.verdict("contested", "AllowsEverything", b"", b"{", completion, "AllowsEverything")

    assert again(twice, EXTRA, AllowsEverything) == [""]


TOO_LATE = {**FORBIDDEN, "x-forbidden": [['"', "a"]]}
INVALID = {"enum": ["cd"], "x-extra": ['"ab"'], "x-forbidden": []}
LYING = "the mask of ConsumeLies allows the token, which is then not consumed"


@pytest.mark.parametrize(
    ("engine", "accepter", "schema", "difference"),
    [
        (ForbidsOne, Enumerator, FORBIDDEN, ""),
        (ForbidsOne, Enumerator, TOO_LATE, "ForbidsOne allows 1 tokens, not exactly 2"),
        (Enumerator, AcceptsExtra, INVALID, "Enumerator allows 1 tokens, not exactly 2"),
        (ConsumeLies, Enumerator, FORBIDDEN, LYING),
        (Enumerator, Enumerator, FORBIDDEN, "Enumerator allows 3 tokens, not exactly 2"),
        (ForbidsOne, ForbidsOne, FORBIDDEN, "ForbidsOne allows 2 of 5 tokens"),
    ],
)
def test_rejections(again, engine, accepter, schema, difference):
    def write(book):
        about = (engine.__name__, b'"a', b"b", book.completion(b'"'), accepter.__name__)
        book.verdict("false_rejection", *about)

    assert again(write, schema, *dict.fromkeys((accepter, engine))) == [difference]


class TestEnds:
    def test_never_come_though_another_engine_allows_them(self, again):
        def write(book):
            book.verdict(
                *("never_stops", "NeverStops", b'"ab"', EOS),
                book.completion(b"", end=False),
                "Enumerator",
            )

        assert again(write, {"enum": ["ab"]}, Enumerator, NeverStops) == [""]

    def test_never_come_anywhere(self, again):
        def write(book):
            book.verdict("never_stops", "NeverStops", b'"ab"', EOS)
            book.verdict("never_stops", "Enumerator", b'"ab"', EOS)
            book.verdict("never_stops", "NeverStops", b'"a', EOS)

        assert again(write, {"enum": ["ab"]}, Enumerator, NeverStops) == [
            "",
            "Enumerator allows 5 tokens, not exactly 4",
            "the validators say invalid",
        ]

    def test_never_come_but_for_another_one(self, tmp_path):
        """With two tokens that end a text, forbidding one of them is no error of this kind."""
        plain = byte_vocabulary([], [b"<other>"])
        vocabulary = type(plain).from_tokens("two", plain.tokens, [256, 257], [256, 257])
        book = Book("one", {"enum": ["ab"]}, "ab", vocabulary)
        book.verdict("never_stops", "OneEnd", b'"ab"', vocabulary.eos_ids[1])
        (difference,) = told(replayed(tmp_path, [book], [OneEnd]))
        assert difference == "OneEnd allows another end of sequence there"

    def test_come_too_early(self, again):
        def write(book):
            book.verdict("stops_too_early", "AcceptsExtra", b'"a', EOS, accepter="AcceptsExtra")

        assert again(write, EXTRA, AcceptsExtra) == [""]
        without = {**EXTRA, "x-extra": []}
        assert again(write, without, AcceptsExtra) == ["AcceptsExtra allows 2 of 3 tokens"]

    def test_come_behind_a_value_that_is_whole_but_wrong(self, again):
        def write(book):
            book.verdict("stops_too_early", "AcceptsExtra", b'"cd"', EOS)

        schema = {"enum": ["ab"], "x-extra": ['"cd"']}
        assert again(write, schema, AcceptsExtra, value="cd") == [
            "the text is invalid, but not because it is not json"
        ]


class TestDeadEnds:
    def write(self, book):
        book.verdict("dead_end", "ForbidsOne", b"", b'"', book.completion(b"a", end=False))

    def test_have_an_empty_mask(self, again):
        assert again(self.write, FORBIDDEN, ForbidsOne) == [""]

    def test_may_be_right_behind_the_token(self, again):
        def write(book):
            book.verdict("dead_end", "ForbidsOne", b'"', b"a")

        assert again(write, FORBIDDEN, ForbidsOne) == [""]

    def test_have_no_way_out(self, again):
        more = {**FORBIDDEN, "enum": ["ab", "ac"]}
        assert again(self.write, more, ForbidsOne) == ["the mask of ForbidsOne is not empty there"]

    def test_must_be_reached(self, again):
        schema = {"enum": ["cd"], "x-forbidden": []}
        assert again(self.write, schema, ForbidsOne) == ["ForbidsOne allows 1 of 2 tokens"]

    def test_may_have_ways_that_all_lead_nowhere(self, again):
        def write(book):
            about = {"accepter": "Enumerator", "reason": "no_end_within_limit"}
            completion = book.completion(b'ab"')
            for engine in ("ForbidsOne", "Enumerator"):
                book.verdict("dead_end", engine, b"", b'"', completion, **about)

        schema = {"enum": ["ab"], "x-forbidden": [['"a', "b"]]}
        assert again(write, schema, Enumerator, ForbidsOne) == [
            "",
            "it is not so that no way of Enumerator there leads to an end",
        ]


class TestLies:
    def write(self, engine):
        return lambda book: book.verdict(
            "mask_consume_mismatch", engine, b'"', b"a", book.completion(b"b", end=False)
        )

    def test_the_mask_forbids_what_is_consumed(self, again):
        assert again(self.write("MaskLies"), FORBIDDEN, MaskLies) == [""]

    def test_the_mask_allows_what_is_not_consumed(self, again):
        assert again(self.write("ConsumeLies"), FORBIDDEN, ConsumeLies) == [""]

    def test_mask_and_consumption_agree(self, again):
        assert again(self.write("ForbidsOne"), FORBIDDEN, ForbidsOne) == [
            "mask and consumption of ForbidsOne agree: the last token is forbidden"
        ]
        assert again(self.write("Enumerator"), FORBIDDEN, Enumerator) == [
            "Enumerator allows 3 tokens, not exactly 2"
        ]


class TestUnfinishable:
    def write(self, times, text=b" "):
        return lambda book: book.verdict(
            "unbounded_repetition",
            "Dawdler",
            b"",
            text,
            book.completion(text * (times - 1), end=False),
        )

    def test_for_as_many_tokens_as_a_roll_out_may_have(self, again):
        assert again(self.write(LIMIT), {"enum": ["ab"]}, Dawdler) == [""]

    def test_not_for_fewer(self, again):
        assert again(self.write(LIMIT - 1), {"enum": ["ab"]}, Dawdler) == [
            f"only {LIMIT - 1} tokens are repeated, not {LIMIT}"
        ]

    def test_not_by_other_text(self, again):
        schema = {"enum": ["a" * LIMIT]}

        def write(book):
            book.verdict(
                *("unbounded_repetition", "Enumerator", b'"', b"a"),
                book.completion(b"a" * (LIMIT - 1), end=False),
            )

        assert again(write, schema, Enumerator, value="a" * LIMIT) == [
            "what is repeated is neither white space nor digits alone"
        ]


class TestInstances:
    def write(self, kind, engine, text, consumed, token=-1):
        return lambda book: book.instance_verdict(
            kind, engine, book.instance(text), consumed, token
        )

    def test_an_invalid_one_that_is_accepted_to_its_end(self, again):
        write = self.write("false_acceptance", "AcceptsExtra", b'"xy"', 5)
        assert again(write, EXTRA, AcceptsExtra) == [""]
        assert again(write, {"enum": ["ab"]}, AcceptsExtra) == ["AcceptsExtra allows 1 of 5 tokens"]
        schema = {"enum": ["ab", "xy"]}
        assert again(write, schema, AcceptsExtra) == ["the validators say valid"]

    def test_a_valid_one_that_is_refused(self, again):
        write = self.write("false_rejection", "ForbidsOne", b'"ab"', 2, ord("b"))
        assert again(write, FORBIDDEN, ForbidsOne) == [""]
        honest = {**FORBIDDEN, "x-forbidden": []}
        assert again(write, honest, ForbidsOne) == ["ForbidsOne allows 3 tokens, not exactly 2"]

    def test_a_valid_one_behind_which_no_end_comes(self, again):
        write = self.write("never_stops", "NeverStops", b'"ab"', 4, EOS)
        assert again(write, {"enum": ["ab"]}, NeverStops) == [""]

    def test_one_that_finds_a_mask_lying(self, again):
        write = self.write("mask_consume_mismatch", "MaskLies", b'"ab"', 2, ord("b"))
        assert again(write, FORBIDDEN, MaskLies) == [""]


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

    def test_one_that_the_run_does_not_know(self, again):
        with pytest.raises(RunDirectoryError, match="'CrashesOnCompile' in column engine"):
            again(self.write, EXTRA, AcceptsExtra)

    def test_validators_that_refuse_the_schema(self, again):
        def write(book):
            book.verdict(
                *("false_acceptance", "AllowsEverything", b"", b"1"),
                *(book.completion(b""), "AllowsEverything"),
            )

        (difference,) = again(write, {"type": "nonsense"}, AllowsEverything, value=1)
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

    def test_nothing_to_replay_starts_nothing(self, tmp_path):
        run = stored(tmp_path, [Book("one", {}, 1)], ["nobody:Knows"])
        assert list(replay(run, every(run))) == []
        assert Path(run.path).is_dir()


class TestSameEngines:
    """An engine beside what the manifest says of it."""

    STORED: ClassVar = {"a": {"packages": {"a": "1"}, "options": {"config": "spec"}}}

    def now(self, packages=None, **options):
        return {"a": SimpleNamespace(packages=packages or {"a": "1"}, options=options)}

    def test_an_option_that_there_was_not_yet_has_its_default(self):
        same_engines(self.now(config="spec", separators="auto"), self.STORED)

    def test_another_option_or_one_that_is_gone_is_told(self):
        for options in ({"config": "shipped"}, {"separators": "auto"}):
            with pytest.raises(UsageError, match="which now are"):
                same_engines(self.now(**options), self.STORED)

    def test_another_version_is_told(self):
        with pytest.raises(UsageError, match="installed is"):
            same_engines(self.now({"a": "2"}, config="spec"), self.STORED)
