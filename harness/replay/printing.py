"""Print a replay as it goes along, or the witness of one verdict in full.

Results are on standard output, progress on standard error.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing
from typing import Any

from rich.progress import TimeRemainingColumn

from harness.console import print_json, say
from harness.inputs.vocabulary import Vocabulary
from harness.live import LiveLine
from harness.printable import escaped, json_text, printable
from harness.replay.repeat import replay
from harness.replay.witness import Witness
from harness.replay.witness_reader import Choice, spelled, witnesses
from harness.runs.directory import RunDirectory
from harness.runs.made_with import limits_of, vocabulary_of
from harness.runs.reader import TableCursor
from harness.runs.tables import VERDICT_TABLES, named_engines
from harness.validators.format_rules import format_rule
from harness.validators.judge import Judge
from harness.verdict_kinds import WALK

SHOWN = 50
"""Up to so many replayed verdicts are listed one by one; of more, those that differ."""

_BEGIN = '{\n  "verdicts": ['

_TO_REPEAT = {"consumed", "completion", "hex", "engines", "vocabulary", "harness"}
"""Of what `described` gives, what is not for reading."""

_ATTRIBUTION = (
    *("keyword", "schema_pointer", "instance_pointer", "category", "detail", "located"),
    *("spellings_asked", "shown_by"),
)


def print_replay(run: RunDirectory, choice: Choice, *, as_json: bool) -> bool:
    """Replay verdicts and print what comes of them; whether all agree.

    As JSON it is one object, written a row at a time: there may be millions.
    """
    total, done, differ = len(choice), 0, 0
    live = LiveLine("replay", total, "starting the engines", TimeRemainingColumn())
    with live, closing(replay(run, choice)) as results:
        for done, one in enumerate(results, 1):
            differ += not one.agrees
            live.update(done, f"{differ:,} differ")
            if live.is_due():
                live.plain(f"{done:,}/{total:,} verdicts, {differ:,} differ")
            if as_json:
                live.write(f"{_BEGIN if done == 1 else ','}\n    {json_text(one.row())}")
            elif total <= SHOWN or not one.agrees:
                live.write(f"{printable(str(one), '')}\n")
        if as_json:
            end = "\n  ]" if done else f"{_BEGIN}]"
            live.write(f'{end},\n  "replayed": {done},\n  "differ": {differ}\n}}\n')
    if not as_json:
        say(f"{done - differ} agree, {differ} differ")
    return differ == 0


def print_witness(run: RunDirectory, choice: Choice, *, as_json: bool) -> None:
    """Print the witness of one verdict in full."""
    witness = described(run, choice, vocabulary_of(run))
    if as_json:
        print_json(witness)
    else:
        say("\n".join(readable(witness)))


def described(run: RunDirectory, choice: Choice, vocabulary: Vocabulary) -> dict[str, Any]:
    """All that is needed to repeat the one verdict of `choice` elsewhere, as a JSON object.

    ``schema`` is a JSON text; ``consumed``, ``token`` and ``completion`` each have ``ids``,
    ``text`` and ``hex``, the bytes; ``text`` is the whole text without the end of sequence,
    ``spelling`` the one of the same value that the engine takes;
    ``allowed_by`` and ``forbidden_by`` are engines, at the token; ``accepter`` allows the
    completion (``json`` is the challenger); ``validators`` is None where the verdict rests on no
    text, and else as `harness.validators.judge.Judge.opinions` gives it.
    """
    case = next(witnesses(run, choice, vocabulary))
    (one,) = case.witnesses
    identity = run.manifest["identity"]
    columns = ["dispute" if one.evidence == WALK else "place", *_ATTRIBUTION]
    (batch,) = run.batches(VERDICT_TABLES[one.evidence], columns, choice.of(one.evidence))
    (row,) = batch.to_pylist()
    place, allowed, forbidden = _at_position(run, one, row, list(identity["engines"]))
    asked = one.claim.ruling is not None
    with closing(Judge(limits_of(run).memory, 60.0, format_rule(identity))) as judge:
        opinions = judge.opinions(case.schema, one.text) if asked else None
    token = (one.token,) if one.token >= 0 else ()
    return {
        **one.row(),
        "reason": one.reason,
        "place": place,
        "why": {name: row[name] for name in _ATTRIBUTION if name in row},
        "schema": case.schema,
        "consumed": _tokens(one.before, vocabulary),
        "token": _tokens(token, vocabulary),
        "completion": _tokens(one.completion, vocabulary),
        "text": escaped(one.text),
        "hex": one.text.hex(),
        "spelling": escaped(one.spelling),
        "allowed_by": allowed,
        "forbidden_by": forbidden,
        "accepter": one.accepter,
        "validators": opinions,
        "engines": identity["engines"],
        "vocabulary": identity["vocabulary"],
        "harness": identity.get("harness"),
    }


def readable(witness: Mapping[str, Any]) -> Iterator[str]:
    """What `described` gave, as an outline to read: what only repeating needs is left out."""
    before, token, after = (witness[name]["text"] for name in ("consumed", "token", "completion"))
    told = {name: one for name, one in witness.items() if name not in _TO_REPEAT}
    return _outline({**told, "text": f"{before}»{token}«{after}"})


def _outline(value: Mapping[str, Any], indent: str = "") -> Iterator[str]:
    """An object by its members, those of objects in it below them; what is empty is left out."""
    for name, one in value.items():
        label = f"{indent}{name.replace('_', ' ')}:"
        if isinstance(one, dict):
            yield label
            yield from _outline(one, f"{indent}  ")
        elif isinstance(one, list) and one and isinstance(one[0], dict):
            for each in one:
                yield from _outline({name: each}, indent)
        elif one not in ("", None, []):
            text = ", ".join(map(str, one)) if isinstance(one, list) else str(one)
            yield f"{label} {printable(text, '')}"


def _at_position(
    run: RunDirectory, one: Witness, row: Mapping[str, Any], names: Sequence[str]
) -> tuple[str, list[str], list[str]]:
    """The place's word, and which engines allow the token and which forbid it, as the run says."""
    place, (allowed, forbidden) = row.get("place", ""), one.side
    where = {"walk": one.place, "position": len(one.before)}

    def rows(table: str, *columns: str) -> Iterator[dict[str, Any]]:
        found = TableCursor(run, table, [*where, *columns]).of(one.case)
        every = () if found is None or one.evidence != WALK else found.to_pylist()
        yield from (each for each in every if where.items() <= each.items())

    for position in rows("positions", "place"):
        place = position["place"]
    for dispute in rows("disputes", "dispute", "accepters", "rejecters"):
        if dispute["dispute"] == row["dispute"]:
            sides = (dispute[side] for side in ("accepters", "rejecters"))
            allowed, forbidden = (named_engines(bits, names) for bits in sides)
    return place, allowed, forbidden


def _tokens(ids: Sequence[int], vocabulary: Vocabulary) -> dict[str, Any]:
    """Tokens with what they stand for; ends of sequence have a name but no bytes."""
    text = spelled(vocabulary, ids)
    named = b"".join(vocabulary.tokens[one] for one in ids)
    return {"ids": list(ids), "text": escaped(named), "hex": text.hex()}
