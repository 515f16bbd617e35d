"""Tokens by id while a file is read, before they are a vocabulary."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Final

from harness.errors import InputError, UsageError, nearest
from harness.inputs.vocabulary import Vocabulary

MAX_SIZE: Final = 1 << 24  # a stray id must not make a table that fills the memory
EOS_HINT: Final = "name it: a token such as '<|im_end|>', or an id"


@dataclass
class TokenTable:
    """Tokens by id; ids may be missing."""

    ordinary: dict[int, bytes] = field(default_factory=dict)
    special: dict[int, bytes] = field(default_factory=dict)
    pattern: str | None = None
    """As `Vocabulary.pattern`."""

    def find(self, eos: str, where: str) -> int:
        """The id that `eos` means: a special token's text, an id, or an ordinary token's text.

        Raises:
            UsageError: There is none.
        """
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

        Raises:
            InputError: An id that is out of all proportion.
        """
        named = self.ordinary | self.special
        if odd := [token for token in named if type(token) is not int]:
            raise InputError(f"{where} has the id {odd[0]!r}, which is no whole number")
        size = max(named) + 1
        if min(named) < 0 or size > MAX_SIZE:
            raise InputError(f"{where} has ids from {min(named)} to {size - 1}")
        tokens = [named.get(token, b"") for token in range(size)]
        special_ids = {token for token, text in enumerate(tokens) if not text} | set(self.special)
        whole = self.ordinary.keys().isdisjoint(eos_ids)
        return Vocabulary.from_tokens(
            name, tokens, special_ids, eos_ids, self.pattern if whole else None
        )
