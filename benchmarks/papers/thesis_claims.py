"""What the thesis says of its tables and figures, as judges of rows.

Percentages are averages over ten draws, some of which differ tenfold from others: fewer draws tell nothing of them, so
the rows of a quick run are judged only by what it can show.
"""

from __future__ import annotations

from collections.abc import Sequence
from statistics import mean
from typing import Any

from benchmarks.papers.figure import Judge, Row, Verdict, chosen
from benchmarks.papers.thesis_runs import (
    BASE,
    BEST,
    CARD,
    CARD_LOOKING,
    CARD_PRINTED,
    DECIDING,
    FEW,
    MANY,
    POP,
    POP_LOOKING,
    POP_PRINTED,
    TOTAL,
    TOTAL_SAVED,
    TUPLES_SAVED,
    WORST,
)

DRAWS = 10
OURS = (POP, CARD)


def of(rows: Sequence[Row], policy: str, column: str = TOTAL_SAVED, **where: Any) -> list[float]:
    """A column of the rows of one policy."""
    return [row[column] for row in chosen(rows, policy=policy, **where)]


def told(rows: Sequence[Row]) -> list[Row]:
    """The rows that average as many draws as the thesis does."""
    return [row for row in rows if row["draws"] >= DRAWS]


def between(values: Sequence[float]) -> str:
    return f"{min(values):.1f} to {max(values):.1f}"


def summed(rows: Sequence[Row]) -> str:
    """What each policy saves, what there is to gain, and how many draws did not come to their end."""
    parts = [f"{name} saves {between(of(rows, name))} %" for name in OURS if of(rows, name)]
    if of(rows, BEST):
        parts.append(f"the best orders from the start on save {between(of(rows, BEST))} %")
    return "; ".join(parts) + unfinished(rows)


def unfinished(rows: Sequence[Row]) -> str:
    runs = chosen(rows, policy=BASE)
    given_up = sum(row["not finished"] for row in runs)
    return f"; {given_up} of {sum(row['draws'] for row in runs)} draws were not finished" if given_up else ""


def saves(least: float, **where: Any) -> Judge:
    """Both save so many percent, at the least."""

    def judge(rows: Sequence[Row]) -> Verdict | None:
        rows = told(chosen(rows, **where))
        if not rows:
            return None
        return Verdict(min(min(of(rows, name)) for name in OURS) >= least, summed(rows))

    return judge


def saves_up_to(most: float) -> Judge:
    """Where most is saved it is so many percent, give or take a fifth of that."""

    def judge(rows: Sequence[Row]) -> Verdict | None:
        rows = told(rows)
        if not rows:
            return None
        found = {name: max(of(rows, name)) for name in OURS}
        text = ", ".join(f"{name} saves up to {saved:.1f} %" for name, saved in found.items())
        if of(rows, BEST):
            text += f"; the best orders from the start on save up to {max(of(rows, BEST)):.1f} %"
        near = all(0.8 * most <= saved <= 1.2 * most for saved in found.values())
        return Verdict(near, text + unfinished(rows))

    return judge


def pays_to_look_more(rows: Sequence[Row]) -> Verdict | None:
    """Whether both save more where looks may take more time, and at least half of what the best orders do."""
    rows = told(chosen(rows, run="more looks"))
    if not rows:
        return None
    parts, better = [], True
    for k in sorted({row["streams"] for row in rows}):
        (best,) = of(rows, BEST, streams=k)
        for name, names in ((POP, POP_LOOKING), (CARD, CARD_LOOKING)):
            (few,), (many,) = (of(rows, names[share], streams=k) for share in (FEW, MANY))
            parts.append(f"{name} with {k} streams {many:.1f} % in place of {few:.1f} %, of {best:.1f} %")
            better &= many > few and many >= best / 2
    return Verdict(better, "; ".join(parts) + unfinished(rows))


def saves_above(least: float, window: int) -> Judge:
    """As `saves`, with windows that are larger than this."""

    def judge(rows: Sequence[Row]) -> Verdict | None:
        return saves(least)([row for row in rows if row["window"] > window])

    return judge


def saves_more(policy: str, least: float, **where: Any) -> Judge:
    """One of them saves so many percent, where it saves most."""

    def judge(rows: Sequence[Row]) -> Verdict | None:
        rows = told(chosen(rows, **where))
        if not rows:
            return None
        found, possible = max(of(rows, policy)), max(of(rows, BEST))
        best = f"{policy} saves {found:.1f} %; the best orders from the start on save {possible:.1f} %"
        return Verdict(found >= least, best + unfinished(rows))

    return judge


def nowhere_more(most: float, policies: Sequence[str] = (CARD,)) -> Judge:
    """They take no more than so many percent more than BASE."""

    def judge(rows: Sequence[Row]) -> Verdict | None:
        rows = told(rows)
        if not rows:
            return None
        found = {name: -min(of(rows, name)) for name in policies}
        text = ", ".join(f"{name} takes {more:+.2f} % where it is worst" for name, more in found.items())
        return Verdict(max(found.values()) <= most, text + unfinished(rows))

    return judge


