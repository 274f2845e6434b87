"""Runs into a stream of Redis that are killed, and whose server is: every result is there once."""

from __future__ import annotations

import json
import os
import random
import threading
import time

import pyarrow as pa
import pytest
import redis
from redis.client import Pipeline

import eddy
from eddy.sinks import redis as sinks
from tests import servers
from tests.faults.killed import Steps, World
from tests.runs import counted

ROUNDS = int(os.environ.get("EDDY_FAULTS", "3"))


@pytest.fixture(scope="module")
def server(tmp_path_factory):
    """It keeps what it is given."""
    with servers.Valkey(tmp_path_factory.mktemp("server")) as server:
        yield server


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
        self.out = f"redis://localhost:{self.port}/{self.key}?field=data"

    def check(self):
        with redis.Redis(port=self.port) as client:
            found = [entry[b"data"] for _, entry in client.xrange(self.key)]
            staged = [key for key in client.keys(f"{self.key}:eddy:*:*") if client.ttl(key) < 0]
        assert counted(pa.Table.from_pylist([json.loads(payload) for payload in found])) == self.wanted
        assert staged == [], "what was staged goes by itself, if it was not moved"


@pytest.fixture(autouse=True)
def small_transactions(monkeypatch):
    """A commit is moved in several of them."""
    monkeypatch.setattr(sinks, "CHUNK", 7)


def test_killed_at_every_step(server, tmp_path):
    """Of a run with one commit, in several transactions; one restart after each."""
    options = {"batch": 12, "every": 1000}
    whole = RedisWorld(server, tmp_path / "whole", 1, rows=12)
    whole.run(**options)  # the kernels are compiled here
    whole.check()
    steps = RedisWorld(server, tmp_path / "counted", 1, rows=12).killed(10**9, **options)
    assert steps > 15
    for step in range(1, steps + 1):
        world = RedisWorld(server, tmp_path / str(step), 1, rows=12)
        assert world.killed(step, **options) is None
        assert world.killed(10**9, **options) is not None
        world.check()


@pytest.mark.parametrize("seed", range(ROUNDS))
def test_killed_again_and_again(server, seed, tmp_path):
    """At random steps, with other sizes of batches after each restart. `EDDY_FAULTS=1000` tries so many seeds."""
    pick = random.Random(seed)
    world = RedisWorld(server, tmp_path / "run", seed, disorder=pick.choice([0, 4]))
    for _ in range(6):
        if world.killed(pick.randint(1, 60), batch=pick.choice([3, 8, 30])) is not None:
            break
    else:
        assert world.killed(10**9) is not None
    world.check()


def test_a_server_that_is_killed_loses_and_repeats_nothing(tmp_path):
    """Whatever was on its way to it, and whether it had been done."""
    with servers.Valkey(tmp_path) as server:
        world = RedisWorld(server, tmp_path / "run", 5, rows=300)
        run = threading.Thread(target=world.run, daemon=True)
        run.start()
        pick = random.Random(1)
        with redis.Redis(port=server.port) as client:
            while not client.keys():
                time.sleep(0.01)
        for _ in range(5):
            time.sleep(pick.uniform(0.02, 0.15))
            server.stop(kill=True)
            server.start()
        run.join(30)
        assert not run.is_alive()
        world.check()


def test_what_the_server_has_lost_is_told(server, tmp_path):
    """Results that were staged and are gone end the run; what was moved cannot be taken back by an older checkpoint."""
    address = f"redis://localhost:{server.port}/lost"

    def sink():
        made = eddy.sink(address)
        made.keep_in(str(tmp_path))
        return made

    table = pa.table({"a": list(range(20))})
    one = sink()
    one.open(table.schema, None)
    one.write(table)
    first = one.prepare()
    one.commit(first)
    one.write(table)
    second = one.prepare()
    with redis.Redis(port=server.port) as client:
        client.delete(second["staged"])
    with pytest.raises(eddy.EddyError, match="has lost 20 results that were staged"):
        one.commit(second)
    with redis.Redis(port=server.port) as client:
        client.hset(f"lost:eddy:{first['run']}", mapping={"commit": 2, "rows": 20})
    one.write(table)
    one.commit(one.prepare())
    one.write(table)
    third = one.prepare()
    with redis.Redis(port=server.port) as client:
        client.delete(f"lost:eddy:{first['run']}")
    with pytest.raises(eddy.EddyError, match="has lost results of commit 3"):
        one.commit(third)
    with redis.Redis(port=server.port) as client:
        client.hset(f"lost:eddy:{first['run']}", mapping={"commit": 3, "rows": 20})
    with pytest.raises(eddy.EddyError, match="the checkpoint is the one before: they cannot be taken back"):
        sink().open(table.schema, first)
