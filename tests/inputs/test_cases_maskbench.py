"""MaskBench out of archives and directories, right, damaged and hostile."""

import gzip
import hashlib
import json
import lzma
import os
import stat
import tarfile
import zipfile
from pathlib import Path

import pytest

from harness.errors import InputError
from harness.inputs.case_archives import content_sha256
from harness.inputs.case_maskbench import data_sha256
from harness.inputs.case_selection import open_cases, select
from harness.inputs.download import DATA_SHA256
from tests.archives import packed

ROOT = "jsonschemabench-0123abc/maskbench/data/"
ARCHIVES = {"tar.gz": "gz", "tgz": "gz", "tar.xz": "xz", "zip": "zip"}
KINDS = [*ARCHIVES, "directory", "flat directory"]


def file(*tests, schema='{"type": "object"}', extra=""):
    """The text of a MaskBench file with the given (valid, data) tests."""
    listed = [{"description": "", "valid": valid, "data": data} for valid, data in tests]
    return f'{{"description": "", "meta": {{}}, {extra} "schema": {schema}, "tests": {json.dumps(listed)}}}'.encode()


FILES = {
    "JME_0.json": file((True, 1), (False, "é"), schema='{ "x": 1.0e2 }'),
    "Github_easy---o2.json": file(),
    "Github_easy---o1-b.json": file((False, None)),
    "Github_easy---o1.json": file((True, {"a": [1.0]})),
}


BARE = b'{"schema":true}'


def pack(folder, kind, files=FILES, root=ROOT):
    """The files, below `root`, packed as `kind`, in the order given."""
    inside = {root + name: content for name, content in files.items()}
    inside[root.partition("/")[0] + "/README.md"] = b"not data"
    folder.mkdir(exist_ok=True)
    path = folder / f"packed.{kind}"
    if kind in ARCHIVES:
        path.write_bytes(packed(ARCHIVES[kind], inside))
        return path
    for name, content in (files if kind == "flat directory" else inside).items():
        (path / name).parent.mkdir(parents=True, exist_ok=True)
        (path / name).write_bytes(content)
    return path


@pytest.mark.parametrize("kind", KINDS)
def test_every_kind_of_package_gives_the_same_cases(tmp_path, kind):
    path = pack(tmp_path, kind)
    cases = open_cases(f"maskbench:{path}")
    read = list(cases)
    assert [case.id for case in read] == sorted(name.removesuffix(".json") for name in FILES)
    assert select(cases).families == {"Github_easy": 3, "JME": 1}
    assert data_sha256(path) == content_sha256(FILES.items())
    jme = read[-1]
    assert jme.schema == '{ "x": 1.0e2 }'
    assert [one.text for one in jme.valid] == [b"1"]
    assert [one.text for one in jme.invalid] == ['"é"'.encode()]
    assert read[0].valid[0].text == b'{"a": [1.0]}'
    assert jme.source.startswith("packed.")
    assert jme.source.endswith("JME_0.json")
    (bare,) = open_cases(f"maskbench:{pack(tmp_path / 'bare', kind, {'A.json': BARE})}")
    assert (bare.schema, bare.family, bare.valid, bare.invalid) == ("true", "A", (), ())
    assert "no MaskBench file" in refused(pack(tmp_path / "none", kind, {"notes.txt": b""}))


def test_the_digest_of_the_source_is_that_of_its_file_or_of_its_contents(tmp_path):
    archive = pack(tmp_path, "tar.gz")
    digest = hashlib.sha256(archive.read_bytes()).hexdigest()
    assert open_cases(f"maskbench:{archive}").sha256 == digest
    directory = open_cases(f"maskbench:{pack(tmp_path, 'directory')}")
    assert directory.sha256 == content_sha256(FILES.items())


def test_the_digest_of_contents_sees_names_and_contents():
    swapped, joined = {"a": b"2", "b": b"1"}, {"ab": b"1", "": b"2"}
    files = ({"a": b"1", "b": b"2"}, swapped, {"a": b"1"}, joined)
    assert len({content_sha256(one.items()) for one in files}) == 4
    assert content_sha256([("b", b"2"), ("a", b"1")]) == content_sha256([("a", b"1"), ("b", b"2")])


