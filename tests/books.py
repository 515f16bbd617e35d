"""Runs written by hand: the rows of cases as a test needs them, stored as a run stores them."""

from __future__ import annotations

import pickle
from pathlib import Path

import pyarrow as pa

from harness.runs.directory import create_or_resume, open_run
from harness.runs.tables import SCHEMAS, VERDICT_TABLES, Rows

ENGINES = {"a": {"version": "1.0", "options": {"x": True}}, "b": {"version": "2"}, "c": {}}
A, B, C = 1, 2, 4
NO_BYTE = {"refused_at": -1, "place": ""}
NOTHING_SAID = {
    **dict.fromkeys(("schema_pointer", "instance_pointer", "category", "detail"), ""),
    **dict.fromkeys(("jsonschema", "jsonschema_rs", "number_spelling"), ""),
    "located": False,
    "format_alone": False,
    "effect": "",
    "spelling": b"",
    "spellings_asked": 0,
    "shown_by": "",
}
NOT_ACCEPTED = {"accepter": "", "reason": "", "keyword": "", "only_challenger": False}


class Book:
    """Writes the rows of one case, everything that a test does not name being the same."""

    def __init__(
        self, name, status="walked", reason="", family="family", schema="{}", reference=b""
    ):
        self.name = name
        self.rows = Rows()
        self.rows.add(
            "cases",
            case=name,
            family=family,
            status=status,
            reason=reason,
            message="",
            schema=schema,
            references=[reference],
            generated=False,
            judged=7,
            walks=1,
            positions=0,
            disputed_tokens=0,
        )

    def engine(self, engine, outcome, stage="compile"):
        nothing = {"walk": -1, "position": -1, "signal": "", "message": "", "output": ""}
        row = {"engine": engine, "stage": stage, "outcome": outcome}
        self.rows.add("engines", case=self.name, **row, **nothing)
        return self

    def compiled(self, *outcomes):
        for engine, outcome in zip(ENGINES, outcomes, strict=True):
            self.engine(engine, outcome)
        return self

    def position(self, number, place="start of value", judged=A | B | C, walk=0, canonical=-1):
        self.rows.add(
            "positions",
            case=self.name,
            walk=walk,
            position=number,
            offset=number,
            token=1,
            canonical=canonical,
            place=place,
            judged=judged,
            disputed_tokens=0,
        )
        return self

    def dispute(self, position, accepters, rejecters, tokens, drawn=None, number=0):
        self.rows.add(
            "disputes",
            case=self.name,
            walk=0,
            position=position,
            dispute=number,
            accepters=accepters,
            rejecters=rejecters,
            tokens=tokens,
            drawn=tokens if drawn is None else drawn,
        )
        return self

    def instance(self, number, verdict="valid", tokens=(1, 2, 3), canonical=True, label=None):
        self.rows.add(
            "instances",
            case=self.name,
            instance=number,
            label=label or verdict,
            text=b"[]",
            tokens=list(tokens),
            canonical=canonical,
            verdict=verdict,
            reason="",
        )
        return self

    def on_instance(self, number, engine, kind, consumed=0, token=-1, **more):
        row = {**NOTHING_SAID, "reason": "", "keyword": "", "place": "", "offset": -1, **more}
        self.rows.add(
            "instance_verdicts",
            case=self.name,
            instance=number,
            engine=engine,
            kind=kind,
            consumed=consumed,
            token=token,
            **row,
        )
        return self

    def verdicts(
        self,
        position,
        engine,
        kind,
        count=1,
        walk=0,
        number=0,
        first=0,
        **more,
    ):
        self.rows.extend(
            "verdicts",
            count,
            case=self.name,
            walk=walk,
            position=position,
            dispute=number,
            token=list(range(first, first + count)),
            engine=engine,
            kind=kind,
            completion=-1,
            **{**NOTHING_SAID, **NO_BYTE, **NOT_ACCEPTED, **more},
        )
        return self


def store(path, *books, finish=True, engines=ENGINES, vocabulary=None, data="maskbench:some"):
    """A run of these books at `path`, finished or not, as a reader finds it."""
    identity = {"engines": engines, "vocabulary": vocabulary or {}, "data": {"name": data}}
    made = pickle.dumps((finish, identity, [book.rows for book in books]))
    if made not in _MADE:
        run = create_or_resume(path, identity, {})
        if finish:  # all books are one case to the writer, which is quicker, the same to a reader
            run.write_case(0, joined([book.rows for book in books]))
            run.finish({"seconds": 2.5})
        for ordinal, book in enumerate(() if finish else books):
            run.write_case(ordinal, book.rows)
        run.release()
        files = (file for file in path.rglob("*") if file.is_file())
        _MADE[made] = {file.relative_to(path): file.read_bytes() for file in files}
    for file, content in _MADE[made].items():
        (path / file).parent.mkdir(parents=True, exist_ok=True)
        (path / file).write_bytes(content)
    return open_run(path)


_MADE: dict[bytes, dict[Path, bytes]] = {}
"""The files of runs that were stored before, by what is in them: many tests ask for the same."""


def joined(parts):
    """The rows of several cases as if they were of one."""
    rows = Rows()
    for table, schema in SCHEMAS.items():
        columns = [part.lists(table) for part in parts]
        whole = {name: [one for lists in columns for one in lists[name]] for name in schema.names}
        if count := sum(part.count(table) for part in parts):
            rows.extend(table, count, **whole)
    return rows


def all_bugs(run, evidence):
    """A catalogue without entries."""
    return classes({})(run, evidence)


def classes(by_detail):
    """Classes by the verdicts' `detail`, as (class, departure); bugs for the others."""

    def classify(run, evidence):
        details = run.table(VERDICT_TABLES[evidence], ["detail"])["detail"].to_pylist()
        found = [by_detail.get(detail, ("bug", "")) for detail in details]
        return pa.table(
            {
                "class": pa.array([one for one, _ in found], pa.string()),
                "departure": pa.array([one for _, one in found], pa.string()),
            }
        )

    return classify
