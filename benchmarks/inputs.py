"""What users bring: the same join with its rows in every ordinary form, and auctions with strings that nobody compares.

`python -m benchmarks.inputs [part of a name ...]` prints for each form how many events a second go in, and come out as
an Arrow table, and how that compares with numpy arrays whose results are counted only. All take the same rows in turns
(`benchmarks.ratio`). Then pushes of few rows, and the auctions: bids with the auction that each is for (query 20 of
Nexmark, without its filter), as whole numbers only, with the strings of both streams, and that in a program of Python
dictionaries.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import pyarrow as pa
from attrs import define, field

import eddy
import policies
from benchmarks.ratio import Race, table

NAMES, KEYS, BATCH, PUSHES = "ABC", 10_000, 4096, 12
WINDOW = 30_000
COUNTED = "numpy, counted"
FULL = 8
"""Chunks until windows are full."""
Columns = Mapping[str, Any]

TEXTS = np.array([f"user-{i:06d}" for i in range(KEYS)], dtype=object)
ARROW_TEXTS = pa.array(TEXTS, pa.string())


@define
class Form:
    """A form of input: the query's columns and predicates, how rows are brought, and what is asked of the engine."""

    types: Mapping[str, str] = field(factory=dict)
    where: tuple[str, ...] = ("A.k = B.k", "A.k = C.k")
    brought: Callable[[Columns], Columns] = lambda columns: columns
    make: Callable[[Columns], Any] = dict
    options: Mapping[str, Any] = field(factory=dict)
    asked: Mapping[str, Any] = field(factory=dict)
    window: Any = WINDOW
    like: str = "all"
    """Forms of the same word find the same number of results."""

    def engine(self) -> eddy.Eddy:
        """An engine for it."""
        columns = {"ts": "int64", "k": "int64", "v": "float64", **self.types}
        streams = dict.fromkeys(NAMES, eddy.Stream(columns, window=eddy.Range(self.window)))
        query = eddy.Query(streams, where=list(self.where), **self.asked)
        return eddy.Eddy(query, batch_size=BATCH, **self.options)


def _arrow(columns: Columns) -> Any:
    return pa.table(dict(columns))


def _pandas(columns: Columns) -> Any:
    return _arrow(columns).to_pandas()


def _polars(columns: Columns) -> Any:
    import polars

    return polars.from_arrow(_arrow(columns))


def _with(name: str, values: Callable[[Any], Any]) -> Callable[[Columns], Columns]:
    return lambda columns: {**columns, name: values(columns[name])}


def _objects(keys: Any) -> Any:
    return TEXTS[keys]


def _strings(keys: Any) -> Any:
    return ARROW_TEXTS.take(pa.array(keys))


def _dictionary(keys: Any) -> Any:
    return pa.DictionaryArray.from_arrays(pa.array(keys.astype(np.int32)), ARROW_TEXTS)


def _instants(times: Any) -> Any:
    return pa.array(times, pa.timestamp("us", "UTC"))


def _nulls(keys: Any) -> Any:
    return pa.array(keys, mask=np.arange(len(keys)) % 100 == 7)


def _second(columns: Columns) -> Columns:
    return {**columns, "j": columns["k"] % 7}


TEXT = {"k": "string"}
GROUPS = {"group_by": ["A.k"], "aggregates": {"n": "COUNT(*)", "s": "SUM(B.v)"}}
FORMS = {
    COUNTED: Form(),
    "numpy": Form(),
    "Arrow": Form(make=_arrow),
    "pandas": Form(make=_pandas),
    "polars": Form(make=_polars),
    "Arrow, timestamps with a zone": Form(
        {"ts": "timestamp[us, UTC]"}, brought=_with("ts", _instants), make=_arrow, window="30 ms"
    ),
    "Arrow, string keys": Form(TEXT, brought=_with("k", _strings), make=_arrow),
    "Arrow, dictionary-coded string keys": Form(TEXT, brought=_with("k", _dictionary), make=_arrow),
    "numpy, string keys as objects": Form(TEXT, brought=_with("k", _objects)),
    "Arrow, 1 % of the keys NULL": Form(brought=_with("k", _nulls), make=_arrow, like="nulls"),
    "numpy, a filter keeps 90 %": Form(where=("A.k = B.k", "A.k = C.k", "A.v > 0.1"), like="filter"),
    "numpy, a key of two columns": Form(
        {"j": "int64"}, ("A.k = B.k", "A.j = B.j", "A.k = C.k", "A.j = C.j"), brought=_second
    ),
    "numpy, A.v < B.v too": Form(where=("A.k = B.k", "A.k = C.k", "A.v < B.v"), like="theta"),
    "numpy, retractions": Form(options={"retractions": True}, like="signed"),
    "numpy, GROUP BY k, COUNT and SUM": Form(asked=GROUPS, like="groups"),
    "numpy, memory budget": Form(options={"memory": "1 GB"}),
    "numpy, Mns feedback": Form(options={"feedback": policies.Mns()}),
}


