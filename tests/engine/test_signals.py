"""Ctrl-C and other signals in the middle of a push: the batch is done first, and nothing of it is lost."""

from __future__ import annotations

import signal
import threading
from collections import Counter

import numpy as np
import pytest

import eddy
from eddy.signals import DeferredSignals
from policies import Routing
from tests.feeds import Listed, batch, query, rows

pytestmark = pytest.mark.skipif(not hasattr(signal, "SIGALRM"), reason="this system has no such signals")


@pytest.fixture(autouse=True)
def handlers():
    """Every test ends with the handlers that it began with."""
    before = {number: signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM, signal.SIGALRM)}
    signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    for number, handler in before.items():
        signal.signal(number, handler)


class Interrupting(Routing):
    """A policy that has a signal sent in the middle of a push, when it is armed."""

    period = 1

    def __init__(self, number=signal.SIGINT):
        self.number = number
        self.armed = False

    def choose(self, view):
        return None

    def wants(self, glance):
        if self.armed:
            self.armed = False
            signal.raise_signal(self.number)
        return False


def feeds(pushes, size, seed=3):
    rng = np.random.default_rng(seed)
    return [{name: batch(rng.integers(0, 20, size)) for name in "ABC"} for _ in range(pushes)]


def engines(number=signal.SIGINT, **options):
    """An engine that is interrupted, and one that never is; both have some rows, so that the policy is asked."""
    one = eddy.Eddy(query("ABC", eddy.Rows(40)), "(A B) C", routing=Interrupting(number), **options)
    other = eddy.Eddy(query("ABC", eddy.Rows(40)), "(A B) C", **options)
    for engine in (one, other):
        engine.push_all(feeds(1, 10, seed=1)[0])
    return one, other


@pytest.mark.parametrize("options", [{}, {"batch_size": 8}, {"threads": 2}, {"retractions": True}], ids=str)
@pytest.mark.parametrize("as_lists", [False, True], ids=["arrays", "lists"])
def test_an_interrupt_waits_for_the_batch(options, as_lists, tmp_path):
    """KeyboardInterrupt is raised when the batch is done: `pending` has its results, and the engine goes on and can be
    saved."""
    engine, whole = engines(**options)
    interrupts = 0
    for n, batches in enumerate(feeds(20, 60)):
        if as_lists:
            batches = {
                name: {c: Listed(values.tolist()) for c, values in b.items()} for name, b in batches.items()
            }
        wanted = whole.push_all(batches)
        engine.routing.armed = n % 3 == 2
        try:
            found = [engine.push_all(batches)]
        except KeyboardInterrupt:
            interrupts += 1
            with pytest.raises(eddy.StateError, match="interrupted"):
                engine.push_all(batches)
            if n % 2:
                engine.save(tmp_path / "s.eddy")
            found = list(engine.pending)
        assert Counter(rows(*found)) == Counter(rows(wanted))
        assert np.concatenate([part.sign for part in found]).sum() == wanted.sign.sum()
        assert engine.pending is None
    assert interrupts == 6
    assert engine.statistics().events == whole.statistics().events
    engine.save(tmp_path / "s.eddy")
    loaded = eddy.Eddy.load(tmp_path / "s.eddy")
    last = feeds(1, 60, seed=9)[0]
    assert Counter(rows(loaded.push_all(last))) == Counter(rows(whole.push_all(last)))


@pytest.mark.parametrize("threads", [1, 2])
def test_no_push_is_taken_while_results_are_pending(threads):
    """After an interrupt the results are drawn before the next push, also where kernels take in pushes on their own."""
    engine = eddy.Eddy(query("AB", eddy.Rows(4000)), "A B", routing=Interrupting(), threads=threads)
    engine.push("A", batch(np.arange(2000)))
    engine.push("B", batch(np.arange(2000)))
    engine.routing.armed = True
    with pytest.raises(KeyboardInterrupt):
        engine.push("B", batch(np.arange(1000)))
    with pytest.raises(eddy.StateError, match="interrupted"):
        engine.push("B", batch(np.arange(1000)))
    assert sum(map(len, engine.pending)) == 1000
    assert len(engine.push("B", batch(np.arange(1000)))) == 1000


