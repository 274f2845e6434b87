"""One case on every way that a push can take: the fast path and the long way, with one thread and with several.

All must give the oracle's results, and tell the same of themselves, but for what the tables here name.
"""

from __future__ import annotations

import re
from collections import OrderedDict

import attrs
from attrs import evolve, frozen

from tests import naive
from tests.cases import FEEDBACK, batch, expected, make_engine, step_events
from tests.checks import Book, judge, restart, row_tuples


@frozen
class Way:
    """How the pushes of a case are taken in.

    ``fast``: by kernels alone, as far as query, plan and values allow: batches are plain dicts of numpy arrays.
    Otherwise none of them is: batches come in another kind of mapping than a dict, which only the long way takes.
    """

    fast: bool
    threads: int

    def batch(self, case, name, rows):
        """Rows of a stream as this way wants them."""
        return batch(evolve(case, form="numpy") if self.fast else case, name, rows)

    def push(self, engine, case, step):
        """Do a push or push_all; a list of results: several where the step asks for parts."""
        kind = dict if self.fast else OrderedDict
        if step[0] == "push_all":
            return [engine.push_all(kind((n, self.batch(case, n, rows)) for n, rows in step[1].items()))]
        name, rows, *most = step[1:]
        given = self.batch(case, name, rows)
        if most:
            return list(engine.push(name, given, max_rows=most[0]))
        return [engine.push(name, given) if self.fast else engine.push_all(kind([(name, given)]))]


def ways(case):
    """All of them, by name."""
    return {
        "fast": Way(True, 1),
        "long": Way(False, 1),
        "fast, threads": Way(True, case.threads),
        "long, threads": Way(False, case.threads),
    }


# What an engine tells of itself. A field that no table names is the same on every way.

CLOCK = {
    "history.begun_at": "a time of day",
    "history.ended_at": "a time of day",
    "history.seconds": "measured",
    "history.longest_pause": "measured",
    "feedback.seconds": "measured",
    "seconds": "measured",
}
"""Differ from run to run."""

PORTIONS = {
    "batches": "a push that kernels take in at once is one",
    "steps.seconds": "reckoned from what follows",
    "steps.probes": "as probed",
    "probed": "the more events are joined together, the more that come later are passed on the way",
    "history.evaluations": "the same, while a change was under way",
}
"""Depends on how rows are handed over: the one thing that does."""

FAST = {"bytes": "the fast path has arrays of its own, for the rows of one push", **PORTIONS}
"""May differ between the fast path and the long way, beside `CLOCK`."""

LARGE = {
    "streams.bytes": "the fast path makes room for the rows of a whole push, the long way for those of a batch",
    "stairs.bytes": "the same for composites",
    "history.peak_bytes": "the same",
}
"""And these, once a push was larger than a batch."""

THREADS = {
    **PORTIONS,
    "candidates": "rows that several shards have are tested in each, by the band that it finds best",
    "bytes": "each shard has arrays of its own, half full on average",
    "streams.bytes": "the same: payload and leaves",
    "stairs.bytes": "the same",
    "view.distinct": "estimated from the rows of one shard",
    "steps.matches": "since the plan runs, which each shard begins by itself",
}
"""May differ between one thread and several, beside `CLOCK`."""

SHARDS = {
    "stairs.live": "composites of rows that several shards have, made in each",
    "view.steps": "probes with such rows; where rows of a stream take turns between orderings, each shard's own do",
    "matched": "the same: what these probes have found",
}
"""And these, unless one shard has all rows of a key, which are joined on it alone and take one way only."""

