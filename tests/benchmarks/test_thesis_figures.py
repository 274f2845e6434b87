"""The thesis' experiments: sets are drawn as it says, no draw is replaced, and its policies find the same results."""

from __future__ import annotations

from collections import Counter
from functools import partial

import numpy as np
import pytest
from attrs import evolve

from benchmarks.papers import thesis_claims as said
from benchmarks.papers import thesis_runs
from benchmarks.papers.figure import Profile, chosen
from benchmarks.papers.thesis import FIGURES
from benchmarks.papers.thesis_pieces import MEASURED
from benchmarks.papers.thesis_printed import TABLE_4, TABLE_5, TABLE_6, TABLE_7, TABLE_8
from benchmarks.papers.thesis_runs import (
    BASE,
    BEST,
    CARD,
    CARD_PRINTED,
    DECIDING,
    POLICIES,
    POP,
    POP_PRINTED,
    TOTAL,
    TOTAL_SAVED,
    TUPLES,
    TUPLES_SAVED,
    Size,
    best_orders,
    by_chance,
    compare,
    race,
    widest_first,
)
from benchmarks.papers.thesis_sets import (
    OTHER,
    PUNI,
    PUNI_SET,
    SIMILAR_SET,
    UNI,
    UNI_SET,
    UNIT,
    WIDEST,
    ZIPF,
    ZIPF_SET,
    DataSet,
    Zipf,
    most_composites,
    results_of,
)
from eddy import Eddy

TINY = Size(draws=2, tuples=2_000, scale=100, bound=60.0)


@pytest.fixture
def tiny(monkeypatch):
    monkeypatch.setattr(thesis_runs, "QUICK", TINY)
    return Profile("quick")


# -- the sets --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("streams", [3, 4, 5, 6])
def test_uni_set_has_one_wide_stream_and_others_by_chance(streams):
    draws = [DataSet(UNI_SET, streams, 10_000, seed).ranges for seed in range(200)]
    assert all(ranges[0] == WIDEST and set(ranges[1:]) <= set(UNI) for ranges in draws)
    found = Counter(top for ranges in draws for top in ranges[1:])
    assert all(0.5 < found[top] / (200 * (streams - 1) / len(UNI)) < 1.5 for top in UNI)


def test_no_draw_is_replaced():
    """Sets with thousands of partners for a tuple are among the draws, as often as chance has them."""
    draws = [DataSet(UNI_SET, 6, 10_000, seed).ranges for seed in range(2_000)]
    chance = np.random.default_rng(1)
    results = [results_of(ranges, 10_000) for ranges in draws]
    expected = [results_of([WIDEST, *chance.choice(UNI, 5)], 10_000) for _ in range(2_000)]
    for bound in (0.01, 1.0, 50.0):
        ours, theirs = (sum(r > bound for r in each) for each in (results, expected))
        assert abs(ours - theirs) < 5 * np.sqrt(theirs) + 5
    assert max(results) > 50.0


