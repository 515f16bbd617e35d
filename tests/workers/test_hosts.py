"""Whatever happens inside a host, the coordinator lives, and is told what it was."""

import os
import select
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import numpy as np
import pytest

from harness.workers import hosts, wire
from harness.workers.hosts import OUTPUT_LIMIT, Host, HostSpec
from harness.workers.outcomes import Crashed, OutOfMemory, TimedOut
from tests.command import is_gone, until

pytestmark = pytest.mark.processes

MEMORY = 200 << 20


def make(service="Obedient", **changes):
    return Host(HostSpec(f"tests.services:{service}", **{"memory": MEMORY, **changes}))


@pytest.fixture(scope="module")
def shared_host():
    host = make()
    yield host
    host.close()


@pytest.fixture
def host(shared_host):
    """A running host; what an earlier test broke is started again."""
    if not shared_host.running:
        assert shared_host.start() is None
    shared_host.output()
    return shared_host


def test_what_is_asked_is_answered_also_by_more_than_a_pipe_holds(host):
    sent = np.arange(1 << 20, dtype=np.int32).reshape(2, -1)
    answer = host.request({"do": "echo", "word": "ü"}, {"array": sent})
    assert answer.head == {"do": "echo", "word": "ü"}
    assert np.array_equal(answer.arrays["array"], sent)


class TestDeaths:
    @pytest.mark.parametrize(
        ("asked", "outcome"),
        [
            ({"do": "segfault"}, Crashed("died of SIGSEGV", signal="SIGSEGV")),
            ({"do": "abort"}, Crashed("died of SIGABRT", signal="SIGABRT")),
            ({"do": "leave"}, Crashed("left with exit code 3")),
            ({"do": "kill_itself", "signal": 9}, Crashed("died of SIGKILL", signal="SIGKILL")),
            ({"do": "kill_itself", "signal": 40}, Crashed("died of signal 40", "signal 40")),
        ],
    )
    def test_of_its_own(self, host, asked, outcome):
        before = host.request({"do": "pid"}).head["pid"]
        assert host.request(asked) == outcome
        assert not host.running
        until(lambda: is_gone(before))
        assert host.request({"do": "echo"}) == outcome, "a dead host goes on saying why"
        assert host.start() is None
        assert host.request({"do": "pid"}).head["pid"] != before, "it is as new"

    @pytest.mark.parametrize(
        ("what", "limit", "outcome"),
        [
            ("spin", 0.2, TimedOut("over the limit of 0.2 s")),
            ("sleep", 0.01, TimedOut("over the limit of 0.01 s")),
            ("eat", 60.0, OutOfMemory("over the memory limit of 200 MiB")),
            ("raise_memory_error", 60.0, OutOfMemory("MemoryError: MemoryError")),
            (
                "raise_bad_alloc",
                60.0,
                OutOfMemory("RuntimeError: native code failed: std::bad_alloc"),
            ),
        ],
    )
    def test_of_a_limit(self, host, what, limit, outcome):
        before = host.request({"do": "pid"}).head["pid"]
        assert host.request({"do": what}, limit=limit) == outcome
        assert not host.running
        until(lambda: is_gone(before))

    def test_of_the_memory_limit_that_nobody_saw_broken(self, host):
        host.submit({"do": "eat_for_a_moment"}, {}, limit=60.0)
        assert select.select([host.answers], [], [], 60.0)[0], (
            "it has the answer, and the memory no more"
        )
        assert host.answer() == OutOfMemory("over the memory limit of 200 MiB")
        assert not host.running

    def test_of_an_answer_that_cannot_be_sent(self, host):
        assert host.request({"do": "answer_with_an_object"}) == Crashed("left with exit code 1")
        assert "TypeError" in host.output()

    def test_in_spite_of_children_that_hold_its_pipe(self, host):
        answer = host.request({"do": "fork_and_die"}, limit=60.0)
        assert answer == Crashed("died of SIGSEGV", signal="SIGSEGV")
        child = int(host.output())
        until(lambda: is_gone(child))  # it ends with its parent


