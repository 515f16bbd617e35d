"""Engines that break what ties their process to the coordinator: each does it at three places."""

import atexit
import contextlib
import os
import signal
import sys
import time
from pathlib import Path
from typing import Any, ClassVar

from harness.workers import wire
from tests.miniatures import Enumerator, LanguageMatcher


class Acts(Enumerator):
    """Does something when it compiles, masks or consumes behind the text ``1``."""

    place: ClassVar[str]

    def act(self) -> None:
        """Misbehave."""

    class Matcher(LanguageMatcher):
        engine: Any

        def act_at(self, place: str) -> None:
            if self.engine.place == place and self.written == b"1":
                self.engine.act()

        def mask(self, out: Any) -> None:
            self.act_at("mask")
            super().mask(out)

        def consume(self, token: int) -> bool:
            self.act_at("consume")
            return super().consume(token)

    def matcher(self, schema: Any) -> LanguageMatcher:
        if self.place == "compile" and schema != {"type": "boolean"} and "enum" in schema:
            self.act()
        language = self.language(schema)
        matcher = self.Matcher(self.vocabulary, language, language)
        matcher.engine = self
        return matcher


def pipes() -> list[int]:
    """The descriptors of this process's channel."""
    found = []
    for entry in Path("/proc/self/fd").iterdir():
        with contextlib.suppress(OSError):
            if int(entry.name) > 2 and str(entry.readlink()).startswith("pipe:"):
                found.append(int(entry.name))
    return found


def write_to_all(data: bytes) -> None:
    for descriptor in pipes():
        with contextlib.suppress(OSError):
            os.write(descriptor, data)


class Forks(Acts):
    """Both processes go on."""

    def act(self) -> None:
        os.fork()


class Prints(Acts):
    def act(self) -> None:
        sys.stdout.write("a warning\n")
        os.write(1, b"another\n")


class LeavesAtExit(Acts):
    def act(self) -> None:
        atexit.register(os._exit, 7)


class WritesToTheChannel(Acts):
    def act(self) -> None:
        write_to_all(b"a warning\n")


class AnswersTwice(Acts):
    def act(self) -> None:
        write_to_all(wire.encode(wire.Message({"answer": "Done"}, {}, 3)))


class AnswersAnythingElse(Acts):
    def act(self) -> None:
        for number in range(20):  # one of them is asked just now
            write_to_all(wire.encode(wire.Message({"what": "nothing"}, {}, number)))


class ClosesDescriptors(Acts):
    def act(self) -> None:
        os.closerange(3, 1 << 16)


class ForksAndAnswersShort(Acts):
    """A child that says that the walk is done, before it is."""

    def act(self) -> None:
        for number in range(20):
            write_to_all(wire.encode(wire.Message({"answer": "Done"}, {}, number)))
        time.sleep(0.3)


class DiesOnce(Acts):
    """Is killed the first time; whoever killed it says so in the file named in the environment."""

    def act(self) -> None:
        file = Path(os.environ["KILLED"])
        if not file.exists():
            print("a word before it", flush=True)  # noqa: T201 - engines do
            file.touch()
            os.kill(os.getpid(), signal.SIGKILL)


class DiesAlways(Acts):
    def act(self) -> None:
        os.kill(os.getpid(), signal.SIGKILL)


def at(kind: type[Acts], place: str) -> type[Acts]:
    """The subclass of `kind` that acts at a place, as hosts can import it."""
    name = f"{kind.__name__}_{place}"
    return globals().setdefault(name, type(name, (kind,), {"place": place, "__module__": __name__}))


PLACES = ("compile", "mask", "consume")
HARMLESS = (Forks, Prints, LeavesAtExit)
HARMFUL = (WritesToTheChannel, AnswersTwice, AnswersAnythingElse, ClosesDescriptors)
for _kind in (*HARMLESS, *HARMFUL, ForksAndAnswersShort, DiesOnce, DiesAlways):
    for _place in PLACES:
        at(_kind, _place)
