"""The files that the catalogue consists of are as the program trusts them to be."""

from types import SimpleNamespace

import pytest
from jsonschema import Draft202012Validator
from packaging.specifiers import SpecifierSet

from harness.classification.departures import ANY, load_behaviours
from harness.directories import read_toml
from harness.engines.specs import engine_tables
from harness.jsontext.lexer import Mode, State, place_of
from harness.verdict_kinds import DEPARTURE, ERRORS, LOST_VALUE, TRAP, WARNED
from tests.explain.test_attribution import CATEGORIES

SOURCE_KINDS = (
    *("documentation", "readme", "changelog", "maintainer", "source_constant", "source_comment"),
    *("source_test", "warning", "specification"),
)
"""What declares a behaviour; ``docs/departures.md`` explains each."""
NO_SOURCE = ("nothing_found", "expression", "own_tests", "own_documentation")
"""Why a behaviour is not declared; likewise."""

TABLES = {one["distribution"]: one for one in engine_tables().values() if "distribution" in one}
ENGINES = tuple(TABLES)
"""The distributions in which every behaviour is looked for."""

STATES = [State(b"{", mode, part) for mode in Mode for part in (b"", b"\\")]
PLACES = {place_of(one, at_end=end) for one in STATES for end in (False, True)}
THROUGH = {"allOf": "allOf", "reference": "$ref"}
"""What `only_through` may ask, and the keyword that such a rule excuses."""

TEXT = {"type": "string", "pattern": r"\S"}
TEXTS = {"type": "array", "items": {"type": "string"}, "minItems": 1}
FLAG = {"type": "boolean"}
COUNT = {"type": "integer", "minimum": 1}


def some_of(words):
    return {"type": "array", "items": {"enum": list(words)}, "minItems": 1}


def table(required, **others):
    return {
        "type": "object",
        "properties": {**required, **others},
        "required": list(required),
        "additionalProperties": False,
    }


CONDITIONS = {
    "kind": some_of(ERRORS),
    "effect": some_of([TRAP, LOST_VALUE]),
    "category": some_of(CATEGORIES),
    "place": some_of(PLACES),
    "multiple_of": some_of(("fraction", "above_1024", "half_bounded", "wide")),
    "only_through": some_of(THROUGH),
    "references": COUNT,
    "free_depth": COUNT,
    "undeclared": {"const": True},
    "beside_reference": {"const": True},
    **dict.fromkeys(("detail", "keyword", "token", "warning", "format", "before"), TEXTS),
    **dict.fromkeys(("schema_type", "schema_has", "schema_pattern"), TEXTS),
}
"""A rule has two at least: the kind only repeats the verdict."""
RULE = {**table({"kind": CONDITIONS["kind"]}, **CONDITIONS), "minProperties": 2}

BEHAVIOURS = load_behaviours()
WARNINGS = [
    SimpleNamespace(engine=name, **{"schema": "", "silent": "", **warning})
    for name, one in TABLES.items()
    for warning in one.get("warning", ())
]
"""What engines can print: about `schema`, or `silent` says why about none."""
ENTRIES = read_toml("departures.toml")["departure"]
BEHAVIOUR = table(
    {"id": TEXT, "about": TEXT},
    schema=TEXT,
    text={"type": "string"},
    part_of={"enum": list(BEHAVIOURS)},
    **dict.fromkeys(("spelling", "valid"), FLAG),
)
DECLARED = table(
    {
        "id": {"type": "string", "pattern": r"^[a-z0-9]+(-[a-z0-9]+)*$"},
        "class": {"enum": [WARNED, DEPARTURE]},
        "engine": {"enum": [ANY, *ENGINES]},
        "behaviour": {"enum": list(BEHAVIOURS)},
        **dict.fromkeys(("versions", "from", "says"), TEXT),
        "source_kind": {"enum": list(SOURCE_KINDS)},
        "source": {"type": "string", "pattern": r"^https://[^\s/]+\.[^\s/]+/\S+$"},
    },
    options={"type": "array", "items": {"type": "object", "minProperties": 1}},
    when={"type": "array", "items": RULE, "minItems": 1},
)


@pytest.mark.parametrize(
    ("file", "name", "schema"),
    [("departures", "departure", DECLARED), ("behaviours", "behaviour", BEHAVIOUR)],
)
def test_entries_have_their_form_and_ids_of_their_own(file, name, schema):
    tables = read_toml(f"{file}.toml")
    Draft202012Validator(table({name: {"type": "array", "items": schema}})).validate(tables)
    ids = [one["id"] for one in tables[name]]
    assert len(set(ids)) == len(ids)


def test_warnings_say_when_they_are_printed_or_why_not():
    assert len({one.id for one in WARNINGS}) == len(WARNINGS)
    keys = {"engine", "id", "keyword", "prints", "schema", "silent", "source", "text"}
    for one in WARNINGS:
        assert vars(one).keys() == keys
        assert isinstance(one.keyword, list)
        assert bool(one.schema) != bool(one.silent), one.id
        assert all((one.text, one.prints, one.source)), one.id


def undeclared(behaviour):
    """The engines that have a behaviour without a source that declares it: the reasons."""
    some = {name: table.get("undeclared", {}).get(behaviour) for name, table in TABLES.items()}
    return {name: reason for name, reason in some.items() if reason}


def test_engines_have_behaviours_for_known_reasons():
    for table in TABLES.values():
        known = table.get("undeclared", {})
        assert {*known, *table.get("options", {})} <= BEHAVIOURS.keys()
        assert {*known.values()} <= {*NO_SOURCE, *SOURCE_KINDS}


@pytest.mark.parametrize("one", ENTRIES, ids=lambda one: one["id"])
def test_an_entry_agrees_with_what_it_refers_to(one):
    assert SpecifierSet(one["versions"])
    assert (one["class"] == WARNED) == (one["source_kind"] == "warning")
    assert (one["engine"] == ANY) == (one["source_kind"] == "specification")
    rules = one.get("when", ())
    if BEHAVIOURS[one["behaviour"]].spelling:
        assert all("effect" in rule for rule in rules)
    else:
        assert rules
    for rule in rules:
        assert "warning" in rule or one["class"] != WARNED
        about = rule.get("keyword") or [THROUGH[each] for each in rule.get("only_through", ())]
        for name in rule.get("warning", ()):
            (warning,) = (each for each in WARNINGS if each.id == name)
            assert warning.engine == one["engine"]
            assert about
            assert set(about) <= set(warning.keyword)
