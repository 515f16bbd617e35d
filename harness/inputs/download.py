"""Download one file so that it is wholly there and right, or not there at all.

``python -m harness.inputs.download`` fetches MaskBench, which the cases called ``maskbench`` then
are. The archive is made by the server on request, and its bytes may change with the server's
packer; so it is not the archive's checksum that is verified but that of the files in it.
"""

from __future__ import annotations

import http.client
import re
import sys
import urllib.error
import urllib.request
from collections.abc import Callable
from pathlib import Path
from typing import Final

import click

from harness.console import say, tell
from harness.directories import fetched_path
from harness.errors import InputError, MaskcourtError, UsageError
from harness.inputs.case_maskbench import data_sha256

ATTEMPTS: Final = 3
"""Times that a broken transfer is taken up again before it counts as failed."""

TIMEOUT_S: Final = 60.0

_COMMIT: Final = "ba103c73756198dd9b149ddc7db7867da7a077f6"
MASKBENCH: Final = f"MaskBench at commit {_COMMIT}"
URL: Final = f"https://codeload.github.com/guidance-ai/jsonschemabench/tar.gz/{_COMMIT}"
DATA_SHA256: Final = "99c68b6b1949c75e41ce0869a18b1787f6c1b475680d929750044749445d21de"
"""`harness.inputs.case_maskbench.data_sha256` of it."""


def fetch(url: str, target: Path, verify: Callable[[Path], None]) -> None:
    """Download `url` to `target`, which appears only when it is complete and right.

    What has arrived is kept in ``TARGET.part`` when the transfer breaks off, and the next call
    goes on from there if the server can. `verify` raises `InputError` when the complete file is not
    right: then nothing is kept.
    """
    if target.exists():
        raise UsageError(f"{target} exists already", "delete it to download it again")
    if not re.match(r"https?://", url):
        raise UsageError(f"cannot download {url}", "give an http or https address")
    part = target.with_name(target.name + ".part")
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        _receive(url, part)
    except OSError as error:
        raise InputError(f"cannot write {part}: {error}") from error
    try:
        verify(part)
    except InputError:
        part.unlink()
        raise
    part.replace(target)


class _BrokenOffError(Exception):
    """The transfer ended before the file did; the message says how."""


def _receive(url: str, part: Path) -> None:
    for attempt in range(1, ATTEMPTS + 1):
        try:
            return _transfer(url, part)
        except (_BrokenOffError, urllib.error.URLError, http.client.HTTPException) as error:
            if attempt == ATTEMPTS:
                hint = "try again: it goes on from what has arrived"
                raise InputError(f"downloading {url} failed: {error}", hint) from error
    return None


def _transfer(url: str, part: Path) -> None:
    """Bring `part` to the end of the file, from where it ends now."""
    have = part.stat().st_size if part.exists() else 0
    headers = {"User-Agent": "maskcourt"} | ({"Range": f"bytes={have}-"} if have else {})
    request = urllib.request.Request(url, headers=headers)  # noqa: S310 - fetch checked the scheme
    try:
        with urllib.request.urlopen(request, timeout=TIMEOUT_S) as response:  # noqa: S310
            _store(response, part, have)
    except urllib.error.HTTPError as error:
        error.close()
        if error.code == 416:
            return  # nothing is left to fetch; whether it is right is looked at in any case
        if error.code < 500:
            raise InputError(f"cannot download {url}: {error.code} {error.reason}") from error
        raise _BrokenOffError(f"the server answers {error.code} {error.reason}") from error
    except (ConnectionError, TimeoutError) as error:
        raise _BrokenOffError(str(error)) from error


def _store(response: http.client.HTTPResponse, part: Path, have: int) -> None:
    """Write the answer to `part`: after what it has, or over it if the server sends it all."""
    if response.status == 206:
        if not response.headers.get("Content-Range", "").startswith(f"bytes {have}-"):
            part.unlink()
            raise _BrokenOffError("the server sent another part than was asked for")
    else:
        have = 0
    length = response.headers.get("Content-Length")
    total = have + int(length) if length else None
    with part.open("ab" if have else "wb") as file:
        while piece := response.read1(2**18):  # unlike read, it loses nothing when it breaks off
            file.write(piece)
            have += len(piece)
    if total is not None and have != total:
        raise _BrokenOffError(f"{have:,} of {total:,} bytes arrived")


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
            _check_data(target)
            say(f"{target} is there already: {MASKBENCH}")
            return
        fetch(url, target, _check_data)
    except MaskcourtError as error:
        tell(f"error: {error}")
        sys.exit(error.exit_code)
    say(f"{target}: {MASKBENCH}")


if __name__ == "__main__":
    main()
