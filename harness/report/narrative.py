"""The narrative of a run: what it proves, in sentences, each of them computed from the tables.

The direction to compare with is that of the study whose method this is: xgrammar under-constrains
most, and what can be proven against llguidance are mostly rejections. A sentence says whether a run
shows the same, and the last part what may be the reason where it does not.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from harness.counting.intervals import NO_SAMPLE, Interval
from harness.engines.specs import read_spec, with_version
from harness.render.table import Row
from harness.report.figure_tables import Digest
from harness.report.text_counts import is_tested
from harness.runs.tables import TEXT_TABLES
from harness.validators.format_rules import ANNOTATION
from harness.verdict_kinds import KINDS, MAIN_KINDS, WALK

ACCEPTANCE, REJECTION = MAIN_KINDS.values()
SHARE, RATE = "share_of_schemas_with_a_bug", "bugs_per_million_mask_decisions"

LOOSE_IN_STUDY = "xgrammar"
"""The engine that under-constrains most in the original study."""
STRICT_IN_STUDY = "llguidance"
"""The engine whose provable errors are mostly rejections there."""
STUDIED = {"llguidance": "0.6.7", "outlines": "0.1.13", "xgrammar": "0.1.10"}
"""The versions in MaskBench's published tables (the README of ``maskbench`` in
https://github.com/guidance-ai/jsonschemabench)."""
ALSO_STUDIED = "llama.cpp"
"""The other engine of MaskBench's tables."""

_MUCH = 10
"""A token is named when it alone stands behind this part of the schemas."""
_KEYWORDS = 5
"""Keywords that a sentence names."""
_PAIRS = 12
"""Pairs that a sentence names."""


def answer(found: Digest) -> list[str]:
    """What a run says in short: of each engine on how many schemas a model meets a bug, then pairs.

    Shares of engines that were judged on different schemas are no ranking; the pairs are.
    """
    parts = []
    for engine, of in found.summary["engines"].items():
        share, schemas = _ratio(found, engine, SHARE, "any"), sum(of["compile"].values())
        named = with_version(engine, of.get("version", "?"))
        text = f"{named} compiles {of['compile']['compiled']:,} of"
        text += f" {_count(schemas, 'schema')}; "
        if many := share["of"]:
            met = share["found"] - share["rare"]
            text += f"a model meets a bug in {met:,} of {many:,} walked ({met / many:.1%})."
        else:
            text += "it was judged in no walk."
        parts.append(text)
    return [*parts, *_paired(found, "any")]


def direction(found: Digest) -> list[str]:
    """Whether a run shows what the original study showed, one sentence or two for each claim."""
    return [*_loosest(found), *_beside(found), *_rejects(found)]


def engine_sentences(found: Digest, engine: str) -> list[str]:
    """What is proven against one engine: how much, what of it is declared, what stays open."""
    of = found.summary["engines"][engine]
    if not of["judged"]["cases"] and not any(is_tested(of[one]) for one in TEXT_TABLES.values()):
        return [f"{engine} was not judged in any case."]
    walked = bool(of["judged"]["cases"])
    parts = [_bad(found, engine) if walked else f"{engine} was judged in no walk."]
    parts += [_by_kind(found, engine), _by_format(found, of), _departing(found, engine), _open(of)]
    return [one for one in parts if one]


def differences(found: Digest, manifest: Mapping[str, Any], cleared: Row | None) -> list[str]:
    """What may make a run differ from the original study.

    Args:
        found: The run's tables.
        manifest: The run's manifest.
        cleared: What became of the false acceptances of one roll-out per token, where that was
            looked at: ``false_acceptances`` and ``cleared``.
    """
    engines = manifest["identity"]["engines"]
    parts = [_versions(engines), _options(engines)]
    if not _versions_of(found, ALSO_STUDIED):
        parts.append(
            f"Engines: {ALSO_STUDIED}, which MaskBench measures too, is missing here; an error that"
            " only another engine's acceptance can prove stays unproven without it."
        )
    parts += [_rule(found), _procedure(cleared), _sample(found, manifest)]
    return [one for one in parts if one]


