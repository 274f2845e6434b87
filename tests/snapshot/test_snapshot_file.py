"""The file of a snapshot: replaced in one step, whole or refused, read by every later version."""

from __future__ import annotations

import contextlib
import io
import json
import os
import random
import signal
import subprocess
import sys
import textwrap
import threading
import zipfile
from pathlib import Path

import pytest

import eddy
import policies
from eddy.snapshot import format as snapshot_format
from tests.snapshots import counts, feed, header_of, plain, zoned

ROOT = Path(__file__).parents[2]


def test_a_snapshot_of_the_first_format_loads():
    """`tests/data` keeps a snapshot of every format, so that each library reads those of all before it.

    It was written by ``engine = zoned(); feed(engine, 0, 12); engine.save("tests/data/format-1.eddy")``.
    """
    loaded, engine = eddy.Eddy.load(ROOT / "tests/data/format-1.eddy"), zoned()
    feed(engine, 0, 12)
    assert counts(loaded)[-1] == counts(engine)[-1]
    assert feed(loaded, 12, 30) == feed(engine, 12, 30)


def test_saving_replaces_the_file_in_one_step(tmp_path):
    """The old file stays what it was for those who have it open; a link stays a link; nothing is left over."""
    engine = plain()
    engine.save(str(tmp_path / "real.eddy"))
    (tmp_path / "link.eddy").symlink_to(tmp_path / "real.eddy")
    with open(tmp_path / "real.eddy", "rb") as old:
        engine.push("A", {"x": [1, 2]})
        engine.save(tmp_path / "link.eddy")
        assert eddy.Eddy.load(tmp_path / "real.eddy").statistics().events == 2
        assert header_of(old)["counters"]["events"] == 0
    assert (tmp_path / "link.eddy").is_symlink()
    assert sorted(os.listdir(tmp_path)) == ["link.eddy", "real.eddy"]


def test_a_failed_save_leaves_the_old_file(tmp_path, monkeypatch):
    """No folder, no room: the error says so, and neither file nor engine has changed."""
    path = tmp_path / "engine.eddy"
    engine = plain()
    engine.save(path)
    before = path.read_bytes()
    engine.push("A", {"x": [1]})
    with pytest.raises(eddy.StateError, match="No such file or directory"):
        engine.save(tmp_path / "nowhere" / "engine.eddy")
    with pytest.raises(eddy.StateError, match="cannot save to"):
        engine.save(tmp_path)

    def full(descriptor):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(
        eddy.StateError, match=r"No space left on device\. A snapshot that was there is as it was"
    ):
        engine.save(path)
    assert path.read_bytes() == before
    assert os.listdir(tmp_path) == ["engine.eddy"]


def test_leftovers_of_dead_processes_are_removed(tmp_path):
    """After a day an unfinished file is nobody's; a younger one may be somebody's."""
    names = [f".eddy-{i}.tmp" for i in range(2)]
    for name in names:
        (tmp_path / name).write_bytes(b"half")
    os.utime(tmp_path / names[0], (0, 0))
    plain().save(tmp_path / "engine.eddy")
    assert sorted(os.listdir(tmp_path)) == [names[1], "engine.eddy"]


DYING = """
    import io, os, signal, sys
    import numpy as np
    import eddy
    from eddy.snapshot import format as snapshot_format

    path, moment = sys.argv[1:]
    engine = eddy.Eddy(eddy.sql("SELECT * FROM A, B WHERE A.x = B.x", {"A": {"x": "int64"}, "B": {"x": "int64"}}))

    def die(*arguments):
        os.kill(os.getpid(), signal.SIGKILL)

    class Dying(io.FileIO):
        def write(self, data):
            return super().write(data) if self.tell() < 4_000 else die()

    engine.push("A", {"x": np.random.default_rng(1).permutation(5000)})
    engine.save(path)
    print(engine.statistics().events, flush=True)
    if moment == "writing":
        snapshot_format.open = Dying
    elif moment == "renaming":
        os.replace = die
    while True:
        engine.push("B", {"x": np.arange(7000)})
        engine.save(path)
        print(engine.statistics().events, flush=True)
"""


LONGEST = 400
"""Seconds that a process may take; its kernels may have to be compiled first."""


@pytest.mark.parametrize("moment", ["writing", "renaming", "any"])
def test_a_process_killed_while_saving_leaves_the_last_snapshot(tmp_path, moment):
    """SIGKILL half-way through the file, before it gets its name, or whenever: there is a whole snapshot."""
    path = tmp_path / "engine.eddy"
    program = [sys.executable, "-c", textwrap.dedent(DYING), str(path), moment]
    with subprocess.Popen(program, stdout=subprocess.PIPE, text=True, cwd=ROOT) as process:
        watch = threading.Timer(LONGEST, process.kill)
        watch.start()
        if moment == "any":
            for _ in range(10):
                process.stdout.readline()
            process.kill()
        told = process.stdout.read()
    watch.cancel()
    assert process.returncode == -signal.SIGKILL
    loaded = eddy.Eddy.load(path)
    if moment == "any":
        assert loaded.statistics().events >= 5000 + 9 * 7000
    else:
        assert told.split() == ["5000"] and loaded.statistics().events == 5000
        assert len(os.listdir(tmp_path)) == 2  # what was not finished has another name
    assert len(loaded.push("A", {"x": [1]})) == (loaded.statistics().events - 5000) // 7000


