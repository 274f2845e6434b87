"""What a run shows while it goes on, and leaves behind: the live page, a report, and its history beside checkpoints."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from typing import Any

from attrs import define, frozen

from eddy.checks import checked, path_to
from eddy.engine.eddy import Eddy
from eddy.errors import EddyError
from eddy.page.html import write
from eddy.page.recorder import Recorder
from eddy.page.several import Recorders
from eddy.page.watching import Watching
from eddy.running.shared import SharedEngine
from eddy.sinks.disk import explained
from policies.options import whole

HISTORY = "run.history"
"""In the folder of checkpoints: what the page of the run shows."""
ENDS = {"end": "all sources have ended", "limit": "as many results as were asked for", "stopped": "stopped"}


@frozen
class Shows:
    """What is asked for: the port of a live page, None for no page; and the file of a report."""

    port: int | None
    report: str | None


def shows(watch: Any, report: Any) -> Shows:
    """What ``watch`` and ``report`` ask for; EddyError if they make no sense."""
    port = None
    if watch is not None and watch is not False:
        port = 0 if watch is True else checked("watch", watch, whole(0), "is a port:")
    return Shows(port, None if report is None else _report(report))


def _report(report: Any) -> str:
    """Where a report is to be written; EddyError if it cannot be, before a run that would end with it."""
    path = path_to("report is a file, such as run.html", report)
    folder = os.path.dirname(os.path.abspath(path))
    if os.path.isdir(path):
        raise EddyError(
            f"report: {path} is a folder; give a file in it, such as {os.path.join(path, 'run.html')}"
        )
    if not os.path.isdir(folder):
        raise EddyError(f"report: there is no folder {folder}: make it first, or give another place")
    return path


@define(eq=False)
class Showing:
    """One run, as others may see it."""

    asked: Shows
    folder: str | None = None
    """Of its checkpoints."""
    page: Watching | None = None
    stays: bool = False
    """Whether the page is answered when the run is over: then whoever runs it closes it."""

    def begin(self, engine: Eddy | SharedEngine, sources: Mapping[str, Any], began: float) -> None:
        """The engine is there. ``began``: when the run began, by the monotonic clock."""
        if self.asked.port is None and self.asked.report is None and self.folder is None:
            return
        named = {name: str(source) for name, source in sources.items()}
        recorder = (
            Recorders(engine.engine, "eddy run", named, began)
            if isinstance(engine, SharedEngine)
            else Recorder(engine, "eddy run", named, began=began)
        )
        recorder.read()
        self.page = Watching(recorder, self.asked.port)

    @property
    def url(self) -> str | None:
        """Where the live page is."""
        return None if self.page is None else self.page.url

    def read(self, bad: Mapping[str, int], now: bool = False) -> None:
        """A push is over; ``now``: the engine is going to be closed."""
        if self.page is not None:
            self.page.recorder.read({"bad": bad}, now)

    def keep(self) -> None:
        """A checkpoint was made: what the page shows lies beside it."""
        if self.page is None or self.folder is None:
            return
        name = os.path.join(self.folder, HISTORY)
        with explained(name):
            with open(f"{name}.tmp", "w", encoding="utf-8") as file:
                file.write(self.page.recorder.json())
            os.replace(f"{name}.tmp", name)

    def end(self, how: str, bad: Mapping[str, int], closed: bool) -> None:
        """The run is over; the page stays as it is. ``closed``: so is the engine, and has no rows any more."""
        if self.page is None:
            return
        self.page.recorder.end(ENDS.get(how, how), {"bad": bad}, closed)
        self.keep()
        if self.asked.report is not None:
            self.page.report(self.asked.report)

    def close(self) -> None:
        """Nobody is answered any more."""
        if self.page is not None:
            self.page.close()


def report_of(folder: Any, out: Any) -> str:
    """Write the page of the run that has its checkpoints in a folder; the path of the page."""
    name = os.path.join(path_to("a checkpoint is a folder", folder), HISTORY)
    try:
        with open(name, encoding="utf-8") as file:
            run = json.load(file)
    except FileNotFoundError as error:
        raise EddyError(f"there is no history of a run in {folder}: give a folder of checkpoints") from error
    except (OSError, ValueError) as error:
        raise EddyError(f"cannot read {name}: {error}") from error
    if run.get("format") != 1:
        raise EddyError(f"{name} is of format {run.get('format')}; this library reads format 1")
    if run["ended"] is None:
        run["ended"] = "ended without a word"
    return write(out, run)