def _loosest(found: Digest) -> list[str]:
    by_tokens = _ranked(found, lambda engine: _scaled(found, engine, ACCEPTANCE))
    by_schemas = _ranked(found, lambda engine: _ratio(found, engine, SHARE, ACCEPTANCE)["value"])
    if not by_tokens or not _bugs(found, by_tokens[0], ACCEPTANCE):
        return [
            "No engine is proven in a walk to let an invalid text through but by what is declared."
        ]
    most, widest = by_tokens[0], by_schemas[0]
    tokens = _wrong(found, most, ACCEPTANCE)
    share = _ratio(found, widest, SHARE, ACCEPTANCE)
    first = f"Most false acceptances, by tokens, are {most}'s ({tokens}); " + (
        "it also has them in the largest share of schemas"
        if widest == most
        else f"the largest share of schemas with one is {widest}'s"
    )
    text = f"{first}, {_interval(share)}."
    same = [read_spec(name).name == LOOSE_IN_STUDY for name in (most, widest)]
    verdict = {
        (True, True): f"That {LOOSE_IN_STUDY} under-constrains most is shown here, too.",
        (True, False): f"That {LOOSE_IN_STUDY} under-constrains most is so here by tokens, not by"
        " schemas.",
        (False, True): f"That {LOOSE_IN_STUDY} under-constrains most is so here by schemas, not by"
        " tokens.",
        (False, False): f"That {LOOSE_IN_STUDY} under-constrains most is not shown here.",
    }[same[0], same[1]]
    if not _versions_of(found, LOOSE_IN_STUDY):
        verdict = f"{LOOSE_IN_STUDY}, which under-constrains most in the study, is not in this run."
    return [text, verdict, *_paired(found, ACCEPTANCE, widest)]


def _beside(found: Digest) -> list[str]:
    """The two engines of the study's direction next to each other."""
    loose, strict = (_versions_of(found, one) for one in (LOOSE_IN_STUDY, STRICT_IN_STUDY))
    if not loose or not strict:
        return []
    shown = [
        f"{engine} lets invalid text through in"
        f" {_interval(_ratio(found, engine, SHARE, ACCEPTANCE))} of schemas"
        f" ({_wrong(found, engine, ACCEPTANCE)})"
        for engine in (*loose, *strict)
    ]
    return [f"Side by side: {'; '.join(shown)}."]


def _paired(found: Digest, kind: str, engine: str = "") -> list[str]:
    """Engines in pairs on the same schemas, or one beside each other; a long list is cut."""
    compared = []
    for row in _rows(found, "pairs", kind=kind, counted="met"):
        if engine not in ("", row["first"], row["second"]) or not row["schemas"]:
            continue
        sides = [(row[name], row[f"only_{name}"]) for name in ("first", "second")]
        (one, mine), (other, theirs) = sides[::-1] if row["second"] == engine else sides
        text = f"{_count(mine, 'schema')} with one of {one}'s alone, {theirs:,} of {other}'s alone"
        if row["apart"] is not None:
            how = "these differ" if row["apart"] else "cannot tell apart"
            text += f" ({how}: p = {row['p_holm']:.2g})"
        compared.append(text)
    if not compared:
        return []
    if (more := len(compared) - _PAIRS) > 0:
        compared[_PAIRS:] = [f"{_count(more, 'more pair')} in pairs.csv"]
    how = "p by McNemar's exact test with Holm's correction" if found.summary["sampled"] else ""
    pairs = f"In pairs, on the same schemas, by what a model meets: {'; '.join(compared)}."
    return [f"{pairs} {how or NO_SAMPLE}".strip(". ") + "."]


def _rejects(found: Digest) -> list[str]:
    strict = _versions_of(found, STRICT_IN_STUDY)
    return [_rejected(found, one) for one in strict] or [f"{STRICT_IN_STUDY} is not in this run."]


def _rejected(found: Digest, engine: str) -> str:
    accepted, rejected = (_scaled(found, engine, one) for one in (ACCEPTANCE, REJECTION))
    if not accepted + rejected:
        return f"Nothing but declared departures is proven against {engine}."
    share = rejected / (accepted + rejected)
    holds = "as in the study" if share > 0.5 else "other than in the study"
    both = _shown(found, accepted + rejected)
    wrong = f"Of {both} wrong tokens that are {engine}'s bugs"
    part = "over 99.9%" if 0.9995 <= share < 1 else f"{share:.1%}"
    return f"{wrong} {_shown(found, rejected)} ({part}) are rejections, {holds}."


def _versions_of(found: Digest, engine: str) -> list[str]:
    """The specs of a run that name an engine of the study, in whatever version."""
    return [name for name in found.engines if read_spec(name).name == engine]


