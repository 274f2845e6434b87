"""Pieces of a source that are read while the run is busy with those before them, by a thread of their own.

One piece is read ahead, so little waits in memory. A piece carries its position, so what was read ahead and never asked
for is read again after a restart.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any


class Ahead:
    """Pieces in their order, and where they end with an error, the error. Let it be closed: its thread ends then."""

    def __init__(self, pieces: Callable[[], Iterator[Any]]) -> None:
        """``pieces`` begins to read, in that thread."""
        self._begin = pieces
        self._pieces: Any = None
        self._thread = ThreadPoolExecutor(1, "eddy-read")
        self._next: Future[Any] | None = self._thread.submit(self._read)

    def __iter__(self) -> Iterator[Any]:
        return self

    def __next__(self) -> Any:
        if self._next is None:
            raise StopIteration
        item = self._next.result()
        if item is None:
            self._next = None
            self._thread.shutdown()
            raise StopIteration
        self._next = self._thread.submit(self._read)
        return item

    def _read(self) -> Any:
        """The next piece; None behind the last."""
        if self._pieces is None:
            self._pieces = iter(self._begin())
        return next(self._pieces, None)

    def close(self) -> None:
        """Nothing more is read: what the source has opened can go."""
        self._thread.shutdown(cancel_futures=True)
        close = getattr(self._pieces, "close", None)
        if close is not None:
            close()
