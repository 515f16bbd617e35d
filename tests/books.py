"""Runs written by hand: the rows of cases as a test needs them, stored as a run stores them."""

import functools
import pickle
from contextlib import contextmanager
from pathlib import Path

import pyarrow as pa
import pytest

from harness.classification import departures
from harness.runs.directory import RunDirectory, create_or_resume, open_run
from harness.runs.tables import SCHEMAS, VERDICT_TABLES, Rows

ENGINES = {"a": {"version": "1.0", "options": {"x": True}}, "b": {"version": "2"}, "c": {}}
A, B, C = 1, 2, 4

_BLANK = {"string": "", "uint": 0, "int": -1, "bool": False, "binary": b""}


def blank(table):
    """A row in which nothing is said."""
    kinds = {field.name: str(field.type) for field in SCHEMAS[table]}
    return {
        name: [] if kind.startswith("list") else next(_BLANK[one] for one in _BLANK if one in kind)
        for name, kind in kinds.items()
    }


class Sheet:
    """Writes the rows of one case; what a test does not name is blank."""

    def __init__(self, name):
        self.name, self.rows = name, Rows()

    def add(self, table, **values):
        self.rows.add(table, **{**blank(table), "case": self.name, **values})
        return self


class Book(Sheet):
    """What tests of counting name of a case."""

    def __init__(
        self, name, status="walked", reason="", family="family", schema="{}", reference=b""
    ):
        super().__init__(name)
        about = {"family": family, "schema": schema, "references": [reference], "walks": 1}
        counts = {"judged": 7, "positions": 0, "disputed_tokens": 0}
        self.add("cases", status=status, reason=reason, **about, **counts)

    def engine(self, engine, outcome, stage="compile"):
        return self.add("engines", engine=engine, stage=stage, outcome=outcome)

    def compiled(self, *outcomes):
        for engine, outcome in zip(ENGINES, outcomes, strict=True):
            self.engine(engine, outcome)
        return self

    def position(self, number, place="start of value", judged=A | B | C, walk=0, canonical=-1):
        where = {"walk": walk, "position": number, "offset": number, "place": place}
        about = {"token": 1, "canonical": canonical, "judged": judged, "disputed_tokens": 0}
        return self.add("positions", **where, **about)

    def dispute(self, position, accepters, rejecters, tokens, drawn=None, number=0):
        sides = {"accepters": accepters, "rejecters": rejecters, "tokens": tokens}
        sides["drawn"] = tokens if drawn is None else drawn
        return self.add("disputes", walk=0, position=position, dispute=number, **sides)

    def instance(self, number, verdict="valid", tokens=(1, 2, 3), canonical=True, label=None):
        about = {"label": label or verdict, "verdict": verdict, "canonical": canonical}
        return self.add("instances", instance=number, text=b"[]", tokens=list(tokens), **about)

    def on_instance(self, number, engine, kind, consumed=0, token=-1, **more):
        row = {"instance": number, "engine": engine, "kind": kind, "spellings_asked": 0, **more}
        return self.add("instance_verdicts", consumed=consumed, token=token, **row)

    def verdicts(self, position, engine, kind, count=1, walk=0, number=0, first=0, **more):
        where = {"walk": walk, "position": position, "dispute": number, "spellings_asked": 0}
        about = {"engine": engine, "kind": kind, "token": list(range(first, first + count))}
        row = {**blank("verdicts"), "case": self.name, **where, **about, **more}
        self.rows.extend("verdicts", count, **row)
        return self


def store(
    path, *books, finish=True, engines=ENGINES, vocabulary=None, data="maskbench:some", shared=False
):
    """A run of these books at `path`, finished or not, as a reader finds it.

    One that is `shared` is, where another test read the same, that one, wherever it lies.
    """
    about = data if isinstance(data, dict) else {"name": data}
    identity = {"engines": engines, "vocabulary": vocabulary or {}, "data": about}
    made = pickle.dumps((finish, identity, [book.rows for book in books]))
    if shared and made in _SHARED:
        return _SHARED[made]
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
    run = open_run(path)
    return _SHARED.setdefault(made, run) if shared and finish else run


_MADE: dict[bytes, dict[Path, bytes]] = {}
"""The files of runs that were stored before, by what is in them: many tests ask for the same."""
_SHARED: dict[bytes, RunDirectory] = {}


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


@contextmanager
def classed(rule):
    """As long as it lasts the catalogue gives the classes of a rule."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(departures, "classify", rule)
        yield


def classes(by_detail):
    """Classes by the verdicts' `detail`, as (class, departure); bugs for the others."""
    return _classes(tuple(by_detail.items()))


@functools.cache
def _classes(pairs):
    """The same rule for the same classes, so that what is read by it is read once."""
    by_detail = dict(pairs)

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