def test_a_sample_parses_only_what_it_needs(tmp_path):
    files = {f"A---{n}.json": b"not JSON" for n in range(50)} | {"B---1.json": file((True, 1))}
    cases = open_cases(f"maskbench:{pack(tmp_path, 'tar.xz', files)}")
    assert [case.id for case in select(cases, families=["B"], sample=5)] == ["B---1"]


def test_without_a_path_the_environment_or_the_download_is_read(tmp_path, monkeypatch):
    monkeypatch.setenv("MASKCOURT_MASKBENCH", str(pack(tmp_path, "zip")))
    assert len(open_cases("maskbench").index) == 4
    monkeypatch.delenv("MASKCOURT_MASKBENCH")
    monkeypatch.setenv("MASKCOURT_DATA", str(tmp_path / "data"))
    with pytest.raises(InputError, match=r"make data.*MASKCOURT_MASKBENCH.*maskbench:PATH"):
        open_cases("maskbench")
    (tmp_path / "data").mkdir()
    pack(tmp_path, "tar.gz").rename(tmp_path / "data" / "maskbench.tar.gz")
    assert len(open_cases("maskbench").index) == 4


@pytest.mark.parametrize(
    ("content", "says"),
    [
        (b"schema: yes", "is not a MaskBench file"),
        (b"[]", "is not a MaskBench file"),
        (b'{"tests": []}', "has no 'schema'"),
        (b'{"schema": {"a"}}', "the schema is not JSON"),
        (b'{"schema": 3}', "the schema is a number"),
        (b'{"schema": {}, "tests": {}}', "'tests' is an object"),
        (b'{"schema": {}, "tests": [{"valid": 1, "data": 2}]}', r"tests\[0\] has no"),
        (b'{"schema": {}, "tests": [{"valid": true}]}', r"tests\[0\] has no"),
        (b'{"schema": {}, "schema": {}}', "duplicate key"),
        (b'{"schema": {}, "tests": [{"valid": true, "data": NaN}]}', "'tests' cannot be read"),
    ],
)
def test_a_file_that_is_not_in_the_format_is_named(tmp_path, content, says):
    cases = open_cases(f"maskbench:{pack(tmp_path, 'zip', {'A---bad.json': content})}")
    with pytest.raises(InputError, match=f"packed.zip:.*A---bad.json.*{says}"):
        list(cases)


def refused(path):
    """The message with which the archive at `path` is refused."""
    with pytest.raises(InputError) as caught:
        list(open_cases(f"maskbench:{path}"))
    assert caught.value.exit_code == 2
    return str(caught.value)


@pytest.mark.parametrize("name", ["/etc/x.json", "a/../../x", "..", "..\\x.json", "C:\\x.json"])
@pytest.mark.parametrize("kind", ["tar.gz", "zip"])
def test_a_name_that_leads_out_of_the_archive_is_refused(tmp_path, name, kind):
    assert "leads out of it" in refused(pack(tmp_path, kind, {name: b"{}"}, root=""))


@pytest.mark.parametrize("kind", [tarfile.SYMTYPE, tarfile.LNKTYPE], ids=["symbolic", "hard"])
def test_links_are_left_out(tmp_path, kind):
    link = tarfile.TarInfo()
    link.type, link.linkname = kind, "/etc/passwd"
    path = pack(tmp_path, "tar.gz", {"A---1.json": file(), "A---2.json": link})
    assert list(open_cases(f"maskbench:{path}").index) == ["A---1"]
    path = pack(tmp_path, "zip")
    with zipfile.ZipFile(path, "a") as archive:
        info = zipfile.ZipInfo(f"{ROOT}A---2.json")
        info.external_attr = (stat.S_IFLNK | 0o777) << 16
        archive.writestr(info, "../outside")
    assert len(open_cases(f"maskbench:{path}").index) == len(FILES)


