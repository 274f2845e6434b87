"""Loading an engine of several queries: its rows, its queries and their plans; composites are holes."""

from __future__ import annotations

import contextlib
import io
from collections.abc import Callable, Collection, Iterator, Mapping
from types import SimpleNamespace
from typing import Any

import numpy as np
from attrs import evolve, frozen

from eddy.engine.build import House, build, steered
from eddy.engine.options import checked
from eddy.errors import EddyError
from eddy.intake.columns import normalise
from eddy.intake.travel import WHEN
from eddy.query.query import Query
from eddy.query.stream import Stream
from eddy.several.core import signature
from eddy.several.feed import Feed, FeedStream
from eddy.several.opening import Opening, Saved
from eddy.several.own_group import OwnGroup
from eddy.several.registry import Registry
from eddy.several.saving import NESTED, OPTIONS, schema_of
from eddy.several.shared_group import SharedGroup
from eddy.shown import kind_of, shown
from eddy.snapshot import disorder, snapshot
from eddy.snapshot.format import SnapshotFile, damaged, unpack
from eddy.snapshot.header import SEVERAL
from eddy.snapshot.query import arranged, check_same, rebuilt
from eddy.state import EngineState
from eddy.store.payload import Payload
from eddy.values.types import INT64, Column


def registry_of(file: SnapshotFile, queries: Any, options: Mapping[str, Any]) -> tuple[Registry, Any]:
    """All that a snapshot holds, and the metadata that it was saved with; ``options`` go before its own, but for None.

    ``queries`` are those, by name, that cannot be read back from the file since they have functions of one's own; those
    that the file does not have are added, and those that are None left out.
    """
    if queries is not None and not isinstance(queries, Mapping):
        raise EddyError(
            "the snapshot is of several queries: give query= as a dict of names and queries, or leave it out"
        )
    queries = queries or {}
    with file.reading():
        header = file.header[SEVERAL]
        saved_names = _names(header)
        given = {name: value for name, value in options.items() if value is not None}
        order = tuple(given.pop(name, None) for name in ("lateness", "late", "idle", "clock"))
        saved, late = header["disorder"], header["lateness"]
        if saved is not None:
            kept = late, saved["late"], saved["idle"], None
            order = tuple(a if a is not None else b for a, b in zip(order, kept, strict=True))
        own = {name: header["options"][name] for name in OPTIONS}
        none = dict.fromkeys(("routing", "migration", "feedback", "memory"))
        registry = Registry({**none, **own, "threads": 1, **given}, order)
        _restore_feed(registry.feed, header, file)
        registry.changes_dropped = header.get("changes_dropped", 0)  # not in the first snapshots
        registry.waiting.declare()
        if saved is not None:
            like: Any = SimpleNamespace(reorder=registry.waiting.buffer)
            disorder.restore(like, saved, file, len(header["streams"]))
        _check(queries, saved_names)
        for described in header["groups"]:
            if "own" in described:
                _restore_own(registry, described, file, queries)
            else:
                _restore_shared(registry, described, file, queries)
    registry.tidy()
    for name, query in queries.items():
        if name not in saved_names:
            registry.add(name, registry.check(name, query, None), None, True)
    return registry, header["metadata"]


def _names(header: Mapping[str, Any]) -> set[str]:
    """The queries of a snapshot."""
    groups = header["groups"]
    return {one["name"] for group in groups for one in group.get("queries", ())} | {
        group["own"] for group in groups if "own" in group
    }


def _check(queries: Mapping[Any, Any], saved: Collection[str]) -> None:
    """Refuse what is neither a query nor None, and None for what is not in the file."""
    for name, query in queries.items():
        if query is None and name not in saved:
            raise EddyError(
                f"there is no query {shown(name)} in the snapshot that could be left out; it has "
                f"{', '.join(sorted(saved)) or 'none'}"
            )
        if query is not None and not isinstance(query, Query):
            raise EddyError(
                f"query {shown(name)}: give an eddy.Query, or None to leave it out, not {kind_of(query)}"
            )


def _query(described: dict[str, Any], name: str, file: SnapshotFile, queries: Mapping[str, Query]) -> Query:
    given = queries.get(name)
    if given is None:
        return rebuilt(described, file.path)
    check_same(described, given, file.path)
    return arranged(given, described, file.path)


