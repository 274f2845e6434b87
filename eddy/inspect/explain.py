"""A plan and its STAIRs as text."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from eddy.plan.compiler import Key
from eddy.plan.difference_plan import Subtractions
from eddy.plan.orderings import Orderings, show_visit
from eddy.plan.plan import Join, Leaf, Node, Plan
from eddy.plan.selectors import ByValue
from eddy.query.query import Query
from eddy.statistics import EdgeStatistics, FeedbackStatistics, StairStatistics, Statistics, StreamStatistics


def key_text(query: Query, key: Key) -> str:
    """What a STAIR is keyed by: column names, a stream's row, or nothing at all."""
    if key.row is not None:
        return f"row of {query.names[key.row]}"
    names = ["=".join(dict.fromkeys(query.key_classes[c].members.values())) for c in key.classes]
    return ", ".join(names) if names else "nothing (a cross product)"


def explain(
    query: Query,
    plan: Plan | Subtractions,
    statistics: Statistics,
    steps: Iterable[str] = (),
    who: Iterable[str] = (),
) -> str:
    """The plan, and ``who`` chooses it; the plan as a tree, top down, with the state of every STAIR beside it; then
    what its ``steps`` have found."""
    streams = {stream.name: stream for stream in statistics.streams}
    # Where two plans run side by side, and both have a STAIR, that of the current one is shown.
    stairs = {frozenset(s.streams): s for s in sorted(statistics.stairs, key=lambda s: not s.former)}
    lines = [
        f"plan {plan}",
        f"{_count(statistics.events, 'event')}, {_count(statistics.results, 'result')}, {_size(statistics.bytes)}",
    ]
    lines += who
    lines += _chosen(statistics)
    if statistics.fault is not None:
        lines.append(f"{statistics.fault}; the next push raises it")
    if statistics.memory is not None and statistics.over_budget:
        lines.append(
            f"memory budget {_size(statistics.memory)}, exceeded by {_size(statistics.over_budget)}: the rows in the "
            "windows stay, whatever they take"
        )
    if statistics.keys_demoted:
        lines.append(f"{_count(statistics.keys_demoted, 'key')} made holes so far, for want of memory")
    if statistics.plan != str(plan):
        lines.append(f"changing to {statistics.plan}, which runs apart until it has what it needs")
    if isinstance(plan, Subtractions):
        lines += [f"  {_state(stair)}" for stair in reversed(statistics.stairs)]
        lines += [f"  {_stream(query, streams[name])}" for name in (plan.base, *plan.order)]
    elif isinstance(plan, Orderings):
        for name in plan.orders:
            for (_, order), who_goes in zip(plan.ways(name), _ways(plan, name), strict=True):
                lines.append(f"  {name} visits {', then '.join(map(show_visit, order))}{who_goes}")
        lines += [f"  {_stair(stair)}" for stair in statistics.stairs if not stair.former]
        lines += [f"  {_stream(query, streams[name])}" for name in query.names]
    else:
        _node(query, plan, streams, stairs, "", "", lines)
    for one in query.attachments:
        lines.append(f"{one}")
        lines.append(f"   {_stream(query, streams[one.stream])}")
    lines += steps
    if statistics.feedback is not None:
        lines += _edges(statistics.feedback.edges)
        lines += _pairs(statistics.feedback)
    return "\n".join(lines)


def analysis(statistics: Statistics) -> list[str]:
    """What was measured, and how the steps of the plan share its time, as far as that is known: by the cost model."""
    if not statistics.events or not statistics.seconds:
        return ["nothing was pushed yet"]
    each = statistics.seconds / statistics.events
    lines = [
        f"{statistics.seconds:.3g} s in {_count(statistics.batches, 'batch', 'batches')}, {1e9 * each:,.0f} ns an event"
    ]
    total = sum(step.seconds for step in statistics.steps)
    for step in sorted(statistics.steps, key=lambda step: -step.seconds):
        if step.probes:
            what = f"{' '.join(step.source)} → {' '.join(step.target)}"
            rows = f"{step.probes:,} entries probe, {_count(step.matches, 'entry', 'entries')} found"
            lines.append(f"{step.seconds / total:4.0%} {what}: {rows}; {1e3 * step.seconds:,.3g} ms reckoned")
    return lines


