"""The oracle of attachments: outer, semi, anti and as-of joins on top of what `naive` says of the core.

``attach`` is a list of ``(kind, stream, [predicate, ...])`` with the kinds "inner", "left", "right", "full", "semi",
"anti", "asof" and "left asof"; an as-of join has a fourth item, the columns ``(x, y)`` for which its partner has the
largest y that is at most x. Results are tuples of row numbers of all streams, the core first; None is no row.
"""

from __future__ import annotations

from collections import Counter

from tests.naive import evaluator, live_rows, reads, standing, time_of

__all__ = ["ASKS", "final", "reads", "signed"]

KEEPS_LEFT = "left", "full", "left asof"
KEEPS_RIGHT = "right", "full"
ASKS = "semi", "anti"


def worlds(streams, events):
    """After each event the rows so far, and the numbers of those that are live, by stream."""
    seen = {name: [] for name in streams}
    for name, row in events:
        if name is not None:
            seen[name].append(row)
        now = row if name is None else time_of(streams[name], row)
        yield seen, {other: set(live_rows(streams[other], seen[other], now)) for other in streams}


def lives(snapshots):
    """What stood, with the first event at which it did and the first one at which it did no longer, one life each."""
    begun, found = {}, []
    for event, standing_now in enumerate([*snapshots, ()]):
        for it in [it for it in begun if it not in standing_now]:
            found.append((it, begun.pop(it), event))
        begun.update({it: event for it in standing_now if it not in begun})
    return found


class Tests:
    """What predicates say of composites whose rows may be missing: then every column of them is NULL."""

    def __init__(self, streams, seen):
        self.streams, self.seen, self.names = streams, seen, list(streams)

    def bound(self, rows):
        return {
            name: [None] * len(self.streams[name].columns) if n is None else self.seen[name][n]
            for name, n in zip(self.names, rows, strict=False)
        }

    def hold(self, trees, rows):
        bound = self.bound(rows)
        return all(evaluator(tree, self.streams)(bound) is True for tree in trees)

    def value(self, tree, rows):
        return evaluator(tree, self.streams)(self.bound(rows))

    def nearest(self, rows, place, candidates, on, by):
        """The row that an as-of join takes, if there is one; of equals the newest."""
        x, y, strict = by
        found = []
        for n in candidates:
            pair = with_row(rows, place, n)
            mine, own = self.value(x, pair), self.value(y, pair)
            known = mine is not None and own is not None
            if known and (own < mine or (own == mine and not strict)) and self.hold(on, pair):
                found.append((own, n))
        return max(found)[1] if found else None


def with_row(rows, place, n):
    return (*rows[:place], n, *rows[place + 1 :])


def core_of(streams, where, events, core):
    """After each event the results of the core that stand, padded to all streams."""
    own = {name: streams[name] for name in core}
    told = [
        (name, row) if name in own else (None, row if name is None else time_of(streams[name], row))
        for name, row in events
    ]
    missing = (None,) * (len(streams) - len(core))
    return [{(*rows, *missing) for rows in stands} for stands in standing(own, where, told)]


def final(streams, where, events, attach, after=()):
    """For each event the results that it brings, and last those of the end, when all windows do."""
    names, end = list(streams), len(events)
    core = [name for name in names if name not in {one[1] for one in attach}]
    snapshots = list(worlds(streams, events))
    tests = Tests(streams, snapshots[-1][0] if snapshots else {})
    rows_lived = {name: lives([live[name] for _, live in snapshots]) for name in names}
    # rows, from when to when they live, and when they are known if that is at their end
    composites = [(rows, a, b, None) for rows, a, b in lives(core_of(streams, where, events, core))]
    for kind, stream, on, *by in attach:
        place, behind, partnered = names.index(stream), [], set()
        for rows, a, b, known in composites:
            partners = [
                (n, max(a, c), min(b, d))
                for n, c, d in rows_lived[stream]
                if max(a, c) < min(b, d) and tests.hold(on, with_row(rows, place, n))
            ]
            if by:
                there = [n for n, c, d in rows_lived[stream] if c <= a < d]
                n = tests.nearest(rows, place, there, on, by[0])
                if n is not None or kind in KEEPS_LEFT:
                    behind.append((with_row(rows, place, n), a, b, known))
                continue
            partnered |= {n for n, _, _ in partners}
            if kind not in ASKS:
                for n, c, d in partners:
                    life = (c, d) if known is None else (a, b)
                    behind.append((with_row(rows, place, n), *life, known))
            elif kind == "semi" and partners:
                behind.append((rows, min(c for _, c, _ in partners) if known is None else a, b, known))
            if not partners and (kind in KEEPS_LEFT or kind == "anti"):
                behind.append((rows, a, b, b if known is None else known))
        if kind in KEEPS_RIGHT:
            nothing = (None,) * len(names)
            for n, c, d in rows_lived[stream]:
                if n not in partnered:
                    behind.append((with_row(nothing, place, n), c, d, d))
        composites = behind
    brought = [Counter() for _ in range(end + 1)]
    for rows, a, _, known in composites:
        if tests.hold(after, rows):
            brought[a if known is None else known][rows] += 1
    return brought


def signed(streams, where, events, attach, after=()):
    """For each event what it withdraws and what it gives: a Counter of (sign, rows)."""
    names = list(streams)
    core = [name for name in names if name not in {one[1] for one in attach}]
    cores = core_of(streams, where, events, core)
    before, chosen, changes = set(), [{} for _ in attach], []
    for stands, (seen, live) in zip(cores, worlds(streams, events), strict=True):
        tests, composites = Tests(streams, seen), stands
        for number, (kind, stream, on, *by) in enumerate(attach):
            place, behind, partnered = names.index(stream), set(), set()
            if by:
                kept = {rows: n for rows, n in chosen[number].items() if rows in composites}
                for rows in composites:
                    if rows not in kept:
                        kept[rows] = tests.nearest(rows, place, live[stream], on, by[0])
                chosen[number] = kept
                composites = {
                    with_row(rows, place, n)
                    for rows, n in kept.items()
                    if n is not None or kind in KEEPS_LEFT
                }
                continue
            for rows in composites:
                partners = [n for n in live[stream] if tests.hold(on, with_row(rows, place, n))]
                partnered.update(partners)
                if kind not in ASKS:
                    behind |= {with_row(rows, place, n) for n in partners}
                elif kind == "semi" and partners:
                    behind.add(rows)
                if not partners and (kind in KEEPS_LEFT or kind == "anti"):
                    behind.add(rows)
            if kind in KEEPS_RIGHT:
                nothing = (None,) * len(names)
                behind |= {with_row(nothing, place, n) for n in live[stream] if n not in partnered}
            composites = behind
        now = {rows for rows in composites if tests.hold(after, rows)}
        changes.append(Counter([*((-1, it) for it in before - now), *((1, it) for it in now - before)]))
        before = now
    return changes
