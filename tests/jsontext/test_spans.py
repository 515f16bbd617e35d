"""Every value of a JSON text lies where its own text is."""

import json

from hypothesis import given
from hypothesis import strategies as st

from harness.jsontext.spans import root_of
from tests.jsonvalues import json_values


class TestSpans:
    @given(json_values(), st.sampled_from([None, 0, 2]), st.booleans())
    def test_every_value_lies_where_its_text_is(self, value, indent, ascii_only):
        text = json.dumps(value, indent=indent, ensure_ascii=ascii_only).encode()
        self.compare(root_of(b"\n" + text + b" "), value)

    def compare(self, node, value):
        assert json.loads(node.raw) == node.value == value
        if node.kind == "object":
            assert [one.name for one in node.members] == list(value)
            for one in node.members:
                assert json.loads(one.key.raw) == one.name
                assert one.comma < 0 or node.text[one.comma : one.comma + 1] == b","
                self.compare(one.value, value[one.name])
                self.compare(node.child(one.name), value[one.name])
            assert node.child("no such name") is None
        if node.kind == "array":
            assert len(node.items) == len(value)
            for index, one in enumerate(node.items):
                assert one.comma < 0 or node.text[one.comma : one.comma + 1] == b","
                self.compare(one.value, value[index])
                self.compare(node.child(index), value[index])
            assert node.child(len(value)) is None
