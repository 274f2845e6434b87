"""Random queries over streams of files, and what the oracles say of them."""

from __future__ import annotations

from collections import Counter
from itertools import pairwise
from types import SimpleNamespace

from attrs import frozen

from tests import naive, naive_attached

KINDS = (
    "inner",
    "inner",
    "inner",
    "filtered",
    "retractions",
    "groups",
    "left",
    "changes",
    "semi",
    "anti",
    "full",
)
JOINS = {"left": "LEFT JOIN", "changes": "LEFT JOIN", "full": "FULL JOIN"}
ASKS = {"semi": "EXISTS", "anti": "NOT EXISTS"}
COLUMNS = ("ts", "k", "id")


@frozen
class Shape:
    """A query and its oracle."""

    kind: str
    windows: dict
    """Of each stream: ("range", n) or ("rows", n)."""

    @property
    def names(self):
        return list(self.windows)

    @property
    def core(self):
        """The streams that are joined; all others are attached."""
        attached = self.kind in (*JOINS, *ASKS)
        return self.names[:-1] if attached else self.names

    @property
    def signed(self):
        """Whether results have a sign."""
        return self.kind in ("retractions", "groups", "changes")

    @property
    def options(self):
        """Of the engine, that belong to the query."""
        return {"retractions": True} if self.kind == "retractions" else {}

    @property
    def shown(self):
        """Names of the columns of results, but for the sign."""
        if self.kind == "groups":
            return ["k", "n", "total"]
        return [name.lower() for name in (self.core if self.kind in ASKS else self.names)]

    @property
    def plans(self):
        """Plans that a restart may bring."""
        core = self.core
        if len(core) < 3:
            return [None, " ".join(core)] if len(core) == 2 else [None]
        a, b, c = core
        return [None, f"({a} {b}) {c}", f"{a} ({b} {c})", f"({a} {c}) {b}"]

    @property
    def text(self):
        """The query as SQL."""
        said = {name: f"{name} [{kind.upper()} {n}]" for name, (kind, n) in self.windows.items()}
        core, last = self.core, self.names[-1]
        shown = ", ".join(f"{name.upper()}.id AS {name}" for name in self.shown)
        if self.kind == "groups":
            shown = f"{core[0]}.k AS k, COUNT(*) AS n, SUM({core[0]}.id) AS total"
        text = f"SELECT {shown} FROM " + ", ".join(said[name] for name in core)
        where = [f"{a}.k = {b}.k" for a, b in pairwise(core)]
        if self.kind == "filtered":
            where.append(f"{core[0]}.k < 3")
        if self.kind in JOINS:
            text += f" {JOINS[self.kind]} {said[last]} ON {last}.k = {core[0]}.k"
        if self.kind in ASKS:
            where.append(f"{ASKS[self.kind]} (SELECT 1 FROM {said[last]} WHERE {last}.k = {core[0]}.k)")
        if where:
            text += " WHERE " + " AND ".join(where)
        if self.kind == "groups":
            text += f" GROUP BY {core[0]}.k"
        return text + (" EMIT CHANGES" if self.kind == "changes" else "")

    def expected(self, tables):
        """All results, counted: (sign, *values)."""
        streams = {
            name: SimpleNamespace(columns=COLUMNS, window=window, time="ts")
            for name, window in self.windows.items()
        }
        events = []
        for number, name in enumerate(self.names):
            rows = tables[name].select(list(COLUMNS)).to_pylist()
            events += [
                (row["ts"], number, arrival, name, tuple(row.values())) for arrival, row in enumerate(rows)
            ]
        events = [(name, row) for *_, name, row in sorted(events, key=lambda event: event[:3])]
        seen = {name: [row[2] for other, row in events if other == name] for name in self.names}
        return sum((Counter(one) for one in self._told(streams, events, seen)), Counter())

    def _told(self, streams, events, seen):
        core = self.core
        where = [("=", ("col", a, "k"), ("col", b, "k")) for a, b in pairwise(core)]
        if self.kind == "filtered":
            where.append(("<", ("col", core[0], "k"), ("lit", 3)))
        if self.kind == "groups":
            first = core[0]
            outputs = [("COUNT",), ("SUM", ("col", first, "id"))]
            for changes in naive.aggregates(streams, where, events, outputs, [("col", first, "k")]):
                yield [(sign, *row) for sign, row in changes]
            return
        if self.kind == "retractions":
            for changes in naive.signed(streams, where, events):
                yield [(sign, *self._values(rows, seen)) for sign, rows in changes]
            return
        if core == self.names:
            for found in naive.join(streams, where, events):
                yield [(1, *self._values(rows, seen)) for rows in found]
            return
        last = self.names[-1]
        kind = "left" if self.kind == "changes" else self.kind
        attach = [(kind, last, [("=", ("col", last, "k"), ("col", core[0], "k"))])]
        if self.kind == "changes":
            for found in naive_attached.signed(streams, where, events, attach):
                yield {(sign, *self._values(rows, seen)): n for (sign, rows), n in found.items()}
            return
        for found in naive_attached.final(streams, where, events, attach):
            yield {(1, *self._values(rows, seen)): n for rows, n in found.items()}

    def _values(self, rows, seen):
        """The ids of rows, of the streams that are shown."""
        given = [None if n is None else seen[name][n] for name, n in zip(self.names, rows, strict=True)]
        return tuple(given[: len(self.shown)])


def shape(pick):
    """One of them."""
    kind = pick.choice(KINDS)
    count = pick.choice([2, 3]) if kind not in ("groups",) else 2
    if kind == "full":
        count = 2
    windows = {
        name: pick.choice([("range", pick.randint(5, 30)), ("rows", pick.randint(3, 20))])
        for name in "ABC"[:count]
    }
    return Shape(kind, windows)
