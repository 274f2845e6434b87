"""Whether an engine's rows are dealt out to several threads, and how they come to be."""

from __future__ import annotations

import copy
from collections.abc import Callable

from attrs import evolve

from eddy.intake.travel import Share
from eddy.state import EngineState, Options
from policies import Fixed


def employ(state: EngineState, build: Callable[[Options, str, Share, int], EngineState]) -> None:
    """Deal the rows out to as many shards as there are to be threads; ``build`` makes the state of each."""
    options, query = state.options, state.query
    if options.threads == 1 or not state.executor.routers:
        return
    # What only threads need is compiled only where they are asked for.
    import eddy.threads.fast  # noqa: F401
    from eddy.partition.choice import gridded
    from eddy.threads.changes import CrewChanges
    from eddy.threads.crew import Crew, bounded_streams
    from eddy.threads.deal import whole_part

    counts, lows, first = state.lowwater.counts, state.row_numbers.lows.tolist(), state.first_row
    before = dict(zip(query.names, (counts - first).tolist(), strict=True))
    partitioning = evolve(gridded(query, options.threads), before=before)
    share = Share(frozenset(bounded_streams(query)), state.pool, state.faults)
    shards = [build(_of_shard(options), str(state.plan), share, first) for _ in range(partitioning.cells)]
    crew = Crew(state, partitioning, shards)
    if counts.tolist() != [first] * len(lows):
        wholes = [whole_part(stream, low) for stream, low in zip(state.streams, lows, strict=True)]
        crew.restore(wholes, lows, first)
    state.streams, state.executor = [*crew.streams], crew
    state.changes = CrewChanges(state, crew)


def _of_shard(options: Options) -> Options:
    """The options of a shard: it joins whole batches under the plan that it is given, and shows nobody its results."""
    return evolve(
        options,
        routing=Fixed(),
        migration=copy.deepcopy(options.migration),
        feedback=copy.deepcopy(options.feedback),
        batch_size=1 << 30,
        retractions=False,
        memory=None,
        advise=False,
        threads=1,
        stays=True,
    )


def dealt_out(state: EngineState) -> list[str]:
    """How the rows are dealt out, as lines of text; none if nobody has asked for threads."""
    one = [] if state.options.threads == 1 else ["one thread: a set difference is not dealt out"]
    return state.executor.describe() or one
