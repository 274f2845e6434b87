"""Runs with checkpoints that are killed at any step: nothing is lost, and nothing is there twice."""

from __future__ import annotations

import os
import random

import pytest

from tests.faults.killed import World

OUTS = ["out.csv", "out.jsonl", "out.parquet", "out.arrow", "out/"]
ROUNDS = int(os.environ.get("EDDY_FAULTS", "12"))


@pytest.mark.parametrize("out", ["out.csv", "out.parquet", "out/"])
def test_killed_at_every_step_of_a_commit(out, tmp_path):
    """And of reading, writing and the end; one restart after each."""
    whole = tmp_path / "whole"
    whole.mkdir()
    world = World(whole, 1, out, rows=12)
    world.run(batch=12)  # the kernels are compiled here
    world.check()
    (tmp_path / "counted").mkdir()
    steps = World(tmp_path / "counted", 1, out, rows=12).killed(10**9, batch=12)
    assert steps > 30
    for step in range(1, steps + 1):
        folder = tmp_path / str(step)
        folder.mkdir()
        world = World(folder, 1, out, rows=12)
        assert world.killed(step, batch=12) is None
        assert world.killed(10**9, batch=12) is not None
        world.check()


@pytest.mark.parametrize("seed", range(ROUNDS))
def test_killed_again_and_again(seed, tmp_path):
    """At random steps, with other sizes of batches and plans after each restart, and a newest checkpoint that is
    sometimes damaged. `EDDY_FAULTS=1000` tries so many seeds."""
    pick = random.Random(seed)
    world = World(tmp_path, seed, pick.choice(OUTS), disorder=pick.choice([0, 4]))
    world.run(checkpoint=tmp_path / "warm", limit=1)
    kills = 0
    for name in os.listdir(tmp_path):
        if name.startswith(("out", "bad", ".out")):
            _remove(tmp_path / name)
    while True:
        options = {"batch": pick.choice([3, 8, 30]), "plan": pick.choice([None, "(A B) C", "A (B C)"])}
        if world.killed(pick.randint(1, 60) if kills < 6 else 10**9, **options) is not None:
            break
        kills += 1
        if pick.random() < 0.3:
            _damage(tmp_path / "progress", pick)
    world.check()


def _damage(folder, pick):
    """Cut the newest manifest or engine short, or turn a byte of it, if there is one before it."""
    manifests = sorted(path for path in folder.glob("*.json"))
    if len(manifests) < 2:
        return
    newest = manifests[-1]
    if pick.random() < 0.5 and newest.with_suffix(".eddy").exists():
        newest = newest.with_suffix(".eddy")
    content = bytearray(newest.read_bytes())
    if b'"finished": true' in manifests[-1].read_bytes():
        return  # what was put together at the end has taken its parts along
    if pick.random() < 0.5:
        content = content[: pick.randrange(len(content))]
    else:
        content[pick.randrange(len(content))] ^= 0xFF
    newest.write_bytes(content)


def _remove(path):
    if path.is_dir():
        for inner in path.iterdir():
            inner.unlink()
        path.rmdir()
    else:
        path.unlink()
