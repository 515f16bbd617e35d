"""A run as pandas frames, each read when it is first asked for.

>>> run = harness.load_run("runs/one")
>>> run.bugs                                              # the few errors behind all verdicts
>>> run.tallies                                           # proven errors, counted
>>> run.verdicts                                          # every verdict, every column

A frame's index, named ``row``, is the row's number in its table: what ``maskcourt replay RUN ROW``
takes. Columns of words are categoricals. Columns of truth are of pandas' ``boolean``, which knows
what is not known. `harness.runs.tables` describes the columns; the tables of verdicts have two
more, which are computed and not stored: ``class`` (``bug``, ``warned``, ``departure``, or empty for
what proves nothing) and ``departure`` (the entry of the catalogue, or empty).
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from harness.analysis.stored import by_catalogue, statement, stored_run
from harness.optional import require
from harness.runs.directory import ROW, RunDirectory, open_run
from harness.runs.tables import EVIDENCE_OF, SCHEMAS

if TYPE_CHECKING:
    import pandas as pd

_WORDS = pa.dictionary(pa.int32(), pa.string())


def load_run(path: str | os.PathLike[str], *, trust: bool = False) -> Run:
    """A run directory, finished or not, to be read as frames.

    With `trust` a vocabulary that is not the embedded one may be opened or fetched, which classes
    may need.

    Raises:
        RunDirectoryError: There is no run, or its manifest cannot be read.
        UsageError: pandas is not installed.
    """
    require("pandas", "report", "frames")
    return Run(open_run(Path(path), trust=trust))


class Run:
    """The frames of one run.

    Each table is an attribute, read once and kept. `directory` is the run itself, on which
    `harness.report` works; the order of `engine_names` is that of the bits in `judged`,
    `accepters` and `rejecters`.
    """

    def __init__(self, directory: RunDirectory) -> None:
        self.directory, self.path, self.manifest = directory, directory.path, directory.manifest
        self.engine_names: tuple[str, ...] = tuple(self.manifest["identity"]["engines"])

    def __repr__(self) -> str:
        state = "finished" if self.directory.finished else "unfinished"
        return f"<{state} run {self.path} of {', '.join(self.engine_names)}>"

    def __getattr__(self, name: str) -> pd.DataFrame:
        if name not in SCHEMAS:
            raise AttributeError(f"a run has no {name!r}")
        import pandas as pd

        rows = self.directory.table(name)
        if name in EVIDENCE_OF:
            classes = by_catalogue(self.directory, EVIDENCE_OF[name])
            for column in ("class", "departure"):
                rows = rows.append_column(column, classes[column].cast(_WORDS))
        rows, kinds = rows.unify_dictionaries().combine_chunks(), {pa.bool_(): pd.BooleanDtype()}
        whole: pd.DataFrame = rows.to_pandas(types_mapper=kinds.get, self_destruct=True)
        self.__dict__[name] = whole = whole.rename_axis(index=ROW)
        return whole

    def __dir__(self) -> list[str]:
        return [*super().__dir__(), *SCHEMAS]

    @cached_property
    def bugs(self) -> pd.DataFrame:
        """Bugs, as far as ``maskcourt bugs`` found them: see `harness.report.tables.BUG_COLUMNS`.

        Those that a model meets come first; no rows where nothing was searched for.
        """
        import pandas as pd

        from harness.bugs.listing import known_bugs
        from harness.report.tables import BUG_COLUMNS, bug_rows

        found = known_bugs(self.directory)
        return pd.DataFrame(bug_rows(found), columns=list(BUG_COLUMNS))

    @cached_property
    def tallies(self) -> pd.DataFrame:
        """Verdicts counted by engine, evidence, kind and class: tokens, positions and cases."""
        import pandas as pd

        columns = ["engine", "evidence", "kind", "class", "tokens", "positions", "cases"]
        rows = stored_run(self.directory).rows(statement("tallies"))
        return pd.DataFrame(rows, columns=columns)

    @cached_property
    def summary(self) -> Mapping[str, Any]:
        """The tally's summary: see `harness.analysis.tally.summary`."""
        from harness.analysis.tally import summary

        return summary(self.directory)
