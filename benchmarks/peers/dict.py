"""A plain Python program: dictionaries of deques, one event at a time, a fixed order of look-ups for each stream."""

from __future__ import annotations

import platform
from collections import deque
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from benchmarks.peers.protocol import Clock, serve
from benchmarks.peers.spec import Spec, row_filter

Row = tuple[Any, ...]


class Dict:
    """Events are tuples in one list, in the order of time; results are appended to a list."""

    def __init__(self, spec: Spec, settings: dict[str, Any]) -> None:
        self.spec = spec
        self.places = {name: {key: i for i, key in enumerate(types)} for name, types in spec.streams.items()}
        self.events: list[tuple[str, Row]] = []
        for name, types in spec.streams.items():
            table = pq.read_table(spec.path(name), columns=list(types))
            rows = zip(*(column.to_pylist() for column in table.columns), strict=True)
            self.events += [(name, row) for row in rows]
        self.events.sort(key=lambda event: event[1][self.places[event[0]]["ts"]])
        self.facts = {
            "version": f"Python {platform.python_version()}",
            "settings": "one deque of live rows for each stream, column and key",
            "data": "tuples in one list",
            "results": "tuples in one list",
        }

    def run(self, check: bool) -> tuple[Clock, pa.Table]:
        results: list[Row] = []
        with Clock() as clock:
            self._join(results)
        columns = list(zip(*results, strict=True)) or [()] * len(self.spec.select)
        types = [self.spec.streams[name][column] for name, column in self.spec.select]
        arrays = [pa.array(column, kind) for column, kind in zip(columns, types, strict=True)]
        return clock, pa.table(arrays, names=self.spec.outputs())

    def _join(self, results: list[Row]) -> None:
        spec = self.spec
        indexes: dict[tuple[str, int], dict[Any, deque[Row]]] = {}
        steps = {name: self._steps(name, indexes) for name in spec.names}
        own = {
            name: [(column, index) for (other, column), index in indexes.items() if other == name]
            for name in spec.names
        }
        order = {name: i for i, name in enumerate(spec.names)}
        output = [(order[name], self.places[name][column]) for name, column in spec.select]
        filters = {name: row_filter(self.places[name], text) for name, text in spec.filters.items()}
        times = {name: places["ts"] for name, places in self.places.items()}
        width, pane = spec.range, spec.tumbling
        low = -1
        for name, row in self.events:
            if name in filters and not filters[name](row):
                continue
            now = row[times[name]]
            if width is not None:
                low = now - width
            elif pane is not None:
                low = now // pane * pane
            for column, index in own[name]:
                rows = index.get(row[column])
                if rows is None:
                    index[row[column]] = deque((row,))
                else:
                    rows.append(row)
            found: list[list[Any]] = [[None] * len(order)]
            found[0][order[name]] = row
            for place, time, index, of, column in steps[name]:
                longer = []
                for partial in found:
                    rows = index.get(partial[of][column])
                    if rows is None:
                        continue
                    while rows and rows[0][time] < low:
                        rows.popleft()
                    for other in rows:
                        bigger = partial.copy()
                        bigger[place] = other
                        longer.append(bigger)
                found = longer
                if not found:
                    break
            for complete in found:
                results.append(tuple([complete[place][column] for place, column in output]))

    def _steps(self, name: str, indexes: Any) -> list[tuple[int, int, Any, int, int]]:
        """From a row of this stream to all others, along the conditions: where a partner goes and how it is found."""
        spec, have = self.spec, [name]
        order = {other: i for i, other in enumerate(spec.names)}
        found = []
        while len(have) < len(order):
            for left, right in spec.equal:
                for (one, mine), (other, theirs) in ((left, right), (right, left)):
                    if one in have and other not in have:
                        place = self.places[other]
                        index = indexes.setdefault((other, place[theirs]), {})
                        found.append((order[other], place["ts"], index, order[one], self.places[one][mine]))
                        have.append(other)
        return found


if __name__ == "__main__":
    serve(Dict)