def _restore_feed(feed: Feed, header: dict[str, Any], file: SnapshotFile) -> None:
    for name, said in header["streams"].items():
        what = {key: said[key] for key in ("time", "static", "strict", "parse")}
        declared = Stream(said["columns"], **what)
        payload = Payload({**declared.columns, WHEN: INT64}, feed.pool, said["low"])
        one = feed.streams[name] = FeedStream(declared, payload)
        if said["newest"] is not None:
            dtype = declared.columns[str(declared.time)].dtype
            one.newest = Column(np.array([said["newest"]], dtype))
    feed.events = header["events"]
    for number, (name, one) in enumerate(feed.streams.items()):
        for batch in file.batches(number, schema_of(one.declared)):
            if not batch.num_rows:
                continue
            given = {column: batch.column(f"value {column}") for column in one.declared.columns}
            columns, n = normalise(name, one.declared, given)
            for column, kind in one.declared.columns.items():
                if kind.is_coded:
                    columns[column] = feed.intake.coded(name, column, columns[column])
            when = Column(np.array(batch.column("event"), np.int64))
            one.payload.append({**columns, WHEN: when}, n)
        if one.payload.next_row != header["streams"][name]["next"]:
            raise damaged(file.path, f"stream {name} has not all of its rows")
        if one.payload.next_row:
            feed.intake.loaded = feed.intake.loaded or not one.declared.static


def _restore_shared(
    registry: Registry, described: dict[str, Any], file: SnapshotFile, queries: Mapping[str, Query]
) -> None:
    """A core, and its queries."""
    found = {
        one["name"]: (
            _query(one["query"], one["name"], file, queries),
            None if one["firsts"] is None else np.array(one["firsts"], np.int64),
        )
        for one in described["queries"]
        if one["name"] not in queries or queries[one["name"]] is not None
    }
    if not found:
        return
    every = [query for query, _ in found.values()]
    opening = Opening(
        registry.feed, registry.house, registry.options, described["plan"], described.get("given", False)
    )
    filtered, ordered = any(query.filters for query in every), any(query.in_order for query in every)
    group = SharedGroup(opening, every[0], signature(every[0]), filtered, ordered)
    saved = Saved(
        dict(zip(described["order"], described["lows"], strict=True)),
        described["now"],
        described["pins"],
        described["frozen"],
        described["decided"],
        described["counters"],
    )
    if not group.restore(found, saved):
        raise damaged(file.path, "the rows of a core are not those that its windows hold")
    registry.enter(group, dict(zip(found, every, strict=True)))


def _restore_own(
    registry: Registry, described: dict[str, Any], file: SnapshotFile, queries: Mapping[str, Query]
) -> None:
    """A query that shares no core."""
    name = described["own"]
    if name in queries and queries[name] is None:
        return
    given = _query(described["query"], name, file, queries)
    whole = b"".join(
        piece for batch in file.batches(described["table"], NESTED) for piece in batch.column(0).to_pylist()
    )
    options = {key: value for key, value in registry.options.items() if value is not None}
    state, _ = snapshot.load(
        Nested(whole, file.path),
        given,
        {"plan": None, "retractions": None, **options},
        _maker(registry.house),
    )
    registry.enter(OwnGroup.over(name, state, described["before"]), {name: state.options.query})


def _maker(house: House) -> Callable[[Query, dict[str, Any], bool, int], EngineState]:
    def empty(query: Query, options: dict[str, Any], stays: bool, first_row: int) -> EngineState:
        own = checked(query, **options)
        made = evolve(own, stays=stays or own.stays)
        return steered(build(made, options["plan"], first_row=first_row, house=House(house.access)))

    return empty


@frozen(eq=False)
class Nested:
    """A snapshot inside another: a `Place`."""

    whole: bytes
    path: str

    def save(self, state: EngineState, metadata: Any) -> None:
        raise NotImplementedError("a snapshot inside another is read only")

    @contextlib.contextmanager
    def opened(self) -> Iterator[SnapshotFile]:
        yield unpack(io.BytesIO(self.whole), self.path, "")
