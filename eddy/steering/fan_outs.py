"""What each step of the plan has found, beside what sampling says."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from policies.graph import Graph
from policies.view import Sample, StepView


def describe_steps(steps: Iterable[StepView], graph: Graph, sample: Sample) -> Iterator[str]:
    """A line for each step that was taken."""
    for step in steps:
        if step.probes:
            source, target = " ".join(step.source), " ".join(step.target)
            sampled = sampled_matches(step, graph, sample)
            beside = "" if sampled is None else f"; {sampled:.3g} sampled"
            counts = f"{_count(step.matches, 'match', 'es')} of {_count(step.probes, 'probe', 's')}"
            yield f"{source} → {target}: {counts}, {step.matches / step.probes:.3g} each{beside}"


def _count(number: int, what: str, plural: str) -> str:
    return f"{number:,} {what}{'' if number == 1 else plural}"


def sampled_matches(step: StepView, graph: Graph, sample: Sample) -> float | None:
    """Matches of an entry that takes a step, by sampling now; None if no entry was found."""
    start, *rest = step.source
    path = [*graph.order([start], rest), *graph.order(step.source, step.target)]
    means = sample(start, tuple(path))
    entries = means[len(rest) - 1] if rest else 1.0
    return means[-1] / entries if entries else None
