"""Locating: whether an invalid completion fails at the disputed token or somewhere behind it.

A false acceptance is *located* where the part of the text that fails lies at the disputed token in
every attempt. Only the first error that a validator names is looked at; where that does not settle
it the error counts as being elsewhere, so that what is called located is so.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from harness.explain.error_location import fails_at, memoisable, skeleton
from harness.jsontext.lexer import START, State, advance
from harness.jsontext.pointers import typed_steps
from harness.validators.judge import Ruling

MAX_SEARCHES = 2048
"""Texts per position that are looked at; what is left over is not called located."""

Key = tuple[int, bytes, str, str, str]
Shape = npt.NDArray[np.int64]


class Shapes:
    """Which tokens of a position have the same shape, as numbers.

    Args:
        tokens: The bytes of every token.
    """

    def __init__(self, tokens: Sequence[bytes]) -> None:
        self._tokens = tokens
        self._known: npt.NDArray[np.int64] = np.full(len(tokens), -1, dtype=np.int64)
        self._places: dict[bytes, int] = {}

    def of(self, columns: npt.NDArray[np.int64], rulings: Sequence[Ruling]) -> Shape:
        """A number for each token; equal where one text stands for both.

        Under rulings about whose keyword the shape does not say enough, each token has its own.
        """
        safe = {ruling: memoisable(_keyword(ruling)) for ruling in set(rulings)}
        for column in columns[self._known[columns] < 0].tolist():
            shape = skeleton(self._tokens[column])
            self._known[column] = self._places.setdefault(shape, len(self._places))
        shared = np.array([safe[ruling] for ruling in rulings], dtype=np.bool_)
        return np.where(shared, self._known[columns], -1 - columns)


class Locating:
    """The search for the failing part, for the texts of one position.

    Many tokens share a completion and differ in nothing that matters for the place of an error:
    then one text stands for all of them (see `harness.explain.error_location.skeleton`).
    """

    def __init__(self, schema: Any) -> None:
        self._schema = schema
        self._known: dict[Key, bool] = {}
        self._before: State | None = None
        self._breaking: dict[bytes, bool] = {}
        self._searches = 0

    def at_token(
        self,
        text: Callable[[], bytes],
        number: int,
        start: int,
        token: bytes,
        ruling: Ruling,
        end_of_text: bool,
    ) -> bool:
        """Whether the error of an invalid completed text lies at its disputed token.

        Args:
            text: Gives the whole text.
            number: The completion's number at this position.
            start: Where the token begins.
            token: Its bytes; none at the end of generation.
            ruling: What is said of the text.
            end_of_text: Whether the token ends generation.
        """
        keyword = _keyword(ruling)
        if not keyword:
            return False
        if keyword == "json" and not end_of_text:
            return self._breaks(text, start, token)
        shape = skeleton(token) if memoisable(keyword) else token
        key = (number, shape, keyword, ruling.instance_pointer, ruling.schema_pointer)
        if key not in self._known:
            if self._searches >= MAX_SEARCHES:
                return False
            self._searches += 1
            fault = (
                keyword,
                tuple(typed_steps(ruling.instance_pointer)),
                tuple(typed_steps(ruling.schema_pointer)),
            )
            whole = text()
            begin = len(whole) if end_of_text else start
            self._known[key] = fails_at(whole, begin, begin + len(token), fault, self._schema)
        return self._known[key]

    def _breaks(self, text: Callable[[], bytes], start: int, token: bytes) -> bool:
        """Whether no JSON text begins as the text does up to its token, whatever stands behind."""
        if self._before is None:
            self._before = advance(START, text()[:start])
        if token not in self._breaking:
            self._breaking[token] = self._before is None or advance(self._before, token) is None
        return self._breaking[token]


def _keyword(ruling: Ruling) -> str:
    return "json" if ruling.reason == "not_json" else ruling.keyword
