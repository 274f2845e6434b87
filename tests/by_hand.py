"""A user's hand in STAIRs: they are probed, promoted and demoted between pushes, by `engine.stair`."""

from __future__ import annotations

import random

import pytest

import eddy
from eddy.inspect.stair_names import key_columns, stair_ids
from policies import NoFeedback
from tests.kinds import pythonics


def views(engine):
    """A view of every STAIR of the current plan, those of streams first."""
    query, found = engine.query, []
    for wanted in stair_ids(engine.state.executor.routers[0]):
        names = tuple(query.names[s] for s in wanted.streams)
        found.append(engine.stair(names, by=", ".join(key_columns(query, wanted.key, names)) or "nothing"))
    return found


def some_keys(pick, book, view, count):
    """Keys of a STAIR: those of rows that have come, whether these are live or not, or numbers of rows."""
    if not view.key:
        return None
    if view.key[0].startswith("row of "):
        name = view.key[0].removeprefix("row of ")
        most = len(book.rows.get(name, ()))
        return [book.case.first_row + pick.randrange(most + 1) for _ in range(count)]
    columns = []
    for column in view.key:
        name, _, column = column.partition(".")
        place = list(book.case.streams[name].columns).index(column)
        kind = book.case.streams[name].columns[column]
        values = [row[place] for row in book.rows.get(name, ())] or [None]
        chosen = [pick.choice(values) for _ in range(count)]
        columns.append(pythonics(chosen, kind))
    return columns[0] if len(columns) == 1 else list(zip(*columns, strict=True))


def use(engine, book, seed):
    """Do something to some STAIRs, as the seed says; what comes back is held against what is there."""
    pick = random.Random(seed)
    plans = {str(router.plan) for router in engine.state.executor.routers}
    if len(plans) > 1:
        with pytest.raises(eddy.StateError, match="one after the other"):
            engine.stair(engine.query.names[0])
    if len(plans) != 1:  # shards change to a black box one by one; and a set difference has no STAIRs
        return
    for _ in range(pick.randrange(1, 4)):
        view = pick.choice(views(engine)[-pick.randrange(1, 4) :])
        keys = some_keys(pick, book, view, pick.randrange(1, 6)) if pick.random() < 0.7 else None
        given = () if keys is None else (keys,)
        if not all(router.alone for router in engine.state.executor.routers):
            for refused in (view.probe, view.promote):
                with pytest.raises(eddy.StateError, match="side by side"):
                    refused()
            continue
        ACTS[pick.choice(list(ACTS))](pick, engine, view, given)


def _demote(pick, engine, view, keys):
    if len(view.streams) == 1:
        with pytest.raises(eddy.EddyError, match="cannot be demoted"):
            view.demote(*keys)
        return
    before = {tuple(row) for row in view.stored().rows.tolist()}
    to = pick.sample(view.streams, pick.randrange(1, len(view.streams))) if pick.random() < 0.4 else None
    gone = view.demote(*keys, to=to)
    went = {tuple(row) for row in gone.rows.tolist()}
    if isinstance(engine.feedback, NoFeedback):  # otherwise composites that wait may have come back first
        assert went <= before and {tuple(row) for row in view.stored().rows.tolist()} == before - went
        if not keys:
            assert len(view) == 0
    for name in view.streams:
        part = gone.part(name)
        assert len(part) == len({row[view.streams.index(name)] for row in went})


def _promote(pick, engine, view, keys):
    before = {tuple(row) for row in view.stored().rows.tolist()}
    came = view.promote(budget=pick.randrange(4)) if pick.random() < 0.3 else view.promote(*keys)
    new = {tuple(row) for row in came.rows.tolist()}
    assert engine.threads > 1 or not new & before  # of several shards one may have had an entry already
    assert {tuple(row) for row in view.stored().rows.tolist()} == before | new
    assert (view.holes == 0) == view.complete


def _promote_to(pick, engine, view, keys):
    above = [other for other in views(engine) if set(view.streams) < set(other.streams)]
    if above:
        goal = pick.choice(above)
        try:
            came = view.promote(*keys, to=goal.streams)
        except eddy.PlanError as error:  # orderings may have several STAIRs of one set
            assert "several STAIRs" in str(error)
            return
        assert came.streams == goal.streams


def _probe(pick, engine, view, keys):
    if not keys:
        assert view.probe().rows.tolist() == view.stored().rows.tolist()
        assert view.holes == 0
        return
    for key in keys[0]:
        assert view.probe(key).rows.tolist() == view.stored(key).rows.tolist()
    assert len(view.probe(keys[0])) <= len(view)


ACTS = {"demote": _demote, "promote": _promote, "promote to": _promote_to, "probe": _probe}
