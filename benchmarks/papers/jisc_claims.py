"""Whether the rows of JISC's figures bear the paper's claims out."""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence

from benchmarks.papers.figure import Row, Verdict, chosen
from benchmarks.papers.jisc_analysis import NEAR
from benchmarks.papers.jisc_runs import PLAIN, STEMS
from benchmarks.papers.judging import three
from benchmarks.techniques import JISC, MOVING, TRACKS

EVEN = 1.05
"""Times as long as another is not yet longer: for being between two others, not for being faster."""


def _times(rows: Sequence[Row], technique: str) -> dict[tuple[int, str], float]:
    """How many times as long as JISC a technique took, by joins and keys."""
    return {(row["joins"], row["keys"]): row["times JISC's"] for row in chosen(rows, technique=technique)}


def _span(values: Sequence[float]) -> str:
    return f"{min(values):.2f} to {max(values):.2f}"


# -- Figures 7 and 8 -------------------------------------------------------------------------------------------------


def faster_than(rows: Sequence[Row], technique: str) -> Verdict:
    """JISC takes less than a technique, for any number of joins."""
    found = _times(rows, technique)
    slower = [f"{joins} joins, {keys} keys" for (joins, keys), times in found.items() if times <= 1]
    told = f"{_span(list(found.values()))} times JISC's time"
    return Verdict(not slower, told + (f"; less with {'; '.join(slower)}" if slower else ""))


def order_of_magnitude(rows: Sequence[Row]) -> Verdict:
    """Parallel Track takes up to ten times as long: nine or more, somewhere."""
    found = _times(rows, TRACKS)
    most = max(found, key=lambda key: found[key])
    return Verdict(found[most] >= 9, f"at most {found[most]:.2f} times, with {most[0]} joins, {most[1]} keys")


def grows_with_joins(rows: Sequence[Row]) -> Verdict | None:
    """The speed-up over Parallel Track is larger with the most joins than with the fewest, by a quarter."""
    found = {joins: times for (joins, keys), times in _times(rows, TRACKS).items() if keys == "even"}
    if len(found) < 2:
        return None
    first, last = min(found), max(found)
    grown = found[last] / found[first]
    return Verdict(
        grown >= 1.25,
        f"{found[first]:.2f} with {first} joins, {found[last]:.2f} with {last}: {grown:.2f} times",
    )


def stems_between(rows: Sequence[Row]) -> Verdict:
    """CACQ takes longer than JISC and less than Parallel Track."""
    stems, tracks = _times(rows, STEMS), _times(rows, TRACKS)
    between = [key for key in stems if 1 / EVEN <= stems[key] <= tracks.get(key, 0.0) * EVEN]
    return Verdict(
        len(between) == len(stems),
        f"in {len(between)} of {len(stems)} settings; SteMs {_span(list(stems.values()))}, "
        f"Parallel Track {_span(list(tracks.values()))} times JISC's time",
    )


# -- Figure 9 --------------------------------------------------------------------------------------------------------


def _normal(rows: Sequence[Row], technique: str) -> list[Row]:
    usual = max(row["events of a batch"] for row in rows)
    return [row for row in chosen(rows, technique=technique) if row["events of a batch"] == usual]


def twice_stems(rows: Sequence[Row]) -> Verdict | None:
    """About twice as fast as CACQ, with 20 joins: 1.7 times at the least."""
    found = {row["keys"]: row["times JISC's"] for row in _normal(rows, STEMS) if row["joins"] == 20}
    if not found:
        return None
    told = ", ".join(f"{times:.2f} times ({keys} keys)" for keys, times in found.items())
    single = [
        r["times JISC's"] for r in chosen(rows, technique=STEMS, joins=20) if r["events of a batch"] == 1
    ]
    return Verdict(
        min(found.values()) >= 1.7, told + (f"; in batches of one event {_span(single)}" if single else "")
    )


def near_plain(rows: Sequence[Row]) -> Verdict | None:
    """Hardly slower than symmetric hash joins that cannot change: by a tenth at the most."""
    found = [1 / row["times JISC's"] for row in _normal(rows, PLAIN)]
    return Verdict(max(found) <= 1.1, f"{_span(found)} times the time of a plain pipeline") if found else None


# -- Figure 10 -------------------------------------------------------------------------------------------------------


def _first(rows: Sequence[Row], joins: str, technique: str, large: bool) -> dict[int, float]:
    """Milliseconds to the first output by window, in the larger or the smaller batches."""
    found = chosen(rows, joins=joins, technique=technique)
    sizes = {row["events of a batch"] for row in found}
    size = max(sizes, default=0) if large else min(sizes, default=0)
    return {r["window"]: r["ms to the first output"] for r in found if r["events of a batch"] == size}


def _power(found: dict[int, float]) -> float:
    """By which power of the window it grows, over the last factor of ten."""
    *_, before, last = sorted(found)
    return math.log(found[last] / found[before]) / math.log(last / before)


