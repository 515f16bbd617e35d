"""Which cases: a source that is named by a spec, and a choice among its cases.

A sample of a large archive costs no more than the sample. Everything is in ascending order of id,
by code point, but for the first selection of the embedded cases, which has an order of its own.
"""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from itertools import chain, islice
from pathlib import Path

from harness.errors import UsageError, nearest
from harness.inputs import case_jsonl, case_maskbench
from harness.inputs.case_generated import open_generated
from harness.inputs.cases import Case, CaseSource, ListedCases
from harness.inputs.schema_inputs import read_tools


@dataclass(frozen=True)
class Selected:
    """Some cases of a source: iterating reads them from it, one at a time, in its order."""

    source: CaseSource
    ids: tuple[str, ...]

    def __iter__(self) -> Iterator[Case]:
        return self.source.read(self.ids)

    def __len__(self) -> int:
        return len(self.ids)

    @property
    def families(self) -> Mapping[str, int]:
        return dict(sorted(Counter(self.source.index[id_] for id_ in self.ids).items()))


def open_cases(spec: str) -> CaseSource:
    """The cases that `spec` names.

    ``embedded`` (those of the project), ``quick`` (a first selection of them), ``maskbench`` (what
    ``make data`` fetched or ``MASKCOURT_MASKBENCH`` names), ``maskbench:PATH`` (such an archive, or
    a directory of its files), ``tools:PATH`` (those in a file, a case a tool), ``generated:N``
    (made from a seed), ``jsonl:PATH`` or ``*.jsonl`` (the user's own, a case a line).
    """
    kind, colon, rest = spec.partition(":")
    match kind:
        case "embedded" if not colon:
            return case_jsonl.embedded()
        case "quick" if not colon:
            return case_jsonl.quick()
        case "maskbench":
            return case_maskbench.open_maskbench(Path(rest) if rest else None)
        case "tools" | "generated" if rest:
            return _open_tools(Path(rest)) if kind == "tools" else open_generated(rest)
    if (kind == "jsonl" and rest) or spec.endswith(".jsonl"):
        return case_jsonl.open_jsonl(Path(rest if kind == "jsonl" else spec))
    if Path(spec).exists():
        raise UsageError(f"cannot tell what {spec!r} holds", f"maskbench:{spec}, or jsonl:{spec}?")
    known = ("quick", "embedded", "maskbench", "tools:PATH", "generated:N")
    raise UsageError(f"no data is called {spec!r}", nearest(spec, known))


def _open_tools(path: Path) -> CaseSource:
    cases = [
        Case(one.name, one.name.partition("/")[0], one.text, (), (), f"{path}: {one.tool}")
        for one in read_tools(path)
    ]
    return ListedCases(path.name, cases)


def select(
    source: CaseSource,
    *,
    families: Collection[str] = (),
    pattern: str | None = None,
    limit: int | None = None,
    sample: int | None = None,
    seed: int = 0,
    with_valid: bool = False,
    generated: bool = False,
) -> Selected:
    """The cases of `source` that pass every filter; then a sample of them; then the first ones.

    No `families` means all. `pattern` is a shell pattern for ids, case-sensitive (`fnmatch`).
    `limit` takes the first by id, `sample` draws in proportion to the families, with the `seed`,
    whatever the order. `with_valid` leaves only cases with a valid instance: it reads the cases in
    a stream (with `limit` alone: until there are enough), for the first time. `generated`: where no
    case has one, take them all, since instances are made of their schemas.
    """
    for name, number in (("limit", limit), ("sample", sample)):
        if number is not None and number < 1:
            raise UsageError(f"{name} must be at least 1, not {number}")
    index = source.index
    known = set(index.values())
    for family in families:
        if family not in known:
            raise UsageError(f"no family {family!r} in the data", nearest(family, known))
    all_ids = [id_ for id_, family in index.items() if not families or family in families]
    ids = [id_ for id_ in all_ids if fnmatchcase(id_, "*" if pattern is None else pattern)]
    if not ids and pattern is not None:
        hint = f"they look like {all_ids[0]!r}; * matches any characters"
        raise UsageError(f"none of {len(all_ids)} case ids matches {pattern!r}", hint)
    if with_valid:
        able = source.with_valid(ids)
        valid_ids = list(islice(able, limit if sample is None else None))
        if not valid_ids and not generated:
            raise UsageError(f"none of the {len(ids)} selected cases has a valid instance")
        ids = valid_ids or ids
    if sample is not None:
        ids = sampled({id_: index[id_] for id_ in ids}, sample, seed)
    return Selected(source, tuple(ids[:limit]))


def sampled(index: Mapping[str, str], size: int, seed: int) -> list[str]:
    """`size` ids of `index` (id to family), ascending; all of them if there are no more.

    Every family gives the ids whose hash with the seed is least, as many as `apportioned` says.
    """
    if size >= len(index):
        return sorted(index)
    members: dict[str, list[str]] = {}
    for id_, family in index.items():
        members.setdefault(family, []).append(id_)
    shares = apportioned({family: len(ids) for family, ids in members.items()}, size)

    def draw(id_: str) -> bytes:
        return hashlib.sha256(f"{seed}\0{id_}".encode("utf-8", "surrogatepass")).digest()

    drawn = (sorted(ids, key=draw)[: shares[family]] for family, ids in members.items())
    return sorted(chain.from_iterable(drawn))


def apportioned(sizes: Mapping[str, int], seats: int) -> dict[str, int]:
    """How many of `seats` each family gets: in proportion to its size, by largest remainders.

    A family that would get none gets one, at the cost of the others, if there are seats for all.
    """
    single: set[str] = set()
    while True:
        others = {family: size for family, size in sizes.items() if family not in single}
        shares = _largest_remainders(others, seats - len(single))
        missed = {family for family, share in shares.items() if not share}
        if not missed or seats < len(sizes):
            return shares | dict.fromkeys(single, 1)
        single |= missed


def _largest_remainders(sizes: Mapping[str, int], seats: int) -> dict[str, int]:
    total = sum(sizes.values())
    parts = {family: divmod(size * seats, total) for family, size in sizes.items()}
    shares = {family: whole for family, (whole, _) in parts.items()}
    by_remainder: Sequence[str] = sorted(parts, key=lambda family: (-parts[family][1], family))
    for family in by_remainder[: seats - sum(shares.values())]:
        shares[family] += 1
    return shares
