"""Every entry of the catalogue fits what it declares, and not what is nearly that."""

import gc
import json
import pickle
import weakref
from dataclasses import replace

import pytest

from harness.analysis.compile_reasons import schemas_by_backend
from harness.classification.departures import ANY, classify, load_catalogue
from harness.classification.verdict_rows import VerdictRows
from harness.comparison.verdict_record import piece_at
from harness.errors import UsageError
from harness.explain.attribution import Attribution
from harness.inputs.vocabulary import byte_vocabulary
from harness.jsontext.lexer import START, advance, place_of
from harness.runs.directory import RunDirectory, create_or_resume
from harness.runs.tables import Rows
from harness.spelling_profile.profile import load_battery
from harness.verdict_kinds import WALK
from tests.books import blank
from tests.departure_examples import A_B, CLOSED, EXAMPLES, OUTLINES, XGRAMMAR, rejected

CATALOGUE = load_catalogue()


def attributed(one):
    """The columns of the attribution, as a run would hold them."""
    place = Attribution(one.schema).at(one.written + one.token[: one.at])
    piece = piece_at(one.token, one.at) if one.kind == "false_rejection" else one.token
    governing = place.governing(piece)
    named = one.kind == "false_acceptance"
    return {
        "category": place.category(piece),
        "detail": governing.detail,
        "keyword": one.keyword if named else governing.keyword,
        "schema_pointer": one.pointer if named else governing.schema_pointer,
        "instance_pointer": governing.instance_pointer,
    }


def vocabulary_of(verdicts):
    return byte_vocabulary(sorted({one.token for one in verdicts if len(one.token) > 1}))


def id_of(vocabulary, token):
    return vocabulary.tokens.index(token)


def place(one):
    state = advance(START, one.written + one.token[: one.at])
    return place_of(state, at_end=state.can_end and not one.rest and not one.at)


def add(rows, table, **values):
    rows.add(table, **blank(table) | values)


def case_row(rows, name, one, references):
    add(rows, "cases", case=name, schema=json.dumps(one.schema), references=references)
    compiled = {"stage": "compile", "outcome": "compiled", "output": one.output}
    add(rows, "engines", case=name, engine="engine", **compiled)


def walk_rows(rows, name, one, vocabulary):
    """A case with one walk, one position after `before`, and one verdict there."""
    whole = one.written + one.rest.encode()
    case_row(rows, name, one, [whole])
    where = {"case": name, "walk": 0}
    at = len(one.written)
    for number, offset in enumerate(range(at, len(whole) + 1)):
        here = where | {"position": number}
        token = -1 if offset == len(whole) else whole[offset]
        add(rows, "positions", **here, offset=offset, token=token, judged=1)
    add(rows, "completions", case=name, completion=0, text=one.rest.encode())
    add(
        rows,
        "verdicts",
        **where,
        position=0,
        completion=0,
        token=id_of(vocabulary, one.token),
        refused_at=one.at if one.kind == "false_rejection" else -1,
        place=place(one),
        engine="engine",
        kind=one.kind,
        effect=one.effect,
        **attributed(one),
    )


def instance_rows(rows, name, one, vocabulary):
    """The same verdict, proven by an instance."""
    whole = one.written + one.token + one.rest.encode()
    case_row(rows, name, one, [])
    where = {"case": name, "instance": 0}
    add(rows, "instances", **where, text=whole, tokens=list(whole))
    add(
        rows,
        "instance_verdicts",
        **where,
        engine="engine",
        kind=one.kind,
        effect=one.effect,
        consumed=len(one.written),
        token=id_of(vocabulary, one.token),
        offset=len(one.written) + one.at if one.kind == "false_rejection" else -1,
        place=place(one),
        **attributed(one),
    )


def identity_of(engine, version, options, vocabulary, file="nowhere"):
    described = {"version": version, "options": options, "packages": {engine: version}}
    return {
        "engines": {"engine": described},
        "vocabulary": {"spec": str(file), "eos": None, "sha256": vocabulary.sha256},
    }