def forms(names: list[str], rounds: int) -> list[tuple[Any, ...]]:
    """Each form beside the first: million events a second, and the ratio."""
    rng, now = np.random.default_rng(5), 0
    chosen = {n: f for n, f in FORMS.items() if n == COUNTED or not names or any(part in n for part in names)}
    engines = {name: form.engine() for name, form in chosen.items()}

    def prepare() -> Mapping[str, Any]:
        nonlocal now
        chunk: dict[str, list[Any]] = {name: [] for name in chosen}
        for _ in range(PUSHES):
            of, times = rng.integers(0, 3, BATCH), np.arange(now, now + BATCH)
            keys, values = rng.integers(0, KEYS, BATCH), rng.random(BATCH)
            now += BATCH
            for name, form in chosen.items():
                rows = {s: np.flatnonzero(of == i) for i, s in enumerate(NAMES)}
                columns = {s: {"ts": times[at], "k": keys[at], "v": values[at]} for s, at in rows.items()}
                chunk[name].append({s: form.make(form.brought(c)) for s, c in columns.items()})
        return chunk

    def side(name: str) -> Callable[[Any], int]:
        engine = engines[name]
        if name == COUNTED:
            return lambda chunk: sum([len(engine.push_all(batches)) for batches in chunk])
        return lambda chunk: sum([engine.push_all(batches).to_arrow().num_rows for batches in chunk])

    race = Race({name: side(name) for name in chosen}, prepare, alike=lambda name: chosen[name].like)
    return _lines(race, rounds, PUSHES * BATCH, COUNTED)


def _lines(race: Race, rounds: int, events: int, first: str) -> list[tuple[Any, ...]]:
    race.warm(FULL)
    race.run(rounds)
    timings = race.timings(events)
    return [(name, f"{timings.rate(name):.2f}", f"{timings.ratio(name, first):.2f}") for name in race.sides]


# Auctions

BIDS, AUCTIONS = 3840, 256
"""Of a push."""
RECENT = 2_000
"""Bids are for one of so many auctions before."""
LETTERS = np.frombuffer(b"abcdefghijklmnopqrstuvwxyz0123456789/-", np.uint8)
NUMBERS = {
    "auction": {"ts": "int64", "id": "int64", "category": "int64"},
    "bid": {"ts": "int64", "auction": "int64", "price": "int64"},
}
STRINGS = {"auction": ["extra"], "bid": ["url", "extra"]}


def _random_texts(rng: np.random.Generator, n: int) -> pa.Array:
    """Strings of 30 to 100 characters."""
    ends = np.zeros(n + 1, np.int32)
    np.cumsum(rng.integers(30, 101, n), out=ends[1:])
    letters = LETTERS[rng.integers(0, len(LETTERS), int(ends[-1]))]
    return pa.Array.from_buffers(pa.string(), n, [None, pa.py_buffer(ends), pa.py_buffer(letters)])


class Dictionaries:
    """The same join as a program of Python's own: auctions by their id, for as long as their window is open."""

    def __init__(self, window: int) -> None:
        self.window, self.auctions = window, {}
        self.ids: list[tuple[int, int]] = []
        self.first = 0

    def step(self, chunk: list[Any]) -> int:
        """The results of some pushes: lists of rows, in the order of time."""
        found = 0
        for auctions, bids in chunk:
            now = auctions[-1][0] if auctions else bids[-1][0]
            for row in auctions:
                self.auctions[row[1]] = row
                self.ids.append((row[0], row[1]))
            results = []
            for row in bids:
                auction = self.auctions.get(row[1])
                if auction is not None and auction[0] > row[0] - self.window:
                    results.append(auction + row)
            while self.first < len(self.ids) and self.ids[self.first][0] <= now - self.window:
                del self.auctions[self.ids[self.first][1]]
                self.first += 1
            found += len(results)
        return found


