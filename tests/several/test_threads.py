"""Results of several queries are read by one thread while another pushes, adds and drops."""

from __future__ import annotations

import threading
import time
from collections import deque

import numpy as np

import eddy

SCHEMAS = {name: {"ts": "int64", "x": "int64", "s": "string"} for name in "AB"}
JOIN = "FROM A [ROWS 40], B [ROWS 40] WHERE A.x = B.x"


def rows(random, at, n):
    """Rows with strings that no others have."""
    times = np.arange(at, at + n)
    return {"ts": times, "x": random.integers(0, 20, n), "s": [f"text {t}" for t in times.tolist()]}


def test_a_reader_finds_what_was_given_while_others_push_and_add():
    """Rows, strings and sets of queries move between batches only, never while a result is read."""
    random = np.random.default_rng(4)
    query = eddy.sql(f"SELECT A.ts, A.s, B.ts AS other, B.s AS partner {JOIN} AND A.x > 0", schemas=SCHEMAS)
    engine, given = eddy.Eddy({"all": query}), deque(maxlen=4)
    over, wrong, read = threading.Event(), [], 0

    def reads():
        nonlocal read
        while not over.is_set() or given:
            try:
                found = given.pop()
            except IndexError:
                time.sleep(0.0002)
                continue
            try:
                for ts, text, other, partner in zip(
                    *(column.to_pylist() for column in found["all"].to_arrow().columns), strict=True
                ):
                    if (text, partner) != (f"text {ts}", f"text {other}"):
                        wrong.append((ts, text, other, partner))
                read += 1
            except BaseException as error:
                wrong.append(error)

    thread = threading.Thread(target=reads)
    thread.start()
    try:
        for turn in range(150):
            n = int(random.integers(1, 300))
            given.append(engine.push_all({name: rows(random, 1000 * turn, n) for name in "AB"}))
            if turn % 7 == 0:
                text = f"SELECT A.s, B.s AS partner {JOIN} AND A.ts % 9 = {turn % 9}"
                engine.add(f"q{turn}", eddy.sql(text, schemas=SCHEMAS))
            elif turn % 7 == 3:
                engine.drop(f"q{turn - 3}")
    finally:
        over.set()
        thread.join()
    assert not wrong and read
