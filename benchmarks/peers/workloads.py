"""The workloads: one table for the tests, which run small ones, and for `make peers`."""

from __future__ import annotations

import itertools
import json
import string
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from attrs import frozen

from benchmarks import drift_workloads
from benchmarks.drift_workloads import RARE, Drift, Phase, Spread
from benchmarks.peers import nexmark
from benchmarks.peers.spec import FILE, Spec

EVENTS = 1_000_000
LIVE = 10_000
"""Live rows of a stream with all streams on one key, and so many keys: about one partner for each probe."""


@frozen
class Workload:
    """A join that every contender is asked for."""

    name: str
    title: str
    make: Callable[[int, int], tuple[dict[str, Any], Mapping[str, pa.Table]]]
    """The content of `spec.json` and the rows, for so many events and a seed."""
    events: int = EVENTS

    def write(self, folder: Path, events: int | None = None, seed: int = 0) -> Spec:
        """Put the workload into a folder, unless it is there already."""
        events = self.events if events is None else events
        folder = folder / f"{self.name}-{events}-{seed}"
        if not (folder / FILE).exists():
            folder.mkdir(parents=True, exist_ok=True)
            content, tables = self.make(events, seed)
            for stream, table in tables.items():
                pq.write_table(table, folder / f"{stream}.parquet")
            plain = {"filters": {}, "range": None, "tumbling": None}
            content = plain | content | {"name": self.name, "events": sum(map(len, tables.values()))}
            (folder / FILE).write_text(json.dumps(content, indent=1))
        return Spec.read(folder)


def _one_key(streams: int) -> Callable[[int, int], tuple[dict[str, Any], Mapping[str, pa.Table]]]:
    def make(events: int, seed: int) -> tuple[dict[str, Any], Mapping[str, pa.Table]]:
        random = np.random.default_rng(seed)
        names = string.ascii_uppercase[:streams]
        live = min(LIVE, max(1, events // (4 * streams)))
        of = random.integers(0, streams, events)
        tables = {}
        for number, name in enumerate(names):
            ts = np.flatnonzero(of == number)
            columns = {"ts": ts, "k": random.integers(0, live, len(ts)), "id": np.arange(len(ts))}
            tables[name] = pa.table(columns)
        spec = {
            "shape": "one key",
            "streams": {name: dict.fromkeys(("ts", "k", "id"), "int64") for name in names},
            "equal": [[f"{names[0]}.k", f"{name}.k"] for name in names[1:]],
            "range": live * streams,
            "select": [f"{name}.id" for name in names],
        }
        return spec, tables

    return make


def chain_of_six(window: int = 15_000) -> Drift:
    """Six streams on five attributes, A.v = B.v, B.w = C.w, ...; each phase has another link that hardly matches."""
    links = "vwxyz"
    live = window // 6

    def phase(name: str, selective: str, fans: float = 2.0, **rates: float) -> Phase:
        spreads = {link: Spread(int(live / (RARE if link == selective else fans))) for link in links}
        return Phase(name, rates, spreads)

    attributes = {"A": ("v",), **{s: tuple(links[i : i + 2]) for i, s in enumerate("BCDE")}, "F": ("z",)}
    phases = (
        phase("A B is selective", "v"),
        phase("E F is selective", "z"),
        phase("C D is selective, A comes five times as often", "x", A=5.0),
        phase("B C is selective", "w"),
        phase("D E is selective, F falls nearly silent", "y", F=0.05),
    )
    return Drift("chain of 6", attributes, window, phases)


def _drifting(
    drift: Callable[[int], Drift], shape: str
) -> Callable[[int, int], tuple[dict[str, Any], Mapping[str, pa.Table]]]:
    def make(events: int, seed: int) -> tuple[dict[str, Any], Mapping[str, pa.Table]]:
        feed = drift(min(15_000, events // 10))
        feed = Drift(feed.name, feed.attributes, feed.window, feed.phases, seed)
        size = min(4096, events // 5)
        parts: dict[str, list[dict[str, Any]]] = {name: [] for name in feed.names}
        for _, batch in feed.feed(events // 5, size):
            for name, rows in batch.items():
                parts[name].append(rows)
        tables = {}
        for name, rows in parts.items():
            columns = {key: np.concatenate([part[key] for part in rows]) for key in rows[0]}
            tables[name] = pa.table(columns | {"id": np.arange(len(columns["ts"]))})
        equal = []
        for attribute in dict.fromkeys(itertools.chain(*feed.attributes.values())):
            one, other = (name for name, columns in feed.attributes.items() if attribute in columns)
            equal.append([f"{one}.{attribute}", f"{other}.{attribute}"])
        spec = {
            "shape": shape,
            "streams": {name: dict.fromkeys(table.column_names, "int64") for name, table in tables.items()},
            "equal": equal,
            "range": feed.window,
            "select": [f"{name}.id" for name in feed.names],
        }
        return spec, tables

    return make


WORKLOADS = (
    Workload("three", "3 streams on one key", _one_key(3)),
    Workload("four", "4 streams on one key", _one_key(4)),
    Workload("ten", "10 streams on one key", _one_key(10)),
    Workload("twenty", "20 streams on one key", _one_key(20)),
    Workload("chain", "a chain of 6, drifting", _drifting(chain_of_six, "chain")),
    Workload("star", "a star of 6, drifting", _drifting(drift_workloads.star, "star")),
    Workload("nexmark3", "Nexmark 3", nexmark.local_items),
    Workload("nexmark8", "Nexmark 8, all pairs", nexmark.new_users),
    Workload("nexmark20", "Nexmark 20", nexmark.bids_with_auctions),
)

BY_NAME = {workload.name: workload for workload in WORKLOADS}
