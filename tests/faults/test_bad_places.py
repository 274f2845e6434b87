"""Places that cannot be read or written: one clear line each, and nothing is lost."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

import eddy
from tests.faults.children import ENDED, REFUSED, forked
from tests.runs import QUERY, counted, expected, feed, read, write

NOBODY = 65534


@pytest.fixture
def sources(tmp_path):
    """Files of three streams, which all may read."""
    tmp_path.chmod(0o755)
    return {name: write(table, tmp_path / f"{name}.parquet") for name, table in feed(1).items()}


def run(sources, out, checkpoint, **options):
    """Into a place."""
    return eddy.run(QUERY, sources, str(out), checkpoint=checkpoint, **{"batch": 8, "every": 0, **options})


@pytest.fixture
def small_disk(tmp_path):
    """A disk of its own, which is soon full; the function makes it larger."""
    folder = tmp_path / "disk"
    folder.mkdir()
    mounted = ["mount", "-t", "tmpfs", "-o", "size=64k", "tmpfs", str(folder)]
    if os.geteuid() or subprocess.run(mounted, check=False, capture_output=True).returncode:
        pytest.skip("only root can mount a disk; the random faults limit the size of files instead")

    def enlarge():
        subprocess.run(["mount", "-o", "remount,size=64m", str(folder)], check=True)

    yield folder, enlarge
    subprocess.run(["umount", str(folder)], check=True)


@pytest.mark.parametrize("full", ["results", "checkpoints"])
@pytest.mark.parametrize("every", [0, 0.001])
@pytest.mark.parametrize("name", ["out.csv", "out.parquet", "out/"])
def test_a_full_disk(name, every, full, sources, tmp_path, small_disk):
    """The run ends and says so; when there is room again it goes on."""
    disk, enlarge = small_disk
    filler = disk / "filler"
    filler.write_bytes(b"x" * (60 << 10))
    out = f"{disk if full == 'results' else tmp_path}/{name}"
    progress = (disk if full == "checkpoints" else tmp_path) / "progress"
    with pytest.raises(
        eddy.EddyError, match=r"^(cannot write|cannot save to) .*No space left on device[^\n]*$"
    ):
        run(sources, out, progress, every=every)
    enlarge()
    run(sources, out, progress, every=every)
    assert counted(read(out.rstrip("/"))) == expected(feed(1))


def as_nobody(function):
    """In a process without rights."""

    def work():
        os.setgid(NOBODY)
        os.setuid(NOBODY)
        function()

    return work if not os.geteuid() else function


@pytest.mark.parametrize("what", ["source", "results", "checkpoints"])
def test_no_permission(what, sources, tmp_path):
    """Neither to read a source, nor to write results or checkpoints."""
    run(sources, tmp_path / "warm.csv", tmp_path / "warm")  # nobody may read the kernels that are kept
    for name in ("results", "progress"):
        (tmp_path / name).mkdir()
        (tmp_path / name).chmod(0o777)
    locked = {"source": sources["B"], "results": tmp_path / "results", "checkpoints": tmp_path / "progress"}[
        what
    ]
    os.chmod(locked, 0o555 if what != "source" else 0)
    for folder in tmp_path.parents:
        if (
            folder.stat().st_uid == os.geteuid()
            and folder != folder.parent
            and folder.stat().st_mode & 0o755 != 0o755
        ):
            folder.chmod(0o755)
    work = as_nobody(lambda: run(sources, f"{tmp_path}/results/out.csv", tmp_path / "progress"))
    how, _, said = forked(work)
    assert how == REFUSED and "Permission denied" in said and str(locked) in said and "\n" not in said, said
    os.chmod(locked, 0o777)
    how, _, said = forked(work)
    assert how == ENDED, said
    assert counted(read(tmp_path / "results/out.csv")) == expected(feed(1))


def test_a_reader_that_goes_away(tmp_path):
    """`eddy run ... | head`: no message, and status 141, as everywhere."""
    sources = {name: write(table, tmp_path / f"{name}.parquet") for name, table in feed(1, rows=900).items()}
    given = [f"{name}={path}" for name, path in sources.items()]
    command = [
        sys.executable,
        "-c",
        "import eddy.cli; raise SystemExit(eddy.cli.main())",
        "run",
        QUERY,
        *given,
        "--out",
        "-",
        "--batch",
        "8",
    ]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as child:
        child.stdout.readline()
        child.stdout.close()
        told = child.stderr.read()
        assert child.wait() == 141 and "Traceback" not in told and "Error" not in told, told


@pytest.mark.parametrize(
    ("harm", "told"), [(os.unlink, "no file"), (lambda p: open(p, "wb").close(), "no whole Parquet")]
)
def test_a_source_that_is_gone_at_a_restart(harm, told, sources, tmp_path):
    """Is told of, and the checkpoint is as it was: with the file back the run goes on."""
    loops = []
    run(sources, tmp_path / "out.csv", tmp_path / "progress", control=loops.append,
        on_progress=lambda _: loops[0].stop())  # fmt: skip
    content = (tmp_path / "B.parquet").read_bytes()
    harm(sources["B"])
    with pytest.raises(eddy.EddyError, match=told):
        run(sources, tmp_path / "out.csv", tmp_path / "progress")
    (tmp_path / "B.parquet").write_bytes(content)
    run(sources, tmp_path / "out.csv", tmp_path / "progress")
    assert counted(read(tmp_path / "out.csv")) == expected(feed(1))
