"""Processes that come to grief: forks of this one, so that each begins with compiled kernels.

A *step* is whatever may be cut short: a piece that is read, a table that is written, bytes that go to a file of a
checkpoint, a file that is forced to the disk, renamed, linked or removed, and the steps of a commit themselves.
"""

from __future__ import annotations

import contextlib
import json
import os
import resource
import signal
import sys
import threading
import time
import traceback
import warnings

import eddy
from eddy.running.checkpoints import Checkpoints
from eddy.running.commits import Commits
from eddy.running.feeds import Feed
from eddy.sinks.files import LineFile
from eddy.sinks.parts import Parts
from eddy.snapshot.incremental import Incremental
from eddy.snapshot.segments import Counted
from tests.faults.apart import fork
from tests.faults.shaky import Shaky

CALLS = ("fsync", "replace", "unlink", "link", "rmdir")
METHODS = (
    (Feed, "pull"), (LineFile, "write"), (Parts, "write"), (Counted, "write"), (Incremental, "view"),
    (Incremental, "write"), (Commits, "begin"), (Commits, "_commit"), (Checkpoints, "_forget"),
)  # fmt: skip
ENDED, REFUSED, BROKEN = 0, 3, 1
"""How a child ends by itself: the run is over; it said in one line what was wrong; a traceback."""


class Steps:
    """Counts steps, and does something at the one that it was told."""

    def __init__(self, last, act):
        self.last, self.act, self.count = last, act, 0
        self.lock = threading.Lock()

    def __call__(self, function, args):
        with self.lock:
            self.count += 1
            here = self.count == self.last
        if here:
            self.act(function, args)

    def watch(self):
        """From now on every step is counted."""
        for name in CALLS:
            setattr(os, name, self._before(getattr(os, name)))
        for kind, name in METHODS:
            setattr(kind, name, self._before(getattr(kind, name)))
        Shaky.step = staticmethod(self._before(Shaky.step))

    def _before(self, function):
        def stepped(*args, **kwargs):
            self(function, args)
            return function(*args, **kwargs)

        return stepped


def kill(function, args):
    """End here and now."""
    os.kill(os.getpid(), signal.SIGKILL)


def tear(function, args):
    """The same, in the middle of what is written."""
    if function.__qualname__ == "Counted.write":
        with contextlib.suppress(OSError):
            args[0].file.write(bytes(args[1])[: len(bytes(args[1])) // 2])
    kill(function, args)


def disconnect(function, args):
    """The connection breaks, wherever that is."""
    raise ConnectionResetError(104, "Connection reset by peer")


def forked(run, at=10**9, act=kill, seconds=None, bytes=None):
    """Run it in a process of its own. ``act`` at a step, SIGKILL after some seconds, no file beyond so many bytes.

    How it has ended, the steps that it has taken if it told, and what it said.
    """
    pipe, end = os.pipe()
    child = fork()
    if not child:
        _child(run, at, act, bytes, end)
    os.close(end)
    if seconds is not None:
        time.sleep(seconds)
        os.kill(child, signal.SIGKILL)  # it is not waited for yet, so its number is its own
    _, status = os.waitpid(child, 0)
    with open(pipe, encoding="utf-8") as file:
        told = file.read()
    how = -os.WTERMSIG(status) if os.WIFSIGNALED(status) else os.WEXITSTATUS(status)
    steps, said = json.loads(told) if told else (None, "")
    return how, steps, said


def _child(run, at, act, most, end):
    status, said = BROKEN, ""
    steps = Steps(at, act)
    try:
        if most is not None:
            signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
            resource.setrlimit(resource.RLIMIT_FSIZE, (most, resource.RLIM_INFINITY))
        steps.watch()
        warnings.simplefilter("ignore")
        run()
        status = ENDED
    except (
        eddy.EddyError,
        OSError,
    ) as error:  # a sink of one's own, and what breaks between, has errors of its own
        status, said = REFUSED, f"{type(error).__name__}: {error}"
    except BaseException:
        said = traceback.format_exc()
    finally:
        with contextlib.suppress(BaseException):
            resource.setrlimit(resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
            os.write(end, json.dumps((steps.count, said[:3000])).encode())
        sys.stderr.flush()
        os._exit(status)