# Damage


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    """The bytes of a snapshot, and what its engine goes on to give."""
    engine = zoned()
    feed(engine, 0, 12)
    path = tmp_path_factory.mktemp("snapshots") / "whole.eddy"
    engine.save(path)
    return path.read_bytes(), feed(engine, 12, 20)


def test_a_file_cut_short_is_refused(tmp_path, whole):
    """Wherever it ends."""
    content, _ = whole
    for length in {*range(0, len(content), 97), *range(len(content) - 30, len(content))}:
        (tmp_path / "short.eddy").write_bytes(content[:length])
        with pytest.raises(eddy.StateError, match=r"is cut short or damaged|is no snapshot of Eddy"):
            eddy.Eddy.load(tmp_path / "short.eddy")


def test_a_changed_byte_is_noticed_or_harmless(tmp_path, whole):
    """Every byte of header and rows is under a checksum; of the archive's own bytes some mean nothing."""
    content, wanted = whole
    choice = random.Random(3)
    refused = 0
    places = [*choice.sample(range(len(content)), 250), *range(len(content) - 80, len(content))]
    for place in places:
        changed = bytearray(content)
        changed[place] ^= 1 << choice.randrange(8)
        (tmp_path / "changed.eddy").write_bytes(changed)
        try:
            loaded = eddy.Eddy.load(tmp_path / "changed.eddy")
        except eddy.StateError:
            refused += 1
        else:
            assert feed(loaded, 12, 20) == wanted
    assert refused > 0.8 * len(places)


def rewritten(content, header):
    """A snapshot with another header, and checksums that hold."""
    out = io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(content)) as old, zipfile.ZipFile(out, "w") as new:
        for name in old.namelist():
            new.writestr(name, json.dumps(header) if name == "header.json" else old.read(name))
    return out.getvalue()


def test_a_header_that_makes_no_sense_is_refused(tmp_path, whole):
    """Whatever is missing or of the wrong kind: an error of ours, no other, and never a crash."""
    content, _ = whole
    header = header_of(io.BytesIO(content))
    path = tmp_path / "odd.eddy"
    strange = (None, "x", -1, 2**70, [], {}, [["A"], "B"], [1, 2], {"A": {}})
    for name, place in [(None, name) for name in header] + [
        (a, b) for a in ("query", "counters") for b in header[a]
    ]:

        def changed(change, name=name, place=place):
            content_of = json.loads(json.dumps(header))
            change(content_of if name is None else content_of[name], place)
            return content_of

        for value in strange:
            path.write_bytes(
                rewritten(content, changed(lambda of, place, value=value: of.update({place: value})))
            )
            with contextlib.suppress(eddy.EddyError):
                eddy.Eddy.load(path)
        path.write_bytes(rewritten(content, changed(dict.pop)))
        if place not in NOTES:
            with pytest.raises(eddy.StateError):
                eddy.Eddy.load(path)


NOTES = {"where", "select", "computed", "time_unit", "minus", "group_by", "aggregates", "having"}
NOTES |= {"retractions", "pins", "frozen", "advise", "stays", "auto", "options", "disorder"}
NOTES |= {"attached", "attachments", "after", "changes", "metadata", "only"}
"""Parts of a header that are read only where a query is given, or that older ones have not."""


def test_files_from_before_it_was_told_who_auto_is(tmp_path):
    """The name alone says it there, unless there are no options beside it, which ours has always had."""
    path = tmp_path / "engine.eddy"
    plain(routing=policies.Auto(every=700)).save(path)
    content, header = path.read_bytes(), header_of(path)
    assert header.pop("auto") is True
    path.write_bytes(rewritten(content, header))
    assert eddy.Eddy.load(path).routing.every == 700
    path.write_bytes(rewritten(content, {**header, "options": {}}))
    assert eddy.Eddy.load(path).routing == policies.Fixed()
    del header["options"]
    path.write_bytes(rewritten(content, header))
    assert isinstance(eddy.Eddy.load(path).routing, policies.Auto)


def test_a_newer_format_is_refused(tmp_path, whole):
    """The error says which version wrote it."""
    header = header_of(io.BytesIO(whole[0]))
    header.update(format=snapshot_format.FORMAT + 1, library="7.2.0")
    (tmp_path / "new.eddy").write_bytes(rewritten(whole[0], header))
    with pytest.raises(
        eddy.StateError, match=r"format 6, written by Eddy 7\.2\.0; this library reads .* 5: install"
    ):
        eddy.Eddy.load(tmp_path / "new.eddy")


def test_other_files_are_refused(tmp_path):
    """Missing, a folder, empty, text, an archive of something else."""
    path = tmp_path / "file"
    with pytest.raises(
        eddy.StateError, match=r"cannot read .*No such file .*give the path that engine\.save"
    ):
        eddy.Eddy.load(path)
    with pytest.raises(eddy.StateError, match="cannot read"):
        eddy.Eddy.load(tmp_path)
    archive = io.BytesIO()
    with zipfile.ZipFile(archive, "w") as other:
        other.writestr("word/document.xml", "<w/>")
    for content in (b"", b"some text\n" * 1000, archive.getvalue(), rewritten_list()):
        path.write_bytes(content)
        with pytest.raises(eddy.StateError, match=r"is no snapshot of Eddy|is cut short or damaged"):
            eddy.Eddy.load(path)


def rewritten_list():
    """An archive whose header is JSON, but no header."""
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w") as archive:
        archive.writestr("header.json", "[1]")
    return out.getvalue()
