"""Whether the rows of HybMig's figures bear the paper's claims out."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from statistics import fmean

import numpy as np

from benchmarks.papers.figure import Row, Verdict, chosen
from benchmarks.papers.hybmig_rows import (
    ALONE,
    BSC,
    DURATION,
    GHM,
    GMS,
    GPT,
    HM,
    MS_,
    PT,
    SHARING,
)
from benchmarks.simulated.feed import Int64s

WINDOW = 180
"""Seconds of the default window."""


def _series(
    rows: Sequence[Row], technique: str, y: str, start: float = 0, end: float = np.inf
) -> list[float]:
    return [row[y] for row in chosen(rows, technique=technique) if start < row["second"] <= end]


def _one(rows: Sequence[Row], technique: str, y: str) -> float:
    found: float = chosen(rows, technique=technique)[0][y]
    return found


# -- Figures 15 and 16 -----------------------------------------------------------------------------------------------


def silent(rows: Sequence[Row]) -> Verdict:
    seconds = _one(rows, MS_, "first output after, s")
    other = _one(rows, HM, "first output after, s")
    return Verdict(25 <= seconds <= 100, f"{seconds:.0f} s; HybMig {other:.1f} s")


def soars(rows: Sequence[Row]) -> Verdict:
    """Whether Moving State gives at least twice as much as HybMig for as long again as it was silent."""
    start = _one(rows, MS_, "migration, s")
    moving, steady = (sum(_series(rows, name, "results a second", start, 2 * start)) for name in (MS_, HM))
    text = f"{moving:.0f} results from {start:.0f} to {2 * start:.0f} s, HybMig {steady:.0f}"
    return Verdict(moving >= 2 * steady, text)


def decays(rows: Sequence[Row]) -> Verdict:
    """Whether Parallel Track gives next to nothing in the last twentieth of the window, and then much at once."""
    tracks, steady = (sum(_series(rows, name, "results a second", 170, 179)) for name in (PT, HM))
    burst = max(_series(rows, PT, "results a second", 179, 200))
    usual = max(_series(rows, HM, "results a second", 179, 200))
    text = f"{tracks:.0f} results from 170 to 179 s, HybMig {steady:.0f}"
    text += f"; then {burst:.0f} in a second, HybMig {usual:.0f}"
    return Verdict(tracks <= 0.5 * steady and burst >= 3 * max(usual, 1), text)


def prompt(rows: Sequence[Row]) -> Verdict:
    delay = _one(rows, HM, "longest delay, s")
    return Verdict(delay <= 1, f"{delay:.2f} s; Moving State {_one(rows, MS_, 'longest delay, s'):.0f} s")


def saturated(rows: Sequence[Row]) -> Verdict:
    """Whether Moving State's tuples become fewer from when its states are made, and its work only when what has waited
    is done."""
    made, caught_up = _one(rows, MS_, "migration, s"), _one(rows, MS_, "caught up after, s")
    peak = int(np.argmax(_series(rows, MS_, "tuples"))) + 1
    text = (
        f"states are made after {made:.1f} s, with most tuples at {peak} s; caught up after {caught_up:.1f} s"
    )
    return Verdict(abs(peak - made) <= 5 and caught_up > 1.1 * made, text)


def rises(rows: Sequence[Row]) -> Verdict:
    """Whether Parallel Track takes more and more until the window is over, and then drops."""
    work = _series(rows, PT, "evaluations a second")
    thirds = [fmean(work[i : i + 60]) for i in (0, 60, 120)]
    after = fmean(work[-20:])
    text = (
        ", ".join(f"{third:,.0f}" for third in thirds)
        + f" evaluations a second in each minute, then {after:,.0f}"
    )
    return Verdict(thirds == sorted(thirds) and after < 0.2 * thirds[-1], text)


def drops(rows: Sequence[Row]) -> Verdict:
    work = _series(rows, HM, "evaluations a second")
    during, after = fmean(work[100:170]), fmean(work[190:])
    return Verdict(after < 0.3 * during, f"{during:,.0f} evaluations a second, then {after:,.0f}")


def below(rows: Sequence[Row], y: str) -> Verdict:
    """Whether HybMig is below Parallel Track in every second of the window, by means of ten seconds."""
    hybrid, tracks = (
        np.array(_series(rows, name, y, 0, WINDOW)).reshape(-1, 10).mean(1) for name in (HM, PT)
    )
    lower = hybrid <= tracks
    first: Int64s = np.flatnonzero(lower[::-1] == 0)
    since = 10 * (len(lower) - int(first[0])) if len(first) else 0
    share = float(hybrid.sum() / tracks.sum())
    text = f"in {10 * int(lower.sum())} of {WINDOW} s, from {since} s on in all; {share:.2f} of it together"
    return Verdict(bool(lower.all()), text)


# -- Figures 17 to 21 ------------------------------------------------------------------------------------------------


def _values(rows: Sequence[Row], x: str, technique: str, measure: str, **where: str) -> dict[float, float]:
    return {row[x]: row["value"] for row in chosen(rows, technique=technique, measure=measure, **where)}


def lowest(rows: Sequence[Row], x: str, measure: str) -> Verdict | None:
    """Whether HybMig takes least at all points, under both kinds of plan."""
    worst = {MS_: np.inf, PT: np.inf}
    least_of = dict.fromkeys(worst, "")
    for shape in ("right-deep", "bushy"):
        mine = _values(rows, x, HM, measure, shape=shape)
        for other in worst:
            for at, value in _values(rows, x, other, measure, shape=shape).items():
                if value / mine[at] < worst[other]:
                    worst[other], least_of[other] = value / mine[at], f"{shape}, {x} {at:g}"
    if not all(least_of.values()):
        return None
    text = ", ".join(f"{name} at least {ratio:.2f} times ({least_of[name]})" for name, ratio in worst.items())
    return Verdict(all(ratio > 1 for ratio in worst.values()), text)


def saves(rows: Sequence[Row], measure: str) -> Verdict:
    """Whether sharing saves at every number of streams, and more than half as much again at the most."""
    mine, alone = (_values(rows, "n", name, measure) for name in (SHARING, ALONE))
    gained = {n: alone[n] / mine[n] for n in mine}
    text = ", ".join(f"{ratio:.2f} times with {n:g}" for n, ratio in gained.items())
    return Verdict(min(gained.values()) > 1 and max(gained.values()) >= 1.5, text)


def _durations(rows: Sequence[Row], technique: str) -> dict[float, float]:
    return _values(rows, "rate", technique, DURATION)


def soon_over(rows: Sequence[Row]) -> Verdict:
    found = _durations(rows, BSC)
    low = {rate: found[rate] for rate in (0.4, 0.7)}
    return Verdict(max(low.values()) <= 0.05 * WINDOW, ", ".join(f"{s:.1f} s at {r}" for r, s in low.items()))


def less_and_less(rows: Sequence[Row]) -> Verdict:
    """Whether what background computation saves becomes less with the rate."""
    plain, found = _durations(rows, HM), _durations(rows, BSC)
    shares = [found[rate] / plain[rate] for rate in sorted(found)]
    text = "of HybMig's: " + ", ".join(
        f"{share:.2f} at {rate}" for share, rate in zip(shares, found, strict=True)
    )
    return Verdict(all(b >= a - 0.02 for a, b in pairwise(shares)), text)


def _near_window(rows: Sequence[Row], technique: str, rates: Sequence[float]) -> Verdict:
    found = _durations(rows, technique)
    text = ", ".join(f"{seconds:.0f} s at {rate}" for rate, seconds in found.items())
    return Verdict(all(abs(found[rate] - WINDOW) <= 0.1 * WINDOW for rate in rates), text)


def tracks_take_the_window(rows: Sequence[Row]) -> Verdict:
    near = _near_window(rows, PT, (0.4, 0.7, 1.0))
    return Verdict(near.agrees and _durations(rows, PT)[1.6] > 1.2 * WINDOW, near.measured)


def hybrid_takes_the_window(rows: Sequence[Row]) -> Verdict:
    return _near_window(rows, HM, (0.4, 0.7, 1.0, 1.3, 1.6))


def moving_at_first(rows: Sequence[Row]) -> Verdict:
    """Whether Moving State is the shortest up to a rate of 1 and the longest at 1.6."""
    found = {name: _durations(rows, name) for name in (MS_, PT, HM, BSC)}
    shortest = all(
        found[MS_][rate] <= 1.05 * min(other[rate] for other in found.values()) for rate in (0.4, 0.7, 1.0)
    )
    longest = found[MS_][1.6] == max(other[1.6] for other in found.values())
    text = ", ".join(f"{seconds:.1f} s at {rate}" for rate, seconds in found[MS_].items())
    return Verdict(shortest and longest, text)


def cheaper_with_background(rows: Sequence[Row], measure: str) -> Verdict:
    mine = _values(rows, "rate", BSC, measure)
    ratios = {
        other: min(value / mine[rate] for rate, value in _values(rows, "rate", other, measure).items())
        for other in (MS_, PT)
    }
    text = ", ".join(f"{name} at least {ratio:.2f} times" for name, ratio in ratios.items())
    return Verdict(min(ratios.values()) > 1, text)


# -- Figure 22, and processor time -----------------------------------------------------------------------------------


def boxes_steady(rows: Sequence[Row]) -> Verdict:
    tracks, hybrid = (np.array(_series(rows, name, "results a second", 0, WINDOW)) for name in (GPT, GHM))
    apart = float(np.abs(tracks.reshape(-1, 10).sum(1) - hybrid.reshape(-1, 10).sum(1)).max() / tracks.sum())
    delay = max(_one(rows, name, "longest delay, s") for name in (GPT, GHM))
    return Verdict(apart < 0.02 and delay <= 2, f"delayed by {delay:.1f} s at the most")


def boxes_suspended(rows: Sequence[Row]) -> Verdict:
    silent, took = (_one(rows, GMS, name) for name in ("first output after, s", "migration, s"))
    other = _one(rows, GHM, "first output after, s")
    return Verdict(silent >= took and silent > 5 * other, f"for {silent:.0f} s; GHM {other:.1f} s")


def boxes_end(rows: Sequence[Row]) -> Verdict:
    moving, hybrid, tracks = (_one(rows, name, "migration, s") for name in (GMS, GHM, GPT))
    text = f"GMS {moving:.0f} s, GHM {hybrid:.0f} s, GPT {tracks:.0f} s"
    return Verdict(max(moving, hybrid) <= 0.5 * tracks, text)


def boxes_cost(rows: Sequence[Row]) -> Verdict:
    """Whether GMS and GHM evaluate about as much until GHM is done."""
    until = max(_one(rows, name, "migration, s") for name in (GMS, GHM))
    moving, hybrid = (sum(_series(rows, name, "evaluations a second", 0, until)) for name in (GMS, GHM))
    return Verdict(0.67 <= moving / hybrid <= 1.5, f"GMS {moving / hybrid:.2f} of GHM's until {until:.0f} s")


def most_work(rows: Sequence[Row], others: Sequence[str], variant: str) -> Verdict | None:
    """Whether others take more processor time than the reference."""
    found = {row["technique"]: row["times"] for row in chosen(rows, variant=variant)}
    if not found:
        return None
    text = ", ".join(f"{name} {found[name]:.2f} times" for name in others)
    return Verdict(all(found[name] > 1 for name in others), text)


def soon_done(rows: Sequence[Row], name: str, reference: str, variant: str) -> Verdict | None:
    """Whether a migration takes at most a quarter of the time of another technique's."""
    found = {row["technique"]: row["migration, windows"] for row in chosen(rows, variant=variant)}
    if not found:
        return None
    return Verdict(
        found[name] <= 0.25 * found[reference], f"{found[name]:.2f} and {found[reference]:.2f} windows"
    )


def hardly_paused(rows: Sequence[Row], name: str, reference: str, variant: str) -> Verdict | None:
    """Whether the longest pause is at most a tenth of another technique's."""
    found = {row["technique"]: row["longest pause, batches"] for row in chosen(rows, variant=variant)}
    if not found:
        return None
    return Verdict(
        found[name] <= 0.1 * found[reference], f"{found[name]:.1f} and {found[reference]:.1f} batches"
    )
