"""A picture of a plan, as nodes and arrows: streams, the sets of them that are joined, results, and what flows."""

from __future__ import annotations

from typing import Any

from attrs import define, field

from eddy.engine.eddy import Eddy
from eddy.statistics import StairStatistics, Statistics, StepStatistics
from eddy.steering.fan_outs import sampled_matches

RESULTS = "results"


@define
class Node:
    """A stream, composites of streams, or what comes out."""

    id: str
    kind: str
    """stream, composites, results, difference or attached."""
    label: str
    live: int = 0
    bytes: int = 0
    kept: bool = True
    """Whether there is a STAIR of it; else its entries go on and are forgotten."""
    filled: float = 1.0
    """How far it has been completed since the plan was changed."""
    holes: int = 0
    suspended: int = 0
    """Entries that wait for a partner."""
    share: float = 0.0
    """Of the time of all steps, what those take that make it."""


@define
class Arrow:
    """What flows from a node to another."""

    source: str
    target: str
    rows: int
    """Entries that have flowed since the plan runs."""
    probes: int = 0


@define
class Picture:
    """The nodes and arrows of a plan."""

    nodes: dict[str, Node] = field(factory=dict)
    arrows: dict[tuple[str, str], Arrow] = field(factory=dict)

    def told(self) -> dict[str, Any]:
        """As JSON has it."""
        return {
            "nodes": [
                {name: getattr(node, name) for name in Node.__slots__ if name != "__weakref__"}
                for node in self.nodes.values()
            ],
            "arrows": [
                {"from": arrow.source, "to": arrow.target, "rows": arrow.rows, "probes": arrow.probes}
                for arrow in self.arrows.values()
            ],
        }


def picture_of(engine: Eddy, statistics: Statistics) -> Picture:
    """The picture of the plan that an engine runs."""
    query, picture = engine.query, Picture()
    attached = {one.stream: one for one in query.attachments}
    for stream in statistics.streams:
        picture.nodes[stream.name] = Node(stream.name, "stream", stream.name, stream.live, stream.bytes)
    core = tuple(name for name in query.names if name not in attached)
    if query.minus:
        _subtractions(picture, [minus.stream for minus in query.minus], core[0])
    else:
        _joins(picture, core, statistics)
    last = RESULTS
    for place, one in enumerate(query.attachments):
        node = Node(f"{RESULTS} {place + 1}", "attached", str(one))
        picture.nodes[node.id] = node
        picture.arrows[last, node.id] = Arrow(last, node.id, 0)
        picture.arrows[one.stream, node.id] = Arrow(one.stream, node.id, 0)
        last = node.id
    picture.nodes[last].label = f"{picture.nodes[last].label}: results" if last != RESULTS else RESULTS
    if statistics.feedback is not None:
        for edge in statistics.feedback.edges:
            waiting = picture.nodes.get(name_of(edge.name.split()))
            if waiting is not None:
                waiting.suspended += edge.waiting
    return picture


def _joins(picture: Picture, core: tuple[str, ...], statistics: Statistics) -> None:
    stairs = {name_of(stair.streams): stair for stair in statistics.stairs if not stair.former}
    total = sum(step.seconds for step in statistics.steps) or 1.0
    for step in statistics.steps:
        made = _made(picture, step, core, stairs)
        made.share += step.seconds / total
        _flow(picture, name_of(step.source), made.id, step.matches, step.probes)
        _flow(picture, name_of(step.target), made.id, 0, 0)
    picture.nodes.setdefault(RESULTS, Node(RESULTS, RESULTS, RESULTS))
    if not statistics.steps:
        for name in core:
            _flow(picture, name, RESULTS, 0, 0)


def _made(
    picture: Picture, step: StepStatistics, core: tuple[str, ...], stairs: dict[str, StairStatistics]
) -> Node:
    """The node of what a step makes; that from which it probes is there, too."""
    both = (*step.source, *step.target)
    for streams in (step.source, step.target):
        if len(streams) > 1:
            _composites(picture, streams, stairs)
    if len(both) == len(core):
        return picture.nodes.setdefault(RESULTS, Node(RESULTS, RESULTS, RESULTS))
    return _composites(picture, both, stairs)


def _composites(picture: Picture, streams: tuple[str, ...], stairs: dict[str, StairStatistics]) -> Node:
    name = name_of(streams)
    if name not in picture.nodes:
        stair = stairs.get(name)
        node = Node(name, "composites", name, kept=stair is not None)
        if stair is not None:
            node.live, node.bytes, node.filled, node.holes = (
                stair.live,
                stair.bytes,
                1.0 if stair.complete else stair.fraction,
                stair.holes,
            )
        picture.nodes[name] = node
    return picture.nodes[name]


def _subtractions(picture: Picture, minus: list[str], base: str) -> None:
    picture.nodes[RESULTS] = Node(RESULTS, RESULTS, RESULTS)
    last = base
    for place, stream in enumerate(minus):
        name = RESULTS if place == len(minus) - 1 else f"{last} - {stream}"
        picture.nodes.setdefault(name, Node(name, "difference", name, kept=False))
        _flow(picture, last, name, 0, 0)
        _flow(picture, stream, name, 0, 0)
        last = name


def _flow(picture: Picture, source: str, target: str, rows: int, probes: int) -> None:
    arrow = picture.arrows.setdefault((source, target), Arrow(source, target, 0))
    arrow.rows += rows
    arrow.probes += probes


def name_of(streams: Any) -> str:
    """What composites of streams are called, in whatever order they came together."""
    return " ".join(sorted(streams))


def stairs_of(statistics: Statistics) -> list[dict[str, Any]]:
    """How full each STAIR is: what it holds, how far it has been completed, its holes, and what waits at it."""
    waiting: dict[str, int] = {}
    for edge in () if statistics.feedback is None else statistics.feedback.edges:
        name = name_of(edge.name.split())
        waiting[name] = waiting.get(name, 0) + edge.waiting
    return [
        {
            "name": stair.name,
            "former": stair.former,
            "live": stair.live,
            "bytes": stair.bytes,
            "filled": 1.0 if stair.complete else stair.fraction,
            "keys": stair.keys_filled,
            "holes": stair.holes,
            "waiting": waiting.get(name_of(stair.streams), 0),
        }
        for stair in statistics.stairs
    ]


def fans_of(engine: Eddy, statistics: Statistics) -> list[dict[str, Any]]:
    """What each step finds for an entry, as counted, and what sampling says now."""
    found: list[dict[str, Any]] = []
    view = engine.view() if statistics.steps else None
    for step in statistics.steps:
        if not step.probes:
            continue
        assert view is not None
        as_seen = next((s for s in view.steps if (s.source, s.target) == (step.source, step.target)), None)
        sampled = None if as_seen is None else sampled_matches(as_seen, view.graph, view.sample)
        found.append(
            {
                "source": " ".join(step.source),
                "target": " ".join(step.target),
                "probes": step.probes,
                "matches": step.matches,
                "counted": step.matches / step.probes,
                "sampled": sampled,
            }
        )
    return found
