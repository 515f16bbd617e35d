"""JSONSchemaBench through the Hugging Face library, which is played by a stand-in."""

import sys
from types import ModuleType, SimpleNamespace

import pytest

from harness.errors import InputError, UsageError
from harness.inputs.case_maskbench import DATASET, REVISION
from harness.inputs.case_selection import open_cases, select

ROWS = {
    ("Github_easy", "train"): [("Github_easy---o1", '{"type": "object"}')],
    ("Github_easy", "val"): [
        ("Github_easy---o2", "{}"),
        ("Github_easy---o1", '{"type": "object"}'),
    ],
    ("Snowplow", "val"): [("sp_9_Normalized.json", '{"type":"array"}')],
}


@pytest.fixture
def hub(monkeypatch):
    """A stand-in for the library, whose rows may be changed."""
    rows = dict(ROWS)

    def load_dataset(name, config, *, split, revision):
        assert (name, revision) == (DATASET, REVISION)
        return [
            {"unique_id": id_, "json_schema": schema}
            for id_, schema in rows.get((config, split), [])
        ]

    monkeypatch.setitem(sys.modules, "datasets", SimpleNamespace(load_dataset=load_dataset))
    return rows


def test_all_splits_make_one_collection_of_schemas(hub):
    cases = open_cases("jsonschemabench")
    assert select(cases).families == {"Github_easy": 2, "Snowplow": 1}
    first = next(iter(cases))
    assert (first.id, first.schema, first.valid) == ("Github_easy---o1", '{"type": "object"}', ())
    with pytest.raises(UsageError, match="has a valid instance"):
        select(cases, with_valid=True)


def test_ids_are_those_of_maskbench(hub):
    assert "Snowplow---sp_9_Normalized" in open_cases("jsonschemabench:val").index


def test_a_split_is_a_collection_of_its_own(hub):
    assert list(open_cases("jsonschemabench:train").index) == ["Github_easy---o1"]
    assert open_cases("jsonschemabench:train").sha256 != open_cases("jsonschemabench:val").sha256


def test_two_schemas_under_one_id_are_refused(hub):
    hub["Snowplow", "test"] = [("Snowplow---sp_9_Normalized", "true")]
    with pytest.raises(InputError, match="two schemas have the id 'Snowplow---sp_9_Normalized'"):
        open_cases("jsonschemabench")


def offline(*args, **options):
    raise ConnectionError("no route to the hub")


@pytest.mark.parametrize(
    ("library", "says"),
    [
        (None, r"pip install 'maskcourt\[datasets\]'"),
        (ModuleType("datasets"), r"pip install 'maskcourt\[datasets\]'"),
        (SimpleNamespace(load_dataset=offline), "no route to the hub"),
    ],
    ids=["nothing", "plain folder", "offline"],
)
def test_without_the_library_or_the_hub_the_error_says_so(monkeypatch, library, says):
    monkeypatch.setitem(sys.modules, "datasets", library)
    with pytest.raises(InputError, match=says):
        open_cases("jsonschemabench")
