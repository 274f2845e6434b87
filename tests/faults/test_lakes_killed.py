"""Runs into Delta and Iceberg tables that are killed: nothing is lost, and nothing is there twice."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

ROUNDS = int(os.environ.get("EDDY_FAULTS", "2"))
LAKES = ["delta", "iceberg"]


def killed(*arguments):
    """Run the module beside this one."""
    command = [sys.executable, "-m", "tests.faults.lakes", *map(str, arguments)]
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    assert done.returncode == 0, done.stdout


@pytest.mark.parametrize("lake", LAKES)
def test_a_table_is_killed_at_every_step_of_a_commit(lake, tmp_path):
    """Of writing data files, of the checkpoint and of the table's own commit; one restart after each."""
    killed(lake, tmp_path)


@pytest.mark.parametrize("lake", LAKES)
def test_a_table_is_killed_again_and_again(lake, tmp_path):
    """At random steps and after random times, with a newest checkpoint that is sometimes damaged. `EDDY_FAULTS=1000`
    tries so many seeds."""
    killed(lake, tmp_path, *range(ROUNDS))
