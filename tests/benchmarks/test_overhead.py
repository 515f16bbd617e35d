"""Where the processor time of a run went, and what is beside engines and validators."""

import json
import sys

import pytest

from benchmarks.overhead import Cost, spent, table
from benchmarks.sampler.sitecustomize import SORTS, SUMS, kind_of, sorted_out


def write(directory, name, seconds, peak=0, functions=()):
    sums = (int(seconds.get(sort, 0) * 1e9) for sort in SORTS)
    (directory / f"{name}.sums").write_bytes(SUMS.pack(*sums, peak))
    whole = dict.fromkeys(functions, 1)
    (directory / f"{name}.json").write_text(json.dumps({"inner": {}, "whole": whole}))


def test_processes_of_a_kind_are_added_up_and_hosts_are_told_apart_by_their_adapter(tmp_path):
    of_host = ("harness/engines/service.py:handle", "adapters/xgrammar.py:mask")
    write(tmp_path, "engine-1-1", {"compile": 2, "rest": 1}, 5 << 20, of_host)
    write(tmp_path, "engine-2-1", {"engine": 3}, 7 << 20, of_host)
    write(tmp_path, "lane-3-1", {"rest": 4})
    lane, host = spent(tmp_path)
    assert (host.kind, host.processes, host.total, host.peak) == ("xgrammar", 2, 6, 7 << 20)
    cost = Cost([host, lane], processor=10, schemas=4, engines=2)
    assert cost.overhead == 10 / 5
    assert cost.each == 1
    assert "overhead 2.00" in str(table("some", cost).caption)


def test_time_is_sorted_by_what_the_stack_shows():
    assert sorted_out(sys._getframe()) == ("rest", [])

    def _asked():  # as the harness calls what asks a validator
        return sorted_out(sys._getframe())

    assert _asked()[0] == "validators"


@pytest.mark.parametrize(
    ("command", "kind"),
    [
        ("python -c main() 1 2 3 harness.engines.service:EngineService", "engine"),
        ("python -c main() 1 2 3 harness.validators.service:ValidatorService", "validators"),
        ("python -c from multiprocessing.spawn import spawn_main", "lane"),
        ("python -m harness.cli bench", "main"),
    ],
)
def test_a_process_is_told_by_its_command_line(command, kind):
    assert kind_of(command.split()) == kind
