"""The console script: one line where not even the commands can be imported, and no exit of 1."""

from __future__ import annotations

import resource
import sys
from typing import Final, NoReturn

_LEAST_MEMORY: Final = 400 << 20
"""Bytes of address space; with less, libraries end the process in words and codes of their own."""


def main() -> NoReturn:
    try:
        if 0 <= resource.getrlimit(resource.RLIMIT_AS)[0] < _LEAST_MEMORY:
            raise MemoryError
        from harness.cli.main import main as run
    except (ImportError, MemoryError, OSError) as error:
        from harness.console import tell
        from harness.errors import UsageError, of_the_system

        tell(f"maskcourt: {of_the_system(error) or f'it cannot be started: {error}'}")
        sys.exit(UsageError.exit_code)
    run()


if __name__ == "__main__":
    main()