def negligible(rows: Sequence[Row], joins: str) -> Verdict | None:
    """With the longest windows JISC's first output comes in a tenth of Moving State's time, in small batches."""
    jisc, moving = _first(rows, joins, JISC, False), _first(rows, joins, MOVING, False)
    if len(jisc) < 2 or not jisc.keys() & moving.keys():
        return None
    last = max(jisc.keys() & moving.keys())
    return Verdict(
        jisc[last] <= moving[last] / 10,
        f"{jisc[last]:.2f} of {three(moving[last])} ms with {last:,} rows; "
        f"by the power {_power(jisc):.2f} of the window",
    )


def grows(rows: Sequence[Row], joins: str, least: float) -> Verdict | None:
    """Moving State's first output grows with the window by this power at the least."""
    found = _first(rows, joins, MOVING, False)
    if len(found) < 2:
        return None
    power, last = _power(found), max(found)
    return Verdict(
        power >= least, f"by the power {power:.2f}; {three(found[last] / 1000)} s with {last:,} rows"
    )


# -- Figures 11 and 12 -----------------------------------------------------------------------------------------------


def _rates(rows: Sequence[Row], technique: str) -> dict[float, float]:
    found = chosen(rows, technique=technique)
    return {row["windows between transitions"]: row["million events/s"] for row in found}


def always_fastest(rows: Sequence[Row], technique: str) -> Verdict | None:
    """JISC is faster than a technique, however frequent transitions are."""
    ours, theirs = _rates(rows, JISC), _rates(rows, technique)
    found = {period: ours[period] / theirs[period] for period in ours if period in theirs}
    if not found:
        return None
    slower = [f"every {period} windows" for period, ratio in found.items() if ratio <= 1]
    told = f"{_span(list(found.values()))} times as fast"
    return Verdict(not slower, told + (f"; slower {', '.join(slower)}" if slower else ""))


def flat(rows: Sequence[Row], technique: str, most: float) -> Verdict | None:
    """A technique is as fast with frequent transitions as with rare ones, but for a factor."""
    found = _rates(rows, technique)
    if len(found) < 2:
        return None
    spread = found[max(found)] / found[min(found)]
    return Verdict(spread <= most, f"{spread:.2f} times as fast with the rarest as with the most frequent")


def slower_when_frequent(rows: Sequence[Row], technique: str) -> Verdict | None:
    """A technique is slower by a fifth with the most frequent transitions than with the rarest."""
    found = _rates(rows, technique)
    if len(found) < 2:
        return None
    spread = found[max(found)] / found[min(found)]
    return Verdict(spread >= 1.2, f"{spread:.2f} times as fast with the rarest as with the most frequent")


def worst_when_frequent(rows: Sequence[Row]) -> Verdict | None:
    """Parallel Track is the slowest with the most frequent transitions, of which old plans pile up."""
    rates = {name: _rates(rows, name) for name in (JISC, STEMS, TRACKS)}
    both = rates[JISC].keys() & rates[STEMS].keys() & rates[TRACKS].keys()
    if not both or min(both) >= 1:
        return None
    found = {name: each[min(both)] for name, each in rates.items()}
    told = ", ".join(f"{name} {three(rate)}" for name, rate in found.items())
    return Verdict(min(found, key=lambda name: found[name]) == TRACKS, f"million events/s: {told}")


# -- Propositions ----------------------------------------------------------------------------------------------------


def _drawn(rows: Sequence[Row], closed: str, drawn: str) -> tuple[float, int]:
    """The most by which what was drawn differs from the closed form, as a share, and for how many joins."""
    found = [row for row in rows if row["engine, of J - I"] is None]
    off = {
        row["joins"]: abs(row[drawn] - row[closed]) / max(row[closed], 1e-9) for row in found if row[closed]
    }
    worst = max(off, key=lambda joins: off[joins])
    return off[worst], worst


def mean_as_drawn(rows: Sequence[Row]) -> Verdict:
    """Proposition 1 within 2 %."""
    off, joins = _drawn(rows, "E[C_n], Proposition 1", "mean, drawn")
    return Verdict(off <= 0.02, f"at most {100 * off:.2g} % off, with {joins:,} joins")


def variance_as_drawn(rows: Sequence[Row]) -> Verdict:
    """Proposition 2 within 5 %."""
    off, joins = _drawn(rows, "Var, Proposition 2", "variance, drawn")
    return Verdict(off <= 0.05, f"at most {100 * off:.2g} % off, with {joins:,} joins")


def converges(rows: Sequence[Row]) -> Verdict | None:
    """Proposition 3: the chance of fewer than a share of complete states falls with n, to a tenth or less."""
    chance = f"chance of C_n < {NEAR} n"
    found = {
        row["joins"]: row[chance] for row in rows if row["engine, of J - I"] is None and row["joins"] >= 10
    }
    values = list(found.values())
    if not values:
        return None
    falls = all(later <= earlier + 0.01 for earlier, later in itertools.pairwise(values))
    told = ", ".join(f"{joins:,}: {value:.2f}" for joins, value in found.items())
    return Verdict(falls and values[-1] <= 0.1, told)


def engine_counts(rows: Sequence[Row]) -> Verdict | None:
    """The engine finds J - I states incomplete, in every swap."""
    found = [row["engine, of J - I"] for row in rows if row["engine, of J - I"] is not None]
    return Verdict(min(found) == 1.0, f"in {100 * min(found):.0f} % of the swaps") if found else None