CHANGES = {
    **SHARDS,
    "stairs.name": "each shard changes its plan by itself: one may have left a former plan when others have not",
    "stairs.streams": "the same",
    "steps.source": "the same",
    "steps.target": "the same",
    "stairs.former": "the same",
    "stairs.partial": "the same",
    "stairs.complete": "a shard fills the holes that its own rows probe, and more in the background",
    "stairs.fraction": "the mean of all shards",
    "stairs.keys_filled": "a key that several shards have is filled in each",
    "stairs.holes": "likewise",
    "keys_filled": "likewise",
    "composites_filled": "likewise",
    "history.keys_filled": "likewise",
    "history.composites_built": "likewise",
    "fallbacks": "likewise: each shard changes its plan by itself",
    "history.fallback": "of the first shard that has one",
    "history.ended": "when the last shard was done",
    "history.longest_gap": "the longest of a shard: a batch brings results to one, and none to another",
    "history.peak_bytes": "of all shards together, each at its own peak",
    "history.tracks.plan": "the plans of all shards that ran side by side, one after the other",
    "history.tracks.rows": "those that were dealt to the shard",
    "history.tracks.results": "of each shard",
    "history.tracks.entries": "of each shard",
}
"""And these, once the plan has changed or a snapshot was loaded."""

JUDGED = {
    f"feedback.{name}": "a shard judges by the partners that it has, not by those of others"
    for name in (
        "suspended",
        "resumed",
        "dropped",
        "waiting",
        "composites_suspended",
        "composites_resumed",
        "pairs_suppressed",
        "pairs_restored",
        "keys_noted",
        "composites_avoided",
        "bytes",
        "bytes_saved",
        "edges.name",
        "edges.opposite",
        "edges.key",
        "edges.waiting",
        "edges.suspended",
        "edges.resumed",
        "edges.resting",
    )
}
"""And these, with `CHANGES`, where a feedback policy judges: rows that wait are in no composite. If it judges only
while that pays, by the clock (`restraint`), they differ from run to run."""


FED = ("events", "results", "streams.name", "streams.rows", "streams.live")
"""What the feed alone decides. No more is the same where a routing policy is asked in the middle of pushes: the long
way asks it between two batches of a push, the fast path after some thousand events, and threads on the fast path after
the push. So it is asked at other events, and may choose other plans, of which all the other fields tell."""


def told(value, name=""):
    """The fields of statistics, with those of their parts: pairs of a name such as "streams.live" and a value."""
    if attrs.has(type(value)):
        for part in attrs.fields(type(value)):
            yield from told(getattr(value, part.name), f"{name}.{part.name}" if name else part.name)
    elif isinstance(value, tuple) and value and attrs.has(type(value[0])):
        for part in value:
            yield from told(part, name)
    else:
        yield name, value


LATEST = 32
"""Plan changes that are compared: the last ones."""


def fields(engine):
    """What an engine tells of itself, by field: statistics, and what the steps of its plan have found."""
    found, statistics = {}, engine.statistics()
    # 64 that are over are remembered: which these are depends on when each was over, and so does the order of those
    # that began before one event: what a policy chose, and what the caller asked for then.
    latest = sorted(statistics.history, key=lambda change: (change.begun, change.former, change.plan))[
        -LATEST:
    ]
    for name, value in told(evolve(statistics, history=tuple(latest))):
        if value != ():  # a tuple without parts: whose fields are not there either
            found.setdefault(name, []).append(value)
    view = engine.view()
    found["view.steps"] = sorted((s.source, s.target, s.drivers, s.probes, s.matches) for s in view.steps)
    found["view.distinct"] = dict(view.distinct)
    found["view.rows"] = view.events, view.arrivals, view.live, view.batch
    return found


def apart(case):
    """Whether shards have nothing in common: all streams are joined on one key, and no ordering has a share of rows
    by their places or numbers."""
    if re.search(r" [0-9]+( drawn( [0-9]+)?)?:", case.plan or ""):
        return False
    edges = [tree for tree in case.where if tree[0] == "=" and all(side[0] == "col" for side in tree[1:])]
    known = {edges[0][1][1:]} if edges else set()
    for _ in case.streams:
        for _, left, right in edges:
            if {left[1:], right[1:]} & known:
                known |= {left[1:], right[1:]}
    return {name for name, _ in known} == set(case.streams)


def by_the_clock(case):
    """Whether the feedback policy judges only while that pays."""
    return getattr(case.feedback, "restraint", False)


