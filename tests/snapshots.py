"""Engines that the tests of snapshots save and load."""

from __future__ import annotations

import datetime
import json
import zipfile
from collections import Counter

import eddy
from tests.inside import engine_from


def counts(engine):
    """What a restart must not change of the statistics."""
    now = engine.statistics()
    streams = [(stream.name, stream.rows, stream.live) for stream in now.streams]
    return now.events, now.results, now.migrations, now.keys_filled, now.composites_filled, streams


def zoned(first=0):
    """Two streams with all kinds of columns, of which the engine keeps some; every kind of key."""
    query = eddy.sql(
        """SELECT A.name, A.at, B.flag, B.weight FROM A [RANGE 4 SECONDS], B [TUMBLING 6 ROWS]
           WHERE A.name = B.name AND A.code = B.code AND A.at <= B.at AND A.weight > 0""",
        {
            "A": {"ts": "timestamp[ms]", "at": "timestamp[us, Europe/Berlin]", "name": "string",
                  "code": "int16", "weight": "float32"},
            "B": {"ts": "timestamp[us]", "at": "timestamp[ns, UTC]", "name": "string",
                  "code": "uint64", "weight": "float64", "flag": "bool"},
        },
    )  # fmt: skip
    return engine_from(first, query, seed=5, batch_size=3)


def feed(engine, start, stop):
    """Some events for `zoned`; the same for the same numbers. Returns the results as sorted tuples."""
    found = []
    zone = datetime.timezone.utc
    for i in range(start, stop):
        at = [
            datetime.datetime(2024, 3, 31, 0, 59, 58 + j, tzinfo=zone) + datetime.timedelta(seconds=i)
            for j in (0, 1)
        ]
        ts = [moment.replace(tzinfo=None) for moment in at]
        names = ["Zoë", None if i % 5 == 0 else "b" * (i % 3)]
        weights = [float("nan") if i % 4 == 0 else -1.0 if i % 7 == 0 else 2.5, 1.0]
        found.append(
            engine.push(
                "A", {"ts": ts[:1] * 2, "at": at, "name": names, "code": [i % 2, 1], "weight": weights}
            )
        )
        found.append(
            engine.push("B", {"ts": ts[:1], "at": at[1:], "name": names[i % 2 :][:1], "code": [1], "weight": [None],
                              "flag": [None if i % 3 == 0 else bool(i % 2)]})
        )  # fmt: skip
    return [(*rows, *values) for result in found for rows, values in sorted(contents(result))]


def contents(result):
    """Row numbers and values of each result."""
    return list(
        zip(map(tuple, result.rows.tolist()), zip(*result.to_pydict().values(), strict=True), strict=True)
    )


def header_of(file):
    """The header of a snapshot."""
    with zipfile.ZipFile(file) as archive:
        return json.loads(archive.read("header.json"))


def plain(query=None, plan=None, **options):
    """Two or three streams of integers."""
    query = query or eddy.sql(
        "SELECT A.x, B.y FROM A [ROWS 50], B [ROWS 50] WHERE A.x = B.x",
        {"A": {"x": "int64"}, "B": {"x": "int64", "y": "int64"}},
    )
    return eddy.Eddy(query, plan, **options)


def rows_of(result):
    """Row numbers, as a multiset."""
    return Counter(map(tuple, result.rows.tolist()))
