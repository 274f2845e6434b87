"""Runs into a stream of Redis that are killed, or whose connection breaks in the middle of what is sent."""

from __future__ import annotations

import contextlib
import json
import os
import random
import tempfile
from collections import Counter

import pyarrow as pa
import redis
from redis.client import Pipeline

from eddy.sinks import redis as sinks
from tests import servers
from tests.faults.breaking import until_over
from tests.faults.killed import Steps, World
from tests.relay import Relay
from tests.runs import counted


class RedisSteps(Steps):
    """Whatever is asked of the server, and the manifest of a checkpoint; steps of files are tried elsewhere."""

    def watch(self):
        os.replace = self.before(os.replace)
        for kind, name in (
            (redis.Redis, "execute_command"),
            (Pipeline, "execute"),
            (Pipeline, "immediate_execute_command"),
        ):
            setattr(kind, name, self.before(getattr(kind, name)))


class RedisWorld(World):
    """Files, and a query over them whose results go to a stream."""

    steps = RedisSteps

    def __init__(self, server, folder, seed, **options):
        folder.mkdir()
        super().__init__(folder, seed, "", **options)
        self.port, self.key = server.port, str(folder).strip("/")
        self.through(server.port)

    def through(self, port):
        """Reach the server at another port, too."""
        self.out = f"redis://localhost:{port}/{self.key}?field=data"

    def check(self):
        with redis.Redis(port=self.port) as client:
            found = [entry[b"data"] for _, entry in client.xrange(self.key)]
            staged = [key for key in client.keys(f"{self.key}:eddy:*:*") if client.ttl(key) < 0]
        assert counted(pa.Table.from_pylist([json.loads(payload) for payload in found])) == self.wanted
        assert staged == [], "what was staged goes by itself, if it was not moved"


class BreakingWorld(RedisWorld):
    """One stream comes from the server, too, and connections with it break."""

    shaky = True

    def __init__(self, server, folder, seed, **options):
        super().__init__(server, folder, seed, **options)
        self.source = self.key + ":source"
        with redis.Redis(port=self.port) as client:
            for row in self.tables["B"].to_pylist():
                client.xadd(self.source, {"data": json.dumps(row)})

    def through(self, port):
        super().through(port)
        self.sources["B"] = f"redis://localhost:{port}/{self.key}:source?field=data"


def again_and_again(server, folder, seed):
    """Kill at random steps, with other sizes of batches after each restart: how often that was."""
    pick = random.Random(seed)
    world, kills = RedisWorld(server, folder, seed, disorder=pick.choice([0, 4])), 0
    while kills < 6 and world.killed(pick.randint(1, 60), batch=pick.choice([3, 8, 30])) is None:
        kills += 1
    if kills == 6:
        assert world.killed(10**9) is not None
    world.check()
    return Counter({"step": kills})


def broken_again_and_again(server, folder, seed):
    """Break connections after random numbers of bytes, and kill at random steps: how often that was."""
    pick = random.Random(seed)
    world = BreakingWorld(server, folder, seed, disorder=pick.choice([0, 4]))
    breaks = [int(2 ** pick.uniform(4, 14)) for _ in range(8)]
    with Relay(server.port, breaks=breaks) as relay:
        world.through(relay.port)
        found = until_over(world, relay, pick)
        world.check()
    return found


@contextlib.contextmanager
def trying():
    """One server for all seeds; a commit is moved in several transactions."""
    sinks.CHUNK = 7
    with tempfile.TemporaryDirectory() as folder, servers.Valkey(folder) as server:

        def tried(folder, seed):
            way = broken_again_and_again if seed % 2 else again_and_again
            return way(server, folder / "run", seed)

        yield tried