def _bad(found: Digest, engine: str) -> str:
    share, rate = (_ratio(found, engine, measure, "any") for measure in (SHARE, RATE))
    of, met = share["of"], share["found"] - share["rare"]
    text = (
        f"A model meets a bug in {met:,} of {of:,} walked schemas ({met / of:.1%}), in"
        f" {share['on_path']:,} of them at the very next token of a valid text; in"
        f" {share['rare']:,} more only rare tokens are wrong. All in all a bug is proven in"
        f" {_interval(share)} of them, at more than one token in {share['several_tokens'] / of:.1%}"
    )
    if rate["value"] is None:
        return f"{text}."
    how = ", by scaled samples" if found.summary["capped"] else ""
    return f"{text}; {_number(rate)} of a million mask decisions are wrong{how}."


def _by_kind(found: Digest, engine: str) -> str:
    """How many tokens and texts are proven wrong; the bugs say why."""
    parts = []
    for kind, verb in ((ACCEPTANCE, "lets through"), (REJECTION, "forbids")):
        tokens = _bugs(found, engine, kind)
        what = ("wrong", "invalid") if kind == ACCEPTANCE else ("right", "valid")
        counts = [_count(tokens, f"{what[0]} token")] if tokens else []
        texts = {one: _bugs(found, engine, kind, one) for one in TEXT_TABLES}
        counts += [_count(many, f"{what[1]} {one}") for one, many in texts.items() if many]
        parts.append(f"{verb} {_listed(counts) or 'no token wrongly but by what it declares'}")
    return f"It {_listed(parts)}."


def _by_format(found: Digest, of: Mapping[str, Any]) -> str:
    if found.summary["formats"] == ANNOTATION:
        return "Formats are annotations in this run: no text is invalid for its format."
    tokens = of["false_acceptances"]["by_format"]
    shown = [_count(tokens, "token of walks", "tokens of walks")] if tokens else []
    texts = {one: of[table]["by_format"] for one, table in TEXT_TABLES.items()}
    shown += [_count(many, one) for one, many in texts.items() if many]
    if not shown:
        return ""
    return (
        f"Of its false acceptances {_listed(shown)} rest on `format` alone, which is an annotation"
        " by default since draft 2019-09, and is asserted here (`--formats`)."
    )


def _departing(found: Digest, engine: str) -> str:
    """How much of what is proven is declared or warned of, by entry of the catalogue."""
    entries: dict[str, int] = {}
    for row in _rows(found, "by_departure", engine=engine):
        if row["departure"] and row["evidence"] == WALK:
            entries[row["departure"]] = entries.get(row["departure"], 0) + row["tokens"]
    if not entries:
        return "Nothing that is proven against it is a departure that it declares or warns of."
    order = sorted(entries, key=lambda name: (-entries[name], name))
    shown = [f"`{name}` ({entries[name]:,})" for name in order[:_KEYWORDS]]
    if len(order) > _KEYWORDS:
        shown.append(_count(len(order) - _KEYWORDS, "more entry", "more entries"))
    return (
        f"Declared or warned of, and no bugs: {sum(entries.values()):,} tokens, {_listed(shown)}."
    )


def _open(of: Mapping[str, Any]) -> str:
    parts = []
    if unresolved := sum(of["unresolved"].values()):
        parts.append(f"{unresolved:,} tokens stay unresolved")
    if of["contested"]:
        parts.append(f"{of['contested']:,} are contested and count for nobody")
    return f"{' and '.join(parts)[:1].upper()}{' and '.join(parts)[1:]}." if parts else ""


def _versions(engines: Mapping[str, Any]) -> str:
    known = [(name, one) for name, one in engines.items() if read_spec(name).name in STUDIED]
    if not known:
        return ""
    shown = [
        f"{read_spec(name).name} {one.get('version', '?')} ({STUDIED[read_spec(name).name]})"
        for name, one in known
    ]
    return f"Versions: here (in MaskBench's published tables) {_listed(shown)}."


def _options(engines: Mapping[str, Any]) -> str:
    by_config: dict[str, list[str]] = {}
    for name, one in engines.items():
        by_config.setdefault(str(one.get("options", {}).get("config", "?")), []).append(name)
    meaning = {
        "spec": "as close to the specification as the engine can get",
        "shipped": "as its users get it",
    }
    shown = [
        f"{_listed(names)} {'is' if len(names) == 1 else 'are'} configured"
        f" {meaning.get(config, 'in a way of its own')}"
        for config, names in by_config.items()
    ]
    return f"Options: {'; '.join(shown)}. An engine in its defaults errs elsewhere."


