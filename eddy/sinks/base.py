"""What a sink is: it takes tables, and commits them in two steps."""

from __future__ import annotations

from typing import Any

import pyarrow as pa


class Sink:
    """Takes results. A subclass has `write`; all else may stay as it is, and then a restart may repeat results.

        class Counting(eddy.Sink):
            rows = 0

            def write(self, table):
                self.rows += table.num_rows

    With checkpoints: `prepare` makes what was written safe and returns a token, which is kept together with the
    positions of the sources and the engine; only then `commit` makes it visible. After a crash `open` is given the last
    token that was kept: it commits that if need be, since the process may have died before, and takes back the rest.
    """

    exact: bool = False
    """Whether a restart gives every result exactly once, by `open`, `prepare` and `commit`."""

    def open(self, schema: pa.Schema, token: Any) -> None:
        """Before anything else: tables will have this schema. ``token``: of the last commit; None if there was none."""

    def write(self, table: pa.Table) -> None:
        """Take results."""
        raise NotImplementedError(f"{type(self).__name__} has no write(self, table)")

    def prepare(self) -> Any:
        """Make all that was written since the last time safe, and return a token: anything that JSON can hold."""

    def commit(self, token: Any) -> None:
        """Make what was prepared visible. It may be called again for the same token."""

    def close(self) -> None:
        """All results were written and committed: there are no more."""

    def abandon(self, kept: bool) -> None:
        """The run ended early. ``kept``: a restart may go on from what was committed; else nobody comes back for it."""

    def __str__(self) -> str:
        return type(self).__name__
