"""Polars: lazy frames over the bounded data, joined by key and filtered by time, with or without buckets of time."""

from __future__ import annotations

from typing import Any

import polars as pl
import pyarrow as pa

from benchmarks.peers.protocol import Clock, serve
from benchmarks.peers.spec import Spec


class Polars:
    """The data are frames in memory; the number of threads is set by the command, in the environment."""

    def __init__(self, spec: Spec, settings: dict[str, Any]) -> None:
        self.spec, self.settings = spec, settings
        self.frames = {name: pl.read_parquet(spec.path(name)) for name in spec.names}
        self.engine = settings.get("engine", "streaming")
        self.facts = {
            "version": pl.__version__,
            "settings": f"POLARS_MAX_THREADS = {pl.thread_pool_size()}, engine = {self.engine}",
            "data": "frames in memory",
            "results": "a frame in memory",
        }

    def run(self, check: bool) -> tuple[Clock, pa.Table]:
        with Clock() as clock:
            found = plan(self.spec, self.frames, self.settings["buckets"]).collect(engine=self.engine)
        return clock, found.to_arrow()


def plan(spec: Spec, frames: dict[str, pl.DataFrame], buckets: bool) -> pl.LazyFrame:
    """The join of all streams in the order of the workload."""
    first, joined = spec.names[0], None
    for name in spec.names:
        part = frames[name].lazy()
        if name in spec.filters:
            part = part.filter(pl.sql_expr(spec.filters[name]))
        unit = spec.range if buckets and spec.range is not None else spec.tumbling
        if unit is not None:
            bucket = pl.col("ts") // unit
            if name != first and spec.tumbling is None:
                bucket = pl.concat_list(bucket - 1, bucket, bucket + 1)
            part = part.with_columns(bucket.alias("bucket"))
            if name != first and spec.tumbling is None:
                part = part.explode("bucket")
        part = part.rename({column: f"{name}_{column}" for column in spec.streams[name]})
        if joined is None:
            joined = part
            continue
        # A key that both sides share is named as in the first of them, wherever it came from.
        links = spec.links(name)
        left = [f"{other}_{theirs}" for _, (other, theirs) in links]
        right = [f"{name}_{mine}" for mine, _ in links]
        both = ["bucket"] if unit is not None else []
        joined = joined.join(part, left_on=left + both, right_on=right + both, coalesce=False)
        if both:
            joined = joined.drop("bucket_right")
        if spec.range is not None:
            before = spec.names[: spec.names.index(name)]
            own = pl.col(f"{name}_ts")
            joined = joined.filter(
                *((own - pl.col(f"{other}_ts")).is_between(-spec.range, spec.range) for other in before)
            )
    assert joined is not None
    return joined.select(spec.outputs())


if __name__ == "__main__":
    serve(Polars)
