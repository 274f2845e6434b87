"""Async iterators as sources: of a loop of their own, or of the one that the program runs."""

from __future__ import annotations

import asyncio
import time

import pytest

import eddy
from tests.runs import QUERY, counted, expected, feed

SCHEMA = {"ts": "int64", "k": "int64", "id": "int64", "note": "string"}


async def batches(table, size=16):
    """A table in pieces, with a pause before each."""
    for start in range(0, table.num_rows, size):
        await asyncio.sleep(0.001)
        yield table.slice(start, size)


def sources(tables):
    """An async iterator for each stream."""
    return {name: eddy.source(batches(table), schema=SCHEMA) for name, table in tables.items()}


def test_a_run_reads_async_iterators():
    """In a loop of its own, where the program has none."""
    outcome = eddy.run(QUERY, sources(feed(1)))
    assert counted(outcome.to_arrow()) == expected(feed(1))


def test_a_program_with_a_loop_gives_what_it_waits_for():
    """Its iterators go on in its own loop, in which their queues are."""

    async def main():
        loop, queue, found, before = asyncio.get_running_loop(), asyncio.Queue(), [], asyncio.all_tasks()

        async def clicks():
            while (batch := await queue.get()) is not None:
                assert asyncio.get_running_loop() is loop
                yield batch

        given = {"clicks": eddy.source(clicks(), schema={"ts": "int64", "user": "int64"})}
        results = eddy.arun("SELECT user FROM clicks [ROWS 1] WHERE user > 1", given)
        for number in (1, 2, 3):
            await queue.put({"ts": [number], "user": [number]})
        await queue.put(None)
        async for result in results:
            found += result.to_pydict()["user"]
        await asyncio.sleep(0)
        assert asyncio.all_tasks() == before
        return found

    assert asyncio.run(main()) == [2, 3]


def test_a_silent_one_can_be_stopped():
    """And is told that nobody asks for more."""
    ended = []

    async def silent():
        try:
            yield {"ts": [1], "k": [1]}
            await asyncio.sleep(3600)
        finally:
            ended.append(True)

    loops = []
    started = time.monotonic()
    outcome = eddy.run("SELECT k FROM A [ROWS 1]", {"A": eddy.source(silent(), schema={"ts": "int64", "k": "int64"})},
                       control=loops.append,
                       on_progress=lambda _: loops[0].stop() if time.monotonic() - started > 0.5 else None)  # fmt: skip
    assert outcome.ended == "stopped" and ended == [True]


def test_its_errors_are_those_of_the_run():
    """As of any iterable."""

    async def broken():
        yield {"ts": [1], "k": [1]}
        raise ConnectionError("the line is dead")

    source = eddy.source(broken(), schema={"ts": "int64", "k": "int64"})
    with pytest.raises(eddy.EddyError, match="the line is dead"):
        eddy.run("SELECT k FROM A [ROWS 1]", {"A": source})


def test_what_cannot_go_is_refused():
    """A schema that is missing, a second reading, and a loop that waits for its own iterator."""
    with pytest.raises(eddy.EddyError, match="needs its schema"):
        eddy.source(batches(feed(1)["A"]))
    given = sources(feed(1))
    eddy.run(QUERY, given)
    with pytest.raises(eddy.EddyError, match="read once"):
        eddy.run(QUERY, given)

    async def blocked():
        eddy.run(QUERY, sources(feed(1)))

    with pytest.raises(eddy.EddyError, match=r"eddy\.arun"):
        asyncio.run(blocked())
