"""Whether the rows of JIT's figures bear the paper's claims out, by nested loops as in the paper; and goals of ours for
hash joins."""

from __future__ import annotations

from collections.abc import Sequence

from benchmarks.papers.figure import Row, Verdict, chosen
from benchmarks.papers.jit_runs import JIT, PAIRS, REF
from benchmarks.papers.judging import three

ORDER, SAVED = 10.0, 62.0
"""The paper's numbers: times less processor time, per cent less memory."""
CLEAR, STEP, STABLE = 1.5, 1.25, 1.5
"""Times that are clearly more; times that are still similar in a step; and that are still stable."""


def values(rows: Sequence[Row], x: str, side: str, y: str) -> dict[float, float]:
    """By nested loops."""
    return {row[x]: row[y] for row in chosen(rows, joins="nested", side=side)}


def _both(rows: Sequence[Row], x: str, y: str) -> tuple[dict[float, float], dict[float, float]]:
    """REF's and JIT's, where both were measured."""
    ref, jit = (values(rows, x, side, y) for side in (REF, JIT))
    there = sorted(set(ref) & set(jit))
    return {at: ref[at] for at in there}, {at: jit[at] for at in there}


def _times(rows: Sequence[Row], x: str) -> dict[float, float]:
    """How many times REF takes what JIT takes."""
    ref, jit = _both(rows, x, "seconds")
    return {at: ref[at] / jit[at] for at in ref}


def _saved(rows: Sequence[Row], x: str) -> dict[float, float]:
    """Per cent of REF's memory that JIT saves, blacklists and directories included."""
    ref, jit = _both(rows, x, "KiB")
    return {at: 100 * (1 - jit[at] / ref[at]) for at in ref}


def _listed(found: dict[float, float], unit: str = "") -> str:
    return ", ".join(f"{three(value)}{unit} at {at:g}" for at, value in found.items())


def order_of_magnitude(rows: Sequence[Row], x: str) -> Verdict:
    """More than ten times less processor time everywhere."""
    found = _times(rows, x)
    return Verdict(min(found.values()) > ORDER, f"times less: {_listed(found)}")


def hash_as_good(rows: Sequence[Row], x: str, y: str, most: float) -> Verdict:
    """By hash joins JIT takes no more than so many times what REF takes, everywhere."""
    ref, jit = ({row[x]: row[y] for row in chosen(rows, joins="hash", side=side)} for side in (REF, JIT))
    found = {at: jit[at] / ref[at] for at in sorted(set(ref) & set(jit))}
    return Verdict(max(found.values()) <= most, f"times REF's: {_listed(found)}")


def faster(rows: Sequence[Row], x: str) -> Verdict:
    """Clearly less processor time everywhere."""
    found = _times(rows, x)
    return Verdict(min(found.values()) >= CLEAR, f"times less: {_listed(found)}")


def saves(rows: Sequence[Row], x: str) -> Verdict:
    """Up to 62 % of the memory: as much, somewhere."""
    found = _saved(rows, x)
    return Verdict(max(found.values()) >= SAVED, f"saved: {_listed(found, ' %')}")


def smaller(rows: Sequence[Row], x: str) -> Verdict:
    """Less memory everywhere."""
    found = _saved(rows, x)
    return Verdict(min(found.values()) > 0, f"saved: {_listed(found, ' %')}")


def gain_grows(rows: Sequence[Row], x: str) -> Verdict | None:
    """With the largest value the gain in time is clearly larger than with the smallest."""
    found = _times(rows, x)
    if len(found) < 2:
        return None
    first, last = found[min(found)], found[max(found)]
    return Verdict(
        last >= CLEAR * first, f"{three(first)} times at {min(found):g}, {three(last)} at {max(found):g}"
    )


def memory_gain_grows(rows: Sequence[Row], x: str) -> Verdict | None:
    """The bytes that are saved are clearly more with the largest value than with the smallest."""
    ref, jit = _both(rows, x, "KiB")
    if len(ref) < 2:
        return None
    first, last = (ref[at] - jit[at] for at in (min(ref), max(ref)))
    return Verdict(
        last > CLEAR * max(first, 0), f"{first:,.0f} KiB at {min(ref):g}, {last:,.0f} at {max(ref):g}"
    )


def grows_slower(rows: Sequence[Row], x: str) -> Verdict | None:
    """JIT's processor time grows by a smaller factor than REF's."""
    ref, jit = _both(rows, x, "seconds")
    if len(ref) < 2:
        return None
    first, last = min(ref), max(ref)
    grown = ref[last] / ref[first], jit[last] / jit[first]
    return Verdict(
        grown[1] < grown[0], f"from {first:g} to {last:g}: REF {three(grown[0])} times, JIT {three(grown[1])}"
    )