def test_puni_set_begins_alike_and_changes_a_range_after_100000_tuples():
    data = DataSet(PUNI_SET, 3, 10_000, 0, scale=100)
    assert data.ranges == (WIDEST // 100,) * 3
    counts, changed, before = np.zeros(3), [0, 0, 0], data.ranges
    for part in data.slices(10_000):
        for s, (now, old) in enumerate(zip(part.ranges, before, strict=True)):
            if now != old:
                changed[s] += 1
                assert now in {top // 100 for top in PUNI}
        before = part.ranges
        counts += [len(columns["com"]) for columns in part.batch.values()]
        assert all(columns["com"].max(initial=0) <= WIDEST // 100 for columns in part.batch.values())
    # After every thousand tuples another is drawn; one in five times that is the same.
    assert all(0.5 * count / 1_000 < n <= count / 1_000 for n, count in zip(changed, counts, strict=True))


@pytest.mark.parametrize("skew", ZIPF)
def test_zipf_set_has_as_many_skewed_streams_as_table_62(skew):
    skewed, wide, narrow = ZIPF[skew]
    for seed in range(20):
        data = DataSet(ZIPF_SET, 6, 10_000, seed, skew)
        assert data.skews == (skew,) * skewed + (0.0,) * (6 - skewed)
        assert set(data.ranges[:skewed]) <= set(wide) and set(data.ranges[skewed:]) <= set(narrow)


@pytest.mark.parametrize("skew", ZIPF)
def test_values_follow_zipfs_law(skew):
    top = 5_000
    law = Zipf(top, skew, np.cumsum(np.arange(1.0, 1_001.0) ** -skew))
    found = np.bincount(law.values((np.arange(1_000_000) + 0.5) / 1_000_000), minlength=top + 1)
    weights = np.arange(1.0, top + 1.0) ** -skew
    assert found[0] == 0 and len(found) == top + 1
    for part in (slice(0, 1), slice(1, 10), slice(900, 1_100), slice(1_000, top)):
        wanted = weights[part].sum() / weights.sum()
        assert found[1:][part].mean() * len(weights[part]) / 1e6 == pytest.approx(wanted, rel=0.03)


def test_a_tuple_has_100_bytes():
    data = DataSet(UNI_SET, 3, 10_000, 0)
    part = next(data.slices(1_000))
    assert sum(len(columns["ts"]) for columns in part.batch.values()) == UNIT
    for columns in part.batch.values():
        numbers = sum(columns[name].dtype.itemsize for name in ("id", "ts", "com"))
        assert numbers + OTHER == 100 and {len(text) for text in columns["other"].to_pylist()} == {OTHER}
    times = np.sort(np.concatenate([columns["ts"] for columns in part.batch.values()]))
    assert times.tolist() == list(range(UNIT))


def test_streams_are_scrambled_and_rates_change():
    data = DataSet(UNI_SET, 3, 10_000, 0)
    shares = []
    for part in data.slices(10_000):
        times = part.batch["A"]["ts"] % UNIT
        assert len(times) < 50 or 300 < times.mean() < 700
        shares.append([len(columns["ts"]) for columns in part.batch.values()])
    means = np.array(shares).reshape(-1, 5, 3).mean(axis=1)
    assert (means.std(axis=0) > 30).all()


def test_slices_are_short_where_a_tuple_has_many_partners():
    """A unit is the same whatever it is cut into, and no push makes more than fits into memory."""
    data = DataSet(PUNI_SET, 6, 15_000, 3, scale=100)
    for part in data.slices(10_000):
        size = sum(len(columns["ts"]) for columns in part.batch.values())
        assert size == 1 or size * most_composites(part.ranges, data.rows) <= 2_000_000
    assert most_composites([1_000] * 6, 10_000) == 10.0**5
    assert most_composites([500_000] * 6, 10_000) == 1.0


# -- runs ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", [UNI_SET, PUNI_SET])
def test_the_widest_range_is_visited_first(name):
    assert widest_first("ABC", (5, 7, 6)) == "A: B C | B: C A | C: B A"
    assert widest_first("ABC", (5, 7, 6), worst=True) == "A: C B | B: A C | C: A B"
    data = partial(DataSet, name, 3, 10_000, 1)
    assert best_orders(data) == widest_first("ABC", data().ranges)


@pytest.mark.parametrize(("name", "skew"), [(UNI_SET, 0.0), (PUNI_SET, 0.0), (ZIPF_SET, 0.8)])
def test_every_side_finds_the_same_results(name, skew):
    streams = 6 if name == ZIPF_SET else 3
    data = partial(DataSet, name, streams, 10_000, 1, skew, 100)
    plans = {side: by_chance(data()) for side in POLICIES}
    draw = race(0, data, plans, 2_000, UNIT, 60.0)
    assert draw.finished and draw.events == 2_000 * streams
    assert len({side.results for side in draw.sides.values()}) == 1
    assert draw.sides[CARD_PRINTED].engine.statistics().migrations > 0


def test_results_are_those_of_the_naive_join():
    data = partial(DataSet, SIMILAR_SET, 3, 10_000, 1, 0.0, 100)
    engine, events = Eddy(data().query(), by_chance(data())), []
    results = 0
    for part in data().slices(500):
        results += len(engine.push_all(part.batch))
        arrivals = [
            (time, name, com)
            for name, columns in part.batch.items()
            for time, com in zip(columns["ts"].tolist(), columns["com"].tolist(), strict=True)
        ]
        events += sorted(arrivals)
    assert results == _naive(events, data().rows) > 0


def _naive(events: list[tuple[int, str, int]], rows: int) -> int:
    windows: dict[str, list[int]] = {"A": [], "B": [], "C": []}
    found = 0
    for _, name, com in events:
        windows[name] = [*windows[name], com][-rows:]
        others = [window.count(com) for other, window in windows.items() if other != name]
        found += int(np.prod(others))
    return found


def test_a_draw_that_takes_too_long_is_told_and_counts_up_to_there(monkeypatch):
    monkeypatch.setattr(thesis_runs, "QUICK", evolve(TINY, tuples=200_000, bound=1e-9))
    found = list(compare(Profile("quick"), UNI_SET, 3, 10_000, 1))
    assert [row["not finished"] for row in found] == [2] * 4
    assert "draw 0: 8,000 of 600,000 events" in found[0]["which"] and "draw 1" in found[0]["which"]
    assert {row["draws"] for row in found} == {2}


@pytest.mark.parametrize(
    "piece", ["Uni-Set, 3 streams, windows of 10,000, period 2", "Zipf-Set 0.8, windows of 5,000"]
)
def test_rows_have_tuples_and_total_for_each_policy(tiny, piece):
    found = list(MEASURED.pieces[piece](tiny))
    assert [row["policy"] for row in found] == [BASE, POP, CARD, BEST]
    assert len({tuple(row) for row in found}) == 1
    base = found[0]
    assert base[TUPLES_SAVED] == base[TOTAL_SAVED] == base[DECIDING] == 0.0
    for row in found:
        assert row[TUPLES] + row[DECIDING] == pytest.approx(row[TOTAL])
        assert row[TOTAL_SAVED] == pytest.approx(100 * (1 - row[TOTAL] / base[TOTAL]))
        assert row["draws"] == 2 and row["not finished"] == 0 and row["which"] == ""


def test_as_printed_is_literal(tiny):
    found = list(MEASURED.pieces["Uni-Set, 6 streams, as printed"](tiny))
    assert [row["policy"] for row in found] == [BASE, POP_PRINTED, CARD_PRINTED]
    assert all(POLICIES[name](1_000).literal for name in (POP_PRINTED, CARD_PRINTED))
    assert not any(POLICIES[name](1_000).literal for name in (POP, CARD))


def test_similar_streams_have_similar_ranges():
    assert sorted(DataSet(SIMILAR_SET, 6, 10_000, 0).ranges) == [10_000 + 1_000 * i for i in range(6)]


# -- figures ---------------------------------------------------------------------------------------------------------


def test_every_table_and_figure_of_chapter_6_is_there():
    labels = {figure.label for figure in FIGURES}
    assert labels >= {f"Table 6.{n}" for n in range(4, 9)} | {f"Figure 6.{n}" for n in range(1, 13)}
    assert {piece for figure in FIGURES for piece in figure.shows} == set(MEASURED.pieces)


def test_the_thesis_numbers_are_beside_ours():
    assert len(TABLE_4) == 12 and len(TABLE_5) == len(TABLE_6) == len(TABLE_7) == len(TABLE_8) == 24
    (best,) = chosen(TABLE_8, window=10_000, skew=0.8, policy=POP)
    assert best[TOTAL_SAVED] == 35.3
    (row,) = chosen(TABLE_5, streams=6, period=2, policy=CARD)
    assert (row[TUPLES_SAVED], row[TOTAL_SAVED]) == (11.9, 11.3)
    (row,) = chosen(TABLE_7, streams=5, window=15_000, policy=CARD)
    assert row[TOTAL_SAVED] == 30.0


def rows(saved: float, draws: int = 10) -> list[dict]:
    base = {"set": UNI_SET, "streams": 3, "window": 10_000, "period": 1, "skew": 0.0, "draws": draws}
    base |= {"not finished": 1, "changes": 1, DECIDING: 0.1, TUPLES_SAVED: saved + 1.0, TOTAL_SAVED: saved}
    return [{**base, "policy": name} for name in (BASE, POP, CARD, BEST)]


@pytest.mark.parametrize(
    ("judge", "good", "bad"),
    [
        (said.saves(9.7), 10.0, 9.0),
        (said.saves_up_to(21.4), 20.0, 30.0),
        (said.saves_up_to(21.4), 22.0, 10.0),
        (said.nowhere_more(2.0), -1.9, -2.1),
        (said.saves_more(CARD, 29.4), 30.0, 29.0),
        (said.costs_more(POP, 7.1), -8.0, 0.0),
    ],
)
def test_claims_are_judged_by_ten_draws(judge, good, bad):
    assert judge(rows(good)).agrees and not judge(rows(bad)).agrees
    assert judge(rows(good, draws=2)) is None
    assert "1 of 10 draws were not finished" in judge(rows(good)).measured


def test_the_share_of_re_optimisation_is_judged():
    assert said.little_overhead(1.5)(rows(5.0)).agrees and not said.little_overhead(0.5)(rows(5.0)).agrees
