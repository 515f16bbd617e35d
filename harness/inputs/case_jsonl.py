"""Cases from JSON Lines: the user's own, and those that come with the project.

A line is an object with ``id`` (a string), ``schema`` (an object or a boolean) and the lists
``valid`` and ``invalid``; also ``family`` (else the file's stem) and ``about`` (a remark). An
instance is a JSON value, or ``{"text": "..."}``, exactly this one key with a string, for a text
that is to stay as it is spelt. Blank lines are skipped. A case of a regular expression has a
``pattern`` (a string) in place of the schema, and its instances are texts.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Final

from harness.directories import data_path
from harness.errors import InputError, nearest
from harness.inputs.case_archives import content_sha256
from harness.inputs.cases import (
    Case,
    CaseSource,
    Instance,
    ListedCases,
    kind_of,
    parsed_list,
    schema_text,
)
from harness.inputs.limits import TOTAL, check_size, max_bytes, read_file
from harness.jsontext import strict_json
from harness.jsontext.spans import raw_members

QUICK: Final = "quick.json"
"""Lists the first selection, by a rule that ``datasets/README.md`` states."""

SCHEMA: Final = "schema"
PATTERN: Final = "pattern"
"""What is asked of texts: the key of it in a line."""

_FOLDERS: Final = {SCHEMA: "embedded", PATTERN: "regex"}
_KEYS: Final = ("id", "valid", "invalid", "family", "about")


def embedded(part: str = SCHEMA) -> CaseSource:
    """The cases of a kind that come with the project: every ``.jsonl`` file of their folder."""
    cases, texts = _embedded(part)
    return ListedCases("embedded", cases, content_sha256(texts.items()))


def quick() -> CaseSource:
    """The first selection of the embedded cases: those of ``embedded/quick.json``, in its order."""
    text = read_file(data_path("embedded") / QUICK)
    cases, texts = _embedded(SCHEMA)
    known = {case.id: case for case in cases}
    try:
        chosen = [known[id_] for id_ in json.loads(text)["cases"]]
    except (ValueError, TypeError, KeyError) as error:
        raise InputError(f"embedded/{QUICK} lists no embedded cases: {error}") from None
    digest = content_sha256({**texts, QUICK: text}.items())
    return ListedCases("quick", chosen, digest, as_listed=True)


def _embedded(part: str) -> tuple[list[Case], dict[str, bytes]]:
    """The embedded cases of a kind, and the files that they come from."""
    folder = _FOLDERS[part]
    texts = {path.name: read_file(path) for path in sorted(data_path(folder).glob("*.jsonl"))}
    return [
        _case(line, f"{folder}/{name}:{number}", Path(name).stem, part)
        for name, text in texts.items()
        for number, line in enumerate(text.split(b"\n"), 1)
        if line.strip()
    ], texts


def open_jsonl(path: Path, part: str = SCHEMA) -> CaseSource:
    cases: list[Case] = []
    digest, size, number = hashlib.sha256(), 0, 0
    try:
        with path.open("rb") as file:
            while line := file.readline(max_bytes() + 1):
                number += 1
                size += len(line)
                check_size(f"{path}:{number}", len(line))
                check_size(str(path), size, TOTAL)
                digest.update(line)
                if line.strip():
                    where = f"{path}:{number}"
                    cases.append(_case(line.strip(b"\r\n"), where, path.stem, part))
    except OSError as error:
        raise InputError(f"cannot read {path}: {error.strerror}") from None
    return ListedCases(path.name, cases, digest.hexdigest())


def _case(line: bytes, where: str, stem: str, part: str) -> Case:
    try:
        try:
            members = raw_members(line)
        except strict_json.JsonError:
            strict_json.parse(line)  # says where the text ends or goes wrong
            raise
    except strict_json.JsonError as error:
        raise InputError(f"{where}: {error}", "a line is one JSON object") from None
    for key in members:
        if key not in (*_KEYS, part):
            raise InputError(f"{where}: unknown key {key!r}", nearest(key, (*_KEYS, part)))
    for key in ("id", part):
        if key not in members:
            raise InputError(f"{where}: {key!r} is missing")
    given = members.keys() & {"id", "family", "about", PATTERN}
    texts = {key: _string(members[key], where, key) for key in given}
    if not texts["id"]:
        raise InputError(f"{where}: 'id' is empty")
    return Case(
        id=texts["id"],
        family=texts.get("family", stem),
        schema=texts[PATTERN] if part == PATTERN else schema_text(members[SCHEMA], where),
        valid=_instances(members, where, "valid", part),
        invalid=_instances(members, where, "invalid", part),
        source=where,
        about=texts.get("about", ""),
    )


def _string(raw: bytes, where: str, key: str) -> str:
    try:
        value = strict_json.parse(raw)
    except strict_json.JsonError as error:
        raise InputError(f"{where}: {key!r} cannot be read: {error}") from None
    if not isinstance(value, str):
        raise InputError(f"{where}: {key!r} is {kind_of(value)}, not a string")
    return value


def _instances(
    members: Mapping[str, bytes], where: str, key: str, part: str
) -> tuple[Instance, ...]:
    found = []
    for number, value in enumerate(parsed_list(members, where, key)):
        here = f"{where}: {key}[{number}]"
        if part == PATTERN and not isinstance(value, str):
            raise InputError(f"{here} is {kind_of(value)}, not a string")
        found.append(_instance({"text": value} if part == PATTERN else value, here))
    return tuple(found)


def _instance(value: object, where: str) -> Instance:
    match value:
        case {"text": str(text), **others} if not others:
            try:
                return Instance(text.encode("utf-8"))
            except UnicodeEncodeError:
                hint = r"write \\ud800 to have the escape itself in the text"
                raise InputError(f"{where}: a lone surrogate is no text", hint) from None
    return Instance.of(value)
