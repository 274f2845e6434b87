"""What each technique would take for a plan change, by the equations of `costs` with the times of our kernels.

The papers' equations are for nested loops and two streams; here a state is made by index look-ups, and a composite of
k streams is as old as its rows: see `costs.all_new_share` and `costs.owed_share`. What all techniques do alike is left
out, which is to make the results and to take rows in: so only differences between predictions mean anything.

`predict` is for a change that is about to begin, and `Cheapest` chooses by it; `change_seconds` is what `policies.Auto`
asks before it, of which it knows estimates only: what one technique takes beyond the new plan's own work.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable

from attrs import frozen

from policies.migration.costs import all_new_share, moving_state_seconds, owed_share
from policies.migration.survey import JoinStep, Streams, Survey
from policies.optimizer.estimate import Estimate
from policies.optimizer.model import CostModel
from policies.optimizer.moving import making_seconds
from policies.optimizer.search import cost_of
from policies.optimizer.steps import Steps, steps_of

Share = Callable[[Streams], float]
"""From some streams to the part of their composites that is made."""
Work = list[tuple[JoinStep, float, float]]
"""Steps of a plan, each with seconds per event for probing, and for what comes of it."""


@frozen
class Overheads:
    """Seconds that a change takes beside what plans do anyway: fitted to `benchmarks.papers.cheapest_runs`."""

    state: float = 5e-5
    """Make a state, whatever comes into it."""
    lazily: float = 1.5
    """Times what it takes to make a state at once, where it is done for the keys that a batch asks for."""
    batch: float = 3e-5
    """Take a batch the long way, as an engine does while a change is under way."""
    step: float = 7e-6
    """Each step of a plan, in such a batch."""
    state_with_holes: float = 2e-5
    """Look in such a batch for the holes of one state that it is going to probe."""
    fork: float = 2e-4
    """Begin with two plans."""
    work: float = 0.5
    """What steps take, of what the cost model says of them."""


OVERHEADS = Overheads()


@frozen
class Prediction:
    """What a technique would take."""

    seconds: float
    """Processor time, until the windows have turned over."""
    pause: float
    """The longest time in which nothing comes out."""


def predict(survey: Survey, model: CostModel, overheads: Overheads) -> dict[str, Prediction]:
    """What each technique would take, by its name.

    A plan is changed since it will be the better one (HybMig, section 4.4: T'new >= Tnew, new rows cost it less than
    old ones). Where by the rows that are live it is the worse one, it is assumed that new rows are to the new plan what
    the old ones are to the former, and the other way round; while windows turn over that is the mean of both.
    """
    new, old = _work(survey.plan, survey, model), _work(survey.former, survey, model)
    now, before = _sum(new), _sum(old)
    mean = (now + before) / 2 if now > before else now
    scale = mean / now if now else 1.0
    events = survey.events * overheads.work
    fill = _filling(survey, model, overheads)
    found = {
        "MovingState": Prediction(events * mean + fill, fill),
        "Jisc": _jisc(survey, overheads, events * mean, fill),
    }
    if survey.running:  # a plan that is not whole cannot go on beside another
        return found
    # Equations 5 to 7 of Zhu et al.: the whole old plan, and of the new one what has no old row.
    both = _sum(new, lambda streams: all_new_share(len(streams))) * min(1.0, before / now if now else 1.0)
    both += max(mean, before)
    steps = len(new) + len(old)
    found["ParallelTrack"] = _side_by_side(survey, overheads, events * both, steps)
    # HybMig, sections 3.1 and 3.2: steps that both have are made once, and of the others the old plan makes what it
    # owes: what has old rows of all streams of a pair of shared states that the new plan joins first.
    shared = {(step.source, step.target) for step in survey.plan}
    former = [part for part in old if (part[0].source, part[0].target) not in shared]
    owed, made = _hybrid(survey)
    both = scale * _sum(new, made) + _sum(former, owed)
    found["HybMig"] = _side_by_side(survey, overheads, events * both, len(new) + len(former))
    return found


def _work(steps: Iterable[JoinStep], survey: Survey, model: CostModel) -> Work:
    """What the steps of a plan take. Results do not count: whoever makes them, they are the same."""
    found, everything, turnover = [], len(survey.live), survey.turnover
    for step in steps:
        entries, both = survey.entries(step.target), step.source | step.target
        turns = sum([turnover[stream] for stream in step.drivers])
        if survey.nested:
            each = model.compare * entries
        else:
            each = model.probe + model.reaching(entries, len(step.target))
        probing, making = survey.entries(step.source) * turns * each, 0.0
        if len(both) < everything:
            each = model.match + model.byte * (12 + 4 * len(both)) + model.insert * step.kept
            making = survey.entries(both) * turns * each
        found.append((step, probing, making))
    return found


def _sum(work: Work, share: Share | None = None) -> float:
    """Seconds per event, where of the composites of a set a ``share`` is made."""
    if share is None:
        return sum([probing + making for _, probing, making in work])
    return sum(
        [share(s.source) * probing + share(s.source | s.target) * making for s, probing, making in work]
    )


def _filling(survey: Survey, model: CostModel, overheads: Overheads) -> float:
    """Equation 3 of Zhu et al.: what it takes to make all states that are missing, as `MovingState` does."""
    states = []
    for missing in survey.missing:
        entries, width = survey.entries(missing), len(missing)
        seconds = overheads.state + making_seconds(entries, width, model)
        if survey.nested:  # equation 1
            sides = [step for step in survey.plan if step.source | step.target == missing]
            pairs = [survey.entries(step.source) * survey.entries(step.target) for step in sides]
            seconds += model.compare * min(pairs, default=0.0)
        states.append(seconds)
    return moving_state_seconds(0.0, 0.0, states)  # matching and moving is a look-up of a few names


def _long_way(batches: float, overheads: Overheads, steps: int, states: int = 0) -> float:
    """What batches take beyond the ordinary until the windows have turned over."""
    return batches * (overheads.batch + overheads.step * steps + overheads.state_with_holes * states)


def _jisc(survey: Survey, overheads: Overheads, work: float, fill: float) -> Prediction:
    """Every hole is filled when it is asked for, or when a row of its own leaves."""
    lazily, states = overheads.lazily * fill, len(survey.missing)
    seconds = work + lazily + _long_way(survey.events / survey.batch, overheads, len(survey.plan), states)
    part = min(1.0, survey.batch / max(survey.events, 1.0))
    return Prediction(seconds, states * overheads.state + part * lazily)


def _side_by_side(survey: Survey, overheads: Overheads, work: float, steps: int) -> Prediction:
    """Two plans run, with so many ``steps``; results come all the time."""
    beyond = overheads.fork + _long_way(survey.events / survey.batch, overheads, steps)
    return Prediction(work + beyond, overheads.fork)


def _hybrid(survey: Survey) -> tuple[Share, Share]:
    """What the old plan owes, and what the new one makes, of the composites of a set."""
    entries = [one for one in survey.missing if not any(other < one for other in survey.missing)]

    def owed(streams: Streams) -> float:
        return max([owed_share(len(streams), len(streams & entry)) for entry in entries], default=0.0)

    def made(streams: Streams) -> float:
        inside = [len(entry) for entry in entries if entry <= streams]
        return 1.0 - max([owed_share(len(streams), width) for width in inside], default=0.0)

    return owed, made


# -- before a change is asked for --------------------------------------------------------------------------------------


@frozen
class Manner:
    """How a technique gets to the states of a new plan: `Migration.beside` and `Migration.at_once`."""

    beside: float = 0.0
    at_once: float = 0.0


def change_seconds(
    plan: str,
    other: str,
    believed: Estimate,
    model: CostModel,
    manner: Manner,
    horizon: float,
    overheads: Overheads = OVERHEADS,
) -> float:
    """Seconds that it takes to get from one plan to the other, beyond the work of the latter.

    Each step of it has to be prepared. Composites of states that only the other plan has are made once: at the change
    or, where there are more than `Migration.at_once` tells, when they are asked for. Where `Migration.beside` is above
    0, so much of the old plan goes on for ``horizon`` events instead.
    """
    ours, theirs = steps_of(plan, believed.graph), steps_of(other, believed.graph)
    total = len(theirs.steps) * model.change
    batches = float(believed.rows.sum()) / max(believed.batch, 1.0)
    if manner.beside:
        total += manner.beside * horizon * cost_of(plan, believed, model)
        return total + overheads.fork + _long_way(batches, overheads, len(ours.steps) + len(theirs.steps))
    new = sorted(theirs.kept - ours.kept)
    few, left = manner.at_once * believed.batch, 0
    for both, entries in zip(new, believed.cards(believed.sets(new)).tolist(), strict=True):
        seconds = making_seconds(entries, both.bit_count(), model)
        if believed.joins == "nested":
            seconds += model.compare * _pairs(both, theirs, believed)
        if entries > few:
            seconds, left = overheads.lazily * seconds, left + 1
        total += seconds
    return total + _long_way(batches, overheads, len(theirs.steps), left) * (left > 0)


def _pairs(both: int, steps: Steps, believed: Estimate) -> float:
    """Pairs of entries that are compared to make a state by nested loops: equation 1 of Zhu et al."""
    sides = [step for step in steps.steps if step.source | step.target == both]
    cards = believed.cards(believed.sets([mask for step in sides for mask in (step.source, step.target)]))
    return min([float(one * other) for one, other in cards.reshape(-1, 2)], default=0.0)