@pytest.mark.parametrize("kind", ["tar.gz", "tar.xz", "zip"])
@pytest.mark.parametrize("kept", [0.1, 0.5, 0.9, 0.99])
def test_a_truncated_or_corrupt_archive_is_refused(tmp_path, kind, kept):
    files = {f"A---{n}.json": file((True, os.urandom(40).hex())) for n in range(40)}
    path = pack(tmp_path, kind, files)
    content = bytearray(path.read_bytes())
    path.write_bytes(content[: int(len(content) * kept)])
    assert "fetch it again" in refused(path)
    for at in range(len(content) // 3, len(content) // 3 + 40):
        content[at] ^= 0xFF
    path.write_bytes(content)
    assert "packed" in refused(path)


def test_what_is_no_archive_of_maskbench_is_refused(tmp_path):
    path = tmp_path / "x.tar.gz"
    assert "does not exist" in refused(path)
    for content, says in (
        (b"", "is no archive"),
        (b"hello, world", "is no archive"),
        (gzip.compress(b"hello", mtime=0), "fetch it again"),
    ):
        path.write_bytes(content)
        assert says in refused(path)
    twice = {f"{top}/maskbench/data/A---1.json": file() for top in "ab"}
    path.write_bytes(packed("gz", twice))
    assert "two files 'A---1.json'" in refused(path)


@pytest.mark.parametrize("compress", [gzip.compress, lzma.compress])
@pytest.mark.parametrize("cut", [512 * 3, 512 * 4 + 100, -10240, -10240 - 700])
def test_a_tar_that_ends_early_within_a_whole_compressed_file_is_refused(tmp_path, compress, cut):
    files = {f"{ROOT}A---{n}.json": b"{}" * 300 for n in range(9)}
    plain = packed("", files)
    (tmp_path / "packed").write_bytes(compress(plain[: plain.rindex(b"{}") + 2][:cut]))
    assert "fetch it again" in refused(tmp_path / "packed")


def test_a_corrupt_header_does_not_end_the_archive_quietly(tmp_path):
    files = {f"{ROOT}A---{n}.json": b"{}" for n in range(9)}
    plain = bytearray(packed("", files))
    at = plain.index(b"A---5")
    plain[at : at + 5] = b"B---5"  # the header's checksum is wrong now
    (tmp_path / "packed").write_bytes(gzip.compress(bytes(plain)))
    assert "damaged" in refused(tmp_path / "packed")


def test_a_zip_member_that_unpacks_to_more_than_it_declares_is_refused(tmp_path):
    path = tmp_path / "x.zip"
    content = b" " * 2**20 + b"{}"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr(f"{ROOT}A---1.json", content)
    size = len(content).to_bytes(4, "little")
    path.write_bytes(path.read_bytes().replace(size, (9).to_bytes(4, "little")))
    assert "damaged" in refused(path)


def test_a_zip_that_was_packed_in_a_way_nobody_knows_is_told(tmp_path):
    path = tmp_path / "x.zip"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr(f"{ROOT}A---1.json", b"{}")
    packed_as = bytearray(path.read_bytes())
    for header, at in ((b"PK\3\4", 8), (b"PK\1\2", 10)):
        packed_as[packed_as.index(header) + at] = 99
    path.write_bytes(packed_as)
    assert refused(path).startswith(f"cannot read {path}: ")


@pytest.mark.maskbench
def test_the_published_archive_is_whole_and_a_sample_of_it_is_read(request):
    named = request.config.getoption("--maskbench", None) or os.environ.get("MASKCOURT_MASKBENCH")
    if not named:
        pytest.skip("no MaskBench archive")
    cases = open_cases(f"maskbench:{named}")
    assert len(cases.index) == 11_305
    read = list(select(cases, sample=400))
    assert sum(len(one.valid) for one in read) == 504
    assert sum(len(one.invalid) for one in read) == 836
    assert data_sha256(Path(named)) == DATA_SHA256
