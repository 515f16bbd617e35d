"""Comparisons in words: Markdown, and JUnit's XML."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

from harness.analysis.statistics import LEVEL
from harness.bugs.listing import Bug
from harness.bugs.scripts import marked
from harness.engines.specs import read_spec
from harness.printable import code, escaped, markdown, plural, some_of
from harness.render.table import FAILED, PASSED, SKIPPED, Table, as_junit, as_markdown
from harness.verdict_kinds import COSTLY, REJECTIONS
from harness.versions.baseline import CRASH, REFUSED, BaselineDiff, Outcomes
from harness.versions.bugs import STATUSES, BugChange
from harness.versions.compare import Comparison, is_alike

_HEADINGS: Final = dict(
    zip(STATUSES, ("New", "Fixed", "Still there", "Cannot be told"), strict=True)
)
_DOES: Final = {
    "leak": "let an invalid value through",
    "loss": "lose a valid value",
    "trap": "lead into a trap",
}
_TIMES: Final = ("time_to_first_mask", "time_between_masks")
"""Of `harness.analysis.timing.MEASURES`."""
_MOST: Final = 30
"""Cases that are listed; JSON, the baseline's file and the run have all."""


def comparison_markdown(comparisons: Sequence[Comparison], most: int = _MOST) -> str:
    """The comparisons, each with its own heading, and at most so many bugs of each status."""
    return "\n".join(line for one in comparisons for line in _comparison(one, most)) + "\n"


def _comparison(one: Comparison, most: int) -> Iterator[str]:
    became = {status: one.having(status) for status in _HEADINGS}
    new, fixed, remaining, unknown = map(len, became.values())
    some = (sum(each.bug.effect in COSTLY for each in changes) for changes in became.values())
    costly = "{} new, {} fixed, {} still there".format(*some)
    engine = read_spec(one.new.engine).name
    yield f"## {markdown(f'{engine} {one.old.label} → {one.new.label}')}\n"
    yield (
        f"{plural(new, 'new bug')}, {fixed} fixed, {remaining} still there, {unknown} that cannot"
        f" be told; of these cost a value: {costly}."
    )
    if left := max(one.pending.values()):
        yield f"The search was stopped, {plural(left, 'verdict')} of all engines not shrunk yet."
    if not is_alike(one.pace):
        yield (
            f"The new run's machine took {one.pace:.2g} times as long for the same work as they"
            " began: what is out of time, and the times, may differ by that, too."
        )
    yield ""
    yield from _schemas(one)
    yield ""
    figures = [(side, figure) for figure in ("p50", "p99") for side in ("old", "new")]
    times = [
        {"time, in µs": name.replace("_", " ")}
        | {f"{side} {figure}": one.times[side][name][figure] for side, figure in figures}
        for name in _TIMES
        if one.times["new"][name]["p50"] is not None
    ]
    yield as_markdown(Table.of("", times[0], times)).rstrip() if times else ""
    for status, heading in _HEADINGS.items():
        if changes := became[status]:
            yield f"\n### {heading}: {len(changes)}\n"
            yield from map(_change, changes[:most])
            if len(changes) > most:
                yield f"\nand {len(changes) - most:,} more"


def _schemas(one: Comparison) -> Iterator[str]:
    schemas = one.schemas
    now, not_now = schemas["compiled_now"], schemas["not_now"]
    yield (
        f"Schemas in both runs: {schemas['schemas']:,}; compiled now and not before: {len(now):,},"
        f" no longer: {len(not_now):,}."
    )
    yield from map(_rate, schemas["rates"])
    for title, listed in (("Compiled now; before", now), ("No longer compiled; now", not_now)):
        if listed:
            yield f"\n{title}:\n"
            yield from _by_reason(listed)


def _by_reason(reasons: Mapping[str, str]) -> Iterator[str]:
    """An item for each reason, with its first schemas."""
    schemas: dict[str, list[str]] = {}
    for name, reason in reasons.items():
        schemas.setdefault(reason, []).append(code(name))
    for reason, names in schemas.items():
        yield f"- {markdown(reason)} ({len(names):,}): {some_of(names)}"


