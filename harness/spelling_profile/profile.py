"""The battery of rows (``datasets/spellings.toml``), and what each engine answers to them."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import StrEnum
from typing import Any, Final

from harness.classification.departures import Departure
from harness.directories import read_toml
from harness.engines.presets import servers
from harness.engines.specs import read_spec

_SPACE: Final = re.compile(r'("(?:[^"\\]|\\.)*")|\s+')


@dataclass(frozen=True)
class Spelling:
    """A row: may `text`, which is valid under `schema`, be written?

    `plain` is another spelling of the same value, or else `control` another value in a plain one;
    `behaviour` the entry of ``behaviours.toml`` that refuses the text, `character` what is to be
    written in any way; all of these may be empty.
    """

    id: str
    group: str
    about: str
    schema: str
    text: str
    plain: str = ""
    control: str = ""
    behaviour: str = ""
    character: str = ""

    @property
    def texts(self) -> tuple[str, ...]:
        """The text in each layout, where it is not the layout that is asked about."""
        return (self.text,) if self.group == "white space" else _layouts(self.text)

    @property
    def controls(self) -> tuple[str, ...]:
        """Texts of which one has to be allowed for the answer to be about the spelling, if any."""
        return _layouts(self.plain or self.control)


def _layouts(text: str) -> tuple[str, ...]:
    compact = _SPACE.sub(lambda one: one[1] or "", text)
    return tuple(one for one in dict.fromkeys((text, compact)) if one)


def load_battery() -> tuple[Spelling, ...]:
    """All rows, in the order of tables."""
    return tuple(Spelling(**table) for table in read_toml("spellings.toml")["row"])


class AnswerKind(StrEnum):
    """What is answered to a row.

    `OPTION` is a no where other options of the same engine allow the text; `UNCLEAR` says that the
    plain spelling is forbidden as well, `REFUSED` that the schema is.
    """

    YES = "yes"
    NO = "no"
    OPTION = "by option"
    UNCLEAR = "unclear"
    REFUSED = "refused"
    FAILED = "failed"


@dataclass(frozen=True)
class RowAnswer:
    """What an engine makes of a row.

    `reason` says why there is no yes or no, `option` with which options the text is allowed,
    `declared` has the departures that declare that it is forbidden.
    """

    status: AnswerKind
    reason: str = ""
    option: str = ""
    declared: tuple[Departure, ...] = ()

    @property
    def allowed(self) -> bool | None:
        """Whether the text is allowed; None where that cannot be said."""
        kinds = {AnswerKind.YES: True, AnswerKind.NO: False, AnswerKind.OPTION: False}
        return kinds.get(self.status)


@dataclass(frozen=True)
class EngineSpellings:
    """The answers of one engine, by the ids of rows."""

    name: str
    version: str
    answers: Mapping[str, RowAnswer]


@dataclass(frozen=True)
class Profile:
    """What was asked of which engines, and the answers."""

    rows: tuple[Spelling, ...] = field(repr=False)
    engines: tuple[EngineSpellings, ...]

    def unwritable(self, engine: EngineSpellings) -> list[str]:
        """The characters that an engine does not let be written in any way."""
        known: dict[str, set[bool | None]] = {}
        for row in self.rows:
            known.setdefault(row.character, set()).add(engine.answers[row.id].allowed)
        return [name for name, some in known.items() if name and some == {False}]

    def as_json(self) -> dict[str, Any]:
        """All of it."""
        return {
            "engines": {
                one.name: {
                    "version": one.version,
                    "rows": [_row(row, one.answers[row.id]) for row in self.rows],
                    "unwritable_characters": self.unwritable(one),
                }
                for one in self.engines
            }
        }


def _row(row: Spelling, answer: RowAnswer) -> dict[str, Any]:
    told = {"why": answer.reason, "option": answer.option}
    return {
        "id": row.id,
        "schema": row.schema,
        "text": row.text,
        "allowed": answer.allowed,
        "declared": [{"id": one.id, "source": one.source} for one in answer.declared],
        **{name: text for name, text in told.items() if text},
    }


def with_options(engines: Sequence[EngineSpellings]) -> tuple[EngineSpellings, ...]:
    """The engines, where a no became an `OPTION` if other options of the same engine say yes.

    Which do is known of the engines that were asked; else it is what a declaration says that holds
    under some options alone, unless an engine that it does not concern says no as well.
    """
    found = []
    for engine in engines:
        key = read_spec(engine.name).name, engine.version
        same = [one for one in engines if (read_spec(one.name).name, one.version) == key]
        answers = {
            row: _with_option(answer, {one.name: one.answers[row] for one in same}, key[0])
            for row, answer in engine.answers.items()
        }
        found.append(replace(engine, answers=answers))
    return tuple(found)


def _with_option(answer: RowAnswer, asked: Mapping[str, RowAnswer], engine: str) -> RowAnswer:
    if answer.status != AnswerKind.NO:
        return answer
    if allowing := [name for name, one in asked.items() if one.status == AnswerKind.YES]:
        return replace(answer, status=AnswerKind.OPTION, option=f"of {min(allowing, key=len)}")
    declared = {one.id for one in answer.declared}
    forbidding = (one for one in asked.values() if one.allowed is False)
    same = all(any(each.id in declared for each in one.declared) for one in forbidding)
    sets = [some for one in answer.declared for some in one.options or ({},)]
    if not sets or {} in sets or not same or engine in servers():  # a server sets them itself
        return answer
    words = (",".join(f"{key}={json.dumps(value)}" for key, value in one.items()) for one in sets)
    option = f"not tried: with options other than {' or '.join(words)}"
    return replace(answer, status=AnswerKind.OPTION, option=option)
