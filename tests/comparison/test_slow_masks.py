"""An engine with slow masks is asked about less; what is proven of others stays the same."""

import string

import pytest

from harness.comparison import text_feeding
from harness.comparison.resolvers import SLOW_TOKENS, slow_tokens
from tests.inprocess import case, records, run_case
from tests.miniatures import AcceptsExtra, Enumerator, ForbidsOne

LETTERS = string.ascii_lowercase
CASE = case(
    {"const": "0", "x-extra": [f'"{letter}"' for letter in LETTERS], "x-forbidden": [['"', "0"]]},
    "0",
)


class Slow(AcceptsExtra):
    """Accepts extra texts, slowly."""

    SLOW_MASKS = True


class Slowest(Slow):
    """To consume a token takes it long, too."""

    SLOW_TEXTS = True


def verdicts(*engines: type) -> dict[str, list[str]]:
    """What is decided about each engine's tokens, by engine."""
    found: dict[str, list[str]] = {}
    for one in records(run_case(engines, CASE), "verdicts"):
        found.setdefault(one["engine"], []).append(one["kind"])
    return found


def test_fewer_tokens_are_tried_and_the_others_stay_open():
    fast = verdicts(AcceptsExtra, Enumerator)["AcceptsExtra"]
    assert fast.count("false_acceptance") == len(LETTERS)
    slow = verdicts(Slow, Enumerator)["Slow"]
    assert slow.count("false_acceptance") == SLOW_TOKENS
    assert slow.count("unresolved") == len(LETTERS) - SLOW_TOKENS


@pytest.mark.thorough
def test_along_a_long_reference_fewer_positions_are_tried():
    text = "0" * 60
    schema = {"const": text, "x-extra": [f'"{text[:at]}a"' for at in range(len(text))]}
    long = case(schema, text)

    def tried(engine):
        rows = records(run_case([engine, Enumerator], long), "verdicts")
        decided = [one for one in rows if one["kind"] != "unresolved"]
        return {one["position"] for one in decided if one["engine"] == engine.__name__}

    size = len(f'"{text}"')
    few = {at for at in tried(AcceptsExtra) if slow_tokens(at, size - at)}
    assert tried(Slow) == few < tried(AcceptsExtra) == set(range(1, 61))


def test_the_more_remains_the_fewer_tokens_are_tried():
    assert [slow_tokens(0, remaining) for remaining in (0, 50, 99, 5_000)] == [4, 4, 2, 1]
    assert [at for at in range(64) if slow_tokens(at, 220)] == [0, 17, 34, 51]


def test_other_engines_are_asked_in_full_beside_it():
    beside, alone = (verdicts(one, ForbidsOne, AcceptsExtra) for one in (Slow, Enumerator))
    assert beside["AcceptsExtra"] == alone["AcceptsExtra"]


def test_the_shortest_texts_are_fed_where_consuming_is_slow(monkeypatch):
    monkeypatch.setattr(text_feeding, "SLOW_TOKENS", 12)
    short, long = "a", "a" * 40
    both = case({"const": "0", "x-extra": [f'"{short}"', f'"{long}"']}, invalid=[short, long])
    fed = [
        one["engine"]
        for one in records(run_case([Slowest, Slow, AcceptsExtra], both), "instance_verdicts")
        if one["kind"] == "false_acceptance"
    ]
    assert [fed.count(one) for one in ("Slowest", "Slow", "AcceptsExtra")] == [1, 2, 2]
