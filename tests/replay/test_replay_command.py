"""The command ``replay``: what it prints, and how it exits."""

import json

import pytest

from harness.runs.directory import RunDirectory
from tests.command import maskcourt
from tests.replaying import Book, stored

ENGINE = "tests.miniatures:AcceptsExtra"


@pytest.fixture(scope="module")
def run(tmp_path_factory) -> RunDirectory:
    """Two verdicts that are right, one that is not, and one of an instance."""
    book = Book("one", {"enum": ["ab"], "x-extra": ['"xy"']}, "ab")
    right, wrong = book.completion(b'y"'), book.completion(b'z"')
    for completion in (right, wrong, right):
        book.verdict("false_acceptance", ENGINE, b'"', b"x", completion, ENGINE)
    book.instance_verdict("false_acceptance", ENGINE, book.instance(b'"xy"'), 5)
    return stored(tmp_path_factory.mktemp("run"), [book], [ENGINE])


@pytest.mark.processes
def test_prints_each_and_counts_them(run):
    done = maskcourt("replay", run.path, "0", "i0", "2", "--trust")
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.splitlines() == [
        f"0: false acceptance by {ENGINE}, case one, position 1, token 120: agrees",
        f"2: false acceptance by {ENGINE}, case one, position 1, token 120: agrees",
        f"i0: false acceptance by {ENGINE}, case one, instance 0, position 4, token 256: agrees",
        "3 agree, 0 differ",
    ]


@pytest.mark.processes
def test_a_difference_is_said_and_exits_with_1(run):
    done = maskcourt("replay", run.path, "--all", "--trust")
    assert (done.returncode, done.stderr) == (1, "")
    *_, instance, last = done.stdout.splitlines()
    assert done.stdout.splitlines()[1].endswith(f"DIFFERS: {ENGINE} allows 2 of 5 tokens")
    assert instance.startswith("i0: ")
    assert last == "3 agree, 1 differ"


@pytest.mark.processes
def test_as_json_it_is_one_object(run):
    done = maskcourt("replay", run.path, "--sample", 4, "--json", "--trust")
    assert (done.returncode, done.stderr) == (1, "")
    answer = json.loads(done.stdout)
    assert (answer["replayed"], answer["differ"]) == (4, 1)
    assert [(one["verdict"], one["agrees"]) for one in answer["verdicts"]] == [
        ("0", True),
        ("1", False),
        ("2", True),
        ("i0", True),
    ]
    assert answer["verdicts"][3]["evidence"] == "instance"
    assert answer["verdicts"][0]["text"] == '"xy"'


def test_nothing_to_replay_is_no_difference(tmp_path, call):
    empty = stored(tmp_path, [Book("one", {}, 1)], [ENGINE])
    assert call("replay", empty.path, "--all") == (0, "0 agree, 0 differ\n", "")
    printed = call("replay", empty.path, "--all", "--json")[1]
    assert json.loads(printed) == {"verdicts": [], "replayed": 0, "differ": 0}


@pytest.mark.processes
def test_a_witness_is_shown_without_any_engine(tmp_path, call):
    book = Book("one", {"enum": ["ab"]}, "ab")
    book.verdict("dead_end", "nobody:Knows", b'"', b"a")
    unknown = stored(tmp_path, [book], ["nobody:Knows"])
    arguments = ("replay", unknown.path, "0", "--show", "--trust")
    code, printed, problems = call(*arguments)
    assert (code, problems) == (0, "")
    assert printed.startswith("verdict 0: dead end by nobody:Knows\n")
    assert json.loads(call(*arguments, "--json")[1])["consumed"]["ids"] == [34]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((), "say which verdicts to replay"),
        (("0", "--all"), "say which verdicts to replay"),
        (("--sample", 2, "--all"), "say which verdicts to replay"),
        (("--all", "--show"), "--show prints one witness (name one VERDICT)"),
        (("0", "2", "--show"), "--show prints one witness (name one VERDICT)"),
        (("7",), "has no verdict 7 (verdicts has 3 rows, counted from 0)"),
        (("x7",), "'x7' names no verdict (write 17 for one of a walk, i3 for"),
    ],
)
def test_what_cannot_be_replayed_is_said_in_one_line(run, call, arguments, message):
    code, printed, said = call("replay", run.path, *arguments)
    assert (code, printed) == (2, "")
    assert message in said
    assert said.count("\n") == 1
