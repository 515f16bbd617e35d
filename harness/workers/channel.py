"""The coordinator's end of the channel to a host: no call blocks, whatever the host does."""

from __future__ import annotations

import contextlib
import fcntl
import os
import select
from collections.abc import Iterator, Sequence

from harness.workers import wire

_PIPE = 1 << 20
"""Bytes that a pipe holds where the system lets it, so that nobody waits to write a message."""


class Channel:
    """Two pipes, the host's ends of which are `theirs` until they are handed over.

    Attributes:
        theirs: What the host reads from, and what it writes to.
        answers: What can be waited for until the host has written something.
    """

    def __init__(self) -> None:
        inward, self._outbox = os.pipe()
        self.answers, outward = os.pipe()
        self.theirs = inward, outward
        for descriptor in (self._outbox, self.answers):
            os.set_blocking(descriptor, False)
            with contextlib.suppress(OSError):  # more than the system allows without privileges
                fcntl.fcntl(descriptor, fcntl.F_SETPIPE_SZ, _PIPE)
        self._inbox = wire.Inbox(self.answers)

    def handed_over(self) -> None:
        """Close the host's ends."""
        for descriptor in self.theirs:
            os.close(descriptor)

    def close(self) -> None:
        """Close the ends of this side."""
        for descriptor in (self._outbox, self.answers):
            with contextlib.suppress(OSError):
                os.close(descriptor)

    def sending(self, message: wire.Message, seconds: float) -> Iterator[None]:
        """Write a message; gives the word back each time that `seconds` were waited in vain.

        Raises:
            Closed: Nobody reads the other end any more.
        """
        view = memoryview(wire.encode(message))
        while view:
            try:
                view = view[os.write(self._outbox, view) :]
            except BlockingIOError:
                if not ready([self._outbox], seconds, select.POLLOUT):
                    yield
            except (BrokenPipeError, ConnectionError) as error:
                raise wire.Closed from error

    def received(self) -> wire.Message | None:
        """The next message, once it is there as a whole.

        Raises:
            Closed: The other end closed before a whole message came.
            Broken: Something else came.
        """
        return self._inbox.read()


def ready(
    descriptors: Sequence[int], seconds: float, event: int = select.POLLIN | select.POLLHUP
) -> list[int]:
    """Those of the descriptors of which something can be read, waited for."""
    poll = select.poll()
    for descriptor in descriptors:
        poll.register(descriptor, event)
    return [descriptor for descriptor, _ in poll.poll(seconds * 1000)]