def _rule(found: Digest) -> str:
    left: dict[str, dict[str, int]] = {}
    for row in _rows(found, "errors", evidence=WALK):
        if row["kind"] in MAIN_KINDS.values() and (out := row["warned"] + row["departure"]):
            left.setdefault(row["engine"], {})[KINDS[row["kind"]].plural] = out
    if not left:
        return "Departures: none was met, so that the rule for them changes nothing here."
    shown = [
        f"{engine} would have "
        + _listed([f"{more:,} more {kind.replace('_', ' ')}" for kind, more in kinds.items()])
        for engine, kinds in left.items()
    ]
    return (
        f"Departures: without the rule that what an engine declares is no bug, {'; '.join(shown)}."
    )


def _procedure(cleared: Row | None) -> str:
    if cleared is None or not cleared["false_acceptances"]:
        return ""
    share = cleared["cleared"] / cleared["false_acceptances"]
    return (
        "Procedure: one roll-out per token charges an invalid text to the token that it began with;"
        f" of such charges that were looked at again {share:.0%} have a valid completion, and are"
        " somebody else's false rejection (`one-roll-out`, below)."
    )


def _sample(found: Digest, manifest: Mapping[str, Any]) -> str:
    summary, cap = found.summary, manifest["identity"].get("rules", {}).get("cap")
    text = f"Sample: {_count(summary['cases'], 'case')}, {summary['walked']:,} of them walked"
    text += (
        ", since a case is walked only where every engine compiled it"
        if (manifest["identity"].get("rules", {}).get("panel") == "common")
        else ""
    )
    if not summary["capped"]:
        return f"{text}; every disputed token was resolved."
    resolved, disputed = summary["resolved_tokens"], summary["disputed_tokens"]
    return (
        f"{text}; of {disputed:,} disputed tokens {resolved:,} were resolved ({cap} per dispute, a"
        " seeded sample, and all on the reference's path). Counts are of those; rates and the order"
        " of engines by tokens scale the sample of each dispute to the dispute."
    )


def _rows(found: Digest, table: str, **wanted: object) -> list[Row]:
    rows = found.tables[table].rows
    return [row for row in rows if all(row[name] == value for name, value in wanted.items())]


def _bugs(found: Digest, engine: str, kind: str, evidence: str = WALK) -> int:
    rows = _rows(found, "errors", engine=engine, kind=kind, evidence=evidence)
    return sum(int(row["bug"]) for row in rows)


def _scaled(found: Digest, engine: str, kind: str) -> int:
    """Tokens of bugs; of a capped run scaled to all disputed tokens."""
    return int(_ratio(found, engine, RATE, kind)["scaled"])


def _wrong(found: Digest, engine: str, kind: str) -> str:
    """How many tokens are proven wrong, and of a capped run for how many they stand."""
    proven, scaled = _bugs(found, engine, kind), _scaled(found, engine, kind)
    text = _count(proven, "token")
    return text if scaled == proven else f"{_shown(found, scaled)} tokens, scaled from {proven:,}"


def _shown(found: Digest, tokens: int) -> str:
    """A number of tokens; of a capped run to three digits."""
    if not found.summary["capped"] or tokens < 1000:
        return f"{tokens:,}"
    return f"some {_significant(tokens)}"


def _ratio(found: Digest, engine: str, measure: str, kind: str) -> Row:
    (row,) = _rows(found, "headline_rates", engine=engine, measure=measure, kind=kind)
    return row


def _ranked(found: Digest, value: Callable[[str], float | None]) -> list[str]:
    """The engines, the largest value first; one without a value comes last."""
    values = {one: -1.0 if (of := value(one)) is None else of for one in found.engines}
    return sorted(values, key=lambda engine: -values[engine])


def _interval(share: Row) -> str:
    if share["value"] is None:
        return "none"
    ends = Interval(share["value"], share["low"], share["high"], share["interval"])
    return f"{share['value']:.1%}{ends.in_brackets}"


def _number(rate: Row) -> str:
    text = _significant(rate["value"])
    if rate["low"] is None:
        return text
    return f"{text} ({_significant(rate['low'])} to {_significant(rate['high'])})"


def _significant(number: float) -> str:
    """Three significant digits, and no exponent."""
    rounded = float(f"{number:.3g}")
    if rounded >= 1000:
        return f"{rounded:,.0f}"
    return np.format_float_positional(rounded, trim="-")


def _count(number: int, noun: str, plural: str | None = None) -> str:
    return f"{number:,} {noun if number == 1 else plural or noun + 's'}"


def _listed(parts: Sequence[str]) -> str:
    if len(parts) < 2:
        return "".join(parts)
    return f"{', '.join(parts[:-1])} and {parts[-1]}"
