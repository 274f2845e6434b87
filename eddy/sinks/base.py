"""What a sink is: it takes tables, and commits them in two steps."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import pyarrow as pa


class Sink:
    """Takes results. A subclass has `write`; all else may stay as it is, and then a restart may repeat results.

        class Counting(eddy.Sink):
            rows = 0

            def write(self, table):
                self.rows += table.num_rows

    With checkpoints: `prepare` and `secure` make what was written safe, and the token of the former is kept with the
    positions of the sources and the engine; only then `commit` makes it visible. After a crash `open` is given the
    last token that was kept: it commits that if need be, since the process may have died before, and takes back the
    rest.
    """

    exact: bool = False
    """Whether a restart gives every result exactly once, by `open`, `prepare` and `commit`."""
    overlaps: bool = False
    """Whether it may be given more between `prepare` and `commit`, and `secure` and `commit` may be called by another
    thread meanwhile. What comes then belongs to the next commit. Results for other sinks wait in memory."""

    def keep_in(self, folder: str) -> None:
        """Before `open`, in a run with checkpoints: a folder of theirs for what the sink itself must not lose. It need
        not be there yet, and stays as long as the checkpoints do."""

    def open(self, schema: pa.Schema, token: Any) -> None:
        """Before anything else: tables will have this schema. ``token``: of the last commit; None if there was none."""

    def write(self, table: pa.Table) -> None:
        """Take results."""
        raise NotImplementedError(f"{type(self).__name__} has no write(self, table)")

    def prepare(self) -> Any:
        """Make all that was written since the last time safe, and return a token: anything that JSON can hold."""

    def secure(self, token: Any) -> None:
        """What `prepare` has left to do, if that lasts, such as to force files to the disk."""

    def commit(self, token: Any) -> None:
        """Make what was prepared visible. It may be called again for the same token."""

    def close(self) -> None:
        """All results were written and committed: there are no more."""

    def abandon(self, kept: bool) -> None:
        """The run ended early. ``kept``: a restart may go on from what was committed; else nobody comes back for it."""

    def __str__(self) -> str:
        return type(self).__name__


def commit_at_once(sinks: Iterable[Sink]) -> None:
    """All that was written counts, where there are no checkpoints."""
    for sink in sinks:
        token = sink.prepare()
        sink.secure(token)
        sink.commit(token)
