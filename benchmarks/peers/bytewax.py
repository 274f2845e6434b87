"""Bytewax: stateful maps written by hand, one for all streams on one key, else a cascade of joins of two sides."""

from __future__ import annotations

import importlib.metadata
from typing import Any

import bytewax.operators as op
import pyarrow as pa
import pyarrow.parquet as pq
from bytewax.dataflow import Dataflow
from bytewax.testing import TestingSink, TestingSource, run_main

from benchmarks.peers.protocol import Clock, serve
from benchmarks.peers.spec import Spec, row_filter

BATCH = 4096
SLACK = 4 * BATCH
"""In a cascade a composite may come later than the row that completed it, by no more events than these."""
Row = tuple[Any, ...]


class Bytewax:
    """Rows are tuples in one list, in the order of time; one worker, since more would share one interpreter lock."""

    def __init__(self, spec: Spec, settings: dict[str, Any]) -> None:
        self.spec = spec
        self.places = {name: {key: i for i, key in enumerate(types)} for name, types in spec.streams.items()}
        filters = {name: row_filter(self.places[name], text) for name, text in spec.filters.items()}
        events: list[tuple[int, str, Row]] = []
        for name, types in spec.streams.items():
            table = pq.read_table(spec.path(name), columns=list(types))
            time = self.places[name]["ts"]
            rows = zip(*(column.to_pylist() for column in table.columns), strict=True)
            events += [(row[time], name, row) for row in rows]
        events.sort()
        self.events, self.filters = events, filters
        self.facts = {
            "version": importlib.metadata.version("bytewax"),
            "settings": f"run_main, TestingSource with batches of {BATCH}",
            "data": "tuples in one list",
            "results": "tuples in one list",
        }

    def run(self, check: bool) -> tuple[Clock, pa.Table]:
        results: list[Row] = []
        with Clock() as clock:
            flow = self._one_key(results) if self.spec.shape == "one key" else self._cascade(results)
            run_main(flow)
        columns = list(zip(*results, strict=True)) or [()] * len(self.spec.select)
        types = [self.spec.streams[name][column] for name, column in self.spec.select]
        arrays = [pa.array(column, kind) for column, kind in zip(columns, types, strict=True)]
        return clock, pa.table(arrays, names=self.spec.outputs())

    def _one_key(self, results: list[Row]) -> Dataflow:
        """One map by key, which keeps the live rows of each stream."""
        spec, width = self.spec, self.spec.range
        assert width is not None
        number = {name: i for i, name in enumerate(spec.names)}
        others = [[i for i in range(len(number)) if i != own] for own in range(len(number))]
        key, payload = self.places["A"]["k"], self.places["A"]["id"]

        def keyed(event: tuple[int, str, Row]) -> tuple[str, Any]:
            now, name, row = event
            return str(row[key]), (now, number[name], row[payload])

        def step(state: Any, event: tuple[int, int, Any]) -> tuple[Any, Any]:
            if state is None:
                state = [[] for _ in number]
            now, own, value = event
            low = now - width
            found = [[None] * len(number)]
            found[0][own] = value
            for other in others[own]:
                rows = state[other]
                if rows and rows[0][0] < low:
                    rows = state[other] = [row for row in rows if row[0] >= low]
                found = [[*p[:other], v, *p[other + 1 :]] for p in found for _, v in rows]
                if not found:
                    break
            state[own].append((now, value))
            return state, [tuple(row) for row in found]

        flow = Dataflow("join")
        rows = op.map("key", op.input("in", flow, TestingSource(self.events, batch_size=BATCH)), keyed)
        joined = op.stateful_flat_map("join", rows, step)
        op.output("out", op.map("value", joined, lambda pair: pair[1]), TestingSink(results))
        return flow

    def _cascade(self, results: list[Row]) -> Dataflow:
        """A map for each join, by its key. A composite has its first and last time, and a row of each stream."""
        spec = self.spec
        order = {name: i for i, name in enumerate(spec.names)}
        flow = Dataflow("join")
        source = op.input("in", flow, TestingSource(self.events, batch_size=BATCH))
        joined: Any = None
        for name in spec.names:
            part = op.filter(f"of {name}", source, lambda event, name=name: event[1] == name)
            if name in self.filters:
                part = op.filter(f"only {name}", part, lambda event, test=self.filters[name]: test(event[2]))
            part = op.map(f"row {name}", part, lambda event: (event[0], event[0], (event[2],)))
            if joined is None:
                joined = part
                continue
            ((mine, (other, theirs)),) = spec.links(name)
            left, right = (order[other], self.places[other][theirs]), self.places[name][mine]
            lefts = op.map(
                f"left {name}",
                joined,
                lambda row, at=left: (str(row[2][at[0]][at[1]]), (0, *row)),
            )
            rights = op.map(f"right {name}", part, lambda row, at=right: (str(row[2][0][at]), (1, *row)))
            both = op.merge(f"merge {name}", lefts, rights)
            pairs = op.stateful_flat_map(f"join {name}", both, self._pairs())
            joined = op.map(f"value {name}", pairs, lambda pair: pair[1])
        output = [(order[name], self.places[name][column]) for name, column in spec.select]
        chosen = op.map("select", joined, lambda row: tuple([row[2][i][c] for i, c in output]))
        op.output("out", chosen, TestingSink(results))
        return flow

    def _pairs(self) -> Any:
        """The step of a join of two sides."""
        width, pane = self.spec.range, self.spec.tumbling
        keep = None if width is None and pane is None else (width or pane or 0) + SLACK

        def step(state: Any, event: Any) -> tuple[Any, Any]:
            if state is None:
                state = ([], [])
            side, first, last, rows = event
            partners = state[1 - side]
            if keep is not None and partners and partners[0][1] < last - keep:
                partners[:] = [row for row in partners if row[1] >= last - keep]
            state[side].append((first, last, rows))
            found = []
            for begin, end, others in partners:
                low, high = min(first, begin), max(last, end)
                if (width is None or high - low <= width) and (pane is None or low // pane == high // pane):
                    found.append((low, high, (*others, *rows) if side else (*rows, *others)))
            return state, found

        return step


if __name__ == "__main__":
    serve(Bytewax)