def _ways(plan: Orderings, name: str) -> list[str]:
    """Of each way of a stream, which of its rows take it."""
    ways, selector = plan.ways(name), plan.selectors.get(name)
    if len(ways) == 1:
        return [""]
    if isinstance(selector, ByValue):
        sets = [f" (rows with {head.partition(' ')[2]})" for head in plan.heads(name)[:-1]]
        return [*sets, " (its other rows)"]
    total, drawn = sum(weight for weight, _ in ways), "" if selector is None else ", drawn"
    return [f" ({weight / total:.0%} of its rows{drawn})" for weight, _ in ways]


def _chosen(statistics: Statistics) -> list[str]:
    """Which technique was chosen for the last change of the plan, where one was, and what each was said to take."""
    change = statistics.history[-1] if statistics.history else None
    if change is None or not change.predicted:
        return []
    others = [f"{name} {1e3 * s:.1f}" for name, s in change.predicted.items() if name != change.technique]
    own = f"{1e3 * change.predicted[change.technique]:.1f}"
    return [f"last change by {change.technique}, predicted {own} ms ({', '.join(others)})"]


def _node(
    query: Query,
    node: Node,
    streams: dict[str, StreamStatistics],
    stairs: dict[frozenset[str], StairStatistics],
    first: str,
    rest: str,
    lines: list[str],
) -> None:
    if isinstance(node, Leaf):
        lines.append(first + _stream(query, streams[node.name]))
        return
    assert isinstance(node, Join)
    stair = stairs.get(node.streams)
    lines.append(first + ("results" if stair is None else _stair(stair)))
    _node(query, node.left, streams, stairs, rest + "├─ ", rest + "│  ", lines)
    _node(query, node.right, streams, stairs, rest + "└─ ", rest + "   ", lines)


def _stream(query: Query, stream: StreamStatistics) -> str:
    declared = query.streams[stream.name]
    window = "static" if declared.static else str(declared.window)
    if stream.name in query.followed:
        window += " by predicates"
    elif stream.name in query.allowed and declared.window != query.allowed[stream.name]:
        window += f" ({query.allowed[stream.name]} by predicates)"
    waiting = f", {stream.waiting:,} waiting" if stream.waiting else ""
    late = f", {stream.late:,} late" if stream.late else ""
    rows = f"{stream.live:,} live of {stream.rows:,} rows{waiting}{late}"
    return f"{stream.name} {window}: {rows}, {_size(stream.bytes)}"


def _edges(edges: Sequence[EdgeStatistics]) -> list[str]:
    """Those at which something waits, a line each; of the others, how many."""
    lines = [_edge(edge) for edge in edges if edge.waiting]
    others = [edge for edge in edges if not edge.waiting]
    if others:
        resting = sum(edge.resting for edge in others)
        rests = f", {resting:,} of them resting" if resting else ""
        lines.append(
            f"nothing waits in {_count(len(others), 'other blacklist' if lines else 'blacklist')}{rests}"
        )
    return lines


def _pairs(feedback: FeedbackStatistics) -> list[str]:
    """Pairs that were not stored, if there are any."""
    if not feedback.pairs_suppressed:
        return []
    noted = _count(feedback.keys_noted, "key")
    return [
        f"{_count(feedback.pairs_suppressed, 'pair')} suppressed, {feedback.pairs_restored:,} restored, {noted} noted"
    ]


def _edge(edge: EdgeStatistics) -> str:
    what = f"{edge.name} for {edge.opposite} by {edge.key}"
    rests = ", resting" if edge.resting else ""
    return f"blacklist of {what}: {edge.waiting:,} waiting of {edge.suspended:,} suspended{rests}"


def _state(stair: StairStatistics) -> str:
    state = "complete" if stair.complete else f"{stair.fraction:.0%} of the rows settled"
    return f"state {stair.name}: {stair.live:,} rows, {state}"


def _stair(stair: StairStatistics) -> str:
    state = "complete"
    if stair.partial:
        state = "what came since the change; the former plan makes the rest"
    elif not stair.complete:
        state = f"{_count(stair.keys_filled, 'key')} filled, {_count(stair.holes, 'known hole')}"
        if stair.fraction < 1.0:
            state += f", rows from before the change {stair.fraction:.0%} settled"
    return f"STAIR {stair.name}: {stair.live:,} live, {_size(stair.bytes)}, {state}"


def _count(number: int, what: str, several: str = "") -> str:
    return f"{number:,} {what if number == 1 else several or f'{what}s'}"


def _size(count: int) -> str:
    size = float(count)
    for unit in ("bytes", "KiB", "MiB"):
        if size < 1024:
            return f"{size:,.0f} {unit}" if unit == "bytes" else f"{size:,.1f} {unit}"
        size /= 1024
    return f"{size:,.1f} GiB"
