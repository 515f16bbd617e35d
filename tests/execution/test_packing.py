"""Units of work hold every case once, the long ones first, and get small towards the end."""

import itertools
import math
import pickle

import pytest
from hypothesis import given
from hypothesis import strategies as st

from harness.execution.sweep.case_pack import MADE_BYTES, pack_cases
from harness.execution.sweep.costs import FAMILIES, CaseFacts, CostModel
from harness.execution.sweep.packing import LEAST_SECONDS, MOST_SECONDS, SHARE, Unit, pack
from harness.inputs.cases import Case, Instance


def case(ordinal: int = 0, family: str = "Github_easy", schema: int = 800, text: int = 120):
    return CaseFacts(ordinal, f"case-{ordinal}", family, schema, text)


FAMILY = st.sampled_from([*FAMILIES, "", "my own"])
CASES = st.lists(
    st.builds(
        CaseFacts,
        ordinal=st.integers(0, 10_000),
        id=st.just("a case"),
        family=FAMILY,
        schema_bytes=st.integers(0, 500_000),
        text_bytes=st.integers(0, 50_000),
    ),
    unique_by=lambda facts: facts.ordinal,
    max_size=60,
)
SECONDS = st.floats(0, 1000, allow_nan=False)
LANES = st.integers(1, 2000)


def learned(pairs) -> CostModel:
    costs = CostModel()
    for facts, seconds in pairs:
        costs.learn(facts, seconds)
    return costs


class TestPacking:
    @given(CASES, LANES)
    def test_every_case_is_in_exactly_one_unit(self, cases, lanes):
        units = pack(cases, lanes, CostModel())
        packed = [ordinal for unit in units for ordinal in unit.ordinals]
        assert sorted(packed) == sorted(facts.ordinal for facts in cases)

    @given(CASES, LANES)
    def test_the_longest_unit_comes_first(self, cases, lanes):
        units = pack(cases, lanes, CostModel())
        assert all(
            one.expected_seconds >= next_.expected_seconds
            for one, next_ in itertools.pairwise(units)
        )

    @given(CASES, LANES)
    def test_a_unit_expects_what_its_cases_are_expected_to_cost(self, cases, lanes):
        costs = CostModel()
        by_ordinal = {facts.ordinal: costs.expected(facts) for facts in cases}
        for unit in pack(cases, lanes, costs):
            assert math.isclose(unit.expected_seconds, sum(by_ordinal[o] for o in unit.ordinals))

    @given(CASES, LANES)
    def test_no_unit_of_several_cases_is_long(self, cases, lanes):
        costs = CostModel()
        share = sum(map(costs.expected, cases)) / (SHARE * lanes)
        allowed = min(max(share, LEAST_SECONDS), MOST_SECONDS)
        for unit in pack(cases, lanes, costs):
            assert len(unit.ordinals) == 1 or unit.expected_seconds <= allowed * (1 + 1e-9)

    @given(st.randoms(use_true_random=False), CASES, LANES)
    def test_the_order_of_the_cases_does_not_matter(self, random, cases, lanes):
        shuffled = random.sample(cases, len(cases))
        assert pack(shuffled, lanes, CostModel()) == pack(cases, lanes, CostModel())

    def test_small_cases_share_a_unit_that_is_worth_its_hand_over(self):
        costs = learned((case(o, "tiny"), 0.001) for o in range(1000))
        units = pack([case(o, "tiny") for o in range(1000)], 2, costs)
        assert len(units) <= 5
        assert all(unit.expected_seconds > 0.9 * LEAST_SECONDS for unit in units[:-1])

    def test_units_get_small_towards_the_end(self):
        costs = learned((case(o, "short"), 0.6) for o in range(1000))
        units = pack([case(o, "short") for o in range(1000)], 4, costs)
        assert len(units[0].ordinals) > 20
        assert len(units[-1].ordinals) == 1

    def test_a_long_case_has_a_unit_of_its_own(self):
        cases = [*(case(o, text=10) for o in range(50)), case(50, text=1_000_000)]
        assert pack(cases, 1, CostModel())[0].ordinals == (50,)

    def test_there_may_be_nothing_to_do(self):
        assert pack([], 8, CostModel()) == []

    def test_more_lanes_than_cases_leave_no_case_behind(self):
        assert len(pack([case(o) for o in range(3)], 1024, CostModel())) == 3

    def test_no_lanes_is_an_error(self):
        with pytest.raises(ValueError, match="0 lanes"):
            pack([case()], 0, CostModel())

    def test_a_case_that_is_given_twice_is_an_error(self):
        with pytest.raises(ValueError, match="twice"):
            pack([case(1), case(1)], 1, CostModel())

    def test_a_unit_travels(self):
        unit = Unit((3, 1), 4.5)
        assert pickle.loads(pickle.dumps(unit)) == unit