@pytest.fixture(scope="module")
def stored(tmp_path_factory):
    """Stores verdicts about one engine as a run; what was stored before is said of another one."""
    root = tmp_path_factory.mktemp("stored")
    runs = {}

    def written(verdicts, instances, finished):
        name = str(len(runs))
        vocabulary = vocabulary_of(verdicts)
        vocabulary.save(root / f"vocabulary{name}")
        rows = Rows()
        for number, one in enumerate(verdicts):
            (instance_rows if instances else walk_rows)(rows, f"case{number}", one, vocabulary)
        run = create_or_resume(root / name, {}, {})
        run.write_case(0, rows)
        if finished:
            run.finish({})
        run.release()
        return run, vocabulary, root / f"vocabulary{name}"

    def store(verdicts, engine, version, options, *, instances=False, finished=False):
        key = pickle.dumps((verdicts, instances, finished))
        if key not in runs:
            runs[key] = written(verdicts, instances, finished)
        run, *vocabulary = runs[key]
        identity = identity_of(engine, version, options, *vocabulary)
        return RunDirectory(run.path, {**run.manifest, "identity": identity}, trusted=True)

    return store


def found(table):
    return list(zip(table["class"].to_pylist(), table["departure"].to_pylist(), strict=True))


VERSIONS = {
    ANY: "1.0",
    "xgrammar": "0.2.8",
    "llguidance": "1.9.1",
    "outlines-core": "0.2.14",
    "xllamacpp": "2026.10.11549",
    "glrmask": "0.5.0",
    "maskforge": "0.1.1",
    "lm-format-enforcer": "0.11.3",
    "formatron": "0.5.0",
    "oc-earley": "0.1.0",
}
RULED = [one for one in CATALOGUE if one.when]


def test_what_was_read_of_a_run_is_given_back(stored):
    """A search for smallest cases reads thousands of runs, each with a verdict or two."""
    run = stored(EXAMPLES[RULED[0].id].fits[:1], "some-engine", "1.0", {})
    rows = VerdictRows(run, WALK)
    assert rows.words("kind") is rows.words("kind")
    left = weakref.ref(rows)
    del rows
    gc.collect()
    assert left() is None


def examples(one):
    return EXAMPLES[one.id], EXAMPLES[one.id].version or VERSIONS[one.engine]


def engine_of(one):
    return "some-engine" if one.engine == ANY else one.engine


def each():
    return pytest.mark.parametrize("one", RULED, ids=lambda one: one.id)


def test_every_entry_has_examples():
    assert [one.id for one in RULED] == list(EXAMPLES)
    assert all(some.fits and some.misses for some in EXAMPLES.values())


@each()
@pytest.mark.parametrize("evidence", ["walk", pytest.param("instance", marks=pytest.mark.thorough)])
def test_an_entry_fits_what_it_declares_and_not_what_is_nearly_that(one, evidence, stored):
    some, version = examples(one)
    only = replace(CATALOGUE, departures=(one,))
    for verdicts, expected in ((some.fits, (one.class_, one.id)), (some.misses, ("bug", ""))):
        instances = evidence == "instance"
        run = stored(verdicts, engine_of(one), version, some.options, instances=instances)
        assert found(classify(run, evidence, catalogue=only)) == [expected] * len(verdicts)


@each()
def test_each_rule_of_an_entry_fits_an_example(one, stored):
    some, version = examples(one)
    run = stored(some.fits, engine_of(one), version, some.options)
    for rule in one.when:
        alone = replace(CATALOGUE, departures=(replace(one, when=(rule,)),))
        assert (one.class_, one.id) in found(classify(run, "walk", catalogue=alone)), rule


@each()
def test_an_entry_concerns_only_its_engine_versions_and_options(one, stored):
    some, version = examples(one)
    only = replace(CATALOGUE, departures=(one,))
    bugs = [("bug", "")] * len(some.fits)
    if one.engine == ANY:
        assert found(classify(stored(some.fits, "whichever", "0.0.1", {}), catalogue=only)) != bugs
        return
    other = {"xgrammar": "llguidance"}.get(one.engine, "xgrammar")
    assert found(classify(stored(some.fits, other, version, some.options), catalogue=only)) == bugs
    assert (
        found(classify(stored(some.fits, one.engine, "0.0.1", some.options), catalogue=only))
        == bugs
    )
    if one.options:
        run = stored(some.fits, engine_of(one), version, some.other_options)
        assert found(classify(run, catalogue=only)) == bugs


