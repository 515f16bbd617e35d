"""Other ends for an invalid document, built to avoid the errors that validators named."""

from __future__ import annotations

from collections.abc import Sequence

from harness.endings import Endings
from harness.partial import Cursor

Fault = tuple[str, tuple[str | int, ...], tuple[str | int, ...]]
"""The keyword, the path of the failing instance, and the path of the keyword in the schema."""


class Repairs:
    """."""

    def __init__(self, endings: Endings) -> None:
        self._endings = endings

    def repaired(self, cursor: Cursor, text: bytes, errors: Sequence[Fault]) -> list[bytes]:
        return []
