"""Whether an engine's rows are dealt out to several threads, and how they come to be."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeGuard

from attrs import evolve

if TYPE_CHECKING:
    from eddy.engine import Eddy
    from eddy.shards import Crew


def is_crew(router: object) -> TypeGuard[Crew]:
    """Whether this is a crew in the place of a router. It is told by what it has: its class has kernels to compile."""
    return hasattr(router, "shards")


def employ(engine: Eddy) -> None:
    """Deal the rows out to as many shards as the engine has threads, and run each in a thread from now on."""
    if engine.threads == 1 or engine.query.minus:
        return
    # What only threads need is compiled only where they are asked for.
    import eddy.express_crew  # noqa: F401
    from eddy.partition_choice import gridded
    from eddy.shards import Crew
    from eddy.shards_changes import CrewChanges
    from eddy.shards_deal import whole_part

    names, counts, first = engine.query.names, engine._lowwater.counts, engine._first_row
    before = dict(zip(names, (counts - first).tolist(), strict=True))
    crew = Crew(engine, evolve(gridded(engine.query, engine.threads), before=before))
    lows = engine._numbers.lows.tolist()
    if counts.tolist() != [first] * len(lows):
        wholes = [whole_part(stream, low) for stream, low in zip(engine._streams, lows, strict=True)]
        crew.restore(wholes, lows, first)
    engine._streams, engine._router = crew.streams, crew
    engine._changes = CrewChanges(engine, crew)


def dealt_out(engine: Eddy) -> list[str]:
    """How the rows are dealt out, as lines of text; none if nobody has asked for threads."""
    if is_crew(engine._router):
        return [engine._router.explain()]
    return [] if engine.threads == 1 else ["one thread: a set difference is not dealt out"]
