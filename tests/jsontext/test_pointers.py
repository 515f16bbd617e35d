"""JSON Pointers: there and back, and what they lead to."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from harness.jsontext.pointers import MISSING, follow, pointer, steps, typed_steps


@given(st.lists(st.text(alphabet="a~/01", max_size=4)))
def test_steps_come_back_from_their_pointer(names):
    assert steps(pointer(names)) == names


@pytest.mark.parametrize(
    ("pointer", "parts"),
    [
        ("", []),
        ("/a/0/b", ["a", 0, "b"]),
        ("/", [""]),
        ("/a~1b/m~0n/~01", ["a/b", "m~n", "~1"]),
        ("/01/-1/٣/1e2", ["01", "-1", "٣", "1e2"]),
        (f"/{'9' * 5000}", ["9" * 5000]),
    ],
)
def test_what_can_be_an_index_is_a_number(pointer, parts):
    assert typed_steps(pointer) == parts


@pytest.mark.parametrize(
    ("where", "found"),
    [
        ("", {"a/b": [None, {"~": 3}]}),
        ("/a~1b/1/~0", 3),
        ("/a~1b/0", None),
        ("/a~1b/2", MISSING),
        ("/a~1b/-1", MISSING),
        ("/a~1b/0/x", MISSING),
        ("/a", MISSING),
        ("/a~1b/01", MISSING),
        (f"/a~1b/{'9' * 5000}", MISSING),
    ],
)
def test_what_a_pointer_leads_to(where, found):
    assert follow({"a/b": [None, {"~": 3}]}, steps(where)) == found
