"""Ten alert rules over clicks and orders, in one engine that takes them from a file which changes while it runs.

The feed is pushed five minutes at a time. Before each push the engine is given the rules as the file has them then: new
ones are added, those that are gone are dropped. Here the file begins with three rules, every hour somebody writes
another one, and after eleven hours changes the first. A rule gives the alerts of the time for which it was there. When
it is added it finds partners among the rows that other rules keep, which here are all that it looks back to.

    python -m examples.rules rules
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from attrs import define, field

import eddy
from examples.comparing import by_duckdb, counted, query_of

BEGIN, STEP, HOUR = np.datetime64("2026-03-01T08:00:00.000", "ms"), np.timedelta64(5, "m"), 12
END = BEGIN + 12 * HOUR * STEP
COLUMNS = {"ts": "timestamp[ms]", "id": "int64", "visitor": "int64", "country": "string"}
SCHEMAS = {
    "clicks": {**COLUMNS, "page": "string", "campaign": "int64"},
    "orders": {**COLUMNS, "cents": "int64"},
}
PAGES = {"home": 0.4, "gifts": 0.3, "form": 0.2, "help": 0.05, "returns": 0.04, "admin": 0.01}


@define
class Alerts:
    """What a rule has given while it was there; once it is changed it is another one."""

    name: str
    rule: str
    since: np.datetime64
    until: np.datetime64 = END
    found: list[pa.Table] = field(factory=list)


def write(folder: Path, rows: int = 200_000, seed: int = 1) -> None:
    """The files, of twelve hours: so many clicks, and a tenth as many orders."""
    random = np.random.default_rng(seed)
    for name, n in (("clicks", rows), ("orders", rows // 10)):
        columns = {
            "ts": BEGIN + np.sort(random.integers(0, 12 * 3_600_000, n)),
            "id": np.arange(n),
            "visitor": pa.array(random.integers(0, rows // 100, n), mask=random.random(n) < 0.05),
            "country": random.choice(["DE", "FR", "PL", "US"], n),
        }
        if name == "clicks":
            columns["page"] = random.choice(list(PAGES), n, p=list(PAGES.values()))
            columns["campaign"] = random.integers(0, 20, n)
        else:
            columns["cents"] = random.integers(0, 20_000, n)
        pq.write_table(pa.table(columns), folder / f"{name}.parquet")


def rules_of(text: str) -> dict[str, str]:
    """The rules of a file: the comment before each begins with its name."""
    rules = [rule.strip() for rule in text.split(";") if rule.strip()]
    return {rule.removeprefix("-- ").partition(":")[0]: rule for rule in rules}


def edit(file: Path, step: int) -> None:
    """What somebody does to the file meanwhile."""
    rules = list(rules_of(query_of("rules")).values())
    if step == 11 * HOUR:
        rules[0] = rules[0].replace("15000", "18000")
    if step % HOUR == 0:
        file.write_text(";\n\n".join(rules[: 3 + step // HOUR]), encoding="utf-8")


def follow(engine: eddy.Eddy, rules: dict[str, str], given: list[Alerts], now: np.datetime64) -> None:
    """Have the engine run these rules from now on."""
    for old in [one for one in given if one.until == END and one.rule != rules.get(one.name)]:
        engine.drop(old.name)
        old.until = now
    for name in [name for name in rules if name not in engine.queries]:
        engine.add(name, eddy.sql(rules[name], schemas=SCHEMAS))
        given.append(Alerts(name, rules[name], now))


def run(folder: Path, engine: eddy.Eddy) -> list[Alerts]:
    """By Eddy."""
    feeds = {name: pq.read_table(folder / f"{name}.parquet") for name in SCHEMAS}
    file, given = folder / "rules.sql", list[Alerts]()
    for step in range(12 * HOUR):
        now = BEGIN + step * STEP
        edit(file, step)
        follow(engine, rules_of(file.read_text(encoding="utf-8")), given, now)
        ends = {name: feed["ts"].to_numpy().searchsorted([now, now + STEP]) for name, feed in feeds.items()}
        found: Any = engine.push_all({name: feeds[name].slice(a, b - a) for name, (a, b) in ends.items()})
        for one in (one for one in given if one.until == END):
            one.found.append(found[one.name].to_arrow())
    return given


def expected(folder: Path, alerts: Alerts) -> pa.Table:
    """By DuckDB: what the rule gives over the whole feed, as far as it was there."""
    query = f"SELECT * FROM ({alerts.rule}) WHERE alert >= '{alerts.since}' AND alert < '{alerts.until}'"
    return by_duckdb(query, {name: f"read_parquet('{folder}/{name}.parquet')" for name in SCHEMAS})


if __name__ == "__main__":
    place, shared = Path(sys.argv[1]), eddy.Eddy({})
    place.mkdir(parents=True, exist_ok=True)
    write(place)
    given = run(place, shared)
    same = [counted(pa.concat_tables(one.found)) == counted(expected(place, one)) for one in given]
    print(shared.explain())
    for one, right in zip(given, same, strict=True):
        count = sum(map(len, one.found))
        print(f"{one.since} {one.name}: {count:,} alerts; DuckDB has {'the same' if right else 'others'}")
    raise SystemExit(0 if all(same) else 1)
