"""Queries of Nexmark as the benchmark's public description words them, in Eddy's SQL, in DuckDB's, and in plain Python.

Times are milliseconds. A Python program is a function of events, ``(stream, row)`` in order of time, that returns its
results; a row is a dict.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Callable, Iterable
from typing import Any

from attrs import frozen

Row = dict[str, Any]
Events = Iterable[tuple[str, Row]]
Found = list[tuple[Any, ...]]
PANE = 10_000
HOP = 2_000
STATES = ("OR", "ID", "CA")


@frozen
class Query:
    """One query. ``short`` says what of the original it leaves out, and why."""

    number: int
    streams: tuple[str, ...]
    eddy: str
    duckdb: str
    python: Callable[[Events], Found]
    changes: bool = False
    """Whether results are those that were announced, panes that are over among them."""
    short: str = ""


def currency(events: Events) -> Found:
    """1: prices in another currency."""
    return [(b["auction"], b["bidder"], b["price"] * 0.908, b["ts"]) for _, b in events]


def selection(events: Events) -> Found:
    """2: bids on some auctions."""
    return [(b["auction"], b["price"]) for _, b in events if b["auction"] % 123 == 0]


def local_items(events: Events) -> Found:
    """3: who sells in some states, in one category."""
    persons: dict[int, Row] = {}
    auctions: defaultdict[int, list[int]] = defaultdict(list)
    found: Found = []
    for stream, row in events:
        if stream == "person":
            if row["state"] in STATES:
                persons[row["id"]] = row
                found += [(row["name"], row["city"], row["state"], a) for a in auctions.get(row["id"], ())]
        elif row["category"] == 10:
            auctions[row["seller"]].append(row["id"])
            seller = persons.get(row["seller"])
            if seller:
                found.append((seller["name"], seller["city"], seller["state"], row["id"]))
    return found


def winning(events: Events) -> dict[int, tuple[Row, int]]:
    """The highest price of each auction while it ran; auctions come before their bids."""
    auctions: dict[int, Row] = {}
    best: dict[int, tuple[Row, int]] = {}
    for stream, row in events:
        if stream == "auction":
            auctions[row["id"]] = row
            continue
        auction = auctions.get(row["auction"])
        if auction is not None and auction["ts"] <= row["ts"] <= auction["expires"]:
            held = best.get(auction["id"])
            if held is None or row["price"] > held[1]:
                best[auction["id"]] = auction, row["price"]
    return best


def final_prices(events: Events) -> Found:
    """4: the inner query: the final price of each auction."""
    return [(a["id"], a["category"], price) for a, price in winning(events).values()]


def hot_items(events: Events) -> Found:
    """5: the inner query: bids for each auction in windows that hop."""
    counts: defaultdict[tuple[int, int], int] = defaultdict(int)
    for _, row in events:
        for hop in range(PANE // HOP):
            counts[row["ts"] // HOP - hop, row["auction"]] += 1
    return [(*key, n) for key, n in counts.items()]


def selling_prices(events: Events) -> Found:
    """6: the inner query: the final price of each auction, with its seller."""
    return [(a["id"], a["seller"], price) for a, price in winning(events).values()]


def highest_bid(events: Events) -> Found:
    """7: the inner query: the highest price of each ten seconds."""
    best: dict[int, int] = {}
    for _, row in events:
        pane = row["ts"] // PANE
        best[pane] = max(best.get(pane, 0), row["price"])
    return list(best.items())


def new_users(events: Events) -> Found:
    """8: new persons that open an auction in the same ten seconds."""
    found: Found = []
    pane, persons, sellers, told = -1, {}, set(), set()  # type: int, dict[int, Row], set[int], set[int]
    for stream, row in events:
        if row["ts"] // PANE != pane:
            pane, persons, sellers, told = row["ts"] // PANE, {}, set(), set()
        who = row["id"] if stream == "person" else row["seller"]
        if stream == "person":
            persons[who] = row
        else:
            sellers.add(who)
        if who in persons and who in sellers and who not in told:
            told.add(who)
            found.append((who, persons[who]["name"], pane))
    return found


def winning_bids(events: Events) -> Found:
    """9: auctions with their highest price."""
    return [
        (a["id"], a["seller"], a["category"], a["expires"], price) for a, price in winning(events).values()
    ]


def bids_with_auctions(events: Events) -> Found:
    """20: bids with their auctions, of one category; a bid may come before its auction."""
    auctions: dict[int, Row] = {}
    waiting: defaultdict[int, list[Row]] = defaultdict(list)
    found: Found = []
    for stream, row in events:
        if stream == "auction":
            if row["category"] == 10:
                auctions[row["id"]] = row
                found += [
                    (b["auction"], b["bidder"], b["price"], b["channel"], row["seller"])
                    for b in waiting[row["id"]]
                ]
            continue
        waiting[row["auction"]].append(row)
        auction = auctions.get(row["auction"])
        if auction is not None:
            found.append((row["auction"], row["bidder"], row["price"], row["channel"], auction["seller"]))
    return found


def directories(events: Events) -> Found:
    """22: parts of the URL of a bid."""
    form = re.compile("^[^/]*//[^/]*/([^/]*)/([^/]*)/([^/]*)")
    return [(b["auction"], b["bidder"], *form.search(b["url"]).groups()) for _, b in events]  # type: ignore[union-attr]


_WON = "bid.auction = auction.id AND bid.ts BETWEEN auction.ts AND auction.expires"
_PARTS = ", ".join(
    f"REGEXP_EXTRACT(url, '^[^/]*//[^/]*/([^/]*)/([^/]*)/([^/]*)', {i}) AS dir{i}" for i in (1, 2, 3)
)


def _both(number: int, streams: str, text: str, python: Callable[[Events], Found], short: str = "") -> Query:
    """A query that both databases read."""
    return Query(number, tuple(streams.split()), text, text, python, short=short)


QUERIES = (
    _both(1, "bid", "SELECT auction, bidder, price * 0.908 AS price, ts FROM bid", currency),
    _both(2, "bid", "SELECT auction, price FROM bid WHERE MOD(auction, 123) = 0", selection),
    _both(
        3,
        "person auction",
        f"""SELECT person.name, person.city, person.state, auction.id FROM auction, person
        WHERE auction.seller = person.id AND auction.category = 10 AND person.state IN {STATES}""",
        local_items,
    ),
    _both(
        4,
        "auction bid",
        f"""SELECT auction.id, auction.category, MAX(bid.price) AS final FROM auction, bid WHERE {_WON}
        GROUP BY auction.id, auction.category""",
        final_prices,
        "the final price of each auction; their average by category is an aggregate of an aggregate",
    ),
    _both(
        5,
        "bid",
        f"""SELECT FLOOR(bid.ts / {HOP}) - hops.hop AS hop, bid.auction, COUNT(*) AS n FROM bid CROSS JOIN hops
        GROUP BY FLOOR(bid.ts / {HOP}) - hops.hop, bid.auction""",
        hot_items,
        "the counts of each window that hops; the largest of them is an aggregate of an aggregate",
    ),
    _both(
        6,
        "auction bid",
        f"""SELECT auction.id, auction.seller, MAX(bid.price) AS final FROM auction, bid WHERE {_WON}
        GROUP BY auction.id, auction.seller""",
        selling_prices,
        "the final price of each auction; there is no average of a seller's last ten",
    ),
    _both(
        7,
        "bid",
        f"SELECT FLOOR(ts / {PANE}) AS pane, MAX(price) AS price FROM bid GROUP BY FLOOR(ts / {PANE})",
        highest_bid,
        "the highest price of each pane; the bids that have it join a stream with an aggregate",
    ),
    Query(
        8,
        ("person", "auction"),
        f"""SELECT DISTINCT person.id, person.name, FLOOR(person.ts / {PANE}) AS pane
        FROM person [TUMBLING {PANE}], auction [TUMBLING {PANE}] WHERE person.id = auction.seller""",
        f"""SELECT DISTINCT person.id, person.name, FLOOR(person.ts / {PANE}) AS pane FROM person, auction
        WHERE person.id = auction.seller AND person.ts // {PANE} = auction.ts // {PANE}""",
        new_users,
        changes=True,
    ),
    _both(
        9,
        "auction bid",
        f"""SELECT auction.id, auction.seller, auction.category, auction.expires, MAX(bid.price) AS price
        FROM auction, bid WHERE {_WON} GROUP BY auction.id, auction.seller, auction.category, auction.expires""",
        winning_bids,
        "the auction with its highest price; the bidder is a column of the row that has it",
    ),
    _both(
        20,
        "auction bid",
        """SELECT bid.auction, bid.bidder, bid.price, bid.channel, auction.seller FROM bid, auction
        WHERE bid.auction = auction.id AND auction.category = 10""",
        bids_with_auctions,
    ),
    _both(22, "bid", f"SELECT auction, bidder, {_PARTS} FROM bid", directories),
)
