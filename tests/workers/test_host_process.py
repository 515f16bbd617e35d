"""What goes on inside of a host before it answers anything."""

import sys

from harness.workers.host_process import without


def test_whatever_is_taken_from_a_module_without_use_is_an_empty_class():
    with without(["a_large_library"]):
        import a_large_library

        a_large_library.tensor(-1, dtype=a_large_library.int32)
        assert not isinstance(1, a_large_library.nn.Module)
    assert "a_large_library" not in sys.modules
