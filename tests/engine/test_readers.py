"""Other threads read results and ask the engine while one thread pushes: nothing is torn, and nobody waits for long.

Each case runs in a process of its own: where arrays are read while kernels change them, a process may not live to tell.
"""

from __future__ import annotations

import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]

COMMON = """
import faulthandler, queue, threading, time
import numpy as np
import eddy
from policies import Auto, Jisc, ParallelTrack

faulthandler.dump_traceback_later(300, exit=True)
SECONDS, READERS, KEYS = 1.2, 3, 300
errors = []

def stream(text=False, **more):
    columns = {"ts": "int64", "k": "string" if text else "int64", "v": "int64"}
    return eddy.Stream(columns, window=eddy.Rows(600), **more)

def query(names="AB", text=False, **more):
    joined = [f"{a}.k = {b}.k" for a, b in zip(names, names[1:])]
    return eddy.Query({name: stream(text) for name in names}, where=joined, **more)

def feeds(names="AB", text=False, size=300):
    "Pushes without end: v tells the key and the stream, so that a torn row is seen."
    rng, at = np.random.default_rng(7), 0
    while True:
        batches = {}
        for i, name in enumerate(names):
            k = rng.integers(0, KEYS, size)
            keys = [f"key {n} of many" for n in k.tolist()] if text else k
            batches[name] = {"ts": np.arange(at, at + size), "k": keys, "v": 1000 * k + i}
        at += size
        yield batches

def check(result, names="AB"):
    "Every row of a result is whole."
    table = result.to_pydict()
    keys = table["A.k"]
    for i, name in enumerate(names):
        assert table[f"{name}.k"] == keys
        plain = [int(k.split()[1]) if isinstance(k, str) else k for k in keys]
        assert table[f"{name}.v"] == [1000 * k + i for k in plain]
    assert result.rows.shape == (len(result), len(names)) and len(result.sign) == len(result)

def guarded(work):
    def run():
        try:
            work()
        except BaseException as error:
            errors.append(error)
            raise
    return run

def push_and(engine, readers, names="AB", text=False, size=300, each=lambda result: None):
    "Push for a while, as readers work in threads of their own."
    stop = threading.Event()
    def loop(reader):
        while not stop.is_set():
            reader()
    threads = [threading.Thread(target=guarded(lambda r=r: loop(r)), daemon=True) for r in readers]
    for thread in threads:
        thread.start()
    end, pushes = time.monotonic() + SECONDS, 0
    try:
        for batches in feeds(names, text, size):
            each(engine.push_all(batches))
            pushes += 1
            if (time.monotonic() > end and pushes > 3) or errors:  # on a slow machine a push takes long
                break
    finally:
        stop.set()
    for thread in threads:
        thread.join(200)
        assert not thread.is_alive()
    assert not errors, errors
    assert pushes > 3

def through_a_queue(engine, names="AB", text=False, size=300, read=check):
    "Results go through a queue to several readers, as the README advises."
    handed, counted = queue.Queue(6), []
    def reader():
        try:
            result = handed.get(timeout=0.05)
        except queue.Empty:
            return
        read(result, names)
        counted.append(len(result))
    push_and(engine, [reader] * READERS, names, text, size, handed.put)
    while not handed.empty():
        result = handed.get()
        read(result, names)
        counted.append(len(result))
    assert sum(counted) == engine.statistics().results > 0
"""