def steps(rows: Sequence[Row], x: str) -> Verdict | None:
    """REF's memory is about the same with 4 and 5 streams, and with 6 and 7, and clearly more with 6 than with 5."""
    held = values(rows, x, REF, "KiB")
    if not {4, 5, 6, 7} <= set(held):
        return None
    flat = max(held[5] / held[4], held[4] / held[5], held[7] / held[6], held[6] / held[7])
    told = ", ".join(f"{held[at]:,.0f} KiB with {at:g}" for at in sorted(held))
    return Verdict(flat <= STEP < held[6] / held[5], told)


def smaller_step(rows: Sequence[Row], x: str) -> Verdict | None:
    """From 5 to 6 streams JIT's memory grows by less than half of what REF's grows by."""
    ref, jit = _both(rows, x, "KiB")
    if not {5, 6} <= set(ref):
        return None
    up = ref[6] - ref[5], jit[6] - jit[5]
    return Verdict(2 * up[1] < up[0], f"from 5 to 6 streams REF {up[0]:+,.0f} KiB, JIT {up[1]:+,.0f} KiB")


def falls(rows: Sequence[Row], x: str) -> Verdict | None:
    """Processor time and memory of both sides are less with the largest value than with the smallest."""
    told, fell = [], []
    for side in (REF, JIT):
        for y, unit in (("seconds", "s"), ("KiB", "KiB")):
            found = values(rows, x, side, y)
            if len(found) < 2:
                return None
            first, last = found[min(found)], found[max(found)]
            fell.append(last < first)
            told.append(f"{side} {three(first)} to {three(last)} {unit}")
    return Verdict(all(fell), "; ".join(told))


def stable_beyond(rows: Sequence[Row], x: str, value: float) -> Verdict | None:
    """From a value on JIT's processor time and memory stay about the same."""
    told, spread = [], []
    for y, unit in (("seconds", "s"), ("KiB", "KiB")):
        found = {at: held for at, held in values(rows, x, JIT, y).items() if at >= value}
        if len(found) < 2:
            return None
        spread.append(max(found.values()) / min(found.values()))
        told.append(_listed(found, f" {unit}"))
    return Verdict(max(spread) <= STABLE, "; ".join(told))


def handles(rows: Sequence[Row], x: str, value: float) -> Verdict | None:
    """Below a value REF takes much longer than there, and JIT far less than REF."""
    ref, jit = _both(rows, x, "seconds")
    if value not in ref or min(ref) == value:
        return None
    least = min(ref)
    more = ref[least] / ref[value], jit[least] / jit[value]
    agrees = more[0] >= CLEAR and more[1] < more[0] and ref[least] >= CLEAR * jit[least]
    told = f"at {least:g} REF takes {three(more[0])} times what it takes at {value:g}, JIT {three(more[1])} times"
    return Verdict(agrees, f"{told}; REF {three(ref[least] / jit[least])} times JIT's")


# -- Figure 5 --------------------------------------------------------------------------------------------------------


def _five(rows: Sequence[Row], y: str) -> dict[str, tuple[float, float]]:
    """By setting: how many times REF's JIT has, and with pairs."""
    found = {}
    for setting in dict.fromkeys(row["setting"] for row in rows):
        held = {row["side"]: row[y] for row in chosen(rows, setting=setting)}
        if held.keys() >= {REF, JIT, PAIRS}:
            found[setting] = held[JIT] / held[REF], held[PAIRS] / held[REF]
    return found


def _told(found: dict[str, tuple[float, float]]) -> str:
    return "; ".join(f"{name}: JIT {plain:.2f}, pairs {pairs:.2f}" for name, (plain, pairs) in found.items())


def pairs_left_out(rows: Sequence[Row]) -> Verdict:
    """Where fewer than half of the pairs are ever wanted, fewer than half of the composites are stored."""
    found = _five(rows, "composites stored")
    useless = [pairs for name, (_, pairs) in found.items() if not name.endswith(" 15 values")]
    return Verdict(bool(useless) and max(useless) < 0.5, f"of REF's composites: {_told(found)}")


def less_memory(rows: Sequence[Row]) -> Verdict:
    """And less memory is taken by it there."""
    found = _five(rows, "engine, KiB")
    useless = [pairs for name, (_, pairs) in found.items() if not name.endswith(" 15 values")]
    return Verdict(bool(useless) and max(useless) < 1, f"of REF's bytes: {_told(found)}")


def less_time(rows: Sequence[Row]) -> Verdict:
    """And less time."""
    found = _five(rows, "seconds")
    useless = [pairs for name, (_, pairs) in found.items() if not name.endswith(" 15 values")]
    return Verdict(bool(useless) and max(useless) < 1, f"of REF's processor time: {_told(found)}")
