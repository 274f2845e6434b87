"""Aggregates of a user's own, which `naive.OWN` computes from scratch. All keep whole numbers, so they are exact."""

from __future__ import annotations

import eddy


class Variance(eddy.Aggregate):
    """The variance of whole numbers."""

    n: int
    total: int
    squares: int

    def add(self, x):
        self.n += 1
        self.total += x
        self.squares += x * x

    def remove(self, x):
        self.n -= 1
        self.total -= x
        self.squares -= x * x

    def result(self):
        return (self.n * self.squares - self.total * self.total) / (self.n * self.n)


class Weighted(eddy.Aggregate):
    """The mean of x weighted by w: two arguments, and a NULL of its own."""

    total: int
    weight: int

    def add(self, x, w):
        self.total += x * w
        self.weight += w

    def remove(self, x, w):
        self.total -= x * w
        self.weight -= w

    def result(self):
        if self.weight == 0:
            return None
        return self.total / self.weight


class BitOr(eddy.Aggregate):
    """The lowest four bits of all values or-ed: how often each is set is kept, one above that so that start counts."""

    ones: int
    twos: int
    fours: int
    eights: int

    def start(self):
        self.ones = self.twos = self.fours = self.eights = 1

    def add(self, x):
        self.ones += x & 1
        self.twos += (x >> 1) & 1
        self.fours += (x >> 2) & 1
        self.eights += (x >> 3) & 1

    def remove(self, x):
        self.ones -= x & 1
        self.twos -= (x >> 1) & 1
        self.fours -= (x >> 2) & 1
        self.eights -= (x >> 3) & 1

    def result(self):
        bits = 0
        for place, count in enumerate((self.ones, self.twos, self.fours, self.eights)):
            bits |= (count > 1) << place
        return bits


class Share(eddy.Aggregate):
    """The share of values above 0, of any type."""

    above: int
    n: int

    def add(self, x):
        self.above += x > 0
        self.n += 1

    def remove(self, x):
        self.above -= x > 0
        self.n -= 1

    def result(self):
        return self.above / self.n


def joined(values):
    """The first and the last three values that are not NULL, in order."""
    known = [str(value) for value in values.to_pylist() if value is not None]
    return ",".join(known[:3] + known[-3:]) or None


OWN = {kind.__name__: kind for kind in (Variance, Weighted, BitOr, Share)}
OWN_FUNCTIONS = {"Joined": eddy.aggregate_function(joined, type="string", name="Joined")}

STREAMS = {
    "A": eddy.Stream({"k": "int64", "g": "string"}),
    "B": eddy.Stream({"k": "int64", "v": "int64", "w": "float64", "u": "uint64"}, window=eddy.Rows(3)),
}


def made(own, *columns):
    """A query with one aggregate of these columns."""
    return eddy.Query(STREAMS, "A.k = B.k", aggregates={"own": own(*columns or ["B.v"])})
