"""README shows what the commands print, and is short."""

import pytest

from tests.docs.readme_blocks import README, alike, blocks, output_of


@pytest.mark.processes
@pytest.mark.engines
@pytest.mark.parametrize("command", blocks())
def test_output_is_what_the_command_prints(command):
    printed = output_of(command)
    assert alike(printed) == alike(blocks()[command]), (
        "python -m tests.docs.readme_blocks writes it anew"
    )


def test_it_shows_a_check_and_can_be_read_in_minutes():
    assert [command.split()[1] for command in blocks()] == ["check"]
    assert len(README.read_text("utf-8").split()) <= 1200