def compare(case, found, changed, fits):
    """Hold the fields of all ways against each other.

    ``changed``: a plan change or a restart has been; ``fits``: no push was larger than a batch.
    """
    ways, threads = CLOCK | FAST | ({} if fits else LARGE), CLOCK | THREADS
    if changed or not apart(case):
        threads |= CHANGES if changed else SHARDS
    if case.feedback != FEEDBACK[0]:
        threads |= CHANGES | JUDGED
    if by_the_clock(case):
        ways |= threads
    asked_within = not fits and case.routing.period is not None
    for one, other, may in (
        ("fast", "long", ways),
        ("fast, threads", "long, threads", ways),
        ("fast", "fast, threads", threads),
    ):
        left, right = found[one], found[other]
        unlike = [
            f"{name}: {left.get(name)!s:.300} and {right.get(name)!s:.300}"
            for name in ({**left, **right} if not asked_within else FED)
            if name not in may and left.get(name) != right.get(name)
        ]
        assert not unlike, f"{one} / {other}: {'; '.join(unlike)}"


# Running a case


def check(case):
    """Run the case on every way, and hold results and fields against the oracle and each other.

    Results of every push; fields after each step, or every few pushes of many. Returns the last ones of each way.
    """
    chosen, wanted, book = ways(case), expected(case), Book(case)
    engines = {name: make_engine(case, threads=way.threads) for name, way in chosen.items()}
    changed, fits, now, held = False, True, None, []
    every = 1 + len(case.steps) // 40
    for number, (step, want) in enumerate(zip(case.steps, wanted, strict=True), 1):
        if step[0] in ("push", "push_all"):
            results = {name: way.push(engines[name], case, step) for name, way in chosen.items()}
            events = step_events(case, step)
            book.enter(events)
            now = naive.time_of(case.streams[events[-1][0]], events[-1][1]) if events else now
            fits = fits and len(events) <= case.batch_size
            held.append((want, results, fits and not by_the_clock(case)))
            if not case.hold:
                agree(book, *held[-1])
        elif step[0] == "migrate":
            for engine in engines.values():
                engine.migrate(step[1])
        elif step[0] == "settle":
            assert not any(len(engine.settle()) for engine in engines.values())
        elif step[0] == "restart":
            engines = {name: restart(engine) for name, engine in engines.items()}
            changed = True
        if number % every == 0 or step[0] not in ("push", "push_all") or number == len(case.steps):
            found = {name: fields(engine) for name, engine in engines.items()}
            changed = changed or found["fast"]["migrations"] != [0]
            compare(case, found, changed, fits)
            count(book, now, found["fast"])
    for one in held if case.hold else ():
        agree(book, *one)
    found = {name: fields(engine) for name, engine in engines.items()}
    assert found["fast"]["results"] == [sum(len(rows) for want in wanted for rows in want)]
    return found


def agree(book, want, results, ordered):
    """Results of a push are the oracle's, and those of one number of threads come in the same order.

    The order of what one event brings is the engine's own: that in which a chain of equal keys was stored, where rows
    that have waited come last, and one shard after the other. It changes when a STAIR grows; the fast path lets it grow
    for a whole push, the long way for each batch: so the order is the same (``ordered``) while no push is larger than a
    batch.
    """
    for name, parts in results.items():
        try:
            judge(book, want, parts)
        except AssertionError as error:
            raise AssertionError(f"{name}: {error}") from error
    for threads in ("", ", threads") if ordered else ():
        first, second = (row_tuples(results[way + threads]) for way in ("fast", "long"))
        assert first == second, f"fast / long{threads}: another order: {first} and {second}"


def count(book, now, found):
    """The fields that the oracle knows, at time ``now``."""
    assert found["events"] == [book.count]
    streams = book.case.streams
    rows = {name: book.rows.get(name, []) for name in streams}
    live = [len(naive.live_rows(stream, rows[name], now)) for name, stream in streams.items()]
    assert found["streams.rows"] == [len(rows[name]) for name in streams]
    assert found["streams.live"] == live, f"live rows: {found['streams.live']}, not {live}"
