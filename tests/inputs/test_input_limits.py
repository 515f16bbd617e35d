"""Small files that unpack to much, and large ones: refused before they fill the memory."""

import gzip
import lzma
import subprocess
import sys
import tarfile
from functools import partial
from pathlib import Path

import pytest

from harness.errors import InputError, UsageError
from harness.inputs.case_selection import open_cases
from harness.inputs.limits import VARIABLE
from harness.inputs.schema_inputs import read_instance, read_schemas
from harness.inputs.vocabulary_readers import open_vocabulary
from tests.archives import packed

MIB = 2**20
NAME = "x/maskbench/data/A---1.json"
CASE = b'{"schema": true}'


def claiming(kind, size):
    """A tar whose first header, of this type, claims to be followed by so many bytes."""
    info = tarfile.TarInfo(NAME)
    info.type, info.size = kind, size
    return info.tobuf(tarfile.GNU_FORMAT)


BOMBS = {
    **{kind: partial(packed, kind, {NAME: CASE + b" " * 2 * MIB}) for kind in ("gz", "xz", "zip")},
    "gz, members": lambda: packed("gz", {f"{NAME}{n}": b" " * MIB for n in range(17)}),
    "zip, members": lambda: packed("zip", {f"{NAME}{n}": b" " * MIB for n in range(17)}),
    "a claim": lambda: gzip.compress(claiming(tarfile.REGTYPE, 2**40)),
    **{
        name: lambda kind=kind: lzma.compress(claiming(kind, 9 * MIB) + b"\0" * 9 * MIB)
        for name, kind in {
            "attributes": tarfile.XHDTYPE,
            "a long name": tarfile.GNUTYPE_LONGNAME,
        }.items()
    },
}


@pytest.fixture(autouse=True)
def one_mib(monkeypatch):
    monkeypatch.setenv(VARIABLE, "1")


@pytest.mark.parametrize("bomb", BOMBS)
def test_archives(tmp_path, monkeypatch, bomb):
    (tmp_path / "bomb").write_bytes(BOMBS[bomb]())
    assert (tmp_path / "bomb").stat().st_size < 60_000
    with pytest.raises(InputError, match=f"limit is .* MiB; {VARIABLE} names another") as caught:
        list(open_cases(f"maskbench:{tmp_path / 'bomb'}"))
    assert caught.value.exit_code == 2
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("kind", ["gz", "xz", "zip"])
def test_the_variable_raises_the_limit(tmp_path, monkeypatch, kind):
    (tmp_path / "large").write_bytes(BOMBS[kind]())
    monkeypatch.setenv(VARIABLE, "3")
    assert [case.schema for case in open_cases(f"maskbench:{tmp_path / 'large'}")] == ["true"]


@pytest.mark.parametrize("value", ["0", "-1", "much", "1e3", "9" * 5000])
def test_a_limit_that_is_none(tmp_path, monkeypatch, value):
    (tmp_path / "c.jsonl").write_bytes(b"{}")
    monkeypatch.setenv(VARIABLE, value)
    with pytest.raises(UsageError, match=VARIABLE):
        open_cases(str(tmp_path / "c.jsonl"))


def test_lines_of_cases(tmp_path):
    path = tmp_path / "c.jsonl"
    line = b'{"id": "a", "schema": %strue, "valid": []}\n'
    path.write_bytes(line % b"" + line % (b" " * MIB))
    with pytest.raises(InputError, match=r"c\.jsonl:2 has more bytes than are read"):
        open_cases(str(path))
    path.write_bytes(b"\n".join([b" " * (MIB - 9)] * 17))
    with pytest.raises(InputError, match=r"c\.jsonl has more bytes than are read.*16 MiB"):
        open_cases(str(path))
    (tmp_path / "endless.jsonl").symlink_to("/dev/zero")
    with pytest.raises(InputError, match=r"endless\.jsonl:1 has more"):
        open_cases(str(tmp_path / "endless.jsonl"))


def test_schemas_instances_and_vocabularies(tmp_path):
    path = tmp_path / "large.json"
    path.write_bytes(b" " * MIB + CASE)
    for read in (
        lambda: read_schemas([str(path)]),
        lambda: read_instance(path, is_json=False),
        lambda: open_vocabulary(str(path)),
        lambda: list(open_cases(f"maskbench:{tmp_path}")),
    ):
        with pytest.raises(InputError, match=r"more bytes than are read"):
            read()


@pytest.mark.parametrize(
    ("value", "says"),
    [
        (b"[" * 100_000 + b"]" * 100_000, "nested"),
        (b'{"a":' * 100_000 + b"1" + b"}" * 100_000, "nested"),
        (b"9" * 900_000, "out of range"),
        (b"1e" + b"9" * 900_000, "'valid' cannot be read"),
        (b"-0." + b"0" * 900_000 + b"1", None),
    ],
    ids=["arrays", "objects", "digits", "exponent", "fraction"],
)
@pytest.mark.timeout(20)
def test_deep_values_and_enormous_numbers(tmp_path, value, says):
    path = tmp_path / "c.jsonl"
    path.write_bytes(b'{"id": "a", "schema": true, "valid": [' + value + b"]}")
    if says is None:
        assert len(open_cases(str(path)).index) == 1
    else:
        with pytest.raises(InputError, match=says) as caught:
            open_cases(str(path))
        assert len(str(caught.value)) < 500


@pytest.mark.processes
@pytest.mark.timeout(60)
def test_a_command_refuses_a_bomb_within_its_memory(tmp_path):
    """4 GiB of zeros in 600 kB, under a limit of 2 GiB of addresses."""
    bomb = tmp_path / "bomb.tar.xz"
    zeros = lzma.LZMACompressor(preset=0)
    with bomb.open("wb") as file:
        file.write(zeros.compress(claiming(tarfile.XHDTYPE, 4 * 2**30)))
        for _ in range(256):
            file.write(zeros.compress(b"\0" * MIB))
        file.write(zeros.flush())
    command = [str(Path(sys.executable).parent / "maskcourt"), "bench", "--cases"]
    script = f"ulimit -v {2 * 2**21}; exec " + " ".join([*command, f"maskbench:{bomb}"])
    done = subprocess.run(["bash", "-c", script], check=False, capture_output=True, text=True)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.count("\n") == 1
    assert VARIABLE in done.stderr
