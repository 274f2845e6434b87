"""`watch`: the live page of an engine that somebody else pushes to."""

from __future__ import annotations

import logging
import threading
from typing import Any
from urllib.parse import quote

from eddy.engine.eddy import Eddy
from eddy.errors import EddyError
from eddy.log.events import ENGINE
from eddy.page.html import write
from eddy.page.recorder import PERIOD, Recorder
from eddy.page.server import Server
from eddy.page.several import Recorders
from eddy.several.shared_eddy import SharedEddy
from eddy.shown import kind_of

LOG = logging.getLogger(ENGINE)


class Watching:
    """A live page, until it is closed: ``with eddy.watch(engine) as page: print(page.url)``."""

    def __init__(
        self, recorder: Recorder | Recorders, port: int | None = 0, query: str | None = None
    ) -> None:
        """``query``: whose page `url` is, of an engine of several."""
        self.recorder, self._query = recorder, query
        self._over = threading.Event()
        self._server = None if port is None else Server(self._told, lambda: recorder.version, port)
        self._thread: threading.Thread | None = None

    @property
    def url(self) -> str | None:
        """Where the page is; None if it is not served."""
        if self._server is None:
            return None
        return self._server.url + ("" if self._query is None else f"?query={quote(self._query, '')}")

    def follow(self) -> Watching:
        """Read the engine now and then, in a thread: a reading waits for the batch at hand."""
        self._thread = threading.Thread(target=self._follow, name="eddy readings", daemon=True)
        self._thread.start()
        return self

    def report(self, path: Any) -> str:
        """Write the page as it is now to a file that needs nothing else; its path."""
        self.recorder.read(now=True)
        return write(path, self._told(self._query))

    def close(self) -> None:
        """Read and answer no more."""
        self._over.set()
        if self._thread is not None:
            self._thread.join(5)
        self.recorder.end("closed")
        if self._server is not None:
            self._server.close()

    def __enter__(self) -> Watching:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _repr_html_(self) -> str:
        return f'<a href="{self.url}">{self.url}</a>' if self.url else "not served"

    def __repr__(self) -> str:
        return f"<Watching {self.url or 'not served'}>"

    def _told(self, query: str | None) -> dict[str, Any]:
        return self.recorder.told(query) if isinstance(self.recorder, Recorders) else self.recorder.told()

    def _follow(self) -> None:
        failed = False
        while not self._over.wait(PERIOD / 2):
            try:
                self.recorder.read()
            except Exception:
                if not failed:  # said once: the next reading may find the engine in order
                    LOG.exception("the page could not be read; it is tried again, and not said again")
                failed = True


def watch(engine: Eddy, *, port: int = 0, query: str | None = None) -> Watching:
    """A live page of an engine, on this machine only: its plan as a picture, what flows, and why the plan was changed.

    ``port``: 0 takes any that is free. `Watching.report` writes the page to a file. It needs `eddy-stairs[watch]`. An
    engine of several queries has a page for those of each core, and the reader can choose; ``query`` is the first.
    """
    if not isinstance(engine, Eddy):
        raise EddyError(f"watch takes an eddy.Eddy, not a {kind_of(engine)}")
    if isinstance(engine, SharedEddy):
        if query is not None:
            engine.engine_of(query)
        recorder: Recorder | Recorders = Recorders(engine)
    elif query is not None:
        raise EddyError("the engine has one query, which has no name: leave query out")
    else:
        recorder = Recorder(engine)
    recorder.read()
    return Watching(recorder, port, query).follow()
