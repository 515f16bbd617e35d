"""A whole impact run with a scripted model, an engine in its host, and a bug traced."""

from __future__ import annotations

import pytest

from harness.impact import work
from harness.impact.summary import summarize
from tests.impact.scripted import ScriptedModel, Wants, item

FUSSY = "tests.planted:Fussy"


def load():
    """A task of one item; `Fussy` forbids its answer."""
    items = {"type": "integer"}
    schema = {"type": "array", "items": items, "minItems": 1, "maxItems": 1}
    return Wants(item(schema, [0]))


@pytest.mark.processes
@pytest.mark.engines
def test_a_run_is_answered_traced_and_gone_on_with(tmp_path, monkeypatch):
    model = ScriptedModel("[0]", second={"[": "1", "[1": "]"})
    monkeypatch.setattr(work, "open_model", lambda *_: model)
    request = work.ImpactRequest(f"{__name__}:load", {}, "any", [FUSSY], tmp_path / "run")
    run = work.run_impact(request)
    alone, engine = summarize(run)["engines"].values()
    assert (alone["correct"], engine["correct"], engine["parsed"]) == (1, 0, 1)
    assert engine["rulings"]["false_rejection"] == 1
    assert engine["false_rejections"] == {"bug": 1}
    assert engine["cost"]["mask"] > 0
    assert summarize(work.run_impact(request)) == summarize(run)
