"""Whether the rows of Zhu et al.'s figures bear the paper's claims out."""

from __future__ import annotations

from collections.abc import Sequence
from statistics import fmean

import numpy as np

from benchmarks.papers.figure import Row, Verdict, chosen
from benchmarks.simulated.chain import MOVING, PURGED

TWICE, EQUATION, PRINTED = "2 W", "equation 8", "equation 8 as printed"
"""What the paper's equations say, as techniques in the rows."""


def _ms(rows: Sequence[Row], technique: str, x: str) -> dict[float, float]:
    return {row[x]: row["ms"] for row in chosen(rows, technique=technique)}


def near_windows(rows: Sequence[Row], technique: str, windows: float) -> Verdict:
    """Whether the duration is about so many windows, within 15 %."""
    ratios = [ms / w for w, ms in _ms(rows, technique, "window").items()]
    agrees = all(abs(ratio - windows) <= 0.15 * windows for ratio in ratios)
    return Verdict(agrees, f"{min(ratios):.2f} to {max(ratios):.2f} windows")


def polynomial(rows: Sequence[Row]) -> Verdict:
    """Whether it grows faster than in proportion: by which power, between the ends."""
    found = sorted(_ms(rows, MOVING, "window").items())
    large = [(w, ms) for w, ms in found if w >= 1000]
    (w, ms), (w_last, ms_last) = large[0], large[-1]
    power = float(np.log(ms_last / ms) / np.log(w_last / w))
    return Verdict(power >= 1.8, f"by the power {power:.2f} of the window, {ms:.2f} ms to {ms_last:.0f} ms")


def as_estimated(rows: Sequence[Row]) -> Verdict:
    measured, told = _ms(rows, MOVING, "window"), _ms(rows, EQUATION, "window")
    ratios = {w: measured[w] / told[w] for w in measured if w >= 1000}
    agrees = all(0.5 <= ratio <= 2 for ratio in ratios.values())
    return Verdict(agrees, f"{min(ratios.values()):.2f} to {max(ratios.values()):.2f} times equation 8")


def flat_in_rate(rows: Sequence[Row], twice: float = 2000) -> Verdict:
    """Whether the duration is about ``twice``, two windows, and hardly changes."""
    taken = list(_ms(rows, PURGED, "rate of B").values())
    flat = max(taken) <= 1.25 * min(taken)
    return Verdict(
        flat and all(0.8 * twice <= ms <= 1.2 * twice for ms in taken),
        f"{min(taken):.0f} to {max(taken):.0f} ms",
    )


def grows_with_rate(rows: Sequence[Row]) -> Verdict:
    found = sorted(_ms(rows, MOVING, "rate of B").items())
    (low, first), (high, last) = found[0], found[-1]
    grown, faster = last / first, high / low
    return Verdict(grown >= 0.5 * faster, f"{grown:.1f} times at {faster:.0f} times the rate")


def faster_first(rows: Sequence[Row]) -> Verdict:
    moving, tracks = _ms(rows, MOVING, "window"), _ms(rows, PURGED, "window")
    least = min(moving)
    return Verdict(
        moving[least] < tracks[least], f"{moving[least]:.1f} of {tracks[least]:.0f} ms at {least:g} ms"
    )


def crossing(rows: Sequence[Row]) -> Verdict:
    """Whether Parallel Track is faster from some window on."""
    moving, tracks = _ms(rows, MOVING, "window"), _ms(rows, PURGED, "window")
    crossed = [w for w in sorted(moving) if moving[w] > tracks[w]]
    if crossed:
        return Verdict(True, f"from a window of {crossed[0]:g} ms on")
    largest = max(moving)
    text = f"at {largest:g} ms Moving State takes {moving[largest]:.0f} ms and Parallel Track {tracks[largest]:.0f} ms"
    return Verdict(False, text)


def _series(rows: Sequence[Row], technique: str, y: str, start: float, end: float = np.inf) -> list[float]:
    return [row[y] for row in chosen(rows, technique=technique) if start < row["ms"] <= end]


def fewer_tuples(rows: Sequence[Row]) -> Verdict:
    """Whether the new plan has much fewer intermediate tuples than the old one, all the time."""
    old, new = (np.array(_series(rows, name, "intermediate tuples", 2000, 50_000)) for name in ("Old", "New"))
    share = fmean(new) / fmean(old)
    return Verdict(share < 0.6 and bool((new <= old).all()), f"{share:.2f} of the old plan's")


def _settled(rows: Sequence[Row], technique: str) -> float:
    """From when on it has as many intermediate tuples as the new plan."""
    mine, new = (_series(rows, name, "intermediate tuples", 0, 50_000) for name in (technique, "New"))
    last = max(
        (i for i, (a, b) in enumerate(zip(mine, new, strict=True)) if abs(a - b) > 0.02 * max(b, 1)),
        default=-1,
    )
    return 1000.0 * (last + 1)


def moving_settles_first(rows: Sequence[Row]) -> Verdict:
    moving, tracks = _settled(rows, MOVING), _settled(rows, PURGED)
    return Verdict(moving < tracks, f"from {moving:.0f} ms on, Parallel Track from {tracks:.0f} ms on")


def _given(rows: Sequence[Row], technique: str, start: float, end: float) -> float:
    return sum(_series(rows, technique, "results a second", start, end))


def alike_output(rows: Sequence[Row]) -> Verdict:
    moving, tracks = (_given(rows, name, 10_000, 20_000) for name in (MOVING, PURGED))
    return Verdict(
        abs(moving - tracks) <= 0.1 * max(moving, tracks), f"{moving:.0f} and {tracks:.0f} results"
    )


def fewer_tuples_during(rows: Sequence[Row]) -> Verdict:
    moving, tracks = (
        fmean(_series(rows, name, "intermediate tuples", 10_000, 20_000)) for name in (MOVING, PURGED)
    )
    return Verdict(
        tracks < moving, f"{tracks:.0f} in Parallel Track, {moving:.0f} in Moving State, 10 to 20 s"
    )


def better_than_old(rows: Sequence[Row], y: str, more: bool) -> Verdict:
    after = {name: fmean(_series(rows, name, y, 30_000, 50_000)) for name in (MOVING, PURGED, "New", "Old")}
    old = after.pop("Old")
    agrees = all(value > 1.3 * old if more else value < 0.5 * old for value in after.values())
    return Verdict(
        agrees, ", ".join(f"{name} {value / old:.2f}" for name, value in after.items()) + " of the old plan's"
    )


def _silence(rows: Sequence[Row], technique: str) -> int:
    """The most seconds in a row without a result, from the change on."""
    longest = now = 0
    for results in _series(rows, technique, "results a second", 10_000, 50_000):
        now = 0 if results else now + 1
        longest = max(longest, now)
    return longest


def silent(rows: Sequence[Row]) -> Verdict:
    seconds = _silence(rows, MOVING)
    return Verdict(
        seconds >= 5, f"{seconds} whole seconds without output; Parallel Track {_silence(rows, PURGED)}"
    )


def more_output(rows: Sequence[Row]) -> Verdict:
    moving, tracks = (_given(rows, name, 10_000, 20_000) for name in (MOVING, PURGED))
    return Verdict(tracks > moving, f"{tracks:.0f} and {moving:.0f} results from 10 to 20 s")


def ends_earlier(rows: Sequence[Row]) -> Verdict:
    moving, tracks = (chosen(rows, technique=name)[0]["ended"] for name in (MOVING, PURGED))
    return Verdict(moving < tracks, f"after {moving:.0f} ms, Parallel Track after {tracks:.0f} ms")