def test_every_signal_is_handled():
    """Where several have come, the handlers of all of them run, whatever the first one raises."""
    engine, _ = engines()
    seen = []
    signal.signal(signal.SIGTERM, lambda *_: seen.append("term"))

    class Two(Interrupting):
        def wants(self, glance):
            signal.raise_signal(signal.SIGINT)
            signal.raise_signal(signal.SIGTERM)
            return False

    engine = eddy.Eddy(query("ABC", eddy.Rows(40)), "(A B) C", routing=Two())
    engine.push_all(feeds(1, 10)[0])
    with pytest.raises(KeyboardInterrupt):
        engine.push_all(feeds(1, 10)[0])
    assert seen == ["term"]
    engine.pending.close()


def test_handlers_may_use_the_engine(tmp_path):
    """A handler that saves the engine, as a supervisor's SIGTERM asks for, finds it whole."""
    engine, _ = engines(signal.SIGTERM, batch_size=16)

    def stop(*_):
        engine.save(tmp_path / "s.eddy")
        raise SystemExit(3)

    signal.signal(signal.SIGTERM, stop)
    engine.routing.armed = True
    with pytest.raises(SystemExit):
        engine.push_all(
            {name: {c: Listed(v.tolist()) for c, v in b.items()} for name, b in feeds(1, 60)[0].items()}
        )
    assert eddy.Eddy.load(tmp_path / "s.eddy").statistics().events == engine.statistics().events == 210


def test_a_handler_that_draws_the_results_has_them():
    """What a handler has drawn is not given again by the push."""
    engine, whole = engines()
    drawn = []
    signal.signal(signal.SIGINT, lambda *_: drawn.extend(engine.pending))
    engine.routing.armed = True
    batches = feeds(1, 60)[0]
    assert len(engine.push_all(batches)) == 0
    assert Counter(rows(*drawn)) == Counter(rows(whole.push_all(batches)))


def test_no_handler_is_lost():
    """Wherever the handler of one signal raises something, the handlers of all others are in their places."""

    def time_out(*_):
        raise TimeoutError

    signal.signal(signal.SIGALRM, time_out)
    engine = eddy.Eddy(query("AB", eddy.Rows(40)), "A B")
    rng = np.random.default_rng(2)
    for _ in range(400):
        try:
            signal.setitimer(signal.ITIMER_REAL, float(rng.uniform(1e-6, 1e-4)))
            engine.push("A", batch([1, 2]))
            signal.setitimer(signal.ITIMER_REAL, 0)
        except TimeoutError:
            signal.setitimer(signal.ITIMER_REAL, 0)
        assert signal.getsignal(signal.SIGINT) is signal.default_int_handler
        assert signal.getsignal(signal.SIGALRM) is time_out
        for part in engine.pending or ():
            assert len(part) == 0


def test_a_handler_that_is_set_meanwhile_stays():
    """A policy may set a handler of its own in the middle of a push."""
    held = DeferredSignals()
    mine = lambda *_: None  # noqa: E731
    signal.signal(signal.SIGINT, mine)
    held.release()
    assert signal.getsignal(signal.SIGINT) is mine


def test_readers_are_not_cut_in_two():
    """An interrupt while the engine is asked comes after the answer is found: what it remembers is whole."""
    engine, _ = engines()
    rng = np.random.default_rng(5)
    signal.signal(signal.SIGALRM, signal.default_int_handler)
    for n in range(60):
        engine.migrate(["A (B C)", "(A B) C", "stems"][n % 3])
        try:
            signal.setitimer(signal.ITIMER_REAL, float(rng.uniform(1e-6, 1e-3)))
            engine.view(), engine.explain(), engine.statistics()
            signal.setitimer(signal.ITIMER_REAL, 0)
        except KeyboardInterrupt:
            signal.setitimer(signal.ITIMER_REAL, 0)
        engine.view(), engine.explain(), engine.statistics()


def test_what_is_left_of_a_push_is_done_as_it_is_drawn():
    """A push that is cut stops after the batch at hand; the rest uses no array of the caller's."""
    engine, whole = engines(batch_size=16)
    batches = feeds(1, 200)[0]
    lists = {name: {c: Listed(values.tolist()) for c, values in b.items()} for name, b in batches.items()}
    wanted = whole.push_all(batches)
    engine.routing.armed = True
    with pytest.raises(KeyboardInterrupt):
        engine.push_all({**lists, "A": batches["A"]})
    assert engine.statistics().events < 630
    for values in batches["A"].values():
        values[:] = -1
    assert Counter(rows(*engine.pending)) == Counter(rows(wanted))
    assert engine.statistics().events == 630


