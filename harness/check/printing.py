"""A check on a terminal: answers as they come, and in the end what to do about them."""

from __future__ import annotations

import time

from harness.check.answers import Answer, Answers
from harness.check.text import advice_lines, answer_lines, known_so_far
from harness.live import LiveLine


class CheckOutput(LiveLine):
    """Prints whole answers on standard output, and on standard error what is known before.

    Args:
        answers: The answers, as they are added to.
        quiet: Whether nothing goes to standard output.
    """

    def __init__(self, answers: Answers, *, quiet: bool) -> None:
        self._answers = answers
        self._quiet = quiet
        self._began = time.monotonic()
        self._left = list(answers.schemas)
        self._shown: set[tuple[str, str]] = set()
        total = len(answers.schemas) * len(answers.engines)
        super().__init__("check", total, "starting the engines")

    def tell(self, answer: Answer) -> None:
        """Tell of an answer that was added."""
        if answer.whole:
            if not self._quiet:
                self._print_next()
        else:
            line = known_so_far(answer, with_schema=len(self._answers.schemas) > 1)
            self.say(f"{time.monotonic() - self._began:4.1f} s  {line}")
        done = sum(one.whole for one in self._answers)
        self.update(done, "so far single bytes; the whole vocabulary takes longer")

    def end(self) -> None:
        """Print what was not printed: all that is known, whole or not; then what to do about it."""
        for schema in self._left:
            self._print_block(schema, self._answers.of(schema))
        if advice := advice_lines(self._answers):
            self.write("".join(f"{line}\n" for line in ("What to do:", *advice)))

    def _print_next(self) -> None:
        """Print the whole answers about the next schemas: those about one stand together."""
        while self._left:
            schema = self._left[0]
            whole = [one for one in self._answers.of(schema) if one.whole]
            self._print_block(schema, whole)
            if len(whole) < len(self._answers.engines):
                return
            self._left.pop(0)

    def _print_block(self, schema: str, answers: list[Answer]) -> None:
        new = [one for one in answers if (schema, one.engine) not in self._shown]
        lines = [f"{schema}"] if new and not self._begun(schema) else []
        for one in new:
            self._shown.add((schema, one.engine))
            lines += answer_lines(one)
        self.write("".join(f"{line}\n" for line in lines))

    def _begun(self, schema: str) -> bool:
        return any((schema, engine) in self._shown for engine in self._answers.engines)
