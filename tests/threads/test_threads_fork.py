"""A forked child has none of its parent's threads: an engine with shards makes its own there, and is exact."""

from __future__ import annotations

import multiprocessing
import os
import pickle
import signal
import threading
import time
import warnings

import numpy as np
import pytest

import eddy
from policies import Mns, Routing

pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="this system does not fork")

PATIENCE = 200
"""Seconds after which a child hangs."""
WAYS = {"short": {}, "long": {"feedback": Mns()}}
"""Batches that kernels alone do, with helpers; and such as Python deals out, with a pool."""


def make(**options):
    streams = {name: eddy.Stream({"k": "int64"}, window=eddy.Rows(2_000)) for name in "ABC"}
    query = eddy.Query(streams, where=["A.k = B.k", "B.k = C.k"])
    return eddy.Eddy(query, "(A B) C", batch_size=1 << 16, **options)


def batches(count, seed, rows=1_000):
    random = np.random.default_rng(seed)
    return [{name: {"k": random.integers(0, 2_000, rows)} for name in "ABC"} for _ in range(count)]


def pushed(engine, seed, count=6):
    return [sorted(engine.push_all(batch).rows.tolist()) for batch in batches(count, seed)]


def in_child(work):
    """What ``work`` returns in a forked child, or raises there; it fails if that takes too long."""
    reader, writer = multiprocessing.Pipe(duplex=False)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # since 3.12, of forks beside threads
        child = os.fork()
    if child == 0:
        try:
            writer.send_bytes(pickle.dumps(work()))
        except BaseException as error:
            writer.send_bytes(pickle.dumps(error))
        finally:
            os._exit(0)
    writer.close()
    try:
        assert reader.poll(PATIENCE), "the child hangs"
        found = pickle.loads(reader.recv_bytes())
    finally:
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)
    if isinstance(found, BaseException):
        raise found
    return found


@pytest.mark.parametrize("rest", [0, 0.05], ids=["awake", "asleep"])
@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("threads", [2, 3, 4])
def test_child_and_parent_go_on_with_the_same_engine(threads, way, rest):
    """Each with its own rows from where the fork was, whether helpers were asleep then or not."""
    engine, plain = make(threads=threads, **WAYS[way]), [make(**WAYS[way]) for _ in range(2)]
    assert pushed(engine, 1) == pushed(plain[0], 1) == pushed(plain[1], 1)
    time.sleep(rest)
    assert in_child(lambda: pushed(engine, 2)) == pushed(plain[0], 2)
    assert pushed(engine, 3) == pushed(plain[1], 3)


@pytest.mark.parametrize("way", WAYS)
def test_children_of_children_too(way):
    """Every generation has threads of its own, and what it does nobody else sees."""
    engine, plain = make(threads=3, **WAYS[way]), make(**WAYS[way])

    def generations(depth):
        own = [pushed(engine, depth, 3)]
        return own if depth == 0 else own + in_child(lambda: generations(depth - 1))

    assert generations(3) == [pushed(plain, depth, 3) for depth in (3, 2, 1, 0)]
    again = make(**WAYS[way])
    pushed(again, 3, 3)
    assert pushed(engine, 9) == pushed(again, 9)


def test_the_child_has_helpers_when_it_pushes_and_not_before():
    """A child that never pushes is left alone."""
    engine = make(threads=3)
    pushed(engine, 1)

    def helpers():
        return sum(thread.name.startswith("eddy-") for thread in threading.enumerate())

    def work():
        before = helpers()
        pushed(engine, 2)
        return before, helpers()

    assert in_child(work) == (0, 2)


def test_processes_of_multiprocessing():
    """A pool of forked workers takes one engine over, each for itself, and they end."""
    engine, plain = make(threads=3), [make() for _ in range(4)]
    pushed(engine, 1)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)
        context = multiprocessing.get_context("fork")
        queue = context.Queue()
        workers = [
            context.Process(target=lambda seed=seed: queue.put((seed, pushed(engine, seed))))
            for seed in range(4)
        ]
        for worker in workers:
            worker.start()
    try:
        found = dict(queue.get(timeout=PATIENCE) for _ in workers)
        for worker in workers:
            worker.join(PATIENCE)
        assert [worker.exitcode for worker in workers] == [0] * 4
    finally:
        for worker in workers:
            worker.kill()
    for seed, each in enumerate(plain):
        pushed(each, 1)
        assert found[seed] == pushed(each, seed)


