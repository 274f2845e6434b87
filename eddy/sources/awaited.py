"""Batches that an async iterator gives: in the loop of the program, or, where it runs none, in a loop of its own."""

from __future__ import annotations

import asyncio
import contextlib
import queue
import threading
from collections.abc import AsyncIterable, Iterator
from concurrent.futures import Future
from typing import Any

from eddy.errors import EddyError
from eddy.sources.base import Piece, Source

WAIT = 0.02
"""Seconds after which a source says that it has nothing at the moment."""
END_WAIT = 5.0
"""Seconds that an iterator has to end when nobody asks for more."""
_OVER = object()
Loop = asyncio.AbstractEventLoop


class Awaited(Source):
    """What an async iterator yields, once: batches, with no way back. One batch waits at most."""

    seekable = False

    def __init__(self, batches: AsyncIterable[Any], schema: Any, time: str | None) -> None:
        if schema is None:
            raise EddyError(
                "an async iterator needs its schema: eddy.source(batches, schema={'ts': 'int64'})"
            )
        self.schema, self.time, self.name = schema, time, "an async iterator"
        self._batches: AsyncIterable[Any] | None = batches
        self._loop = _current()

    def read(self, position: Any) -> Iterator[tuple[Any, Any] | Piece]:
        if self._batches is None or position is not None:
            raise EddyError("an async iterator is read once: give one for each stream and each run")
        if self._loop is not None and self._loop is _current():
            raise EddyError(
                "eddy.run would wait for its own event loop: use eddy.arun, or asyncio.to_thread(eddy.run, ...)"
            )
        batches, self._batches = self._batches, None
        return self._read(batches)

    def _read(self, batches: AsyncIterable[Any]) -> Iterator[tuple[Any, Any] | Piece]:
        came: queue.SimpleQueue[Any] = queue.SimpleQueue()
        wanted, number = asyncio.Semaphore(1), 0

        async def pump() -> None:
            try:
                async for batch in batches:
                    came.put(batch)
                    await wanted.acquire()
            finally:
                close = getattr(batches, "aclose", None)
                if close is not None:
                    await close()
                came.put(_OVER)

        with _looping(self._loop) as loop:
            pumping = asyncio.run_coroutine_threadsafe(pump(), loop)
            try:
                while True:
                    try:
                        batch = came.get(timeout=WAIT)
                    except queue.Empty:
                        yield Piece(None, number)
                        continue
                    if batch is _OVER:
                        pumping.result()
                        return
                    loop.call_soon_threadsafe(wanted.release)
                    number += 1
                    yield batch, number
            finally:
                pumping.cancel()


def _current() -> Loop | None:
    """The loop that runs in this thread."""
    try:
        return asyncio.get_running_loop()
    except RuntimeError:
        return None


@contextlib.contextmanager
def _looping(given: Loop | None) -> Iterator[Loop]:
    """A loop that runs in another thread: the one that is given, if it does, or one for as long as the context lasts.

    Whatever still runs in such a loop is cancelled at the end.
    """
    if given is not None and given.is_running():
        yield given
        return
    begun: Future[tuple[Loop, asyncio.Event]] = Future()

    async def main() -> None:
        over = asyncio.Event()
        begun.set_result((asyncio.get_running_loop(), over))
        await over.wait()

    thread = threading.Thread(target=lambda: asyncio.run(main()), name="eddy async source", daemon=True)
    thread.start()
    loop, over = begun.result()
    try:
        yield loop
    finally:
        loop.call_soon_threadsafe(over.set)
        thread.join(END_WAIT)
