"""Runs from Kafka into Kafka that are killed at any step: each result is in the topic once, for who reads what counts.

The broker is that of `tests/kafka_broker.py`, since librdkafka's mock has no transactions that do not count.
"""

from __future__ import annotations

import os

import pytest

from tests.faults.topics import CallSteps, KafkaWorld, again_and_again
from tests.kafkas import Exact, cluster

ROUNDS = int(os.environ.get("EDDY_FAULTS", "4"))


@pytest.fixture(scope="module")
def broker():
    """One for all."""
    with cluster(Exact) as found:
        yield found


def world(folder, seed, broker, **more):
    """In a folder of its own."""
    folder.mkdir()
    return KafkaWorld(folder, seed, broker, **more)


def test_killed_at_every_step_of_a_commit(broker, tmp_path):
    """Before and behind each call of the client, too; one restart after each."""
    whole = world(tmp_path / "whole", 1, broker, rows=12)
    whole.run(batch=12)  # the kernels are compiled here
    whole.check()
    step, ended = 0, False
    while not ended:
        step += 1
        one = world(tmp_path / str(step), 1, broker, rows=12)
        one.steps = CallSteps
        ended = one.killed(step, batch=12, every=60) is not None
        assert one.killed(10**9, batch=12, every=60) is not None
        one.check()
    assert step > 20


@pytest.mark.parametrize("seed", range(ROUNDS))
def test_killed_again_and_again(seed, broker, tmp_path):
    """At random steps, with other sizes of batches and plans after each restart. `EDDY_FAULTS=1000` tries so many."""
    again_and_again(tmp_path, seed, broker)
