"""The demo: its feed, its plans, its independent count, its views, and the whole of it."""

from __future__ import annotations

import itertools
import os
import pty
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from eddy.demo.audit import Audit, LastRows, LastTime
from eddy.demo.feed import PHASES, STREAMS, Feed
from eddy.demo.synthetic import Demo

ROOT = Path(__file__).parents[2]
WINDOWS = {"a": LastRows(7), "b": LastRows(5), "c": LastTime(9), "d": LastTime(4)}
COMMAND = [
    sys.executable,
    "-c",
    "from eddy.cli import main; raise SystemExit(main())",
    "demo",
    "--synthetic",
    "--seconds",
    "1.5",
]


class Silent:
    """A view that keeps what it is shown."""

    def __init__(self):
        self.moments = []

    def show(self, moment):
        self.moments.append(moment)

    end = show


def slices(seed, count=40):
    """Random small slices: keys and times by stream, and the results by the plainest of loops."""
    random = np.random.default_rng(seed)
    seen = {name: [] for name in WINDOWS}
    for i in range(count):
        sizes = {name: int(random.integers(1, 9)) for name in WINDOWS}
        times = {name: np.sort(random.integers(8 * i, 8 * i + 8, size)) for name, size in sizes.items()}
        keys = {name: random.integers(0, 4, size) for name, size in sizes.items()}
        events = sorted(
            (int(time), place, row, name)
            for place, name in enumerate(WINDOWS)
            for row, time in enumerate(times[name])
        )
        results = []
        for now, _, row, name in events:
            key = int(keys[name][row])
            seen[name].append((now, key))
            results += itertools.product(*(live(seen, name, other, key, now) for other in WINDOWS))
        yield keys, times, np.array(results, np.int64).reshape(-1, len(WINDOWS))


def live(seen, name, other, key, now):
    """The rows of ``other`` that the newest row of ``name`` meets."""
    rows, window = seen[other], WINDOWS[other]
    if other == name:
        return [len(rows) - 1]
    first = max(0, len(rows) - window.rows) if isinstance(window, LastRows) else 0
    oldest = now - window.width if isinstance(window, LastTime) else -1
    return [row for row in range(first, len(rows)) if rows[row][1] == key and rows[row][0] >= oldest]


def audited(seed, change):
    """The audit of random slices; ``change`` tampers with results: (slice number, results) -> results."""
    audit = Audit(WINDOWS)
    for i, (keys, times, results) in enumerate(slices(seed)):
        audit.check(keys, times, change(i, results))
    return audit


@pytest.mark.parametrize("seed", range(5))
def test_the_audit_agrees_with_plain_loops(seed):
    """Right results pass, and the count is that of the loops."""
    audit = audited(seed, lambda i, results: results)
    assert audit.clean
    assert audit.expected == audit.seen == sum(len(results) for _, _, results in slices(seed)) > 100


def test_the_audit_sees_a_lost_result():
    """One result left out is one lost."""
    audit = audited(0, lambda i, results: results[1:] if len(results) and i % 10 == 5 else results)
    assert (audit.lost > 0, audit.repeated, audit.wrong) == (True, 0, 0)
    assert audit.lost == audit.expected - audit.seen


def test_the_audit_sees_a_repeated_result():
    """Twice in one slice is repeated; again in a later slice is wrong, for its latest event is over."""
    audit = audited(0, lambda i, results: np.concatenate([results, results[:1]]) if i == 20 else results)
    assert (audit.lost, audit.repeated, audit.wrong) == (0, 1, 0)
    earlier = []

    def again(i, results):
        earlier.append(results)
        return np.concatenate([results, earlier[i - 1][-1:]]) if i == 20 else results

    audit = audited(0, again)
    assert (audit.lost, audit.repeated, audit.wrong) == (0, 0, 1)


def test_the_audit_sees_a_wrong_result():
    """Another row in a result's place is one wrong and one lost, be the row dead, or yet to come."""
    for other in (-1, 0, 10**6):

        def swap(i, results, other=other):
            results = results.copy()
            if i == 20:
                results[0, 2] = other
            return results

        audit = audited(0, swap)
        assert (audit.lost, audit.repeated, audit.wrong) == (1, 0, 1)


