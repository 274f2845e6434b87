"""`eddy.run` beside Flink, from files into files: what is measured of ours, and the table."""

from __future__ import annotations

from attrs import evolve

from benchmarks import files
from benchmarks.peers.checksum import checksum
from benchmarks.peers.contenders import EDDY
from benchmarks.peers.eddy import Eddy
from benchmarks.peers.eddy_files import EddyFiles
from benchmarks.peers.workloads import BY_NAME


def test_files_give_what_pushes_give(tmp_path):
    """The same rows, whatever way they come."""
    spec = BY_NAME["three"].write(tmp_path, 2_000)
    clock, found = EddyFiles(spec, {}).run(True)
    assert clock.seconds > 0 and len(found)
    assert checksum(found) == checksum(Eddy(spec, {}).run(True)[1])


def test_both_sides_run_in_turns_and_the_table_says_how_they_compare(tmp_path, monkeypatch):
    """Of the second side its own runs; here both are ours."""
    monkeypatch.setattr(files, "data_folder", lambda: tmp_path)
    sides = (files.SIDES[0], evolve(EDDY, title="pushed"))
    found = files.measured(sides, 2_000, 2)
    assert [len(rows) for rows in found] == [2, 2]
    told = files.lines(sides, found)
    assert told[3].startswith("| pushed | ") and told[-1].endswith("; 2 runs each.")
    slow = [[row | {"seconds": 7.0, "processor": 3.0} for row in found[0]]]
    fast = [[row | {"seconds": 1.0, "processor": 1.0} for row in found[0]]]
    assert files.lines(sides, fast + slow)[-1].startswith("7.0 times as fast by the clock, 3.0 times by")
