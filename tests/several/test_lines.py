"""Whose results are: sets of queries, one of each stream, intersected and remembered."""

from __future__ import annotations

import numpy as np
import pytest

from eddy.several import lines
from eddy.several.lines import Lines
from eddy.several.sets import Sets
from eddy.several.split import Split


def world(random, streams, queries):
    """Sets of some streams, with a few queries in each."""
    sets = [Sets() for _ in range(streams)]
    for one in sets:
        more(random, one, queries)
    return sets


def more(random, sets, queries):
    """Some more sets of a stream."""
    for _ in range(random.integers(1, 6)):
        some = random.choice(queries, random.integers(1, queries + 1), replace=False)
        sets.number(np.sort(some))


def wanted(sets, numbers, query):
    """The results that a query wants, one by one."""
    found = range(len(numbers[0]))
    return [i for i in found if all(query in of.members[n[i]] for of, n in zip(sets, numbers, strict=True))]


@pytest.mark.parametrize("table", [0, 1 << 13], ids=["searched", "table"])
@pytest.mark.parametrize("seed", range(40))
def test_a_result_is_wanted_by_those_that_want_all_of_its_rows(monkeypatch, seed, table):
    """Whatever sets there are, come later or are forgotten, in a table, by search and where keys have no room."""
    monkeypatch.setattr(lines, "TABLE", table)
    random = np.random.default_rng(seed)
    if seed % 4 == 0:
        monkeypatch.setattr(lines, "MOST", 8)
    if seed % 4 == 1:
        monkeypatch.setattr(lines, "KNOWN", 20)
    queries = int(random.integers(1, 9))
    sets = world(random, int(random.integers(1, 5)), queries)
    known, splits = Lines(sets), []
    for _ in range(8):
        m = int(random.integers(0, 40))
        numbers = [random.integers(1, len(of), m) for of in sets]
        splits.append((Split(*known.of(numbers)), numbers, [list(of.members) for of in sets]))
        step = random.integers(0, 4)
        if step == 0:
            more(random, sets[0], queries)
        elif step == 1:
            known.forget()
    for split, numbers, members in splits:
        of_then = [Then(some) for some in members]
        every = {query: wanted(of_then, numbers, query) for query in range(queries)}
        assert {query: split.of(query).tolist() for query in every} == every
        assert split.owners.tolist() == [query for query in every if every[query]]
        some = np.array(sorted(random.choice(queries, random.integers(1, queries + 1), replace=False)))
        owners, places = split.of_all(some)
        pairs = [(i, place) for i, query in enumerate(some.tolist()) for place in every[query]]
        assert list(zip(owners.tolist(), places.tolist(), strict=True)) == pairs


class Then:
    """The sets of a stream as they were."""

    def __init__(self, members):
        self.members = members


def test_what_is_remembered_is_counted_and_stays_small():
    """A thousand queries that differ in a constant of one stream take a table of a thousand lines, not of a million."""
    sets = [Sets(), Sets(), Sets()]
    everyone = np.arange(1000)
    for i in range(1000):
        sets[0].number(np.array([i]))
    for of in sets[1:]:
        of.number(everyone)
    known = Lines(sets)
    numbers = [np.arange(1, 1001), np.ones(1000, np.int64), np.ones(1000, np.int64)]
    split = Split(*known.of(numbers))
    owners, places = split.of_all(everyone)
    assert owners.tolist() == places.tolist() == list(range(1000))
    assert 8 * 1000 <= known.nbytes < 50_000