def test_the_feed_is_its_seed():
    """Same seed, same feed; another seed, another; times never go back."""
    one, same, other = Feed(3), Feed(3), Feed(4)
    newest = 0
    for phase in PHASES:
        first, second, third = one.next(phase), same.next(phase), other.next(phase)
        for name in STREAMS:
            assert all(np.array_equal(first[name][key], second[name][key]) for key in first[name])
            assert not np.array_equal(first[name]["customer"], third[name]["customer"])
        times = np.concatenate([columns["ts"].view(np.int64) for columns in first.values()])
        assert times.min() >= newest
        newest = times.max()


def test_a_row_finds_as_many_others_whatever_the_windows():
    """With windows of a tenth there are a tenth of the customers."""
    few, many = Feed(3, 10_000), Feed(3)
    for phase in PHASES:
        for name in STREAMS:
            highest = [int(feed.next(phase)[name]["customer"].max()) for feed in (few, many)]
            assert 0.05 < highest[0] / highest[1] < 0.2


def test_the_whole_demo_is_exact_and_repeatable():
    """Several plans, every result once, and the same again from the same seed. Plans are trees, which fit a line."""
    runs = []
    for _ in range(2):
        demo = Demo(4.0, 5, Silent(), sleep=lambda seconds: None)
        assert demo.run()
        last = demo.view.moments[-1]
        assert last.verdict.results == last.verdict.expected > 10_000
        assert len(last.changes) >= 3
        assert all(":" not in change.after and change.took > 0 for change in last.changes)
        runs.append((last.pace.events, last.verdict.results, [change.after for change in last.changes]))
    assert runs[0] == runs[1]


def test_a_result_that_the_engine_drops_or_repeats_is_noticed(monkeypatch):
    """The verdict is the audit's, not a habit: it turns when results are tampered with."""
    for tamper, fault in (
        (lambda rows: rows[1:], "lost"),
        (lambda rows: np.concatenate([rows, rows[:1]]), "repeated"),
    ):
        demo = Demo(0.5, 5, Silent(), sleep=lambda seconds: None)
        honest = demo.engine.push_all

        class Tampered:
            def __init__(self, result):
                self.rows = tamper(result.rows)  # noqa: B023

        class Engine:
            push_all = staticmethod(lambda batch: Tampered(honest(batch)))  # noqa: B023
            decisions, statistics = (), demo.engine.statistics

        demo.engine = Engine
        assert not demo.run()
        assert getattr(demo.view.moments[-1].verdict, fault) > 0


def test_in_a_pipe_it_prints_plain_lines():
    """No escape codes; every change of plan is a line; the end says that nothing was lost or repeated."""
    done = subprocess.run(COMMAND, cwd=ROOT, capture_output=True, text=True, timeout=400)
    assert done.returncode == 0, done.stderr
    assert done.stderr == ""
    assert "\x1b" not in done.stdout and done.stdout.isascii()
    lines = done.stdout.splitlines()
    assert sum(" -> " in line for line in lines) >= 2
    assert lines[-1] == "0 lost, 0 repeated, 0 wrong."


def test_in_a_terminal_it_draws_one_picture():
    """At 80 columns no line is broken, and the last picture and the verdict stay."""
    main, worker = pty.openpty()
    environment = {
        **os.environ,
        "TERM": "xterm-256color",
        "COLUMNS": "80",
        "LINES": "24",
        "LC_ALL": "C.UTF-8",
    }
    with subprocess.Popen(COMMAND, cwd=ROOT, stdout=worker, stderr=worker, env=environment) as process:
        os.close(worker)
        drawn = b""
        while True:
            try:
                piece = os.read(main, 65536)
            except OSError:  # Linux's way to say that the other end is closed
                break
            if not piece:
                break
            drawn += piece
        assert process.wait(timeout=200) == 0
    os.close(main)
    # A step up ends a line too, as does a step to its beginning, by which a bar is drawn while kernels are compiled.
    lined = re.sub(r"\x1b\[\d*A|\r(?=[^\n])", "\n", drawn.decode())
    plain = re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", lined).replace("\r", "")
    lines = plain.splitlines()
    assert max(map(len, lines)) <= 80
    assert any("STAIR" in line for line in lines) and any("▲" in line for line in lines)
    assert "0 lost, 0 repeated, 0 wrong" in plain and "✓ 0 lost" in lines[-2]
