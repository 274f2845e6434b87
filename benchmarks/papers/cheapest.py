"""`policies.Cheapest` in the experiments of JISC and HybMig: predicted beside measured."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

from attrs import evolve

from benchmarks.hybmig_workloads import SHAPES, SWEPT, VARIANTS, Setting
from benchmarks.migration_workloads import last_two_first, right_deep
from benchmarks.papers.cheapest_runs import RIVALS, clique, frequent, transitions
from benchmarks.papers.code import TIMED_MIGRATION
from benchmarks.papers.figure import Chart, Claim, Figure, Piece, Row, Verdict, chosen
from benchmarks.techniques import CHEAPEST, MOVING

GOAL = 1.1
"""Times the best technique that `Cheapest` may take."""


def near_the_best(rows: Sequence[Row]) -> Verdict:
    """At most a tenth longer than the best technique, in every setting."""
    found = {
        f"{row['figure']}, {row['setting']}": row["times the best"]
        for row in chosen(rows, technique=CHEAPEST)
    }
    worst = max(found, key=lambda name: found[name])
    missed = sum(times > GOAL for times in found.values())
    return Verdict(
        not missed,
        f"at most {found[worst]:.3f} times ({worst}); more than {GOAL} in {missed} of {len(found)}",
    )


def never_one_technique(rows: Sequence[Row]) -> Verdict:
    """No technique comes as near in the setting that it is worst for."""
    worst = {
        name: max(row["times the best"] for row in chosen(rows, technique=name))
        for name in (*RIVALS, CHEAPEST)
    }
    told = ", ".join(f"{name} {times:.2f}" for name, times in worst.items())
    return Verdict(all(worst[CHEAPEST] <= worst[name] for name in RIVALS), f"at most {told} times the best")


def near_the_prediction(rows: Sequence[Row]) -> Verdict:
    """What is predicted is within a third of what was measured, in nine of ten.

    Without those of `MovingState`: a prediction is shown as what that took and the predicted difference to it.
    """
    others = [row for row in rows if row["technique"] != MOVING and row["predicted, ms"] is not None]
    found = [row["predicted, ms"] / row["ms"] for row in others]
    near = sum(2 / 3 <= ratio <= 1.5 for ratio in found) / len(found)
    return Verdict(
        near >= 0.9, f"{100 * near:.0f} % of {len(found)}; {min(found):.2f} to {max(found):.2f} times"
    )


DEAR = (
    "To sample and to predict takes 0.4 ms with 5 joins and 1 ms with 20: a tenth of a change that takes less than ten "
    "times as long, though it chooses the best technique."
)
HALF_DONE = (
    "A prediction is of the whole change, until the windows have turned over. Where the next transition comes before "
    "that, the techniques that run two plans, or fill states on demand, are interrupted."
)
TOO_LITTLE = (
    "The times of its model are those of another machine (AMD EPYC), on which in a quick run 99 % of 90 were. Here all "
    "that batches take beside two plans, or with holes, is up to two and a half times what is said with small windows "
    "and still one and a half with w 3, and with w 4 and 5 Jisc takes two thirds of what is said."
)
WRONG_CHOICE = (
    f"{DEAR} And with w 3 and 4 it takes HybMig where Moving State or Jisc takes less: with w 3 and a bushy plan that "
    "takes half as much again as is said of it, and with w 4 Jisc a third less."
)


def _claims(near: str = DEAR, predicted: str = HALF_DONE) -> list[Claim]:
    """``near``, ``predicted``: why it was not as near to the best one, and why predictions were not as near."""
    return [
        Claim("At most a tenth longer than the best technique, in every setting", near_the_best, why=near),
        Claim(
            "No single technique is as near to the best one everywhere",
            never_one_technique,
            why="One that is the best in all of these settings is nearer than any choice can be, since to sample and "
            "to predict takes time.",
        ),
        Claim(
            "Nine of ten predictions are within a third of what was measured",
            near_the_prediction,
            why=predicted,
        ),
    ]


SIDES = (
    "Processor milliseconds of a whole change under each technique and under `Cheapest`, which chooses one; "
    "*predicted* is what it said, as a difference to `MovingState`, since what all do alike is left out. "
    "What a technique costs beside its joins was measured in experiments of this kind, so these are no independent "
    "test of it. The 50 and 100 joins of JISC's Figures 7 and 8 are left out."
)


def _cliques() -> dict[str, Piece]:
    """HybMig's Figures 15 to 21; the last has the settings of Figure 18."""
    found: dict[str, Piece] = {}
    for setting in VARIANTS.values():
        found[str(setting)] = partial(clique, figure="HybMig 15", setting=setting, new=right_deep)
    for figure, settings in SWEPT.values():
        for shape, new in SHAPES.items():
            for each in settings:
                setting = evolve(each, shape=shape)
                piece = partial(clique, figure=figure.replace("Figure", "HybMig"), setting=setting, new=new)
                found.setdefault(str(setting), piece)
    for n in (4, 5, 6, 7):
        setting = Setting(n=n, shape="last two first")
        found[str(setting)] = partial(clique, figure="HybMig 20", setting=setting, new=last_two_first)
    return found


def _bars(figure: str = "") -> Chart:
    where = {"figure": figure} if figure else {}
    return Chart("setting", "times the best", "technique", kind="bar", where=where, title=figure)


def _figure(
    name: str,
    label: str,
    title: str,
    setup: str,
    pieces: dict[str, Piece],
    charts: Sequence[Chart],
    told: Sequence[Claim],
) -> Figure:
    return Figure(
        name=name,
        paper="Cheapest",
        label=label,
        title=title,
        setup=f"{setup} {SIDES}",
        pieces=pieces,
        claims=told,
        ours=True,
        charts=charts,
        measures=TIMED_MIGRATION,
    )


FIGURES: Sequence[Figure] = (
    _figure(
        "cheapest-transitions",
        "JISC, Figures 7 and 8",
        "Cheapest in the migration stage",
        "As for [JISC's Figures 7 and 8](jisc.md#jisc-7), up to 20 joins.",
        {
            f"{joins} joins, {feed} keys": partial(transitions, joins=joins, feed=feed)
            for feed in ("even", "random")
            for joins in (5, 10, 15, 20)
        },
        [_bars("JISC 7"), _bars("JISC 8")],
        _claims(),
    ),
    _figure(
        "cheapest-frequent",
        "JISC, Figures 11 and 12",
        "Cheapest where transitions overlap",
        "As for [JISC's Figures 11 and 12](jisc.md#jisc-11).",
        {
            f"{case} case, every {period} windows": partial(frequent, case=case, period=period)
            for case in ("worst", "best")
            for period in (0.125, 0.25, 0.5, 1.0, 2.0)
        },
        [_bars()],
        _claims(),
    ),
    _figure(
        "cheapest-clique",
        "HybMig, Figures 15 to 21",
        "Cheapest in HybMig's settings",
        "A clique of n streams, of which the first is rare and then the last; w minutes of rows, ten for each of the "
        "paper's; the new plan is right-deep, bushy, or shares all but the top (Figure 20). Quick: windows of 1 or 2.",
        _cliques(),
        [_bars()],
        _claims(WRONG_CHOICE, TOO_LITTLE),
    ),
)
