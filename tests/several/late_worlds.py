"""Random sets of queries whose rows come out of order and wait, each beside its oracle: an engine of its own."""

from __future__ import annotations

import eddy
from tests.several.statements import WORDS, made, statement
from tests.several.worlds import TECHNIQUES, columns, records


def check(pick, steps=12):
    """Some queries: in the end each has given what it gives alone."""
    lateness = pick.choice([0, 4])
    options = {
        "batch_size": pick.choice([1, 16, 4096]),
        "migration": pick.choice(TECHNIQUES),
        "lateness": lateness,
    }
    queries = {}
    for i in range(pick.integer(1, 4)):
        query = made(statement(pick))
        try:
            eddy.Eddy(query, **options)
        except eddy.EddyError:
            continue
        queries[f"q{i}"] = query
    engine = eddy.Eddy(queries, **options)
    alone = {name: eddy.Eddy(query, **options) for name, query in queries.items()}
    found, wanted, now = {name: [] for name in queries}, {name: [] for name in queries}, 0
    streams = sorted({stream for query in queries.values() for stream in query.streams})

    def take(given, own):
        for name in queries:
            found[name] += records(given[name])
            wanted[name] += [] if own.get(name) is None else records(own[name])

    for _ in range(pick.integer(3, steps) if streams else 0):
        rows = {}
        for _ in range(pick.integer(1, 8)):
            now += 1  # no two rows have one time
            row = {"ts": now, "x": pick.integer(0, 2), "y": pick.integer(0, 2), "v": pick.integer(0, 9)}
            rows.setdefault(pick.choice(streams), []).append({**row, "s": pick.choice(WORDS)})
        if lateness:
            rows = {stream: pick.shuffled(of) if len(of) < 4 else of for stream, of in rows.items()}
        batches = {stream: columns(stream, of) for stream, of in rows.items()}
        own = {
            name: one.push_all({s: of for s, of in batches.items() if s in one.query.streams})
            for name, one in alone.items()
        }
        take(engine.push_all(batches), own)
        if pick.chance(30):
            take(engine.advance(now), {name: one.advance(now) for name, one in alone.items()})
    take(engine.close(), {name: one.close() for name, one in alone.items()})
    for name, query in queries.items():
        assert sorted(found[name]) == sorted(wanted[name]), (name, str(query))
