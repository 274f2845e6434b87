"""Sources that are read ahead: the same pieces in the same order, errors where they stand, and no thread that stays."""

from __future__ import annotations

import threading

import pyarrow as pa
import pytest

import eddy
from eddy.running.ahead import Ahead
from eddy.sources.base import BATCH
from tests.runs import QUERY, counted, expected, feed, write


def threads():
    """Those that read ahead."""
    return [thread for thread in threading.enumerate() if thread.name.startswith("eddy-read")]


def test_one_piece_is_read_ahead_and_no_more():
    """By a thread that ends with the pieces."""
    read, more = [], threading.Event()

    def pieces():
        for number in range(4):
            read.append(number)
            if number == 1:
                more.set()
            yield number

    ahead = Ahead(pieces)
    assert next(ahead) == 0
    assert more.wait(10) and len(threads()) == 1
    assert list(ahead) == [1, 2, 3] and read == [0, 1, 2, 3] and not threads()
    assert list(ahead) == []


def test_an_error_comes_behind_the_pieces_before_it():
    """As it does without a thread."""

    def pieces():
        yield 1
        raise OSError("gone")

    ahead = Ahead(pieces)
    assert next(ahead) == 1
    with pytest.raises(OSError, match="gone"):
        next(ahead)
    ahead.close()
    assert not threads()


def test_what_is_not_asked_for_is_closed():
    """A run that ends early leaves neither a thread nor an open file."""
    closed = []

    def pieces():
        try:
            yield from range(10)
        finally:
            closed.append(threading.current_thread().name)

    ahead = Ahead(pieces)
    assert next(ahead) == 0
    ahead.close()
    assert len(closed) == 1 and not threads()


@pytest.mark.parametrize("ending", ["csv", "jsonl", "parquet", "arrow"])
@pytest.mark.parametrize("disorder", [0, 4])
def test_files_are_read_ahead(ending, disorder, tmp_path, monkeypatch):
    """Whatever their format, with the results of the oracle; a run that is stopped leaves no thread."""
    tables = feed(5, disorder=disorder)
    sources = {name: write(table, tmp_path / f"{name}.{ending}") for name, table in tables.items()}
    seen, loops = set(), []

    def look(progress):
        seen.update(thread.name for thread in threads())

    given = {"lateness": disorder, "batch": 8, "on_progress": look}
    assert counted(eddy.run(QUERY, sources, **given).to_arrow()) == expected(tables)
    assert seen and not threads()
    stopped = eddy.run(QUERY, sources, lateness=disorder, batch=8, limit=1, control=loops.append)
    assert stopped.ended == "limit" and not threads()


def test_what_grows_and_sources_of_ones_own_are_not(tmp_path):
    """Their pieces come when they are asked for."""
    path = write(pa.table({"ts": [1], "k": [1]}), tmp_path / "a.csv")
    assert eddy.source(path).ahead
    assert not eddy.source(path, follow=True).ahead and not eddy.source({"ts": [1]}).ahead
    assert not eddy.Source.ahead


def test_a_look_leaves_nothing_to_read_ahead(tmp_path):
    """Where all pieces are at hand; where they are not, the rest is read ahead."""
    rows = 3 * BATCH
    path = write(pa.table({"ts": range(rows), "k": [1] * rows}), tmp_path / "a.csv")
    source = eddy.source(path).narrowed({"ts": pa.int64(), "k": pa.int64()})
    assert not source.look("ts", pa.int64(), 1 << 27)[1].ahead
    assert source.look("ts", pa.int64(), 1 << 10)[1].ahead
