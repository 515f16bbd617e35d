"""Behaviours are looked for in all engines, and classed alike where the sources are alike."""

from collections import defaultdict
from functools import cache

import pytest

from adapters.formatron import FormatronEngine
from adapters.glrmask import GLRMaskEngine
from adapters.llama_cpp import LlamaCppEngine
from adapters.llguidance import LLGuidanceEngine
from adapters.lm_format_enforcer import LMFormatEnforcerEngine
from adapters.maskforge import MaskforgeEngine
from adapters.oc_earley import OCEarleyEngine
from adapters.outlines import OutlinesEngine
from adapters.xgrammar import XGrammarEngine
from harness.classification.departures import ANY, load_catalogue
from harness.inputs.vocabulary import byte_vocabulary
from harness.protocol import Refused, complete_options
from tests.classification.test_catalogue_files import (
    ENGINES,
    NO_SOURCE,
    SOURCE_KINDS,
    TABLES,
    undeclared,
)

CATALOGUE = load_catalogue()
BEHAVIOURS = CATALOGUE.behaviours
KINDS = (
    *(XGrammarEngine, LLGuidanceEngine, OutlinesEngine),
    *(LlamaCppEngine, GLRMaskEngine, MaskforgeEngine),
    *(LMFormatEnforcerEngine, FormatronEngine, OCEarleyEngine),
)


def declaring(behaviour, engine):
    """The entries of an engine that declare a behaviour."""
    return [one for one in CATALOGUE if one.behaviour == behaviour and one.engine in (engine, ANY)]


def test_no_two_engines_are_classed_differently_by_the_same_kind_of_source():
    classes = defaultdict(set)
    for one in CATALOGUE:
        classes[one.behaviour, one.source_kind].add(one.class_)
    for behaviour in BEHAVIOURS.values():
        for reason in undeclared(behaviour.id).values():
            classes[behaviour.id, reason].add("bug")
    assert [key for key, some in classes.items() if len(some) > 1] == []


def test_what_is_held_not_to_be_declared_has_no_source_that_declares():
    reasons = {reason for one in BEHAVIOURS.values() for reason in undeclared(one.id).values()}
    assert reasons <= set(NO_SOURCE)
    assert not set(NO_SOURCE) & set(SOURCE_KINDS)


def test_every_behaviour_is_declared_or_had():
    assert {one.behaviour for one in CATALOGUE} <= BEHAVIOURS.keys()
    for one in BEHAVIOURS.values():
        assert undeclared(one.id) or any(declaring(one.id, engine) for engine in ENGINES), one.id


def test_the_engines_are_those_of_the_catalogue():
    assert {one.engine for one in CATALOGUE} == {*ENGINES, ANY}
    assert tuple(kind.DISTRIBUTION for kind in KINDS) == ENGINES


@cache
def engine_with(kind, options):
    return kind(byte_vocabulary(), complete_options(kind.OPTIONS, dict(options)))


def takes(engine, schema, text):
    """Whether an engine takes a text and its end; None where it refuses the schema."""
    try:
        matcher = engine.compile(schema)
    except Refused:
        return None
    return all(matcher.consume(token) for token in (*text.encode(), 256))


@pytest.mark.engines
@pytest.mark.processes
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("one", [one for one in BEHAVIOURS.values() if one.schema])
def test_the_installed_engines_behave_as_the_list_says(one, kind):
    name = kind.DISTRIBUTION
    engine = engine_with(kind, tuple(TABLES[name].get("options", {}).get(one.id, {}).items()))
    has = takes(engine, one.schema, one.text) is (not one.valid)
    by = [BEHAVIOURS[id_] for id_ in (one.id, one.part_of) if id_]
    assert has == any(declaring(each.id, name) or name in undeclared(each.id) for each in by)
