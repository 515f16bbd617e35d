"""What was shrunk, kept beside a run."""

from __future__ import annotations

import json
from types import SimpleNamespace

import pytest

from harness.bugs.error_case import ErrorCase
from harness.bugs.samples import FILE, SampleFile, ShrunkVerdict
from harness.classification.departures import load_catalogue
from harness.errors import RunDirectoryError

TEXTS = [b'"a"', '"\u2028\x85"'.encode(), b'"\x1c\n"', b"\xff\xfe", b""]


def kept(tmp_path, tables="1"):
    manifest = {"tables": {"verdicts": {"sha256": tables}}, "identity": {"engines": {"e": {}}}}
    run = SimpleNamespace(path=tmp_path, manifest=manifest)
    return SampleFile(run, load_catalogue(), seed=3)


def samples():
    for number, text in enumerate(TEXTS):
        error = ErrorCase("e", "false_acceptance", '{"const":"\u2028"}', text)
        yield ShrunkVerdict(f"{number}", "case", "json", error, at=1, class_="bug")


def test_what_was_kept_is_read_again_and_a_line_that_was_cut_is_not(tmp_path):
    file = kept(tmp_path)
    for one in samples():
        file.append(one)
    with (tmp_path / FILE).open("a") as added:
        added.write('{"verdict": "9", "ca')
    assert kept(tmp_path).read() == ({one.verdict: one for one in samples()}, 3)


def test_what_was_shrunk_before_something_changed_is_there_when_it_is_as_it_was(tmp_path):
    many = lambda tables: len(kept(tmp_path, tables).read()[0])  # noqa: E731
    first, second, third = samples(), samples(), samples()
    for tables, some in (("1", [next(first), next(first)]), ("2", [next(second)])):
        file = kept(tmp_path, tables)
        for one in some:
            file.append(one)
    assert many("2") == 1
    assert many("1") == 2
    assert kept(tmp_path, "3").read() == ({}, None)
    again = kept(tmp_path, "1")
    again.append([*third][2])
    assert many("1") == 3
    assert many("2") == 1


@pytest.mark.parametrize(
    "change",
    [
        lambda _: "nonsense",
        lambda _: "[]",
        lambda row: row | {"verdict": "x"},
        lambda row: row | {"verdict": "1" + "0" * 40},
        lambda row: row | {"at": 1e308},
        lambda row: row | {"keyword": ["minimum"]},
        lambda row: row | {"others": {"a": 1}},
        lambda row: row | {"error": row["error"] | {"engine": 1e308}},
        lambda row: row | {"error": row["error"] | {"engine": "none of the run"}},
        lambda row: row | {"error": row["error"] | {"kind": "new"}},
        lambda row: row | {"error": row["error"] | {"schema": "{"}},
        lambda row: row | {"error": row["error"] | {"text": [256]}},
        lambda row: row | {"error": row["error"] | {"token": "b", "token_at": 9}},
    ],
)
def test_a_damaged_file_is_told_in_a_line(tmp_path, change):
    file, path = kept(tmp_path), tmp_path / FILE
    file.append(next(samples()))
    head, kept_line, _ = path.read_text().split("\n")
    record = json.loads(kept_line)
    changed = change(record["shrunk"])
    text = changed if changed == "nonsense" else json.dumps(record | {"shrunk": changed})
    path.write_text(f"{head}\n{text}\n")
    with pytest.raises(RunDirectoryError, match="made again"):
        kept(tmp_path).read()