class TestTheChannel:
    def test_is_not_where_a_process_writes_by_habit(self, host):
        pid = host.request({"do": "pid"}).head["pid"]
        assert isinstance(host.request({"do": "write_everywhere"}), wire.Message)
        assert host.request({"do": "pid"}).head["pid"] == pid

    @pytest.mark.parametrize(
        ("text", "hang"), [("x", True), ("\0" * 64, False), ("x" * 65536, True)]
    )
    def test_what_an_engine_writes_into_it_is_held_against_the_engine(self, host, text, hang):
        asked = {"do": "write_into_the_channel", "text": text, "hang": hang}
        began = time.monotonic()
        assert host.request(asked, limit=20.0) == Crashed("wrote into the channel of its answers")
        assert time.monotonic() - began < 10
        assert not host.running

    def test_half_an_answer_is_waited_for_no_longer_than_for_any(self, host):
        asked = {"do": "write_into_the_channel", "text": "", "hang": True}
        host.submit(asked, {}, limit=0.1)
        with channel_of(host).open("wb") as channel:
            channel.write(wire.encode(wire.Message({"some": "answer"}))[:-1])
        assert host.answer() == TimedOut("over the limit of 0.1 s")

    @pytest.mark.parametrize("much", [0, 1 << 22], ids=["little", "more than a pipe holds"])
    def test_a_host_that_somebody_stopped_is_waited_for_but_not_for_ever(
        self, host, monkeypatch, much
    ):
        monkeypatch.setattr(hosts, "STOPPED_SECONDS", 3.5)
        os.kill(host._process.pid, signal.SIGSTOP)
        goes_on = threading.Timer(2.5, os.kill, [host._process.pid, signal.SIGCONT])
        goes_on.start()
        asked = {"much": np.zeros(much, dtype=np.uint8)}
        limit = 0.2  # asleep for 1.8 s it would be over it
        assert isinstance(host.request({"do": "echo"}, asked, limit=limit), wire.Message)
        os.kill(host._process.pid, signal.SIGSTOP)
        monkeypatch.setattr(hosts, "STOPPED_SECONDS", 1.0)
        ended = host.request({"do": "echo"}, asked, limit=limit)
        assert ended == Crashed("was stopped for more than 1 s", signal="SIGSTOP")


def channel_of(host):
    """The descriptor, in the host, of the pipe that its answers come out of."""
    pipe = Path(f"/proc/self/fd/{host.answers}").readlink()
    descriptors = list(Path(f"/proc/{host._process.pid}/fd").iterdir())
    return next(one for one in descriptors if one.readlink() == pipe)


class TestExceptions:
    @pytest.mark.parametrize(
        ("what", "message"),
        [
            ("raise_error", "ValueError: no such thing"),
            ("raise_nothing_to_say", "ValueError: ValueError"),
            ("panic", "NativePanic: index out of bounds"),
            ("leave_politely", "SystemExit: goodbye"),
            ("no_such_command", "AttributeError: 'Obedient' object has no attribute"),
        ],
    )
    def test_are_told_and_leave_the_host_running(self, host, what, message):
        pid = host.request({"do": "pid"}).head["pid"]
        answer = host.request({"do": what})
        assert isinstance(answer, Crashed)
        assert answer.signal is None
        assert answer.message.startswith(message)
        assert host.running
        assert host.request({"do": "pid"}).head["pid"] == pid


