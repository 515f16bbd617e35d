"""Services for hosts in tests: one that does what it is told, and several that never start."""

import contextlib
import ctypes
import os
import shlex
import signal
import subprocess
import sys
import time
from pathlib import Path

from harness.workers import wire


class NativePanic(BaseException):
    """What some native engines raise: no Exception."""


class Obedient:
    """Does what the head's ``do`` says."""

    def handle(self, message: wire.Message) -> wire.Message:
        return getattr(self, message.head["do"])(message) or wire.Message({})

    def echo(self, message):
        return message

    def segfault(self, message):
        ctypes.string_at(0)

    def abort(self, message):
        os.abort()

    def kill_itself(self, message):
        os.kill(os.getpid(), message.head["signal"])

    def leave(self, message):
        os._exit(3)

    def leave_politely(self, message):
        sys.exit("goodbye")

    def sleep(self, message):
        time.sleep(3600)

    def spin(self, message):
        while True:
            pass

    def spend(self, message):
        """Use this many seconds of processor time."""
        until = time.process_time() + message.head["seconds"]
        while time.process_time() < until:
            pass

    def eat(self, message):
        hoard = []
        while True:
            hoard.append(bytearray(b"\1") * (4 << 20))

    def eat_for_a_moment(self, message):
        del message
        return wire.Message({"eaten": len(b"\1" * (300 << 20))})

    def raise_memory_error(self, message):
        raise MemoryError

    def raise_bad_alloc(self, message):
        raise RuntimeError("native code failed: std::bad_alloc")

    def raise_error(self, message):
        raise ValueError("no such thing")

    def raise_nothing_to_say(self, message):
        raise ValueError

    def panic(self, message):
        raise NativePanic("index out of bounds")

    def say(self, message):
        text = message.head["text"]
        sys.stdout.write(text + " on stdout\n")
        sys.stderr.write(text + " on stderr\n")
        os.write(1, text.encode() + b" on descriptor 1\n")
        os.write(2, text.encode() + b" on descriptor 2\n")

    def say_and_die(self, message):
        self.say(message)
        os.kill(os.getpid(), signal.SIGABRT)

    def fork_and_die(self, message):
        """Die, but leave a child behind that holds every descriptor."""
        child = os.fork()
        if child == 0:
            time.sleep(3600)
        self.child = child
        os.write(1, b"%d" % child)
        os.kill(os.getpid(), signal.SIGSEGV)

    def write_everywhere(self, message):
        """Write some bytes to every descriptor that a process has by habit."""
        for descriptor in range(3, 1024):
            with contextlib.suppress(OSError):
                os.write(descriptor, b"a warning\n")

    def write_into_the_channel(self, message):
        """Find the channel and write into it."""
        for entry in Path("/proc/self/fd").iterdir():
            with contextlib.suppress(OSError):
                if int(entry.name) > 2 and str(entry.readlink()).startswith("pipe:"):
                    os.write(int(entry.name), message.head["text"].encode())
        if message.head["hang"]:
            time.sleep(3600)

    def leave_one_behind(self, message):
        """Start a process in a session of its own, whose parent is gone."""
        program = "import os, sys, time; print(os.getpid(), flush=True); time.sleep(3600)"
        clean = {} if message.head["clean"] else None
        command = f"{sys.executable} -c {shlex.quote(program)}"
        # the shell in between ends at once
        subprocess.run(["/bin/sh", "-c", f"setsid {command} & "], env=clean, check=True, timeout=10)

    def answer_with_an_object(self, message):
        return wire.Message({"what": object()})

    def pid(self, message):
        return wire.Message({"pid": os.getpid()})


class RaisesAtStart:
    def __init__(self) -> None:
        raise RuntimeError("cannot be made")


class DiesAtStart:
    def __init__(self) -> None:
        os.kill(os.getpid(), signal.SIGABRT)


class HangsAtStart:
    def __init__(self) -> None:
        while True:
            pass