class TestCosts:
    def test_a_longer_text_costs_more(self):
        assert CostModel().expected(case(text=1000)) > CostModel().expected(case(text=100))

    def test_a_case_without_a_text_costs_what_a_made_one_costs(self):
        bare = [
            (0, Case("a", "f", "{}", (), (), "")),
            (1, Case("b", "f", "{}", (Instance(b"1"),), (), "")),
        ]
        assert [one.text_bytes for one in pack_cases(bare, 1).facts] == [0, 1]
        assert [one.text_bytes for one in pack_cases(bare, 1, generated=True).facts] == [
            MADE_BYTES,
            1,
        ]

    def test_a_larger_schema_costs_more(self):
        assert CostModel().expected(case(schema=9000)) > CostModel().expected(case(schema=900))

    def test_families_differ(self):
        expected = CostModel().expected
        assert expected(case(family="Snowplow")) > 5 * expected(case(family="Synthesized"))

    @given(CASES)
    def test_whatever_the_facts_something_is_expected(self, cases):
        assert all(0 < CostModel().expected(facts) < math.inf for facts in cases)

    def test_a_slower_machine_is_noticed_in_families_not_seen_yet(self):
        prior = CostModel()
        costs = learned((case(o), 3 * prior.expected(case(o))) for o in range(100))
        unseen = case(family="BFCL")
        assert 2.5 < costs.expected(unseen) / prior.expected(unseen) < 3

    def test_many_cases_of_a_kind_overrule_the_prior(self):
        costs = learned((case(o, "mine"), 40.0) for o in range(500))
        assert costs.expected(case(family="mine")) == pytest.approx(40, rel=0.01)

    def test_one_odd_case_does_not_decide(self):
        prior = CostModel().expected(case())
        costs = learned([(case(), 100 * prior)])
        assert costs.expected(case()) < 50 * prior

    def test_sizes_of_one_family_are_told_apart(self):
        small, large = case(schema=500), case(schema=50_000)
        costs = learned([(small, 1.0)] * 200 + [(large, 60.0)] * 200)
        assert costs.expected(large) > 10 * costs.expected(small)

    @given(st.lists(st.tuples(FAMILY, SECONDS), max_size=30), st.randoms(use_true_random=False))
    def test_the_order_of_learning_does_not_matter(self, pairs, random):
        facts = [(case(o, family), seconds) for o, (family, seconds) in enumerate(pairs)]
        one, other = learned(facts), learned(random.sample(facts, len(facts)))
        for family in FAMILIES:
            assert one.expected(case(family=family)) == other.expected(case(family=family))

    def test_learning_from_cases_that_cost_nothing_leaves_something_to_expect(self):
        costs = learned([(case(), 0.0)] * 1000)
        assert costs.expected(case()) > 0

    @pytest.mark.parametrize("seconds", [-1.0, math.nan, math.inf])
    def test_what_is_no_time_is_not_learned(self, seconds):
        with pytest.raises(ValueError, match="no number of seconds"):
            CostModel().learn(case(), seconds)

    def test_a_model_travels_with_what_it_learned(self):
        costs = learned([(case(), 50.0)] * 3)
        assert pickle.loads(pickle.dumps(costs)).expected(case()) == costs.expected(case())