class TestStarting:
    @pytest.mark.parametrize(
        ("changes", "outcome", "message"),
        [
            ({"service": "RaisesAtStart"}, Crashed, "RuntimeError: cannot be made"),
            ({"service": "DiesAtStart"}, Crashed, "died of SIGABRT"),
            ({"memory": 1 << 20}, OutOfMemory, "over the memory limit of 1 MiB"),
            ({"service": "Missing"}, Crashed, "has no attribute 'Missing'"),
            ({"interpreter": "/no/such/python"}, Crashed, "/no/such/python"),
        ],
    )
    def test_that_fails_is_told(self, changes, outcome, message):
        host = make(**changes)
        answer = host.start()
        assert isinstance(answer, outcome)
        assert message in answer.message
        assert not host.running or "service" in changes
        host.close()

    def test_that_takes_too_long_is_told(self, monkeypatch):
        monkeypatch.setattr(hosts, "START_SECONDS", 1.0)
        host = make(service="HangsAtStart")
        assert host.start() == TimedOut("over the limit of 1 s")
        assert not host.running
        host.close()

    def test_modules_come_from_the_given_directories_and_never_from_the_working_one(
        self, tmp_path, monkeypatch
    ):
        there, here = tmp_path / "there", tmp_path / "here"
        for folder in (there, here):
            folder.mkdir()
            (folder / "mine.py").write_text(
                f"class Service:\n    handle = None\n    def __init__(self): print({folder.name!r})"
            )
        monkeypatch.chdir(here)
        stranger = Host(HostSpec("mine:Service"))
        assert "No module named 'mine'" in stranger.start().message
        friend = Host(HostSpec("mine:Service", paths=(str(there),)))
        assert friend.start() is None
        assert friend.output() == "there\n"
        monkeypatch.setenv("PYTHONPATH", f"{os.pathsep}{here}")
        assert stranger.start() is None, "the user's own interpreter finds it, too"
        stranger.close()
        friend.close()


class TestLimits:
    def test_time_between_requests_does_not_count(self, host):
        """Ten requests that together take more than twice the limit of one."""
        for _ in range(10):
            answer = host.request({"do": "spend", "seconds": 0.1}, limit=0.4)
            assert isinstance(answer, wire.Message)

    @pytest.mark.parametrize("stepwise", [True, False])
    def test_a_limit_is_that_of_each_step_if_so_asked(self, host, stepwise):
        host.submit({"do": "spend", "seconds": 2.5}, {}, limit=1.2, stepwise=stepwise)
        while host.running and not select.select([host.answers], [], [], 0.02)[0]:
            host.buffer.progress[1] += 1
            host.look_after()
        assert isinstance(host.answer(), wire.Message) is stepwise

    @pytest.mark.parametrize("amid", [False, True], ids=["the host idled", "this stood still"])
    def test_an_hour_in_which_nothing_was_done_is_not_the_hosts(self, host, monkeypatch, amid):
        asked = {"do": "spend", "seconds": 0.2}
        host.submit(asked, {}, limit=1.0)
        if not amid:
            host.answer()
        later = time.monotonic() + 3600
        monkeypatch.setattr(time, "monotonic", lambda: later)
        host.look_after()
        assert isinstance(host.answer() if amid else host.request(asked, {}, 1.0), wire.Message)


class TestOutput:
    @pytest.mark.parametrize("what", ["say", "say_and_die"])
    def test_is_kept_and_reaches_nobody_else(self, host, what, capfd):
        host.request({"do": what, "text": "hello"})
        assert capfd.readouterr() == ("", "")
        said = host.output()
        for stream in ("stdout", "stderr", "descriptor 1", "descriptor 2"):
            assert f"hello on {stream}\n" in said
        assert host.running or host.start() is None
        host.request({"do": "say", "text": "born again"})
        assert host.output().startswith("born again")

    def test_keeps_the_beginning_of_what_is_long(self, host):
        host.request({"do": "say", "text": "begin" + "x" * OUTPUT_LIMIT})
        said = host.output()
        assert len(said) == OUTPUT_LIMIT
        assert said.startswith("begin")
        assert host.output() == ""

    def test_a_line_that_is_repeated_without_end_hides_no_other(self, host):
        first = (
            "[12:00:00] file.cc:1: Warning: one thing\n[12:00:01] file.cc:2: Warning: one more\n"
        )
        host.request({"do": "say", "text": first * 400 + "the last"})
        said = host.output()
        assert said.startswith(
            "file.cc:1: Warning: one thing\nfile.cc:2: Warning: one more\nthe last"
        )
        assert "the last on descriptor 2\n" in said