def test_giving_up_what_an_interrupt_has_left_loses_no_row():
    """`pending.close()` gives up results, and processes the rows that are left."""
    engine, whole = engines(batch_size=16)
    first, second = feeds(2, 200)
    whole.push_all(first)
    engine.routing.armed = True
    with pytest.raises(KeyboardInterrupt):
        engine.push_all({name: {c: Listed(v.tolist()) for c, v in b.items()} for name, b in first.items()})
    engine.pending.close()
    assert engine.pending is None
    assert Counter(rows(engine.push_all(second))) == Counter(rows(whole.push_all(second)))


def test_saving_after_an_interrupt_keeps_the_results(tmp_path):
    """A snapshot holds all rows of the push; its results are still in `pending`."""
    engine, whole = engines(batch_size=16)
    first, second = feeds(2, 200)
    wanted = whole.push_all(first)
    engine.routing.armed = True
    with pytest.raises(KeyboardInterrupt):
        engine.push_all({name: {c: Listed(v.tolist()) for c, v in b.items()} for name, b in first.items()})
    engine.save(tmp_path / "s.eddy")
    loaded = eddy.Eddy.load(tmp_path / "s.eddy")
    assert loaded.statistics().events == engine.statistics().events == 630
    assert Counter(rows(*engine.pending)) == Counter(rows(wanted))
    assert Counter(rows(loaded.push_all(second))) == Counter(rows(whole.push_all(second)))


def test_interrupts_at_any_time():
    """Wherever a signal comes, in a push or out of it, the engine is whole and no result is lost or repeated."""
    whole, engine = (eddy.Eddy(query("ABC", eddy.Rows(40)), "(A B) C") for _ in range(2))
    pushes = feeds(300, 60)
    at, interrupts = 0, 0
    rng = np.random.default_rng(5)
    signal.signal(signal.SIGALRM, signal.default_int_handler)
    while at < 300 or interrupts <= 5:  # a timer that rings in a push, or just after it, is a matter of luck
        before, result = engine.statistics().events, None
        try:
            if rng.random() < 0.5:
                signal.setitimer(signal.ITIMER_REAL, float(rng.uniform(1e-5, 1e-3)))
            result = engine.push_all(pushes[at % 300])
            signal.setitimer(signal.ITIMER_REAL, 0)
        except KeyboardInterrupt:
            interrupts += 1
            signal.setitimer(signal.ITIMER_REAL, 0)
            if engine.pending is not None:
                (result,) = engine.pending
            elif result is None:  # nothing of it was taken in
                assert engine.statistics().events == before
                continue
        assert Counter(rows(result)) == Counter(rows(whole.push_all(pushes[at % 300])))
        at += 1
        assert engine.statistics().events == 180 * at


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGALRM, signal.SIGINT])
def test_handlers_of_the_users_own(number):
    """A handler runs after the batch; if it raises nothing, the push returns its results as if nothing had been."""
    engine, whole = engines(number, batch_size=16)
    seen = []
    handler = lambda which, frame: seen.append((which, engine.statistics().events))  # noqa: E731
    signal.signal(number, handler)
    for batches in feeds(4, 200):
        lists = {name: {c: Listed(v.tolist()) for c, v in b.items()} for name, b in batches.items()}
        engine.routing.armed = True
        assert Counter(rows(engine.push_all(lists))) == Counter(rows(whole.push_all(batches)))
    assert [which for which, _ in seen] == [number] * 4
    assert signal.getsignal(number) is handler


def test_system_exit_of_a_supervisor():
    """SystemExit, raised by a handler of SIGTERM, leaves an engine that can be saved."""
    engine, _ = engines(signal.SIGTERM)
    before = engine.statistics().results

    def stop(*_):
        raise SystemExit(3)

    signal.signal(signal.SIGTERM, stop)
    engine.routing.armed = True
    with pytest.raises(SystemExit):
        engine.push_all(feeds(1, 60)[0])
    assert sum(map(len, engine.pending)) == engine.statistics().results - before > 0


