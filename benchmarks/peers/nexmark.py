"""Join queries of the Nexmark benchmark over rows like those of its generator: 1 person, 3 auctions, 46 bids in 50.

Query 3: who sells in three states in one category. Query 8: new persons that open an auction in the same ten seconds;
all pairs of both, without the grouping that makes them distinct. Query 20: bids with their auctions in one category. In
3 and 20 rows are kept for ever, as the queries say. Of the generator we keep the proportions, that half of all auctions
and bids belong to hot persons and auctions, and that rows refer to recent ones; texts are shorter.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import pyarrow as pa

STATES = ("AZ", "CA", "ID", "OR", "WA", "WY")
CITIES = (
    "Phoenix",
    "Los Angeles",
    "San Francisco",
    "Boise",
    "Portland",
    "Bend",
    "Redmond",
    "Seattle",
    "Kent",
)
FIRST = ("Peter", "Paul", "Luke", "John", "Saul", "Vicky", "Kate", "Julie", "Sarah", "Deiter", "Walter")
LAST = ("Shultz", "Abrams", "Spencer", "White", "Bartels", "Walton", "Smith", "Jones", "Noris")
CHANNELS = ("Google", "Facebook", "Baidu", "Apple")
ACTIVE = 1_000
"""Persons that may still sell, and auctions that may still have bids."""
HOT = 100
"""One in so many persons or auctions is hot."""
Made = tuple[dict[str, Any], Mapping[str, pa.Table]]


def tables(events: int, seed: int) -> dict[str, pa.Table]:
    """All three streams; an event's number is its time in milliseconds."""
    random = np.random.default_rng(seed)
    ts = np.arange(events)
    kind = ts % 50
    person, auction, bid = (ts[kind == 0], ts[(kind > 0) & (kind < 4)], ts[kind >= 4])

    def texts(values: tuple[str, ...], n: int) -> np.ndarray[Any, Any]:
        return np.array(values)[random.integers(0, len(values), n)]

    def reference(at: np.ndarray[Any, Any], times: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
        """Of the rows at these times one that is there already: a hot one, or one of the last `ACTIVE`."""
        newest = np.maximum(np.searchsorted(times, at) - 1, 0)
        recent = np.maximum(newest - random.integers(0, ACTIVE, len(at)), 0)
        return np.where(random.random(len(at)) < 0.5, newest // HOT * HOT, recent)

    n = len(person)
    names = np.char.add(np.char.add(texts(FIRST, n), " "), texts(LAST, n))
    persons = {"ts": person, "id": np.arange(n), "name": names, "city": texts(CITIES, n)}
    auctions = {
        "ts": auction,
        "id": np.arange(len(auction)),
        "seller": reference(auction, person),
        "category": random.integers(10, 15, len(auction)),
        "initial": random.integers(1, 10_000, len(auction)),
    }
    bids = {
        "ts": bid,
        "auction": reference(bid, auction),
        "bidder": reference(bid, person),
        "price": random.integers(1, 1_000_000, len(bid)),
        "channel": texts(CHANNELS, len(bid)),
    }
    return {
        "person": pa.table(persons | {"state": texts(STATES, n)}),
        "auction": pa.table(auctions),
        "bid": pa.table(bids),
    }


def _made(events: int, seed: int, streams: tuple[str, ...], content: dict[str, Any]) -> Made:
    found = {name: table for name, table in tables(events, seed).items() if name in streams}
    types = {
        name: {field.name: "int64" if pa.types.is_integer(field.type) else "string" for field in table.schema}
        for name, table in found.items()
    }
    return {"shape": "nexmark", "streams": types} | content, found


def local_items(events: int, seed: int) -> Made:
    content = {
        "equal": [["auction.seller", "person.id"]],
        "filters": {"auction": "category = 10", "person": "state IN ('OR', 'ID', 'CA')"},
        "select": ["person.name", "person.city", "person.state", "auction.id"],
    }
    return _made(12 * events, seed, ("person", "auction"), content)


def new_users(events: int, seed: int) -> Made:
    content = {
        "equal": [["person.id", "auction.seller"]],
        "tumbling": 10_000,
        "select": ["person.id", "person.name", "auction.id"],
    }
    return _made(12 * events, seed, ("person", "auction"), content)


def bids_with_auctions(events: int, seed: int) -> Made:
    content = {
        "equal": [["bid.auction", "auction.id"]],
        "filters": {"auction": "category = 10"},
        "select": ["bid.auction", "bid.bidder", "bid.price", "bid.channel", "bid.ts", "auction.seller"],
    }
    return _made(events, seed, ("auction", "bid"), content)