class TestSeveral:
    def test_a_slow_one_does_not_eat_the_others_time(self, host):
        other = make()
        assert other.start() is None
        host.submit({"do": "spin"}, {}, limit=0.3)
        other.submit({"do": "echo"}, {}, limit=0.3)
        late, quick = host.answer(), other.answer()
        assert isinstance(late, TimedOut)
        assert isinstance(quick, wire.Message)
        other.close()


def coordinator(path, work):
    """A process with a host, which it starts itself and whose number it prints by `tell`."""
    program = (
        "from harness.workers.hosts import Host, HostSpec\n"
        f"host = Host(HostSpec('tests.services:Obedient', paths=({str(path)!r},)))\n"
        f"tell = lambda: print(host._process.pid, flush=True)\n{work}\n"
    )
    command, root = [sys.executable, "-c", program], Path(__file__).parents[2]
    return subprocess.Popen(command, cwd=root, stdout=subprocess.PIPE, text=True)


class TestEnds:
    def test_what_was_stopped_does_not_answer(self, host):
        host.stop()
        assert not host.running
        answer = host.request({"do": "echo"})
        assert isinstance(answer, Crashed)
        assert "not running" in answer.message

    def test_stopping_a_dead_host_ends_no_other_process(self, host, monkeypatch):
        """Its number may belong to another process by then."""
        host.request({"do": "segfault"})
        killed = []
        monkeypatch.setattr(os, "killpg", lambda *what: killed.append(what))
        host.stop()
        assert killed == []

    def test_a_host_dies_with_its_coordinator(self):
        work = "host.start(); tell(); host.request({'do': 'spin'}, limit=3600)"
        with coordinator("", work) as process:
            pid = int(process.stdout.readline())
            assert not is_gone(pid)
            process.kill()
        until(lambda: is_gone(pid))

    @pytest.mark.parametrize("clean", [False, True], ids=["same environment", "another one"])
    @pytest.mark.parametrize("end", ["stop", "segfault", "spin"])
    def test_what_an_engine_started_in_a_session_of_its_own_ends_with_it(self, host, end, clean):
        if clean and end == "segfault":
            pytest.skip("nobody knows of it any more")
        host.request({"do": "leave_one_behind", "clean": clean})
        left: list[str] = []
        until(lambda: left.append(host.output()) or any(one.strip().isdigit() for one in left))
        pid = int(next(one for one in left if one.strip()))
        assert not is_gone(pid)
        assert os.getsid(pid) != os.getsid(host._process.pid)
        if end == "stop":
            host.stop()
        else:
            host.request({"do": end}, limit=0.1)
        until(lambda: is_gone(pid))

    def test_a_host_asks_to_die_with_its_coordinator_before_it_imports_anything(self, tmp_path):
        """numpy takes longest to import, and here for ever."""
        (tmp_path / "numpy.py").write_text(
            f"import time; open({str(tmp_path / 'there')!r}, 'x'); time.sleep(60)"
        )
        with coordinator(tmp_path, "host.launch(); tell(); host._process.wait()") as process:
            pid = int(process.stdout.readline())
            until((tmp_path / "there").exists)
            process.kill()
        until(lambda: is_gone(pid))

    def test_one_whose_coordinator_is_gone_already_ends_at_once(self):
        nobody = "from harness.workers.host_process import main; main(1 << 22, 0, 1, 'no:Service')"
        done = subprocess.run([sys.executable, "-c", nobody], timeout=20, check=False)
        assert done.returncode == 1

    def test_many_starts_leak_no_descriptors(self, host):
        before = sum(1 for _ in Path("/proc/self/fd").iterdir())
        for _ in range(3):
            host.request({"do": "leave"})
            host.start()
        assert sum(1 for _ in Path("/proc/self/fd").iterdir()) == before