def test_drawing_in_parts_is_not_cut_in_two():
    """An interrupt while results are drawn leaves the part in the iterator."""
    engine = eddy.Eddy(query("AB"), "A B")
    engine.push("A", batch([1] * 100))
    drawing = engine.push("B", batch([1] * 10), max_rows=7)
    total, interrupts = 0, 0
    rng = np.random.default_rng(5)
    signal.signal(signal.SIGALRM, signal.default_int_handler)
    drawn = False
    while not drawn:
        part = None
        try:
            signal.setitimer(signal.ITIMER_REAL, float(rng.uniform(1e-6, 3e-4)))
            try:
                part = drawing.__next__()
            except StopIteration:  # the signal may come just now, too
                drawn = True
            signal.setitimer(signal.ITIMER_REAL, 0)
        except KeyboardInterrupt:
            interrupts += 1
            signal.setitimer(signal.ITIMER_REAL, 0)
        total += 0 if part is None else len(part)
    assert total == 1000 and interrupts > 0 and engine.pending is None


def test_plan_changes_are_not_cut_in_two(tmp_path):
    """An interrupt in `migrate`, `settle` or `save` comes after it."""
    engine, whole = (eddy.Eddy(query("ABC", eddy.Rows(40)), "(A B) C") for _ in range(2))
    rng = np.random.default_rng(5)
    signal.signal(signal.SIGALRM, signal.default_int_handler)
    for n, batches in enumerate(feeds(60, 60)):
        try:
            signal.setitimer(signal.ITIMER_REAL, float(rng.uniform(1e-6, 5e-4)))
            engine.migrate(["A (B C)", "(A B) C", "stems"][n % 3])
            engine.settle()
            engine.save(tmp_path / "s.eddy")
            signal.setitimer(signal.ITIMER_REAL, 0)
        except KeyboardInterrupt:
            signal.setitimer(signal.ITIMER_REAL, 0)
        for part in engine.pending or ():
            assert len(part) == 0
        assert Counter(rows(engine.push_all(batches))) == Counter(rows(whole.push_all(batches)))


def test_a_push_that_a_handler_has_cut_is_whole():
    """A harmless handler cuts a push in two, and an interrupt comes while the rest is done: nothing is lost."""
    engine, whole = engines(signal.SIGALRM, batch_size=16)
    calls = []

    def harmless(*_):
        calls.append(1)
        if len(calls) == 1:
            signal.setitimer(signal.ITIMER_REAL, 1e-4)
        else:
            raise KeyboardInterrupt

    signal.signal(signal.SIGALRM, harmless)
    engine.routing.armed = True
    batches = feeds(1, 2000)[0]
    lists = {name: {c: Listed(v.tolist()) for c, v in b.items()} for name, b in batches.items()}
    try:
        found = [engine.push_all(lists)]
    except KeyboardInterrupt:
        found = list(engine.pending)
    signal.setitimer(signal.ITIMER_REAL, 0)
    assert Counter(rows(*found)) == Counter(rows(whole.push_all(batches)))


def test_other_threads_are_left_alone():
    """Handlers belong to the main thread: a push in another one does not touch them."""
    seen = []

    def work():
        deferred = DeferredSignals()
        seen.append(signal.getsignal(signal.SIGINT))
        deferred.release()

    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
    assert seen == [signal.default_int_handler]


def test_signals_within_signals():
    """What an inner one has noted is handed to the outer one."""
    outer = DeferredSignals()
    inner = DeferredSignals()
    signal.raise_signal(signal.SIGINT)
    inner.release()
    with pytest.raises(KeyboardInterrupt):
        outer.release()
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


def test_a_policy_cannot_push():
    """Whoever is called in the middle of a push, in the same thread too, may ask, and may not push."""

    class Pushing(Routing):
        period = 1

        def choose(self, view):
            return None

        def wants(self, glance):
            assert engine.statistics().events >= 0
            with pytest.raises(eddy.StateError, match="one caller at a time"):
                engine.push_all(feeds(1, 3)[0])
            with pytest.raises(eddy.StateError, match="one caller at a time"):
                engine.migrate("A (B C)")
            asked.append(1)
            return False

    asked = []
    engine = eddy.Eddy(query("ABC", eddy.Rows(40)), "(A B) C", routing=Pushing())
    Pushing.__deepcopy__ = lambda self, memo: self
    for batches in feeds(3, 20):
        engine.push_all(batches)
    assert len(asked) >= 2
