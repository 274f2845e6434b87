"""Checkpoints: a run goes on where it stood; what does not belong together is refused."""

from __future__ import annotations

import warnings
import zlib

import pytest
from attrs import define, field

import eddy
import policies
from eddy.running.checkpoints import Checkpoints
from tests.faults.world import own_of
from tests.push_cases import Turning
from tests.runs import QUERY, counted, expected, feed, read, write


@define
class Stopping(Turning):
    """Stops a run when it was asked so often; of one engine only."""

    loops: list = field(factory=list, kw_only=True)
    after: int = field(default=1, kw_only=True)

    def choose(self, view):
        if self.asked == self.after:
            self.loops[0].stop()
        return super().choose(view)

    def __deepcopy__(self, memo):
        return self


@pytest.fixture
def sources(tmp_path):
    """Files of three streams."""
    return {name: write(table, tmp_path / f"{name}.parquet") for name, table in feed(1).items()}


@pytest.mark.parametrize("lateness", [None, 1])
def test_nothing_new_is_not_committed_again(lateness, tmp_path):
    """A run that follows a silent file writes two checkpoints of what there is, and more only when rows come."""
    path, loops, told = tmp_path / "A.csv", [], []
    path.write_text("ts,k\n1,1\n2,2\n")

    def look(progress):
        told.append(progress.checkpoints)
        if len(told) == 6:
            with open(path, "a", encoding="utf-8") as file:
                file.write("3,3\n")
        if len(told) == 12:
            loops[0].stop()

    source = eddy.source(path, schema={"ts": "int64", "k": "int64"}, follow=True)
    outcome = eddy.run("SELECT k FROM A [RANGE 5]", {"A": source}, f"{tmp_path}/out.csv", lateness=lateness,
                       checkpoint=f"{tmp_path}/c", every=0.01, control=loops.append, on_progress=look)  # fmt: skip
    assert told[3] == told[5] <= 3, told
    assert told[5] < told[9] == told[11] <= told[5] + 3, told
    assert sum(outcome.rows.values()) == 3


def part(sources, tmp_path, query=QUERY, out="out.csv", **options):
    """Run it, and stop it after some pushes."""
    loops = []
    given = {"batch": 16, "every": 0, "checkpoint": tmp_path / "progress", "control": loops.append, **options}
    return eddy.run(query, sources, f"{tmp_path}/{out}", on_progress=lambda _: loops[0].stop(), **given)


def rest(sources, tmp_path, query=QUERY, out="out.csv", **options):
    """Go on to the end."""
    return eddy.run(query, sources, f"{tmp_path}/{out}", **{"checkpoint": tmp_path / "progress", **options})


@pytest.mark.parametrize("out", ["out.csv", "out.parquet", "out/"])
@pytest.mark.parametrize("lateness", [None, 3])
def test_a_run_that_was_stopped_goes_on(out, lateness, sources, tmp_path):
    """Under another plan, with more threads, and other batches; the second call says all there was."""
    where = f"{tmp_path}/{out}"
    first = part(sources, tmp_path, out=out, lateness=lateness)
    assert first.ended == "stopped" and sum(first.rows.values()) < 360
    last = rest(sources, tmp_path, out=out, plan="A (B C)", threads=2, batch=50)
    wanted = expected(feed(1))
    assert counted(read(where.rstrip("/"))) == wanted
    assert (last.results, last.rows) == (wanted.total(), dict.fromkeys("ABC", 120))
    again = rest(sources, tmp_path, out=out)
    assert again.results == wanted.total() and counted(read(where.rstrip("/"))) == wanted


def test_another_query_is_refused(sources, tmp_path):
    """With what differs."""
    part(sources, tmp_path)
    with pytest.raises(eddy.StateError, match="the window of B is"):
        rest(sources, tmp_path, QUERY.replace("ROWS 15", "ROWS 16"))


def test_another_sink_is_refused(sources, tmp_path):
    """It would lack the results so far."""
    part(sources, tmp_path)
    with pytest.raises(eddy.EddyError, match=r"writes results to .*out.csv, not to .*other.csv"):
        rest(sources, tmp_path, out="other.csv")
    with pytest.raises(eddy.EddyError, match="keeps no bad rows"):
        rest(sources, tmp_path, bad=f"keep:{tmp_path}/bad.jsonl")


def test_two_processes_cannot_use_one(sources, tmp_path):
    """The second is refused, and changes nothing."""
    with Checkpoints(tmp_path / "progress"):
        with pytest.raises(eddy.StateError, match="in use by another process"):
            rest(sources, tmp_path)
    assert rest(sources, tmp_path).ended == "end"


