"""Cases of MaskBench: its archive, or a directory of its files.

MaskBench is the folder ``maskbench/data`` of https://github.com/guidance-ai/jsonschemabench: a
file a schema, ``{"description", "meta", "schema", "tests": [{"description", "valid", "data"}]}``.
The id is the file's name without its suffix. The family is what stands in it before ``---``, and
before the first ``_`` where there is none (``BFCL_java_0``, ``JME_1``).
"""

from __future__ import annotations

import hashlib
import json
import os
import sys
from collections.abc import Collection, Iterator
from contextlib import suppress
from functools import cached_property
from pathlib import Path
from typing import Final

from harness.directories import MASKBENCH, fetched_path
from harness.errors import InputError
from harness.inputs.case_archives import Member, content_sha256, members
from harness.inputs.cases import Case, CaseSource, Instance, parsed_list, schema_text
from harness.jsontext import strict_json
from harness.jsontext.spans import raw_members

_SUFFIX: Final = ".json"


def open_maskbench(path: Path | None = None) -> CaseSource:
    """The cases in `path`, or in what `MASKBENCH` names, or in what ``make data`` fetched."""
    named = os.environ.get(MASKBENCH)
    if path is None and not named and not fetched_path().exists():
        fetching = f"run `make data`, or: {sys.executable} -m harness.inputs.download"
        hint = f"{fetching}; or set {MASKBENCH} to the archive, or give maskbench:PATH"
        raise InputError(f"MaskBench is not there: no {fetched_path()}", hint)
    return MaskBench(path or (Path(named).expanduser() if named else fetched_path()))


def family_of(id_: str) -> str:
    before, dashes, _ = id_.partition("---")
    return before if dashes else id_.partition("_")[0]


def data_sha256(path: Path) -> str:
    """`content_sha256` of the MaskBench files in an archive or directory, without folders."""
    return content_sha256((_base(one), one.read()) for one in _data_files(path))


class MaskBench(CaseSource):
    """MaskBench in the archive or directory `path`, which is looked through at once.

    An archive is read from its start for every `read`; only the files asked for are parsed, and
    of those only the ones that the archive holds too early are kept meanwhile.
    """

    def __init__(self, path: Path) -> None:
        self.name = f"maskbench:{path.name}"
        self._path = path
        self._members = {_base(one).removesuffix(_SUFFIX): one.name for one in _data_files(path)}
        self.index = {id_: family_of(id_) for id_ in sorted(self._members)}

    @cached_property
    def sha256(self) -> str:  # type: ignore[override]  # looked at only where it is needed
        """Hex digest: an archive's own, or `data_sha256` of a directory."""
        if self._path.is_dir():
            return data_sha256(self._path)
        with self._path.open("rb") as file:
            return hashlib.file_digest(file, "sha256").hexdigest()

    def read(self, ids: Collection[str]) -> Iterator[Case]:
        return (_case(id_, text, self._where(id_)) for id_, text in self._texts(ids))

    def with_valid(self, ids: Collection[str]) -> Iterator[str]:
        """As of every source; of a file only that much is looked at, if it is well-formed."""
        return (id_ for id_, text in self._texts(ids) if _has_valid(id_, text, self._where(id_)))

    def _where(self, id_: str) -> str:
        return f"{self._path.name}:{self._members[id_]}"

    def _texts(self, ids: Collection[str]) -> Iterator[tuple[str, bytes]]:
        order = sorted(ids, reverse=True)
        wanted = {self._members[id_]: id_ for id_ in order}
        early: dict[str, bytes] = {}
        for member in members(self._path):
            if member.name not in wanted:
                continue
            early[wanted[member.name]] = member.read()
            while order and order[-1] in early:
                id_ = order.pop()
                yield id_, early.pop(id_)
            if not order:
                return


def _data_files(path: Path) -> Iterator[Member]:
    """The MaskBench files in `path`, once each."""
    seen: set[str] = set()
    flat = path.is_dir() and not any(
        _in_archive_layout(file.relative_to(path).as_posix())
        for pattern in ("maskbench/data/*", "*/maskbench/data/*")
        for file in path.glob(pattern)
    )
    for member in members(path):
        name = member.name
        if (name.endswith(_SUFFIX) and "/" not in name) if flat else _in_archive_layout(name):
            base = _base(member)
            if base in seen:
                raise InputError(f"{path} holds two files {base!r}", "an id must be unique")
            seen.add(base)
            yield member
    if not seen:
        hint = "expected maskbench/data/*.json in it, as in MaskBench's source archive"
        raise InputError(f"{path} holds no MaskBench file", hint)


def _in_archive_layout(name: str) -> bool:
    folder = "/" + name.rpartition("/")[0]
    return name.endswith(_SUFFIX) and folder.endswith("/maskbench/data")


def _base(member: Member) -> str:
    return member.name.rpartition("/")[2]


def _has_valid(id_: str, text: bytes, where: str) -> bool:
    with suppress(ValueError, RecursionError, KeyError, TypeError):
        return any(test["valid"] is True for test in json.loads(text)["tests"])
    return bool(_case(id_, text, where).valid)


def _case(id_: str, text: bytes, where: str) -> Case:
    try:
        parts = raw_members(text)
    except strict_json.JsonError as error:
        raise InputError(f"{where} is not a MaskBench file: {error}") from None
    if "schema" not in parts:
        raise InputError(f"{where} has no 'schema'")
    instances: dict[bool, list[Instance]] = {True: [], False: []}
    for number, test in enumerate(parsed_list(parts, where, "tests")):
        match test:
            case {"valid": bool(is_valid), "data": data}:
                instances[is_valid].append(Instance.of(data))
            case _:
                raise InputError(f"{where}: tests[{number}] has no 'valid' and 'data'")
    valid, invalid = map(tuple, instances.values())
    return Case(id_, family_of(id_), schema_text(parts["schema"], where), valid, invalid, where)