CASES = {
    "results of one thread": "through_a_queue(eddy.Eddy(query(), plan='A B'))",
    "results of two threads": "through_a_queue(eddy.Eddy(query(), plan='A B', threads=2), size=2000)",
    "results of three streams": "through_a_queue(eddy.Eddy(query('ABC'), plan='(A B) C'), 'ABC')",
    "results while plans change": """
        engine = eddy.Eddy(query("ABC"), plan="(A B) C", migration=Jisc())
        plans = ["A (B C)", "stems", "(A B) C"]
        handed = []
        def each(result):
            handed.append(result)
            engine.migrate(plans[len(handed) % 3])
        def reader():
            if handed:
                check(handed[-1], "ABC")
        push_and(engine, [reader] * READERS, "ABC", each=each)
    """,
    "results while two threads change plans": """
        engine = eddy.Eddy(query("ABC"), plan="(A B) C", migration=ParallelTrack(), threads=2)
        plans = ["A (B C)", "(A B) C"]
        handed = []
        def each(result):
            handed.append(result)
            if len(handed) % 7 == 0:
                engine.migrate(plans[len(handed) // 7 % 2])
        def reader():
            if handed:
                check(handed[-1], "ABC")
        push_and(engine, [reader] * READERS, "ABC", size=1500, each=each)
    """,
    "results of strings": "through_a_queue(eddy.Eddy(query(text=True), plan='A B'), text=True)",
    "large pushes": "through_a_queue(eddy.Eddy(query(), plan='A B', batch_size=512), size=20_000)",
    "large pushes of two threads": (
        "through_a_queue(eddy.Eddy(query(), plan='A B', batch_size=1024, threads=2), size=20_000)"
    ),
    "large pushes on the long way": """
        engine = eddy.Eddy(query(), plan="A B", batch_size=64)
        def push(batches, push_all=engine.push_all):
            return push_all({n: {c: np.ma.array(v) for c, v in b.items()} for n, b in batches.items()})
        engine.push_all = push
        through_a_queue(engine, size=2000)
    """,
    "withdrawals": """
        engine = eddy.Eddy(query(), plan="A B", retractions=True)
        through_a_queue(engine)
    """,
    "groups and their table": """
        grouped = query(group_by=["A.k"], aggregates={"n": "COUNT(*)", "s": "SUM(B.v)"})
        engine = eddy.Eddy(grouped, plan="A B")
        handed = []
        def reader():
            for result in (*handed[-2:], engine.table()):
                table = result.to_pydict()
                assert all(n is None or n >= 0 for n in table["n"])
        push_and(engine, [reader] * READERS, each=handed.append)
    """,
    "one result by many": """
        engine = eddy.Eddy(query(), plan="A B")
        handed = []
        def reader():
            for result in handed[-2:]:
                check(result)
                check(eddy.Result.concat(handed[-2:]))
                assert sum(len(piece) for piece in result.pieces(100)) == len(result)
                result.seal()
        push_and(engine, [reader] * READERS, each=handed.append)
    """,
    "statistics, explain, why, decisions": """
        engine = eddy.Eddy(query("ABC"), routing=Auto())
        def reader():
            told = engine.statistics()  # of whole batches, into which a push may be cut
            assert told.events == sum(stream.rows for stream in told.streams)
            assert "plan" in engine.explain()
            engine.why_not(A=5, B=7, C=9)
            newest = engine.statistics().streams[0].rows
            engine.why(A=max(0, newest - 300), B=max(0, newest - 300), C=max(0, newest - 300))
            engine.decisions, engine.plan, repr(engine)
        push_and(engine, [reader] * READERS, "ABC")
    """,
    "statistics of two threads": """
        engine = eddy.Eddy(query("ABC"), plan="(A B) C", threads=2)
        def reader():
            engine.statistics(), engine.explain(), engine.why_not(A=5, B=7, C=9), engine.view().stairs
        push_and(engine, [reader] * READERS, "ABC", size=2000)
    """,
    "views": """
        engine = eddy.Eddy(query("ABC"), plan="(A B) C")
        old = []
        def reader():
            view = engine.view()
            old.append(view)
            for known in (view, old[0], old[-10:][0]):
                assert all(n >= 0 for n in known.distinct.values())
                assert all(n >= 0 for n in known.sample("A", ("B", "C")))
                known.pairs()
        push_and(engine, [reader] * READERS, "ABC")
    """,
    "views of two threads": """
        engine = eddy.Eddy(query("ABC"), plan="(A B) C", threads=2)
        def reader():
            view = engine.view()
            assert all(n >= 0 for n in view.distinct.values()) and view.sample("B", ("C",))
        push_and(engine, [reader] * READERS, "ABC", size=2000)
    """,
    "snapshots": """
        import tempfile
        path = tempfile.mkdtemp() + "/s.eddy"
        engine = eddy.Eddy(query(), plan="A B")
        def saver():
            time.sleep(0.002)
            try:
                engine.save(path)
            except eddy.StateError:
                pass
        def push(batches, push_all=engine.push_all):
            while True:
                try:
                    return push_all(batches)
                except eddy.StateError:
                    time.sleep(0.001)
        engine.push_all = push
        handed = []
        push_and(engine, [saver, lambda: handed and check(handed[-1])], each=handed.append)
        engine.save(path)
        assert eddy.Eddy.load(path).statistics().events == engine.statistics().events
    """,
    "results drawn in parts": """
        engine = eddy.Eddy(query(), plan="A B", batch_size=128)
        handed = queue.Queue(50)
        def draw(batches, push_all=engine.push_all):
            for part in push_all(batches, max_rows=50):
                handed.put(part)
        engine.push_all = draw
        def reader():
            try:
                check(handed.get(timeout=0.05))
            except queue.Empty:
                pass
            engine.statistics()
        push_and(engine, [reader] * READERS)
    """,
    "results drawn in parts by another thread": """
        engine = eddy.Eddy(query(), plan="A B", batch_size=128)
        total = [0]
        for n, batches in enumerate(feeds()):
            drawing = engine.push_all(batches, max_rows=50)
            parts = []
            def drawer():
                while True:
                    try:
                        part = next(drawing, None)
                    except eddy.StateError:  # another thread is drawing just now
                        continue
                    if part is None:
                        return
                    parts.append(part)
            threads = [threading.Thread(target=guarded(drawer)) for _ in range(READERS)]
            for thread in threads: thread.start()
            for thread in threads: thread.join()
            for part in parts: check(part)
            total[0] += sum(map(len, parts))
            if n == 40: break
        assert not errors and total[0] == engine.statistics().results and engine.pending is None
    """,
    "engines that are dropped": """
        import gc
        def reader():
            engine = eddy.Eddy(query(), plan="A B", threads=2)
            for n, batches in zip(range(3), feeds(size=2000)):
                kept = engine.push_all(batches)
            drawing = engine.push_all(batches | {"A": {c: v[:0] for c, v in batches["A"].items()},
                                                 "B": {c: v[-10:] for c, v in batches["B"].items()}}, max_rows=5)
            next(drawing, None)
            del engine, drawing
            gc.collect()
            check(kept)
        push_and(eddy.Eddy(query(), plan="A B"), [reader] * 2)
    """,
    "pending": """
        engine = eddy.Eddy(query(), plan="A B")
        def reader():
            assert engine.pending is None
        push_and(engine, [reader] * READERS, size=30)
    """,
    "finalisers": """
        import gc
        engine, asked = eddy.Eddy(query(), plan="A B", batch_size=64), []
        class Asking:
            def __init__(self):
                self.itself = self
            def __del__(self):
                try:
                    engine.statistics(), engine.view().distinct
                except eddy.StateError:  # in the middle of a batch
                    pass
                asked.append(1)
        gc.set_threshold(5, 2, 2)
        def reader():
            Asking()
            time.sleep(0.001)
        push_and(engine, [reader] * 2, size=2000, each=lambda result: Asking())
        assert asked
    """,
    "results of another engine": """
        from policies import Routing
        last = {}
        class Reading(Routing):
            period = 1
            def __init__(self, other): self.other = other
            def choose(self, view): return None
            def wants(self, glance):
                if self.other in last:
                    check(last[self.other])
                return False
        def run(name, other):
            def work():
                engine = eddy.Eddy(query(), plan="A B", routing=Reading(other))
                for _, batches in zip(range(300), feeds(size=50)):
                    last[name] = engine.push_all(batches)
            return work
        threads = [threading.Thread(target=guarded(run(a, b)), daemon=True) for a, b in ("XY", "YX")]
        for thread in threads: thread.start()
        for thread in threads: thread.join(200)
        assert not errors and not any(thread.is_alive() for thread in threads)
    """,
    "arrays that the caller goes on to write to": """
        engine = eddy.Eddy(
            eddy.Query({n: eddy.Stream({"ts": "int64", "k": "int64"}, window=eddy.Range(500)) for n in "AB"},
                       where=["A.k = B.k"]), plan="A B")
        ts = {n: np.zeros(4096, np.int64) for n in "AB"}
        k = np.arange(4096) % 50
        def writer():
            for times in ts.values():
                times[::7] += 1 << 40
                times[::7] -= 1 << 40
        at = [0]
        def push(batches, push_all=engine.push_all):
            for i, name in enumerate("AB"):
                ts[name][:] = at[0] + 2 * np.arange(4096) + i
            try:
                result = push_all({n: {"ts": ts[n], "k": k} for n in "AB"})
                at[0] += 8192
            except eddy.BatchError:
                at[0] += 1 << 42
        engine.push_all = push
        push_and(engine, [writer] * 2)
    """,
}


def run(case: str) -> None:
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", COMMON + textwrap.dedent(case)],
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=400,
    )
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.parametrize("name", CASES)
def test_what_other_threads_read_is_whole(name):
    """A result, a view, statistics: whatever thread reads it, at whatever time, sees whole rows, and never waits for
    ever."""
    run(CASES[name])