@pytest.mark.parametrize("ending", ["json", "eddy"])
@pytest.mark.parametrize("harm", [lambda b: b[: len(b) // 2], lambda b: b[:-9] + b"damaged!!", lambda b: b""])
def test_a_damaged_checkpoint_is_passed_over(ending, harm, sources, tmp_path):
    """With a warning, the one before it is used; results are there once all the same."""
    part(sources, tmp_path)
    part(sources, tmp_path)
    newest = max((tmp_path / "progress").glob(f"*.{ending}"))
    newest.write_bytes(harm(newest.read_bytes()))
    with pytest.warns(eddy.CheckpointWarning, match="is used instead"):
        rest(sources, tmp_path)
    assert counted(read(tmp_path / "out.csv")) == expected(feed(1))


def test_rows_that_only_the_newest_has_may_be_damaged(sources, tmp_path):
    """A file of rows is of several checkpoints: each has its own part of it, with a checksum."""
    for after in (2, 3):
        loops = []
        stopping = Stopping(("A (B C)",), 20, loops=loops, after=after)
        rest(sources, tmp_path, routing=stopping, batch=16, every=0, control=loops.append)
    folder = tmp_path / "progress"
    newest, before = (own_of(path) for path in sorted(folder.glob("*.json"))[:-3:-1])
    name = next(
        name for name, size in newest.items() if name.endswith(".rows") and size > before.get(name, 0)
    )
    (folder / name).write_bytes((folder / name).read_bytes()[: before.get(name, 0)])
    with pytest.warns(eddy.CheckpointWarning, match="is used instead"):
        rest(sources, tmp_path)
    assert counted(read(tmp_path / "out.csv")) == expected(feed(1))


def test_checkpoints_of_former_versions(sources, tmp_path):
    """Which have all rows in the snapshot: a run goes on from there, and writes its own."""
    part(sources, tmp_path, lateness=3)
    newest = max((tmp_path / "progress").glob("*.eddy"))
    eddy.Eddy.load(newest).save(newest)
    for path in (tmp_path / "progress").glob("*.rows"):
        path.unlink()
    part(sources, tmp_path)
    rest(sources, tmp_path)
    assert counted(read(tmp_path / "out.csv")) == expected(feed(1))


def test_a_checkpoint_of_a_newer_version_is_refused(sources, tmp_path):
    """It says of which."""
    part(sources, tmp_path)
    for path in (tmp_path / "progress").glob("*.json"):
        body = path.read_bytes().partition(b"\n")[2].replace(b'"format": 1', b'"format": 7')
        path.write_bytes(f"{zlib.crc32(body):08x}\n".encode() + body)
    with pytest.raises(eddy.StateError, match="of format 7, written by Eddy"):
        rest(sources, tmp_path)


def test_the_snapshot_of_a_checkpoint_is_one_as_any(sources, tmp_path):
    """`Eddy.load` takes it."""
    part(sources, tmp_path)
    newest = max((tmp_path / "progress").glob("*.eddy"))
    assert eddy.Eddy.load(newest).query.names == ("A", "B", "C")


def test_no_whole_checkpoint_is_an_error(sources, tmp_path):
    """To begin anew would lose what was done, in silence."""
    part(sources, tmp_path)
    for manifest in (tmp_path / "progress").glob("*.json"):
        manifest.write_bytes(b"")
    with pytest.raises(eddy.StateError, match="can be read"):
        rest(sources, tmp_path)


@pytest.mark.parametrize("every", [0, 0.001])
def test_a_change_of_plan_that_holds_results_back_puts_a_commit_off(every, sources, tmp_path):
    """And a run that is stopped gives them first: a checkpoint has no place for them."""
    changes = 0
    for stop in range(1, 30):
        loops = []
        found = rest(
            sources,
            tmp_path,
            routing=Stopping(("(A B) C", "A (B C)"), 40, loops=loops, after=3 * stop),
            migration=policies.ParallelTrack(order="pt"),
            batch=7,
            every=every,
            control=loops.append,
        )
        changes += found.changes
        if found.ended == "end":
            break
    assert changes > 1 and stop > 1 and counted(read(tmp_path / "out.csv")) == expected(feed(1))


def test_few_files_are_kept(sources, tmp_path):
    """However many commits there were."""
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        rest(sources, tmp_path, batch=5, every=0)
    names = {path.suffix for path in (tmp_path / "progress").iterdir()}
    names -= {".rows"}
    assert len(list((tmp_path / "progress").iterdir())) <= 9 and names <= {".json", ".eddy", ".history", ""}


def test_what_cannot_go_back_has_no_checkpoints(tmp_path):
    """An iterable is read once."""
    tables = feed(1)
    sources = {**tables, "A": eddy.source(iter([tables["A"]]), schema=tables["A"].schema)}
    with pytest.raises(eddy.EddyError, match="cannot go back"):
        rest(sources, tmp_path)


def test_a_finished_run_stays_finished(sources, tmp_path):
    """The same call does nothing, though the sources may be gone by then, and refuses another query still."""
    rest(sources, tmp_path)
    with pytest.raises(eddy.StateError, match="the window of B is"):
        rest(sources, tmp_path, QUERY.replace("ROWS 15", "ROWS 16"))
