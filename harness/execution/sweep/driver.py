"""The driver of a sweep in a process of its own, which Ray may end at any moment.

Where the node of a driver is gone Ray's library ends the process that it is in, without a word and
with exit code 1, which would be a finding. Here that is an error like any other, and nothing of
what the driver started is left. What Ray prints about it on standard output is lost: that is for
the summary.
"""

from __future__ import annotations

import contextlib
import multiprocessing
import os
import pickle
import sys
import traceback
from collections.abc import Callable
from multiprocessing.connection import Connection
from pathlib import Path
from typing import NoReturn

from harness import interrupts
from harness.errors import MaskcourtError
from harness.execution.sweep.cluster import GO_ON, nothing_left
from harness.workers.lineage import die_with_parent
from harness.workers.temporary_directories import sweep_up


def apart(work: Callable[[], Path]) -> Path:
    """What `work` gives, done in a child process; what it raises is raised here.

    A signal that would end this process ends the child first, as it would end `work`. Where the
    child ends without an answer that is a MaskcourtError.
    """
    ours, theirs = multiprocessing.Pipe(duplex=False)
    sys.stdout.flush()
    sys.stderr.flush()
    try:
        with nothing_left(of_orphans=True), contextlib.ExitStack() as deferring:
            parent = os.getpid()
            deferring.enter_context(interrupts.deferred())
            child = os.fork()
            if child == 0:
                _answer(work, theirs, parent, deferring)
            theirs.close()
            return _received(ours, child, deferring)
    finally:
        ours.close()
        sweep_up()


def _received(connection: Connection, child: int, deferring: contextlib.ExitStack) -> Path:
    interrupted: KeyboardInterrupt | None = None
    answer: Path | BaseException | None = None
    while True:
        try:
            deferring.close()
            with contextlib.suppress(EOFError):
                answer = connection.recv()
            os.waitid(os.P_PID, child, os.WEXITED | os.WNOWAIT)  # until then it may be signalled
            break
        except KeyboardInterrupt as told:  # a terminal tells the child too, others do not
            interrupted = told
            os.kill(child, interrupts.received())
    status = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    if interrupted is not None:
        raise interrupted
    if isinstance(answer, BaseException):
        raise answer
    if answer is None:
        how = f"exit code {status}" if status >= 0 else f"signal {-status}"
        raise MaskcourtError(
            f"Ray ended the driver of the sweep ({how}): the cluster or its node is gone", GO_ON
        )
    return answer


def _answer(
    work: Callable[[], Path], connection: Connection, parent: int, deferring: contextlib.ExitStack
) -> NoReturn:
    """Do the work and tell what came of it; the child's whole life."""
    answer: Path | BaseException
    try:
        die_with_parent(parent)
        deferring.close()
        sys.stdout = Path(os.devnull).open("w", encoding="utf-8")  # noqa: SIM115 - until the end
        answer = work()
    except BaseException as error:  # noqa: BLE001 - raised in the parent
        answer = _travelling(error)
    with contextlib.suppress(OSError):
        connection.send(answer)
        sys.stderr.flush()
    os._exit(0)


def _travelling(error: BaseException) -> BaseException:
    """An exception that can be sent, with its traceback for ``--debug``."""
    with contextlib.suppress(Exception):
        if not isinstance(error, MaskcourtError | KeyboardInterrupt):
            error.add_note(traceback.format_exc())
        pickle.loads(pickle.dumps(error))  # noqa: S301 - our own
        return error
    return RuntimeError(f"{type(error).__name__}: {error}")
