"""Fetch MaskBench, which the cases called ``maskbench`` are: ``python -m harness.inputs.download``.

The server makes the archive on request: its bytes may change with the server's packer, and it sends
no part of it. So what is verified is not the archive's checksum but that of the files in it.
"""

from __future__ import annotations

import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Final

import click

from harness.console import say, tell
from harness.directories import fetched_path
from harness.errors import InputError, MaskcourtError, UsageError
from harness.inputs.case_maskbench import data_sha256

TIMEOUT_S: Final = 60.0

_COMMIT: Final = "ba103c73756198dd9b149ddc7db7867da7a077f6"
MASKBENCH: Final = f"MaskBench at commit {_COMMIT}"
URL: Final = f"https://codeload.github.com/guidance-ai/jsonschemabench/tar.gz/{_COMMIT}"
DATA_SHA256: Final = "99c68b6b1949c75e41ce0869a18b1787f6c1b475680d929750044749445d21de"
"""`harness.inputs.case_maskbench.data_sha256` of it."""


def fetch(url: str, target: Path, verify: Callable[[Path], None]) -> None:
    """Download `url` to `target`, which appears only when `verify` raises no `InputError` of it."""
    import http.client  # takes long, and few runs fetch anything
    import urllib.request

    if not url.startswith(("http://", "https://")):
        raise UsageError(f"cannot download {url}", "give an http or https address")
    try:
        with urllib.request.urlopen(url, timeout=TIMEOUT_S) as response:  # noqa: S310 - http
            content = response.read()
    except (OSError, http.client.HTTPException) as error:
        raise InputError(f"downloading {url} failed: {error}", "try again") from error
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=target.parent) as directory:
            part = Path(directory, target.name)
            part.write_bytes(content)
            verify(part)
            part.replace(target)
    except OSError as error:
        raise InputError(f"cannot write {target}: {error}") from error


def _check_data(path: Path) -> None:
    found = data_sha256(path)
    if found != DATA_SHA256:
        message = f"{path} does not hold {MASKBENCH}: its files have the digest {found}"
        raise InputError(message, f"expected {DATA_SHA256}")


@click.command()
@click.option("--url", default=URL, show_default=True, help="Where to get it.")
@click.option("--to", "target", type=click.Path(path_type=Path), help="The file to make.")
def main(url: str, target: Path | None) -> None:
    """Download MaskBench and verify its contents; do nothing if it is there and right."""
    target = target or fetched_path()
    try:
        if target.exists():
            try:
                _check_data(target)
            except InputError as error:  # it may be somebody's own
                raise InputError(error.message, f"remove {target} to have it fetched") from error
            say(f"{target} is there already: {MASKBENCH}")
            return
        fetch(url, target, _check_data)
    except MaskcourtError as error:
        tell(f"error: {error}")
        sys.exit(error.exit_code)
    say(f"{target}: {MASKBENCH}")


if __name__ == "__main__":
    main()