def test_the_first_entry_that_fits_counts(stored):
    some = EXAMPLES["xgrammar-strict-mode"]
    run = stored(CLOSED, "xgrammar", "0.2.8", some.options)
    (one,) = (one for one in CATALOGUE if one.id == "xgrammar-strict-mode")
    both = replace(CATALOGUE, departures=(replace(one, id="first"), one))
    assert found(classify(run, catalogue=both)) == [("departure", "first")] * len(CLOSED)


@pytest.mark.parametrize(
    ("change", "classed"),
    [
        ({"kind": "contested"}, ("", "")),
        ({"kind": "unresolved"}, ("", "")),
        ({"effect": "spelling"}, ("bug", "")),
    ],
)
def test_what_proves_nothing_has_no_class_and_a_spelling_no_departure(change, classed, stored):
    options = EXAMPLES["xgrammar-strict-mode"].options
    run = stored([replace(CLOSED[0], **change), CLOSED[0]], "xgrammar", "0.2.8", options)
    assert found(classify(run, catalogue=CATALOGUE)) == [
        classed,
        ("departure", "xgrammar-strict-mode"),
    ]


def test_what_is_about_spellings_is_asked_of_the_spelling_profile():
    asked = {row.behaviour for row in load_battery()}
    spellings = {one.id for one in CATALOGUE.behaviours.values() if one.spelling}
    assert asked - {""} == spellings | {"control-characters"}


def test_verdicts_about_nothing_that_is_declared_are_bugs(stored):
    run = stored([rejected("[1,", b"2")], "xgrammar", "0.2.8", XGRAMMAR)
    assert found(classify(run, catalogue=CATALOGUE)) == [("bug", "")]


def test_an_unfinished_run_and_a_finished_one_are_classified_alike(tmp_path):
    vocabulary = vocabulary_of(CLOSED)
    options = EXAMPLES["xgrammar-strict-mode"].options
    identity = identity_of("xgrammar", "0.2.8", options, vocabulary)
    run = create_or_resume(tmp_path / "run", identity, {})
    assert classify(run, "walk", vocabulary, catalogue=CATALOGUE).num_rows == 0
    for number, one in enumerate(CLOSED):
        walk_rows(rows := Rows(), f"case{number}", one, vocabulary)
        run.write_case(number, rows)
    unfinished = found(classify(run, "walk", vocabulary, catalogue=CATALOGUE))
    assert unfinished == [("departure", "xgrammar-strict-mode")] * len(CLOSED)
    run.finish({})
    assert found(classify(run, "walk", vocabulary, catalogue=CATALOGUE)) == unfinished
    run.release()


def test_another_vocabulary_is_refused(stored):
    run = stored(EXAMPLES["outlines-control-characters"].fits, "outlines-core", "0.2.14", OUTLINES)
    with pytest.raises(UsageError, match="vocabulary is not the one"):
        classify(run, "walk", byte_vocabulary([b"other"]), catalogue=CATALOGUE)


def test_departures_are_those_of_the_backend_that_took_the_schema(stored):
    options = {
        "server": "vllm",
        "xgrammar.engine": "xgrammar",
        "xgrammar.packages": "xgrammar",
        "xgrammar.config": "shipped",
        "xgrammar.strict_mode": "auto",
        "guidance.engine": "llguidance",
        "guidance.packages": "llguidance",
        "guidance.config": "spec",
    }
    verdicts = [
        replace(
            rejected('{"a": 1, "', b"zz", A_B), output=f"vllm 0.33.0: taken by backend {name}\n"
        )
        for name in ("xgrammar", "guidance")
    ]
    run = stored(verdicts, "xgrammar", "0.2.8", options)
    run.manifest["identity"]["engines"]["engine"]["packages"]["llguidance"] = "1.7.6"
    assert found(classify(run, catalogue=CATALOGUE)) == [
        ("departure", "xgrammar-strict-mode"),
        ("bug", ""),
    ]
    assert schemas_by_backend(run) == {"engine": {"guidance": 1, "xgrammar": 1}}
