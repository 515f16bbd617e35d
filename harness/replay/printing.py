"""Print a replay as it goes along, or the witness of one verdict in full.

Results are on standard output, progress on standard error.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing
from typing import Any

from rich.progress import TimeRemainingColumn

from harness.console import print_json, say
from harness.inputs.vocabulary import Vocabulary
from harness.live import LiveLine
from harness.printable import escaped, json_text, plural, printable
from harness.replay.repeat import replay
from harness.replay.witness import Witness
from harness.replay.witness_reader import Choice, witnesses
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
    witness = described(run, choice, vocabulary_of(run))
    if as_json:
        print_json(witness)
    else:
        say("\n".join(readable(witness)))


def described(run: RunDirectory, choice: Choice, vocabulary: Vocabulary) -> dict[str, Any]:
    """All that is needed to repeat the one verdict of `choice` elsewhere, as a JSON object.

    ``schema`` is a JSON text; ``consumed``, ``token`` and ``completion`` each have ``ids``,
    ``text`` and ``hex``, the bytes; ``text`` is the whole text without the end of sequence,
    ``spelling`` the one of the same value that the engine takes; ``allowed_by`` and
    ``forbidden_by`` are engines, at the token; ``accepter`` allows the completion; ``validators``
    is None without a text, and else as `harness.validators.judge.Judge.opinions` gives it.
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
    """What `described` gave, as lines to read."""
    kind = witness["kind"].replace("_", " ")
    reason = f" ({witness['reason'].replace('_', ' ')})" if witness["reason"] else ""
    yield f"verdict {witness['verdict']}: {kind}{reason} by {witness['engine']}"
    source = witness["evidence"]
    place = f" ({witness['place']})" if witness["place"] else ""
    yield (
        f"case {witness['case']}, {source} {witness[source]}, position {witness['position']}{place}"
    )
    yield from _effect(witness)
    yield from _attribution(witness["why"])
    written, token = witness["consumed"]["text"], witness["token"]
    name = printable(token["text"])
    yield "text so far, »the token« after it:"
    yield from _indented(printable(written) + f"»{name}«")
    ids = ", ".join(map(str, token["ids"]))
    yield f"token {ids}: {bytes.fromhex(token['hex'])!r}" if ids else "no token"
    yield f"allowed by: {', '.join(witness['allowed_by']) or '-'}"
    yield f"forbidden by: {', '.join(witness['forbidden_by']) or '-'}"
    completion = witness["completion"]
    if completion["ids"]:
        by = f", which {witness['accepter']} allows" if witness["accepter"] else ""
        yield f"completion of {plural(len(completion['ids']), 'token')}{by}:"
        yield from _indented(printable(completion["text"]))
    if witness["validators"] is not None:
        yield from _opinions(witness["validators"])
    yield "schema:"
    yield from _indented(printable(_laid_out(witness["schema"])))


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
    text = vocabulary.text(ids)
    named = b"".join(vocabulary.tokens[one] for one in ids)
    return {"ids": list(ids), "text": escaped(named), "hex": text.hex()}


def _indented(text: str) -> Iterator[str]:
    yield from (f"  {line}" for line in text.split("\n"))


def _laid_out(schema: str) -> str:
    try:
        return json.dumps(json.loads(schema), indent=2, ensure_ascii=False)
    except (ValueError, RecursionError):
        return schema


def _effect(witness: Mapping[str, Any]) -> Iterator[str]:
    effect, reasons = witness["effect"], witness["why"]
    if not effect:
        return
    by = f", shown by a {reasons['shown_by']} value" if reasons["shown_by"] else ""
    yield f"effect: {effect.replace('_', ' ')}{by}"
    if asked := reasons["spellings_asked"]:
        yield f"  refused: {plural(asked, 'usual spelling')}"
    if witness["spelling"]:
        yield f"  taken: {printable(witness['spelling'])}"


def _attribution(found: Mapping[str, Any]) -> Iterator[str]:
    if found.get("keyword"):
        schema, instance = _place_at(found["schema_pointer"]), _place_at(found["instance_pointer"])
        yield f"keyword {found['keyword']} at {schema} of the schema, {instance} of the instance"
    if found.get("category"):
        detail = f" ({found['detail']})" if found.get("detail") else ""
        yield f"kind of token: {found['category']}{detail}"


def _opinions(found: Mapping[str, Any]) -> Iterator[str]:
    reason = found["reason"].replace("_", " ")
    detail = ": ".join(filter(None, (reason, printable(found["detail"]))))
    yield f"validators: {found['verdict']}" + (f" ({detail})" if detail else "")
    for name in ("jsonschema", "jsonschema-rs"):
        one = found.get(name, {"valid": None, "failure": "", "errors": []})
        word = {True: "valid", False: "invalid", None: one["failure"] or "not asked"}[one["valid"]]
        yield f"  {name}: {word}"
        for error in one["errors"]:
            where = f"{error['keyword']} at {_place_at(error['schema_pointer'])}"
            instance = _place_at(error["instance_pointer"])
            yield f"    {where}, {instance} of the instance: {printable(error['message'])}"


def _place_at(pointer: str) -> str:
    """A JSON Pointer for a reader; that of a whole document is empty."""
    return printable(pointer) or "the root"
