"""Instances in their styles, sources in memory, and the choice among cases."""

import json
from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from harness.errors import InputError, UsageError
from harness.inputs.case_selection import apportioned, open_cases, sampled, select
from harness.inputs.cases import Case, Instance, ListedCases


def case(id_, family="f", valid=True):
    given = (Instance.of({"id": id_}),) if valid else ()
    return Case(id_, family, "{}", given, (), f"here:{id_}")


def source(*cases):
    return ListedCases("test", cases, "0" * 64)


families = {"large": 60, "middle": 30, "small": 9, "tiny": 1}
many = source(
    *(case(f"{name}/{n:02}", name) for name, size in families.items() for n in range(size))
)


def test_a_value_is_written_as_it_is_and_a_lone_surrogate_as_an_escape():
    assert Instance.of({"é": [1.0, None]}).text == '{"é": [1.0, null]}'.encode()
    assert Instance.of(["\ud800é"]).text == rb'["\ud800\u00e9"]'


def test_a_source_is_read_in_ascending_order_of_id():
    cases = source(case("b"), case("a/2"), case("a"), case("a-1"))
    assert [one.id for one in cases] == ["a", "a-1", "a/2", "b"]
    assert list(cases.index) == ["a", "a-1", "a/2", "b"]
    assert [one.id for one in cases.read(["b", "a"])] == ["a", "b"]


def test_two_cases_with_one_id_are_refused():
    with pytest.raises(InputError, match=r"'x'.*here:x"):
        source(case("x"), case("y"), case("x"))


def test_families_and_pattern_and_limit_narrow_the_choice():
    assert select(many).families == families
    assert [one.id for one in select(many)] == list(select(many).ids)
    assert select(many, families=["tiny", "small"]).families == {"small": 9, "tiny": 1}
    assert select(many, pattern="*/0[12]").families == {"large": 2, "middle": 2, "small": 2}
    assert select(many, families=["middle"], limit=2).ids == ("middle/00", "middle/01")


@pytest.mark.parametrize(
    ("wrong", "says"),
    [
        ({"families": ["lage"]}, "'lage'.*did you mean 'large'"),
        ({"pattern": "nothing*"}, "none of 100 case ids.*'large/00'"),
        ({"families": ["tiny"], "pattern": "large*"}, "none of 1 case ids"),
        ({"limit": 0}, "limit"),
        ({"sample": -1}, "sample"),
    ],
)
def test_a_choice_that_makes_no_sense_is_refused(wrong, says):
    with pytest.raises(UsageError, match=says):
        select(many, **wrong)


def test_only_cases_with_a_valid_instance():
    mixed = source(case("a", valid=False), case("b"), case("c"), case("d", valid=False), case("e"))
    assert select(mixed, with_valid=True).ids == ("b", "c", "e")
    assert select(mixed, with_valid=True, limit=2).ids == ("b", "c")
    assert set(select(mixed, with_valid=True, sample=2).ids) < {"b", "c", "e"}
    with pytest.raises(UsageError, match="none of the 2 selected cases"):
        select(mixed, pattern="[ad]", with_valid=True)
    assert select(mixed, with_valid=True, generated=True).ids == ("b", "c", "e")
    bare = select(mixed, pattern="[ad]", with_valid=True, generated=True, sample=2)
    assert bare.ids == ("a", "d"), "instances are made where no case has one"


def test_a_sample_is_in_proportion_and_leaves_no_family_out():
    assert select(many, sample=10).families == {"large": 5, "middle": 3, "small": 1, "tiny": 1}
    assert select(many, sample=4).families == {"large": 1, "middle": 1, "small": 1, "tiny": 1}
    assert sum(select(many, sample=3).families.values()) == 3
    assert select(many, sample=20, limit=3).ids == select(many, sample=20).ids[:3]
    assert select(many, sample=1000).ids == select(many).ids


def test_a_sample_depends_on_the_seed_and_the_ids_alone():
    index = dict(many.index)
    backwards = dict(reversed(index.items()))
    assert sampled(index, 20, seed=1) == sampled(backwards, 20, seed=1)
    assert sampled(index, 20, seed=1) != sampled(index, 20, seed=2)
    assert sampled(index, 20, seed=1) == sorted(sampled(index, 20, seed=1))


@given(st.dictionaries(st.text(max_size=3), st.integers(1, 500), min_size=1, max_size=8), st.data())
def test_seats_are_given_out_exactly_and_fairly(sizes, data):
    total = sum(sizes.values())
    seats = data.draw(st.integers(1, total))
    shares = apportioned(sizes, seats)
    assert sum(shares.values()) == seats
    assert all(0 <= shares[family] <= size for family, size in sizes.items())
    if seats >= len(sizes):
        assert min(shares.values()) >= 1
    for family, size in sizes.items():
        quota = size * seats / total
        assert shares[family] < quota + 1 or shares[family] == 1
        others = {other for other in sizes if sizes[other] < size}
        assert all(shares[other] <= shares[family] for other in others)


@pytest.mark.parametrize(
    ("spec", "says"),
    [
        ("maskbnch", "did you mean 'maskbench'"),
        ("embedded:x", "no data is called"),
        ("jsonl:", "no data is called"),
    ],
)
def test_data_that_does_not_exist_is_refused(spec, says, tmp_path):
    with pytest.raises(UsageError, match=says):
        open_cases(spec)
    with pytest.raises(UsageError, match=f"maskbench:{tmp_path}"):
        open_cases(str(tmp_path))


def test_the_embedded_cases_are_those_of_all_files(tmp_path, monkeypatch):
    folder = tmp_path / "embedded"
    folder.mkdir()
    for stem, ids in {"b": ["b/1"], "a": ["a/2", "a/1"]}.items():
        lines = [json.dumps({"id": id_, "schema": True, "valid": [1]}) for id_ in ids]
        (folder / f"{stem}.jsonl").write_text("\n".join(lines))
    monkeypatch.setenv("MASKCOURT_DATASETS", str(tmp_path))
    cases = open_cases("embedded")
    assert cases.name == "embedded"
    assert Counter(cases.index.values()) == {"a": 2, "b": 1}
    assert next(iter(cases)).source == "embedded/a.jsonl:2"
    before = cases.sha256
    (folder / "a.jsonl").rename(folder / "c.jsonl")
    assert open_cases("embedded").sha256 != before
