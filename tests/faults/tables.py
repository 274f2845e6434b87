"""Runs into a table of PostgreSQL that are killed, or whose connection breaks in the middle of what is sent."""

from __future__ import annotations

import contextlib
import json
import random
from collections import Counter

import psycopg

from eddy.running.feeds import Feed
from tests.faults.breaking import until_over
from tests.faults.killed import Steps, World, damage
from tests.postgresql.cluster import Cluster, Database
from tests.relay import Relay

CALLS = [
    (psycopg.Connection, "execute"),
    (psycopg.Copy, "write"),
    (psycopg.Transaction, "__exit__"),
    (Feed, "pull"),
]


class PgSteps(Steps):
    """Steps are also what is sent to the server."""

    def watch(self):
        super().watch()
        for owner, name in CALLS[:-1]:
            setattr(owner, name, self.before(getattr(owner, name)))


class PgWorld(World):
    """A query over files whose results go into a table."""

    steps = PgSteps

    def __init__(self, folder, seed, db, **options):
        super().__init__(folder, seed, "out", **options)
        self.db, self.out = db, db.address("/results")

    def through(self, port):
        """Reach the server at another port."""
        self.out = self.db.address("/results").replace(f":{self.db.cluster.port}/", f":{port}/")

    def check(self):
        """Every result is in the table once, every bad row in the file, and nothing else is left."""
        assert Counter(self.db.execute('SELECT "a", "b", "c" FROM results')) == self.wanted
        with open(self.folder / "bad.jsonl", encoding="utf-8") as file:
            rows = [json.loads(line)["row"] for line in file]
        assert rows == [place + before for before, place in enumerate(self.bad, 1)]
        known = "SELECT 'eddy_staged_' || left(replace(run::text, '-', ''), 16) FROM eddy_commits WHERE number = 0"
        left = {
            name for (name,) in self.db.execute(f"{known} AND prepared = 1")
        }  # died before its first checkpoint
        assert tables(self.db) - left == {"results", "eddy_commits"}


def tables(db):
    """The names of all tables."""
    return {name for (name,) in db.execute("SELECT tablename FROM pg_tables WHERE schemaname = 'public'")}


class BreakingWorld(PgWorld):
    """Its connection breaks."""

    shaky = True


def again_and_again(db, folder, seed):
    """Kill at random steps, and damage the newest checkpoint sometimes: how often that was."""
    pick, found = random.Random(seed), Counter()
    world = PgWorld(folder, seed, db, rows=30, disorder=pick.choice([0, 4]))
    while True:
        step = pick.randint(1, 90) if found["step"] < 5 else 10**9
        if world.killed(step, batch=pick.choice([4, 8, 30])) is not None:
            break
        found["step"] += 1
        if pick.random() < 0.4:
            found["damage"] += damage(folder / "progress", pick)
    world.check()
    return found


def broken_again_and_again(db, folder, seed):
    """Break connections after random numbers of bytes, and kill at random steps: how often that was."""
    pick = random.Random(seed)
    world = BreakingWorld(folder, seed, db, rows=30, disorder=pick.choice([0, 4]))
    breaks = [int(2 ** pick.uniform(6, 14)) for _ in range(8)]
    with Relay(db.cluster.port, breaks=breaks) as relay:
        world.through(relay.port)
        found = until_over(world, relay, pick)
    world.check()
    return found


@contextlib.contextmanager
def trying():
    """One server for all seeds, and a database for each."""
    with Cluster() as cluster:

        def tried(folder, seed):
            way = broken_again_and_again if seed % 2 else again_and_again
            with Database(cluster, f"world_{seed}") as db:
                return way(db, folder, seed)

        yield tried
