"""Schemas with a bug: at their worst, and without those in which one token alone is wrong."""

from __future__ import annotations

import pytest

from harness.analysis.tally import summary
from harness.inputs.vocabulary_readers import open_vocabulary
from tests.books import Book, all_bugs, classes


class TestSchemasByTheirBugs:
    def books(self):
        """Token 221 is wrongly forbidden in three cases, in the first of them with another one."""
        found = [Book(f"case {number}").position(0, canonical=8) for number in range(5)]
        for book in found[:3]:
            book.verdicts(0, "a", "false_rejection", 1, first=221)
        found[0].verdicts(0, "a", "false_rejection", 1, first=8)
        found[3].verdicts(0, "b", "false_rejection", 1, first=221)
        found[4].verdicts(0, "a", "false_acceptance", 2)
        return found

    def shares(self, stored, *some, **options):
        options = {"vocabulary": {"size": 1000}, **options}
        found = summary(stored(*(some or self.books()), **options), all_bugs)["engines"]["a"]
        return found["share_with_bug"]

    def test_count_without_those_in_which_one_single_token_is_wrong(self, stored):
        found = self.shares(stored)
        assert (found["any"]["cases"], found["any"]["several_tokens"]) == (4, 2)
        assert found["false_rejection"]["several_tokens"] == 1
        assert found["false_acceptance"]["several_tokens"] == 1

    def test_count_at_their_worst(self, stored):
        """Token 8, the next of a valid text, outweighs the rare one; 0 and 1 are common."""
        found = self.shares(stored)
        words = ("on_path", "common", "rare", "unranked")
        assert found["any"]["severity"] == dict(zip(words, (1, 1, 2, 0), strict=True))
        assert found["false_rejection"]["severity"]["rare"] == 2

    def test_an_instance_without_a_token_at_fault_is_no_single_token(self, stored):
        book = (
            Book("case").position(0).instance(0, "invalid").on_instance(0, "a", "false_acceptance")
        )
        found = self.shares(stored, book.compiled(*["compiled"] * 3))["any"]
        assert (found["several_tokens"], found["severity"]["unranked"]) == (1, 1)

    def test_name_the_token_that_is_alone_in_most(self, stored):
        found = self.shares(stored)
        lone = {"token": 221, "bytes": None, "cases": 2}
        assert found["false_rejection"]["lone_token"] == lone
        assert found["false_acceptance"]["lone_token"] is None

    @pytest.mark.parametrize(("other", "spelled"), [("", "\\x7f"), ("another", None)])
    def test_spell_it_where_the_vocabulary_is_at_hand(self, stored, other, spelled):
        vocabulary = open_vocabulary("qwen2.5", None)
        known = {"spec": "qwen2.5", "eos": None, "sha256": other or vocabulary.sha256}
        found = self.shares(stored, vocabulary={**known, "size": vocabulary.size})
        assert found["false_rejection"]["lone_token"]["bytes"] == spelled

    def test_leave_out_what_is_no_bug(self, stored):
        book = Book("case").position(0).verdicts(0, "a", "false_rejection", 2, detail="declared")
        rule = classes({"declared": ("departure", "some-entry")})
        found = summary(stored(book), rule)["engines"]["a"]["share_with_bug"]["any"]
        assert (found["cases"], found["several_tokens"], found["lone_token"]) == (0, 0, None)