def little_overhead(most: float, policies: Sequence[str] = OURS, **where: Any) -> Judge:
    """Re-optimisation takes so many percent of BASE's time, at the most."""

    def judge(rows: Sequence[Row]) -> Verdict | None:
        rows = chosen(rows, **where)
        shares = {}
        for name in policies:
            gaps = [a - b for a, b in zip(of(rows, name, TUPLES_SAVED), of(rows, name), strict=True)]
            if not gaps:
                return None
            shares[name] = max(gaps)
        text = ", ".join(f"{name} up to {share:.1f} points" for name, share in shares.items())
        return Verdict(max(shares.values()) <= most, text)

    return judge


def robust(most: float) -> Judge:
    """Between period lengths the savings differ by so many points, at the most."""

    def judge(rows: Sequence[Row]) -> Verdict | None:
        rows = told(rows)
        spreads = []
        for streams in {row["streams"] for row in rows}:
            for name in OURS:
                found = of(rows, name, streams=streams)
                if len(found) == 3:
                    spreads.append(max(found) - min(found))
        if not spreads:
            return None
        return Verdict(max(spreads) <= most, f"they differ by {between(spreads)} points" + unfinished(rows))

    return judge


def dearer_with_streams(rows: Sequence[Row]) -> Verdict | None:
    """Re-optimisation takes longer the more streams there are."""
    few, many = min(row["streams"] for row in rows), max(row["streams"] for row in rows)
    if few == many:
        return None
    times = {k: mean(t for name in OURS for t in of(rows, name, DECIDING, streams=k)) for k in (few, many)}
    text = f"{1e3 * times[few]:.1f} ms a run with {few} streams, {1e3 * times[many]:.1f} ms with {many}"
    return Verdict(times[many] > times[few], text)


def more_with(column: str) -> Judge:
    """The more of this there is, the more is saved: the greatest beside the least, for each of the others."""

    def judge(rows: Sequence[Row]) -> Verdict | None:
        rows = told(rows)
        values = sorted({row[column] for row in rows})
        if len(values) < 2:
            return None
        low, high = (
            [mean(of(rows, name, **{column: value})) for name in OURS] for value in (values[0], values[-1])
        )
        text = "; ".join(
            f"{name} saves {a:.1f} % on average at {values[0]:,}, {b:.1f} % at {values[-1]:,}"
            for name, a, b in zip(OURS, low, high, strict=True)
        )
        return Verdict(all(b > a for a, b in zip(low, high, strict=True)), text + unfinished(rows))

    return judge


def card_before_pop(least: float, **where: Any) -> Judge:
    """CARD saves so many points more than POP', on average."""

    def judge(rows: Sequence[Row]) -> Verdict | None:
        rows = told(chosen(rows, **where))
        if not rows:
            return None
        gaps = [c - p for c, p in zip(of(rows, CARD), of(rows, POP), strict=True)]
        text = f"{mean(gaps):+.1f} points on average, {between(gaps)}"
        return Verdict(mean(gaps) >= least, text + unfinished(rows))

    return judge


def costs_more(policy: str, least: float = 0.0, **where: Any) -> Judge:
    """A policy takes more time than BASE, by so many percent at the least, everywhere."""

    def judge(rows: Sequence[Row]) -> Verdict | None:
        rows = told(chosen(rows, **where))
        if not rows:
            return None
        found = of(rows, policy)
        return Verdict(-max(found) >= least, f"{policy} saves {between(found)} %" + unfinished(rows))

    return judge


def less_than_set(name: str, other: str) -> Judge:
    """Less is saved on the one set than on the other."""

    def judge(rows: Sequence[Row]) -> Verdict | None:
        rows = told(rows)
        means = [
            mean([s for policy in OURS for s in of(rows, policy, set=each)] or [0.0])
            for each in (name, other)
        ]
        if len({row["set"] for row in rows}) < 2:
            return None
        text = f"{means[0]:.1f} % on {name}, {means[1]:.1f} % on {other}, on average" + unfinished(rows)
        return Verdict(means[0] < means[1], text)

    return judge


def greatest_at(skew: float) -> Judge:
    """At one skew both save more than at any other."""

    def judge(rows: Sequence[Row]) -> Verdict | None:
        rows = told(rows)
        there = [s for name in OURS for s in of(rows, name, skew=skew)]
        others = [
            s for row in rows if row["skew"] != skew and row["policy"] in OURS for s in (row[TOTAL_SAVED],)
        ]
        if not there or not others:
            return None
        text = f"{between(there)} % at {skew}, {between(others)} % at the others" + unfinished(rows)
        return Verdict(min(there) > max(others), text)

    return judge


def pays_as_printed(rows: Sequence[Row]) -> Verdict | None:
    """As printed, too, re-optimisation saves more than it takes."""
    found = {name: of(rows, name) for name in (POP_PRINTED, CARD_PRINTED)}
    if not all(found.values()):
        return None
    parts = []
    for name, total in found.items():
        changes = sum(row["changes"] for row in chosen(rows, policy=name))
        tuples = of(rows, name, TUPLES_SAVED)
        parts.append(
            f"{name} saves {min(total):.0f} % ({min(tuples):.0f} % of tuples) by {changes:,} changes"
        )
    return Verdict(min(min(total) for total in found.values()) > 0.0, "; ".join(parts))


def orders_are_alike(most: float) -> Judge:
    """The worst orders take no more than so many percent longer than the best."""

    def judge(rows: Sequence[Row]) -> Verdict | None:
        longer = 100 * (mean(of(rows, WORST, TOTAL)) / mean(of(rows, BEST, TOTAL)) - 1)
        return Verdict(longer <= most, f"the worst orders take {longer:.1f} % longer than the best")

    return judge
