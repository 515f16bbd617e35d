"""What the benchmark runs: cases, long texts, vocabularies of other sizes."""

import json

import pytest

from benchmarks import workloads
from benchmarks.workloads import long_text, resized, workload
from harness.inputs.vocabulary import byte_vocabulary


class TestWorkloads:
    def test_without_maskbench_the_embedded_cases_with_a_note(self, monkeypatch, tmp_path):
        monkeypatch.delenv(workloads.MASKBENCH, raising=False)
        monkeypatch.setenv("MASKCOURT_DATA", str(tmp_path))
        work = workload(None, variety=3)
        assert work.name == "embedded"
        assert "MaskBench is not there" in work.note
        assert work.whole == (workloads.UNDECLARED,)
        assert len(work.variety) == 3

    @pytest.mark.maskbench
    @pytest.mark.skipif(not workloads.maskbench_is_there(), reason="needs MaskBench")
    def test_the_listed_cases_are_in_maskbench(self):
        work = workload("maskbench")
        listed = json.loads(workloads._LISTED.read_text("utf-8"))
        assert [[case.id for case in one] for one in (work.whole, work.variety)] == [
            list(one) for one in listed.values()
        ]
        assert all(case.valid for case in (*work.whole, *work.variety))

    @pytest.mark.parametrize("tokens", [10, 50, 500])
    def test_a_long_text_is_as_long_as_asked(self, vocabulary, tokens):
        made = long_text(vocabulary, tokens)
        (reference,) = made.valid
        count = len(vocabulary.encode_greedy(reference.text))
        assert tokens <= count
        shorter = json.dumps(json.loads(reference.text)[:-1]).encode()
        assert len(vocabulary.encode_greedy(shorter)) < tokens

    def test_a_smaller_vocabulary_keeps_the_first_ids(self, vocabulary):
        small = resized(vocabulary, 260)
        assert small.size == 260
        assert small.tokens[:256] == vocabulary.tokens[:256]
        assert small.eos_ids == (259,)

    def test_a_larger_vocabulary_joins_tokens_of_the_old_one(self):
        vocabulary = byte_vocabulary([b"ab", b"cd"])
        large = resized(vocabulary, 400, seed=1)
        assert large.size == 400
        made = large.tokens[258:399]
        assert len({*large.tokens[:399]}) == 399
        ordinary = {*large.tokens[:258]}
        assert all(
            any(one[:cut] in ordinary and one[cut:] in ordinary for cut in range(1, len(one)))
            for one in made
        )
        assert resized(vocabulary, 400, seed=1).sha256 == large.sha256
        assert resized(vocabulary, 400, seed=2).sha256 != large.sha256