def auctions(rounds: int) -> list[tuple[Any, ...]]:
    """Bids with their auctions: whole numbers only, with strings, and by Python's dictionaries."""
    rng, now, made, window = np.random.default_rng(7), 0, 0, 40 * (BIDS + AUCTIONS)
    full = {name: {**of, **dict.fromkeys(STRINGS[name], "string")} for name, of in NUMBERS.items()}
    plain = Dictionaries(window)

    def engine(streams: Mapping[str, Mapping[str, str]]) -> eddy.Eddy:
        declared = {
            n: eddy.Stream(dict(of), window=eddy.Range(window), time="ts") for n, of in streams.items()
        }
        return eddy.Eddy(eddy.Query(declared, where=["auction.id = bid.auction"]), batch_size=BATCH)

    def prepare() -> Mapping[str, Any]:
        nonlocal now, made
        chunk: dict[str, list[Any]] = {"whole numbers": [], "with strings": [], "Python dictionaries": []}
        for _ in range(PUSHES):
            ids = np.arange(made, made + AUCTIONS)
            auction = {"ts": now + np.arange(AUCTIONS), "id": ids, "category": rng.integers(0, 10, AUCTIONS)}
            newest = made + AUCTIONS - 1
            bid = {"ts": now + AUCTIONS + np.arange(BIDS), "auction": newest - rng.integers(0, RECENT, BIDS)}
            bid["price"] = rng.integers(1, 10_000, BIDS)
            now, made = now + AUCTIONS + BIDS, made + AUCTIONS
            brought = {"auction": pa.table(auction), "bid": pa.table(bid)}
            chunk["whole numbers"].append(brought)
            for name, texts in STRINGS.items():
                for text in texts:
                    values = _random_texts(rng, brought[name].num_rows)
                    brought = {**brought, name: brought[name].append_column(text, values)}
            chunk["with strings"].append(brought)
            rows = [list(zip(*brought[name].to_pydict().values(), strict=True)) for name in NUMBERS]
            chunk["Python dictionaries"].append(rows)
        return chunk

    def side(of: eddy.Eddy) -> Callable[[Any], int]:
        return lambda chunk: sum([of.push_all(batches).to_arrow().num_rows for batches in chunk])

    sides = {"whole numbers": side(engine(NUMBERS)), "with strings": side(engine(full))}
    race = Race({**sides, "Python dictionaries": plain.step}, prepare)
    return _lines(race, rounds, PUSHES * (BIDS + AUCTIONS), "whole numbers")


# Few rows at a time

SMALL_FORMS: dict[str, tuple[dict[str, str], Callable[[int], Columns]]] = {
    "1 row, numpy": ({}, lambda i: {"ts": np.array([i]), "k": np.array([i % 97]), "v": np.array([0.5])}),
    "1 row, lists": ({}, lambda i: {"ts": [i], "k": [i % 97], "v": [0.5]}),
    "1 row, a list with a string key": (TEXT, lambda i: {"ts": [i], "k": [f"user-{i % 97}"], "v": [0.5]}),
    "1 row, a list with a timestamp": (
        {"ts": "timestamp[us]"},
        lambda i: {"ts": [np.datetime64(i, "us").item()], "k": [i % 97], "v": [0.5]},
    ),
}


def small(rounds: int) -> list[tuple[Any, ...]]:
    """Pushes of one row of one of four streams: microseconds."""
    names, lines = "ABCD", []
    for name, (types, row) in SMALL_FORMS.items():
        columns = {"ts": "int64", "k": "int64", "v": "float64", **types}
        streams = dict.fromkeys(names, eddy.Stream(columns, window=eddy.Rows(100)))
        engine = eddy.Eddy(eddy.Query(streams, where=["A.k = B.k", "B.k = C.k", "C.k = D.k"]))
        state = {"i": 0}

        def prepare(row: Any = row, state: Any = state) -> Mapping[str, Any]:
            state["i"] += 500
            return {"push": [(names[i % 4], row(i)) for i in range(state["i"], state["i"] + 500)]}

        def step(chunk: Any, engine: eddy.Eddy = engine) -> int:
            return sum([len(engine.push(*push)) for push in chunk])

        race = Race({"push": step}, prepare)
        race.warm(4)
        race.run(rounds)
        lines.append((name, f"{1 / race.timings(500).rate('push'):.1f}"))
    return lines


def main(names: list[str]) -> None:
    """Print all tables, or only the forms whose names have one of these parts."""
    rounds = 24
    print(table(("form", "million events/s", f"of {COUNTED!r}"), forms(names, rounds)))
    if not names or "small" in names:
        print("\n" + table(("push", "microseconds"), small(rounds)))
    if not names or "auctions" in names:
        print("\n" + table(("auctions and bids", "million events/s", "of whole numbers"), auctions(rounds)))


if __name__ == "__main__":
    main(sys.argv[1:])
