"""The task of BFCL against its published data and checker; skipped where `bfcl-eval` is absent."""

import importlib
import importlib.util
import json
import random
import sys
from collections import Counter, defaultdict
from pathlib import Path
from types import ModuleType, SimpleNamespace

import jsonschema_rs
import pytest

from harness.impact.bfcl import CATEGORY, call_fault, load, read
from tests.command import ROOT
from tests.impact.accepted_calls import first_call, mutants

if importlib.util.find_spec("bfcl_eval") is None:
    pytest.skip("needs bfcl-eval: pip install --no-deps bfcl-eval", allow_module_level=True)

pytestmark = pytest.mark.thorough
DRAFT = "https://json-schema.org/draft/2020-12/schema"
REASONS = {
    "simple_function_checker:wrong_func_name": "wrong_name",
    "simple_function_checker:missing_required": "missing_required",
    "simple_function_checker:unexpected_param": "unexpected_parameter",
    "simple_function_checker:missing_optional": "missing_optional",
    "type_error:simple": "wrong_type",
    "type_error:nested": "wrong_type",
    "value_error:string": "wrong_value",
    "value_error:list/tuple": "wrong_value",
    "value_error:dict_key": "wrong_value",
    "value_error:dict_value": "wrong_value",
    "value_error:list_dict_count": "wrong_value",
    "value_error:others": "wrong_value",
    "dict_checker:unclear": "wrong_value",
    "list_dict_checker:unclear": "wrong_value",
}


@pytest.fixture(scope="module")
def published():
    """The published checker, as it judges the answer of one model that keeps dots in names."""
    models = ModuleType("bfcl_eval.constants.model_config")
    keeps_dots = SimpleNamespace(underscore_to_dot=False)
    models.MODEL_CONFIG_MAPPING = defaultdict(lambda: keeps_dots)
    with pytest.MonkeyPatch.context() as patch:
        patch.setitem(sys.modules, models.__name__, models)
        package = "bfcl_eval.eval_checker.ast_eval.ast_checker"
        checker = importlib.import_module(package)
        language = importlib.import_module("bfcl_eval.constants.enums").Language.PYTHON

        def reason(asked, answer, category):
            made = [{answer["name"]: answer["arguments"]}]
            accepted = [{asked.expected: asked.accepted}]
            functions = list(asked.functions)
            found = checker.ast_checker(functions, made, accepted, language, category, "any")
            return "" if found["valid"] else REASONS[found["error_type"]]

        yield reason


def test_scores_are_those_of_the_published_checker(published):
    questions = read(None)
    chosen = (
        random.Random(0).sample(questions, 30) + [one for one in questions if _nested(one)][:30]
    )
    kinds = Counter()
    for asked in chosen:
        for kind, answer in mutants(asked):
            found = call_fault(answer, asked.function, asked.accepted)
            assert found == published(asked, answer, CATEGORY), (asked.id, kind, answer)
            kinds[kind] += 1
    assert sum(kinds.values()) > 500
    assert len(kinds) > 40


def _nested(asked):
    values = [one for values in asked.accepted.values() for one in values]
    return any(isinstance(one, (dict, list)) for one in values)


def test_every_schema_is_one_and_accepts_the_first_accepted_call():
    """But where the data contradict the documentation: `docs/impact_tasks.md` has these items."""
    task, questions = load(), read(None)
    assert len(task.items()) == len(questions) == 1053
    invalid = set()
    for item, asked in zip(task.items(), questions, strict=True):
        schema = json.loads(item.schema)
        jsonschema_rs.meta.validate({"$schema": DRAFT, **schema})
        if not jsonschema_rs.is_valid(schema, first_call(asked)):
            invalid.add(item.id)
    assert len(invalid) == 15
    assert task.unanswerable() <= invalid
    page = Path(ROOT, "docs", "impact_tasks.md").read_text("utf-8")
    assert all(one.removeprefix("live_multiple_") in page for one in invalid)


def test_the_first_accepted_call_is_right_but_where_it_is_not_documented():
    task, questions = load(), read(None)
    faults = [
        task.fault(item, first_call(asked))
        for item, asked in zip(task.items(), questions, strict=True)
    ]
    wrong = Counter(filter(None, faults))
    assert wrong == {"unexpected_parameter": 1, "missing_required": 1}
