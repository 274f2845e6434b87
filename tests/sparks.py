"""What the tests of Spark share: one session, frames made of rows, and what the oracle says of them."""

from __future__ import annotations

import datetime
import itertools
from collections import Counter

import numpy as np
import pyarrow as pa
import pytest
from attrs import define, field
from pyspark.sql.pandas.types import from_arrow_schema

import eddy
import eddy.spark
from tests import naive
from tests.cases import S, predicate, text, window

ZONED, NAIVE = "timestamp[us, Europe/Berlin]", "timestamp[us]"
EPOCH = datetime.datetime(1970, 1, 1)
START = datetime.datetime(2013, 3, 31)
"""In the hours after this, clocks in Berlin are put forward."""


@pytest.fixture(scope="session")
def spark():
    """A session with two tasks at a time, and a time zone that is not UTC."""
    return eddy.spark.session(
        "local[2]", **{"spark.sql.session.timeZone": "America/New_York", "spark.driver.memory": "1g"}
    )


def moment(seconds, zoned=False):
    """A time of the feeds as a datetime."""
    found = START + datetime.timedelta(minutes=10 * seconds)
    return found.replace(tzinfo=datetime.timezone.utc) if zoned else found


@define
class Feed:
    """Streams of rows in order of time, each with an ``id``, its number, and what is asked of them.

    Times are whole numbers; a stream whose column is a timestamp shows them as minutes.
    """

    streams: dict
    where: list
    rows: dict = field(init=False)
    static: tuple = ()

    def fill(self, seed=0, sizes=60, span=80, keys=6, nulls=0.1, skew=0.0):
        """Random rows, with NULLs among all but times and ids."""
        random = np.random.default_rng(seed)
        self.rows = {}
        for place, (name, stream) in enumerate(self.streams.items()):
            n = sizes if isinstance(sizes, int) else sizes[place]
            times = np.sort(random.integers(0, span, n)).tolist()
            self.rows[name] = [
                tuple(
                    times[i]
                    if c == stream.time
                    else i
                    if c == "id"
                    else self._value(random, kind, keys, nulls, skew)
                    for c, kind in stream.columns.items()
                )
                for i in range(n)
            ]
        return self

    def _value(self, random, kind, keys, nulls, skew):
        if random.random() < nulls:
            return None
        key = 0 if random.random() < skew else int(random.integers(0, keys))
        return {"string": f"key é{key}", "float64": key / 2, "bool": key % 2 == 0}.get(kind, key)

    @property
    def query(self):
        """The query, which gives the ids of the rows."""
        streams = {
            name: eddy.Stream(s.columns, window=self._window(s), time=s.time, static=name in self.static)
            for name, s in self.streams.items()
        }
        select = [f"{name}.id AS {name}" for name in self.streams]
        return eddy.Query(streams, where=[predicate(tree) for tree in self.where], select=select)

    def _window(self, stream):
        kind, *size = stream.window
        if (
            stream.time is not None
            and stream.columns[stream.time].startswith("timestamp")
            and "rows" not in kind
        ):
            width = f"{10 * size[0]} minutes" if size else None
            return {"range": eddy.Range, "tumbling time": lambda w: eddy.Tumbling(time=w)}[kind](width)
        return window(stream)

    def table(self, name):
        """The rows of a stream as Arrow."""
        columns = {}
        for place, (column, kind) in enumerate(self.streams[name].columns.items()):
            values = [row[place] for row in self.rows[name]]
            if kind.startswith("timestamp"):
                values = [None if v is None else moment(v, "," in kind) for v in values]
                columns[column] = pa.array(values, pa.timestamp("us", "UTC" if "," in kind else None))
            else:
                columns[column] = pa.array(
                    values, {"bool": pa.bool_(), "float64": pa.float64()}.get(kind, kind)
                )
        return pa.table(columns)

    def frames(self, spark):
        """A DataFrame for each stream."""
        tables = {name: self.table(name) for name in self.streams}
        return {
            name: spark.createDataFrame(table, from_arrow_schema(table.schema))
            for name, table in tables.items()
        }

    def events(self):
        """The rows of all streams in order of time; static ones come first."""
        names = list(self.streams)
        found = []
        for name, stream in self.streams.items():
            for row in self.rows[name]:
                time = (
                    -1
                    if name in self.static or stream.time is None
                    else row[list(stream.columns).index(stream.time)]
                )
                found.append((time, names.index(name), row[list(stream.columns).index("id")], name, row))
        return [(name, row) for *_, name, row in sorted(found, key=lambda event: event[:3])]

    def expected(self):
        """What the oracle gives: ids, and how often."""
        streams, events = dict(self.streams), self.events()
        for name in self.static:  # to the oracle they are rows of long ago
            streams[name] = S({**streams[name].columns, "ts": "int64"}, time="ts")
            events = [(other, (*row, -1000) if other == name else row) for other, row in events]
        answers = naive.join(streams, self.where, events)
        return Counter(tuple(result) for found in answers for result in found)


def ids(frame):
    """The ids in the rows of a DataFrame, and how often."""
    return Counter(zip(*frame.toArrow().to_pydict().values(), strict=True))


def equal(*columns):
    """A chain of equalities between columns such as "A.k"."""
    refs = [("col", *column.split(".")) for column in columns]
    return [("=", one, other) for one, other in itertools.pairwise(refs)]


def stream(window=("range", 12), time="int64", **columns):
    """A stream with a time, an id and keys."""
    return S({"ts": time, "id": "int64", **columns}, window, "ts")


__all__ = ["EPOCH", "NAIVE", "ZONED", "Feed", "S", "equal", "ids", "moment", "spark", "stream", "text"]