def _rate(rate: Mapping[str, Any]) -> str:
    old, new = rate["only_old"], rate["only_new"]
    words = (
        f"By texts asked of both, also unusual ones, bugs that {_DOES[rate['kind']]} are in"
        f" {rate['both'] + old:,} of {rate['schemas']:,} schemas before and"
        f" {rate['both'] + new:,} now ({new:,} only now, {old:,} only before"
    )
    if rate["p"] is not None:
        apart = rate["low"] is not None and rate["p"] < LEVEL  # else the interval may say otherwise
        told = f"{rate['low']:+.1%} to {rate['high']:+.1%}" if apart else "not proven"
        words += f"; the difference is {told}, McNemar's p {rate['p']:.2g}"
    return words + ")."


def _change(change: BugChange) -> str:
    bug = change.bug
    schemas = f"{bug.cases:,} of {plural(bug.judged, 'schema')}"
    about = "; ".join(filter(None, (schemas, bug.shown_in_words, change.reason)))
    return "\n".join(_bug(bug, f"{markdown(bug.title)} ({about})"))


def _bug(bug: Bug, about: str) -> Iterator[str]:
    yield f"- {code(bug.id)} {about}"
    if bug.effect_in_words:
        yield f"  - {bug.effect_in_words}"
    yield f"  - schema {code(bug.error.schema)}"
    yield f"  - text {code(_text(bug))}"


def _text(bug: Bug) -> str:
    return marked(bug) if bug.error.kind in REJECTIONS else escaped(bug.error.text)


def baseline_verdict(diff: BaselineDiff) -> str:
    """What comparing a run with a baseline gave, in one line."""
    return (
        f"{'fails' if diff.fails else 'passes'}: "
        f"{plural(len(diff.new_bugs), 'new bug')}, {plural(len(diff.worse), 'schema')} worse,"
        f" {len(diff.better)} better, {plural(len(diff.gone_bugs), 'known bug')} not met"
    )


def baseline_markdown(diff: BaselineDiff) -> str:
    """The same for a terminal or the page of a job: the verdict, then its reasons."""
    lines = [f"## maskcourt {baseline_verdict(diff)}"]
    if diff.new_bugs:
        lines.append("\n### New bugs\n")
        for bug in diff.new_bugs:
            name = f"{read_spec(bug.engine).name} {bug.version}"
            lines += _bug(bug, markdown(f"{name}: {bug.title}"))
    for title, changes in (("Worse", diff.worse), ("Better", diff.better)):
        if changes:
            columns = ("engine", "schema", "baseline", "now")
            more = f"and {len(changes) - _MOST:,} more" if len(changes) > _MOST else ""
            lines.append(
                "\n" + as_markdown(Table.of(title, columns, changes[:_MOST], more)).rstrip()
            )
    if diff.gone_bugs:
        lines.append("\n### Known bugs that were not met\n")
        for (engine, id_), title in diff.gone_bugs.items():
            lines.append(f"- {code(id_)} {markdown(f'{engine}: {title}')}")
    for reason, many in diff.open.items():
        lines.append(f"\n{plural(many, 'verdict')} of no bug: {markdown(reason)}")
    return "\n".join(lines) + "\n"


def baseline_junit(diff: BaselineDiff, outcomes: Outcomes) -> str:
    """The same as JUnit's XML: a suite per engine, a test per schema and per new bug.

    Known refusals and crashes are skipped tests; what the baseline does not know fails.
    """
    worse = {(one.engine, one.case): one for one in diff.worse}
    tests = []
    for bug in diff.new_bugs:
        text = f"{bug.effect_in_words}\nschema {bug.error.schema}\ntext {_text(bug)}"
        name = read_spec(bug.engine).unversioned
        tests.append((name, f"bug {bug.id}", FAILED, "bug", bug.title, text))
    for (engine, case), now in sorted(outcomes.items()):
        if change := worse.get((engine, case)):
            tests.append((engine, case, FAILED, now, f"{change.was} before, {now} now", ""))
        else:
            known = SKIPPED if now in (REFUSED, CRASH) else PASSED
            tests.append((engine, case, known, now, now, ""))
    return as_junit(tests)