@pytest.mark.parametrize("threads", [1, 3])
def test_a_fork_while_another_thread_pushes_leaves_the_child_an_engine_that_says_so(threads):
    """In the middle of a batch its arrays are in nobody's order; the child is told, and does not wait for ever."""
    engine, inside, go_on = make(threads=threads), threading.Event(), threading.Event()
    pushed(engine, 1)

    class Slow(dict):
        def __iter__(self):
            inside.set()
            go_on.wait(PATIENCE)
            return super().__iter__()

    pusher = threading.Thread(target=lambda: engine.push_all(Slow(batches(1, 2)[0])))
    pusher.start()
    inside.wait(PATIENCE)
    try:
        with pytest.raises(eddy.StateError, match="forked while another thread"):
            in_child(lambda: pushed(engine, 2))
        assert in_child(lambda: engine.statistics().events) == 6 * 3_000
    finally:
        go_on.set()
        pusher.join()
    other = make()
    pushed(other, 1)
    other.push_all(batches(1, 2)[0])
    assert pushed(engine, 3) == pushed(other, 3)


def test_a_result_that_another_thread_reads_can_be_read_in_a_child():
    """Whoever holds its lock is not in the child; also where the result belongs to several engines."""
    query = eddy.Query(
        {name: eddy.Stream({"k": "int64"}, window=eddy.Unbounded()) for name in "AB"}, where=["A.k = B.k"]
    )
    parts = []
    for engine in (eddy.Eddy(query, "A B"), eddy.Eddy(query, "A B")):
        engine.push("A", {"k": np.arange(3_000) % 50})
        parts.append(engine.push("B", {"k": np.arange(3_000) % 50}))
    for wait in (0.0, 0.001, 0.003):
        whole = eddy.Result.concat(parts)
        reader = threading.Thread(target=whole.to_arrow)
        reader.start()
        time.sleep(wait)
        assert in_child(lambda whole=whole: whole.rows.shape) == (2 * 3_000 * 60, 2)
        reader.join()


def test_a_policy_may_fork_while_another_thread_waits():
    """The child goes on with the push, and with the next."""
    found = {}

    class Forking(Routing):
        period = 1

        def choose(self, view):
            return None

        def wants(self, glance):
            if "result" in found and "child" not in found:
                reader = threading.Thread(target=found["result"].to_pydict)
                reader.start()
                with warnings.catch_warnings():
                    warnings.simplefilter("ignore", DeprecationWarning)
                    found["child"] = os.fork()
                if found["child"] == 0:
                    signal.alarm(PATIENCE)
            return False

    query = eddy.Query({name: eddy.Stream({"k": "int64"}) for name in "AB"}, where=["A.k = B.k"])
    engine = eddy.Eddy(query, "A B", routing=Forking())
    engine.push("A", {"k": np.arange(50)})
    found["result"] = engine.push("B", {"k": np.arange(50)})
    try:
        right = len(engine.push("A", {"k": np.arange(50)})) == 50
        if found["child"] == 0:
            right &= len(engine.push("B", {"k": np.arange(50)})) == 100 and engine.statistics().events == 200
    finally:
        if found["child"] == 0:
            os._exit(0 if right else 1)
    assert os.waitpid(found["child"], 0)[1] == 0 and right


def test_handlers_of_signals_are_back_in_a_child():
    """Another thread forks while the main thread pushes, and has put signals off: in the child nobody has."""
    engine, found = make(), []

    def fork():
        for _ in range(5):
            handler = in_child(lambda: signal.getsignal(signal.SIGINT) is signal.default_int_handler)
            found.append(handler)

    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        forker = threading.Thread(target=fork)
        forker.start()
        feeds = batches(3, seed=1, rows=20_000)
        while forker.is_alive():
            for batch in feeds:
                engine.push_all(batch)
    finally:
        signal.signal(signal.SIGINT, before)
    assert found == [True] * 5
