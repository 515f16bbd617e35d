"""The answers of a check: on a terminal as they come, in 80 columns, and on a page."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Container, Iterator, Sequence
from pathlib import Path
from typing import Any, Final

from harness.analysis.stored import IN_FULL
from harness.bugs.scripts import marked, marked_parts
from harness.check.answers import DOES, IN_WORDS, Answer, Answers, Covered, ProvenError
from harness.engines.specs import with_version
from harness.execution.lanes import CaseDone
from harness.files import write_whole
from harness.live import LiveLine
from harness.printable import escaped, plural, printable, some_of
from harness.render.page import page
from harness.render.table import FAILED, PASSED, SKIPPED, Column, Table, as_junit
from harness.render.terminal import WIDTH, cut, print_table, wrapped
from harness.verdict_kinds import (
    COSTLY,
    DEPARTURE,
    INVALID_VALUE,
    LOST_VALUE,
    SPELLINGS,
    TRAP,
    WARNED,
)

_TONES: Final = {LOST_VALUE: "rej", TRAP: "rej", INVALID_VALUE: "acc"}
"""The colours of effects on a page; others are plain."""
_NOTHING: Final = "nothing could be tried: no valid text is known; --valid FILE gives one"
_ON_BYTES: Final = "  all that on single bytes; the whole vocabulary was not tried to the end"
_VALIDATE: Final = (
    "check each output with a validator, and ask again where it is invalid: that finds what is let"
    " through; what is forbidden nobody sees"
)
_CLASSES: Final = {WARNED: "it warns of this itself", DEPARTURE: "declared"}
_NO_VALUE: Final = "no value lost or let through"
_ALL: Final = "--report FILE writes a page with all errors, --json prints them"


def headline(answer: Answer) -> str:
    """The answer in one line, without the texts behind it."""
    match answer.status:
        case "refuses":
            return f"{answer.name} refuses it: {answer.message}"
        case "failed":
            return f"{answer.name} gives no answer: {answer.message}"
        case "errs":
            return f"{answer.name} {_told(answer)}"
    return f"{answer.name}: {_NO_VALUE if answer.errors else 'no error found'}"


def _told(answer: Answer, most: Container[str] = IN_WORDS) -> str:
    """What an engine does, and whether unusual values alone show that it costs one."""
    effects = [one for one in by_effect(answer) if one in most and one not in SPELLINGS]
    rare = (", with unusual values alone," * (e in COSTLY and not answer.costs(e)) for e in effects)
    parts = (f"{IN_WORDS[one]}{alone}" for one, alone in zip(effects, rare, strict=True))
    return " and ".join(parts).rstrip(",")


def by_effect(answer: Answer) -> dict[str, list[ProvenError]]:
    """The errors by what they do to a user, in the order in which they are told."""
    found: dict[str, list[ProvenError]] = {}
    for one in sorted(answer.errors, key=lambda one: one.order):
        found.setdefault(one.effect, []).append(one)
    return found


def answer_lines(answer: Answer) -> list[str]:
    """Of each effect the first error, of spellings one line; what is declared; what was tried."""
    lines = wrapped(headline(answer)) if answer.status != "errs" else []
    begins, spells = answer.name, ""
    for effect, errors in by_effect(answer).items():
        if effect in SPELLINGS:
            spells = spells or f"{IN_WORDS[effect]}; maskcourt spellings says which it takes"
            continue
        lines += _error_lines(f"{begins} {IN_WORDS[effect]}: ", errors[0])
        begins = "  and"
        if len(errors) > 1:
            lines.append(f"    {len(errors) - 1} more of this kind")
    if spells:
        lines += wrapped(f"  {spells}")
    if answer.status in ("errs", "no_error_found") and answer.message:
        lines += wrapped(f"  {answer.message}", 2)
    if answer.declared:
        about = " ".join(dict.fromkeys(one.about for one in answer.declared))
        lines += wrapped(f"  declared: {about}")
    if answer.skipped:
        lines += wrapped(f"  {answer.skipped} not shrunk for want of time (--shrink-budget)")
    if answer.status in ("errs", "no_error_found"):
        lines += wrapped(f"  {covered_line(answer.covered)}")
    partly = answer.on_bytes or not answer.whole
    return [*lines, _ON_BYTES] if partly and answer.status in ("errs", "no_error_found") else lines


def _error_lines(begins: str, one: ProvenError) -> Iterator[str]:
    yield cut(printable(f"{begins}{''.join(error_parts(one, WIDTH - len(begins)))}", ""))
    shown = IN_FULL[one.severity] if one.effect else ""
    yield cut(f"    {printable('; '.join(filter(None, (_title(one), shown))), '')}")
    if (case := one.bug) is not None:
        shown = marked(case) if one.forbids else escaped(case.error.text)
        yield cut(printable(f"    smallest case: {shown} under {case.error.schema}", ""))
        if case.upstream is not None:
            yield f"    known upstream, {case.upstream.state}: {case.upstream.thread}"


def _title(error: ProvenError) -> str:
    title = error.bug.title if error.bug is not None else f"`{error.keyword}`" * bool(error.keyword)
    return "; ".join(filter(None, (_CLASSES.get(error.class_), title)))


def error_parts(one: ProvenError, room: int = 1 << 30) -> tuple[str, str, str]:
    """The text of an error: up to what is refused, this between marks, the rest.

    Of more than `room` characters those far from what is refused are left out.
    """
    if one.at < 0 or not one.forbids:
        text = escaped(one.text)
        return (text if len(text) <= room else f"{text[: room - 1]}…"), "", ""
    end = one.at + 1
    while one.text[end : end + 1] and one.text[end] & 0xC0 == 0x80:
        end += 1  # the whole character is shown
    parts = (one.text[: one.at], one.text[one.at : end], one.text[end:])
    before, there, behind = map(escaped, parts)
    there = f"»{there or 'the end'}«"
    room -= len(there)
    if len(before) + len(behind) > room:
        half = max(room // 2, room - len(behind))
        before = before if len(before) <= half else f"…{before[len(before) - half + 1 :]}"
    return before, there, behind


def covered_line(covered: Covered) -> str:
    texts = len(covered.valid) + len(covered.invalid)
    if not texts:
        return _NOTHING
    known = f"{plural(texts, 'whole text')} ({len(covered.valid):,} valid)"
    places = f" and {plural(covered.positions, 'place')} token by token" * bool(covered.positions)
    return f"tried: {known}{places}"


def advice_lines(answers: Answers) -> list[str]:
    """`advice_on` answers, and where all errors are to be found, in lines."""
    more = [_ALL] if any(len(one.errors) > 1 for one in answers) else []
    return [part for one in [*advice_on(answers), *more] for part in wrapped(f"  {one}")]


def advice_on(answers: Answers) -> list[str]:
    """What to do about it, as far as something is known or was tried; nothing where all is well."""
    advice: list[str] = []
    ranked = answers.ranked(answers.schemas[0]) if len(answers.schemas) == 1 else []
    if len({one.standing for one in ranked}) > 1:
        advice.append(f"the best first: {', '.join(map(_standing, ranked))}")
    told: dict[str, list[str]] = {}
    for one in answers:
        for line in one.advice:
            told.setdefault(line, []).append(one.schema)
    many = len(answers.schemas) > 1
    advice += [f"{line} (with {some_of(told[line])})" if many else line for line in told]
    if any(error.lets_through for one in answers for error in one.errors):
        advice.append(_VALIDATE)
    return list(dict.fromkeys(advice))


def _standing(answer: Answer) -> str:
    """Why an engine is ranked where it is, in brackets after its name."""
    level, _, costly = answer.standing
    reasons = {3: "refuses it", 4: "no answer"}
    if (reason := reasons.get(level)) is None:
        reason = _told(answer, COSTLY if costly else IN_WORDS)
        if not costly:
            reason = ", but ".join(filter(None, (_NO_VALUE, reason)))
    return f"{answer.engine} ({reason})"


_OF_MANY: Final = {
    "loses": "cannot write a valid value of",
    "leaks": "lets an invalid value through in",
    "traps": "cannot finish a valid value of",
}


def sentence(engine: str, answers: Answers) -> str:
    """What is known of an engine with many schemas: those that it refuses, loses, lets through."""
    mine = [one for one in answers if one.engine == engine]
    does: dict[str, list[Answer]] = {
        "refuses": [one for one in mine if one.status == "refuses"],
        "gives no answer about": [one for one in mine if one.status == "failed"],
    }
    taken = len(mine) - sum(map(len, does.values()))
    for name, words in _OF_MANY.items():
        does[words] = [one for one in mine if one.costs(DOES[name])]
    tools = [answers.tools.get(one, ".output") for one in answers.schemas]
    what = "schemas" if any(one.endswith(".output") for one in tools) else "tools"
    all_ = f"all {len(mine)}" if taken == len(mine) > 1 else f"{taken} of {len(mine)}"
    parts = [
        f"{words} {len(some)}: {some_of([answers.short(one.schema) for one in some])}"
        for words, some in does.items()
        if some
    ]
    told = with_version(engine, max(one.version for one in mine))
    if not any(does[words] for words in _OF_MANY.values()):
        nothing = "no everyday value was found lost or let through"
        parts.append(nothing if taken else "nothing is known")
    rare = [
        f"{name} {count}"
        for name, effect in DOES.items()
        if (count := sum(one.costs(effect, everyday=False) for one in mine))
    ]
    if taken_by := Counter(one.backend for one in mine if one.backend):
        parts.append(", ".join(f"{name} takes {count}" for name, count in taken_by.items()))
    if rare:
        parts.append(f"with unusual values alone it {', '.join(rare)}")
    return f"{told} takes {all_} {what} and {'; '.join(parts)}"


def _cell(answer: Answer) -> str:
    words = {"refuses": ["refuses"], "failed": ["no answer"]}.get(answer.status, [])
    words += [name for name, effect in DOES.items() if answer.costs(effect)]
    words += [f"({name})" for name, one in DOES.items() if answer.costs(one, everyday=False)]
    return ", ".join(words)


def overview(answers: Answers) -> tuple[Table, str]:
    """Schema by engine where there is a finding, unusual ones in brackets; the others in words."""
    columns = [Column("schema", "", fold=False), *map(Column, answers.engines)]
    rows, rare = [], 0
    for schema in answers.schemas:
        cells = {one.engine: _cell(one) or None for one in answers.of(schema)}
        if any(cell and cell[0] != "(" for cell in cells.values()):
            rows.append({"schema": schema, **cells})
        else:
            rare += any(cells.values())
    others = plural(len(answers.schemas) - len(rows), "other")
    but = f", but for unusual ones in {rare}" if rare else ""
    bracketed = any("(" in str(row.get(name)) for row in rows for name in answers.engines)
    note = "in brackets: with unusual values alone" if bracketed else ""
    return Table.of("", columns, rows, note), f"{others}: {_NO_VALUE}{but}"


def finding_lines(answers: Answers) -> Iterator[str]:
    """Each finding once, the worst first, with the schemas under which it was met."""
    refused: dict[str, list[str]] = {}
    found: dict[tuple[Any, ...], list[tuple[ProvenError, Answer]]] = {}
    for one in answers:
        if one.status in ("refuses", "failed"):
            refused.setdefault(headline(one), []).append(answers.short(one.schema))
        for error in (error for error in one.errors if not error.is_spelling):
            about = one.engine, error.is_everyday, error.about
            found.setdefault(about, []).append((error, one))
    for line, names in refused.items():
        yield from wrapped(f"{line} ({some_of(names)})")
    for pairs in sorted(found.values(), key=lambda pairs: min(one.order for one, _ in pairs)):
        shown: dict[str, tuple[ProvenError, Answer]] = {}
        for error, answer in sorted(pairs, key=lambda pair: (pair[0].bug is None, pair[0].order)):
            if error.bug is not None or not shown:
                shown.setdefault("" if error.bug is None else error.bug.id, (error, answer))
        met = [answers.short(answer.schema) for _, answer in pairs]
        for error, answer in shown.values():
            names = [*dict.fromkeys([answers.short(answer.schema), *met])]
            yield from wrapped(f"{answer.name} {IN_WORDS[error.effect]} ({some_of(names)})")
            yield from _error_lines(f"    such as {'(under the first) ' * (len(names) > 1)}", error)


class CheckOutput(LiveLine):
    """Prints what is known on standard error, and unless `quiet` whole answers on standard output.

    `answers` are added to meanwhile; where they may change once more nothing is printed `early`.
    """

    def __init__(self, answers: Answers, *, quiet: bool, early: bool = True) -> None:
        self._early = early and not quiet and len(answers.schemas) == 1
        self._answers, self._began = answers, time.monotonic()
        self._many, self._done = len(answers.schemas) > 1, 0
        self._shown: set[str] = set()
        self._begun: set[str] = set()
        total = len(answers.schemas) * len(answers.engines)
        super().__init__("check", total, "starting the engines")

    def heard(self, _: CaseDone) -> None:
        """One schema more was tried on single bytes with one engine."""
        self._done += 1
        if self._many and self.is_due():
            total = len(self._answers.schemas) * len(self._answers.engines)
            self.plain(f"{self._done} of {total} tried on single bytes")

    def tell(self, answer: Answer) -> None:
        if answer.whole:
            if self._early:
                self._print([answer])
        elif not self._many or answer.is_urgent or answer.engine not in self._begun:
            self._begun.add(answer.engine)
            about = f"{answer.schema}: " if self._many else ""
            worst = answer.errors[0] if answer.status == "errs" else None
            example = f": {''.join(error_parts(worst, 60))}" if worst else ""
            line = printable(f"so far {about}{headline(answer)}{example}", "")
            self.say(f"{time.monotonic() - self._began:4.1f} s  {line}")
        done = sum(one.whole for one in self._answers)
        self.update(done, "so far single bytes; the whole vocabulary takes longer")

    def end(self) -> None:
        """Print what was not printed, of many schemas in sentences; then what to do about it."""
        if self._many:
            told = (wrapped(sentence(one, self._answers)) for one in self._answers.engines)
            self.write("".join(f"{line}\n" for lines in told for line in lines))
            table, others = overview(self._answers)
            if table.rows:  # else the sentences have said it
                print_table(table)
                self.write(f"{others}\n" * (len(table.rows) < len(self._answers.schemas)))
            self.write("".join(f"{line}\n" for line in finding_lines(self._answers)))
        else:
            self._print(self._answers.of(self._answers.schemas[0]))
        if advice := advice_lines(self._answers):
            self.write("".join(f"{line}\n" for line in ("What to do:", *advice)))

    def _print(self, answers: list[Answer]) -> None:
        new = [one for one in answers if one.engine not in self._shown]
        lines = [self._answers.schemas[0]] if new and not self._shown else []
        for one in new:
            self._shown.add(one.engine)
            lines += answer_lines(one)
        self.write("".join(f"{line}\n" for line in lines))


def write_page(answers: Answers, out: Path) -> int:
    """Write the page of a check to a file, whole or not at all; its size in bytes."""
    text = page(
        "check/page.html",
        {},
        schemas=answers.schemas,
        answers=list(answers),
        advice=advice_on(answers),
        headline=headline,
        covered=covered_line,
        in_words=IN_WORDS,
        tones=_TONES,
        in_full=IN_FULL,
        title_of=_title,
        error_parts=error_parts,
        smallest_parts=_smallest_parts,
    )
    return write_whole(out, text)


def junit(answers: Answers, failures: Sequence[tuple[Answer, str]]) -> str:
    """A suite per engine, a test per schema as JUnit's XML; what refuses a schema is skipped."""
    tests = []
    for answer in answers:
        wrong = " and ".join(what for failed, what in failures if failed == answer)
        status = FAILED if wrong else SKIPPED if answer.status == "refuses" else PASSED
        text = "\n".join(answer_lines(answer))
        tests.append((answer.engine, answer.schema, status, wrong, headline(answer), text))
    return as_junit(tests)


def _smallest_parts(error: ProvenError) -> tuple[str, str, str]:
    assert error.bug is not None
    if not error.forbids:
        return escaped(error.bug.error.text), "", ""
    before, there, after = map(escaped, marked_parts(error.bug))
    return before, there or "the end", after
