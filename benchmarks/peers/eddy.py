"""Eddy: batches of 4,096 events are pushed as numpy arrays, every result is fetched as Arrow, `Auto` steers."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

import eddy
from benchmarks.peers.protocol import Clock, serve
from benchmarks.peers.spec import Spec


class Eddy:
    """The data are columns in memory, cut into batches; the engine is made within the clock."""

    def __init__(self, spec: Spec, settings: dict[str, Any]) -> None:
        self.settings = settings
        self.query = query(spec)
        size = settings.get("batch", 4096)
        tables = {name: pq.read_table(spec.path(name)) for name in spec.names}
        whole = {name: _columns(table, spec.streams[name]) for name, table in tables.items()}
        times = np.sort(np.concatenate([columns["ts"] for columns in whole.values()]))
        cuts = [*times[::size].tolist(), int(times[-1]) + 1]
        places = {name: np.searchsorted(columns["ts"], cuts) for name, columns in whole.items()}
        self.batches = [
            {
                name: {key: values[places[name][i] : places[name][i + 1]] for key, values in columns.items()}
                for name, columns in whole.items()
            }
            for i in range(len(cuts) - 1)
        ]
        self.facts = {
            "version": eddy.__version__ if hasattr(eddy, "__version__") else "",
            "settings": f"Eddy(query, threads={settings.get('threads', 1)}), batches of {size}",
            "data": "numpy columns in memory, cut into batches before the clock starts",
            "results": "every push's result as an Arrow table",
        }

    def run(self, check: bool) -> tuple[Clock, pa.Table]:
        results = []
        with Clock() as clock:
            engine = eddy.Eddy(self.query, threads=self.settings.get("threads", 1))
            for batch in self.batches:
                result = engine.push_all(batch)
                if len(result):
                    results.append(result.to_arrow())
        self.facts["plan"] = str(engine.plan)
        if not results:
            results = [result.to_arrow()]
        return clock, pa.concat_tables(results)


def query(spec: Spec) -> eddy.Query:
    """The query of a workload."""
    window: Any = eddy.Unbounded()
    if spec.range is not None:
        window = eddy.Range(spec.range)
    elif spec.tumbling is not None:
        window = eddy.Tumbling(time=spec.tumbling)
    where = [f"{'.'.join(left)} = {'.'.join(right)}" for left, right in spec.equal]
    for name, condition in spec.filters.items():
        where.append(f"{name}.{condition}")
    select = [f"{'.'.join(column)} AS {out}" for column, out in zip(spec.select, spec.outputs(), strict=True)]
    streams = {name: eddy.Stream(types, window=window) for name, types in spec.streams.items()}
    return eddy.Query(streams, where=where, select=select)


def _columns(table: pa.Table, types: dict[str, str]) -> dict[str, Any]:
    """Numbers as numpy arrays, texts as Arrow arrays, which is what docs/inputs.md says is fastest."""
    return {
        name: table[name].to_numpy() if kind == "int64" else table[name].combine_chunks()
        for name, kind in types.items()
    }


if __name__ == "__main__":
    serve(Eddy)
