"""A run compared with a file of what is known to be wrong."""

import json
import xml.etree.ElementTree as ET
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from harness.errors import InputError, UsageError
from harness.versions.baseline import (
    CORRECT,
    CRASH,
    REFUSED,
    WORSE,
    WRONG,
    Baseline,
    against,
    read_baseline,
)
from harness.versions.text import baseline_junit, baseline_markdown
from tests.buglists import bug
from tests.command import STUDY, maskcourt
from tests.planted import AGE, PAIR

KNOWN, OTHER = bug("a@1.0", 1), bug("a@2.0", 2, title="`enum` lets other types through")


def diff(baseline=None, bugs=(), outcomes=None):
    return against(baseline or Baseline(), bugs, outcomes or {("a", "case"): CORRECT}, {})


class TestHolding:
    def test_another_bug_fails_and_one_that_is_not_met_is_told(self):
        baseline = Baseline.of([KNOWN, bug("b", 3)], {})
        assert not diff(baseline, [bug("a@2.0", 1)]).fails, "known, in the next version"
        found = diff(baseline, [OTHER])
        assert (found.fails, found.new_bugs) == (True, (OTHER,))
        found = diff(baseline)
        assert (found.fails, list(found.gone_bugs)) == (False, [("a", KNOWN.id)]), "b took no part"

    @pytest.mark.parametrize("was", WORSE)
    @pytest.mark.parametrize("now", WORSE)
    def test_what_is_further_from_correct_fails(self, was, now):
        found = diff(Baseline.of([], {("a", "case"): was}), outcomes={("a", "case"): now})
        assert found.fails == (WORSE.index(now) > WORSE.index(was))
        assert bool(found.better) == (WORSE.index(now) < WORSE.index(was))

    def test_what_the_file_does_not_name_was_correct(self):
        assert diff(outcomes={("a", "case"): REFUSED}).fails


NAMES = st.text(st.characters(codec="utf-8"), min_size=1, max_size=12)


class TestFile:
    @given(
        st.dictionaries(st.tuples(NAMES, NAMES), st.sampled_from(WORSE[1:]), max_size=4),
        st.lists(st.integers(0, 99), max_size=3, unique=True),
    )
    def test_what_is_written_is_read(self, tmp_path_factory, outcomes, numbers):
        baseline = Baseline.of([bug("a[x=1]@1.0", one) for one in numbers], outcomes)
        file = tmp_path_factory.mktemp("baseline") / "known.txt"
        file.write_text(baseline.text(), "utf-8")
        assert read_baseline(file) == baseline

    def test_it_is_sorted_and_has_a_line_for_each(self):
        text = Baseline.of([OTHER, KNOWN], {("a", "z"): WRONG, ("a", "c d"): CRASH}).text()
        lines = [line for line in text.splitlines() if not line.startswith("#")]
        assert lines == [
            f"bug      a  {KNOWN.id}  {KNOWN.title}",
            f"bug      a  {OTHER.id}  {OTHER.title}",
            "outcome  a  c%20d  crash",
            "outcome  a  z  wrong",
        ]

    def test_what_cannot_be_read_is_named(self, tmp_path):
        file = tmp_path / "known.txt"
        with pytest.raises(UsageError, match="no baseline"):
            read_baseline(file)
        file.write_text("# fine\noutcome a case splendid\n")
        with pytest.raises(InputError, match="line 2"):
            read_baseline(file)


OUTCOMES = {("a", "fine"): CORRECT, ("a", "x<y"): WRONG, ("a", "no"): REFUSED}


class TestReports:
    FOUND = against(Baseline.of([KNOWN], {("a", "no"): REFUSED}), [OTHER], OUTCOMES, {"slow": 3})

    def test_markdown_says_the_outcome_first(self):
        first, *rest = baseline_markdown(self.FOUND).splitlines()
        assert first.startswith("## maskcourt fails: 1 new bug, 1 schema worse")
        heads = [line.strip("#* ") for line in rest if line.startswith(("###", "**"))]
        assert heads == ["New bugs", "Worse", "Known bugs that were not met"]
        assert "3 verdicts of no bug: slow" in rest

    def test_junit_has_a_test_for_each_schema_and_new_bug(self):
        (suite,) = ET.fromstring(baseline_junit(self.FOUND, OUTCOMES))
        counted = {name: suite.get(name) for name in ("name", "tests", "failures", "skipped")}
        assert counted == {"name": "a", "tests": "4", "failures": "2", "skipped": "1"}


ENGINE = "tests.planted:Forgetful"


@pytest.mark.processes
@pytest.mark.engines
def test_of_values_alone_schemas_are_judged_and_nothing_is_new_without_a_baseline(
    tmp_path, vocabulary_file
):
    cases, known, summary = (tmp_path / name for name in ("cases.jsonl", "known.txt", "summary.md"))
    cases.write_text(json.dumps(PAIR) + "\n")
    done = maskcourt(
        "bench", "--cases", cases, "-e", ENGINE, "--out", tmp_path / "run", "--lanes", 1,
        "--vocabulary", vocabulary_file, "--walks", 0, "--samples", 0,
        "--write-baseline", known, "--summary", summary,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert "outcome  " in known.read_text()
    assert summary.read_text().startswith("## maskcourt passes: 0 new bugs, 0 schemas worse")


@pytest.mark.processes
@pytest.mark.engines
def test_a_planted_fault_is_caught(tmp_path, vocabulary_file):
    cases, known = tmp_path / "cases.jsonl", tmp_path / "known.txt"
    cases.write_text("".join(json.dumps(one) + "\n" for one in (AGE, PAIR)))

    def bench(*options: object):
        return maskcourt(
            "bench", "--cases", cases, "-e", f"llguidance,{ENGINE}", "--out", tmp_path / "run",
            "--vocabulary", vocabulary_file, "--lanes", 1, *STUDY, *options,
        )  # fmt: skip

    done = bench("--write-baseline", known)
    assert done.returncode == 0, done.stderr
    lines = [line for line in known.read_text().splitlines() if not line.startswith("#")]
    assert [line.split()[0] for line in lines] == ["bug", "bug", "outcome", "outcome"]
    known.write_text("\n".join(lines[1:]))
    files = {name: tmp_path / name for name in ("junit", "summary")}
    done = bench(
        "--baseline", known, *(part for one in files.items() for part in (f"--{one[0]}", one[1]))
    )
    assert done.returncode == 1
    assert "### New bugs" in done.stderr
    assert "<failure" in files["junit"].read_text()
    assert Path(files["summary"]).read_text().startswith("## maskcourt fails")
