"""The queries of a run of several, over streams that they declare alike."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from attrs import evolve, frozen

from eddy.errors import EddyError, QueryError, StateError
from eddy.query.query import Query
from eddy.query.stream import Stream
from eddy.query.windows import Unbounded
from eddy.running.asked import check_used, declared, named_sources, tables_of
from eddy.several.core import feed_query
from eddy.shown import shown
from eddy.snapshot.query import check_same, describe
from eddy.sources.base import Source

SEVERAL = "several"
"""In the manifest of a checkpoint: the queries by name."""


@frozen(eq=False)
class Queries:
    """Several queries by name, and what a run reads for them."""

    by_name: dict[str, Query]
    feed: Query
    """All streams, side by side."""
    sources: dict[str, Source]
    """Of each stream."""


def queries_of(queries: Mapping[str, Any], sources: Mapping[str, Source]) -> Queries:
    """The queries, and a source for each stream. Texts get the columns that any of them names."""
    if not queries:
        raise EddyError("a run has at least one query: {'name': query, ...}")
    for name in queries:
        if not isinstance(name, str) or not name:
            raise EddyError(f"a query has a name, which is a text, not {shown(name)}")
    made = _made(queries, sources)
    streams: dict[str, Stream] = {}
    places: dict[str, str] = {}
    for name, query in made.items():
        tables = tables_of(queries[name]) if isinstance(queries[name], str) else {}
        try:
            found = named_sources(query, sources, tables)
        except EddyError as error:
            raise EddyError(f"query {name}: {error}") from None
        for stream, source in found.items():
            if places.setdefault(stream, source) != source:
                raise EddyError(
                    f"query {name}: stream {stream} is read from {source}, and another query reads one of that name "
                    f"from {places[stream]}: call one of them otherwise, as in FROM {source} AS other"
                )
        for stream, said in query.streams.items():
            streams.setdefault(stream, evolve(said, window=Unbounded()))
    check_used(places, sources, "no query has a")
    feed = feed_query(streams)
    _check_order(made, feed)
    return Queries(made, feed, {stream: sources[name] for stream, name in places.items()})


def _made(queries: Mapping[str, Any], sources: Mapping[str, Source]) -> dict[str, Query]:
    """The queries. Texts have the streams of queries that are there already, others as the sources have them."""
    made = {name: query for name, query in queries.items() if isinstance(query, Query)}
    texts = {name: text for name, text in queries.items() if name not in made}
    if not texts:
        return made
    ours = {
        name: evolve(s, window=Unbounded()) for query in made.values() for name, s in query.streams.items()
    }
    seen = declared(list(texts.values()), sources)
    seen = evolve(seen, named={name: ours.get(name, stream) for name, stream in seen.named.items()})
    for name, text in texts.items():
        try:
            made[name] = seen.query(text)
        except QueryError as error:
            error.args = (f"query {name}: {error}",)
            raise
    return {name: made[name] for name in queries}


def _check_order(queries: Mapping[str, Query], feed: Query) -> None:
    """EddyError where rows have no order that is each query's own."""
    timed = [name for name, query in queries.items() if query.timed]
    if feed.timed or not timed:
        return
    without = [name for name, stream in feed.streams.items() if stream.time is None and not stream.static]
    what = f"stream {without[0]} has no time" if without else "times are of kinds that cannot be compared"
    raise EddyError(
        f"rows of all streams are merged by time, as query {timed[0]} needs it, and {what}: give streams times of one "
        "kind, or run the queries apart"
    )


def described(query: Query | Mapping[str, Query]) -> dict[str, Any]:
    """The query of a run, or several, as JSON can hold them."""
    if isinstance(query, Query):
        return describe(query)
    return {SEVERAL: {name: describe(one) for name, one in query.items()}}


def check_described(saved: dict[str, Any], query: Query | Mapping[str, Query], where: str) -> None:
    """StateError if these are not the queries that were saved."""
    if isinstance(query, Query) and SEVERAL not in saved:
        check_same(saved, query, where)
        return
    theirs = list(saved.get(SEVERAL, ()))
    ours = [] if isinstance(query, Query) else list(query)
    if sorted(theirs) != sorted(ours):
        raise StateError(
            f"the checkpoint {where} is of {_named(theirs)}, not of {_named(ours)}: give these, or another folder of "
            "checkpoints"
        )
    assert not isinstance(query, Query)
    for name, one in query.items():
        check_same(saved[SEVERAL][name], one, where)


def _named(names: list[str]) -> str:
    return f"the queries {', '.join(names)}" if names else "one query without a name"
