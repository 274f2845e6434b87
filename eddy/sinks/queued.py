"""A sink that takes nothing between the two steps of a commit: what is written then waits for the second one."""

from __future__ import annotations

from typing import Any

import pyarrow as pa

from eddy.sinks.base import Sink


class Queued(Sink):
    """Stands before a sink, and does what is asked of it, but for what is written while a commit is under way."""

    def __init__(self, sink: Sink) -> None:
        self.sink, self.exact = sink, sink.exact
        self.bytes = 0
        """That wait."""
        self._waiting: list[pa.Table] = []
        self._between = False

    def keep_in(self, folder: str) -> None:
        self.sink.keep_in(folder)

    def open(self, schema: pa.Schema, token: Any) -> None:
        self.sink.open(schema, token)

    def write(self, table: pa.Table) -> None:
        if not self._between:
            self.sink.write(table)
            return
        self._waiting.append(table)
        self.bytes += table.nbytes

    def prepare(self) -> Any:
        token = self.sink.prepare()
        self._between = True
        return token

    def secure(self, token: Any) -> None:
        self.sink.secure(token)

    def commit(self, token: Any) -> None:
        self.sink.commit(token)
        self._between = False
        waiting, self._waiting, self.bytes = self._waiting, [], 0
        for table in waiting:
            self.sink.write(table)

    def close(self) -> None:
        self.sink.close()

    def abandon(self, kept: bool) -> None:
        self.sink.abandon(kept)

    def __str__(self) -> str:
        return str(self.sink)


def queued(sink: Sink) -> Sink:
    """The sink, or what stands before it, if it does not take results while a commit is under way."""
    return sink if sink.overlaps or isinstance(sink, Queued) else Queued(sink)
