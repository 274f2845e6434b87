"""Runs into a stream of Redis that are killed, and whose server is: every result is there once."""

from __future__ import annotations

import os
import random
import threading
import time

import pyarrow as pa
import pytest
import redis

import eddy
from eddy.sinks import redis as sinks
from tests import servers
from tests.faults.streams import RedisWorld, again_and_again, broken_again_and_again

ROUNDS = int(os.environ.get("EDDY_FAULTS", "3"))


@pytest.fixture(scope="module")
def server(tmp_path_factory):
    """It keeps what it is given."""
    with servers.Valkey(tmp_path_factory.mktemp("server")) as server:
        yield server


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
    again_and_again(server, tmp_path / "run", seed)


@pytest.mark.parametrize("seed", range(ROUNDS))
def test_broken_again_and_again(server, seed, tmp_path):
    """Connections of the source and the sink end in the middle of what is sent, and runs are killed: it goes on."""
    assert broken_again_and_again(server, tmp_path / "run", seed)["broken connection"] > 2


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
