"""Groups against a model that computes everything anew, however the feed is cut into batches."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from eddy.aggregate.groups import SMALLEST, Groups
from eddy.errors import QueryError, StateError
from eddy.values.types import FLOAT64, INT64, STRING, Column, column_type
from tests.group_model import Model, column, exact, rows_of

NAN, INF = math.nan, math.inf
BOUNDS = {
    name: (int(np.iinfo(name).min), int(np.iinfo(name).max)) for name in ("int8", "int64", "uint32", "uint64")
}
VALUES = {
    **{
        name: st.one_of(st.integers(max(low, -3), 3), st.sampled_from([low, low + 1, high - 1, high]))
        for name, (low, high) in BOUNDS.items()
    },
    "bool": st.booleans(),
    "timestamp[us]": st.integers(-(2**63), 2**63 - 1),
    "float32": st.one_of(st.sampled_from([0.0, -0.0, NAN, INF, -INF, 1.5]), st.floats(width=32)),
    "float64": st.one_of(
        st.sampled_from([0.0, -0.0, NAN, INF, -INF, 0.1, 0.2, 1e308, -1e308, 5e-324, -1e-320, 2.0**53, 1e16]),
        st.floats(),
        st.floats(-1000, 1000),
    ),
}
KEYS = {
    "int64": st.integers(-1, 1),
    "uint64": st.sampled_from([0, 1, 2**64 - 1]),
    "bool": st.booleans(),
    "float64": st.sampled_from([0.0, -0.0, NAN, 1.5]),
    "float32": st.sampled_from([0.0, -0.0, NAN, 0.5]),
    "string": st.integers(0, 3),
    "timestamp[us]": st.sampled_from([-(2**63), 0]),
}
NAMES = ("COUNT", "SUM", "AVG", "MIN", "MAX", "MEDIAN", "VAR_POP", "VAR_SAMP", "STDDEV_SAMP")


def nullable(values):
    return st.one_of(values, values, values, st.none())


@st.composite
def feeds(draw):
    """Types of keys, functions, and events; a row is withdrawn some time after it came, maybe at the same event."""
    keys = draw(st.lists(st.sampled_from(sorted(KEYS)), max_size=2))
    functions = []
    for name in draw(st.lists(st.sampled_from(NAMES), min_size=1, max_size=3)):
        kinds = [k for k in VALUES if k != "timestamp[us]" or name in ("COUNT", "MIN", "MAX")]
        kind = draw(st.sampled_from([*kinds, None] if name == "COUNT" else kinds))
        functions.append((name, kind))
    row = st.tuples(
        st.tuples(*(nullable(KEYS[kind]) for kind in keys)),
        st.tuples(*(st.just(0) if kind is None else nullable(VALUES[kind]) for _, kind in functions)),
    )
    actions = draw(st.lists(st.lists(st.one_of(row, row, st.integers(0, 99)), max_size=5), max_size=25))
    events, live = [], []
    for number, event in enumerate(actions):
        rows = []
        for action in event:
            if not isinstance(action, int):
                live.append(action)
                rows.append((1, *action))
            elif live:
                rows.append((-1, *live.pop(action % len(live))))
        if rows:
            events.append((number, rows))
    while live and draw(st.booleans()):
        events.append((len(actions) + len(live), [(-1, *live.pop(0))]))
    return keys, functions, events


def made(keys, functions):
    return Groups(
        [column_type(kind) for kind in keys],
        [(name, () if kind is None else (column_type(kind),)) for name, kind in functions],
    )


def step(groups, events):
    """Feed events to the groups as one batch; the changes as (sign, row)."""
    rows = [(number, *row) for number, event in events for row in event]
    numbers, signs, keys, arguments = (list(part) for part in zip(*rows, strict=True)) if rows else ([],) * 4
    key_columns = [column([key[j] for key in keys], kind.dtype) for j, kind in enumerate(groups.keys)]
    argument_columns = [
        [column([row[j] for row in arguments], kind.dtype) for kind in kinds]
        for j, (_, kinds) in enumerate(groups.functions)
    ]
    changes = groups.step(
        key_columns, argument_columns, np.array(signs, np.int8), np.array(numbers, np.int32)
    )
    for kind, part in zip([*groups.keys, *groups.types], [*changes.keys, *changes.values], strict=True):
        assert part.values.dtype == kind.dtype and len(part) == len(changes.signs)
    shown = rows_of([*changes.keys, *changes.values], len(changes.signs))
    return list(zip(changes.signs.tolist(), shown, strict=True))


def table(groups):
    keys, values = groups.table()
    return rows_of([*keys, *values], len(groups))


@given(feeds(), st.lists(st.integers(1, 6), min_size=1, max_size=10))
def test_the_changelog_is_that_of_a_model_however_it_is_cut(feed, sizes):
    """One event at a time, all at once, or cut at random: the same changes, and the same table at the end."""
    keys, functions, events = feed
    model = Model([name for name, _ in functions], bool(keys))
    expected = [change for _, rows in events for change in model.event(rows)]
    for lengths in ([1], [len(events) + 1], sizes):
        groups, changes, at, turn = made(keys, functions), [], 0, 0
        while at < len(events):
            changes += step(groups, events[at : at + lengths[turn % len(lengths)]])
            at, turn = at + lengths[turn % len(lengths)], turn + 1
        assert exact(changes) == exact(expected)
        assert len(groups) == len(model.groups)
        assert exact(table(groups)) == exact(model.table())


def signed(*rows):
    """Events of one row each: (sign, key, argument)."""
    return [(number, [(sign, (key,), (argument,))]) for number, (sign, key, argument) in enumerate(rows)]


def test_a_group_comes_and_goes():
    """+1 alone when it appears, -1 and +1 while it changes, -1 alone when its last row is withdrawn."""
    groups = made(["int64"], [("SUM", "int64")])
    changes = step(groups, signed((1, 7, 10), (1, 7, 5), (-1, 7, 10), (-1, 7, 5)))
    assert changes == [
        (1, (7, 10)),
        (-1, (7, 10)),
        (1, (7, 15)),
        (-1, (7, 15)),
        (1, (7, 5)),
        (-1, (7, 5)),
    ]
    assert len(groups) == 0 and table(groups) == []


def test_what_cancels_within_an_event_is_not_told():
    """Neither a row replaced by an equal one, nor a group that comes and leaves at one event."""
    groups = made(["int64"], [("SUM", "int64")])
    step(groups, signed((1, 7, 10)))
    assert (
        step(groups, [(1, [(-1, (7,), (10,)), (1, (7,), (10,))]), (2, [(1, (8,), (1,)), (-1, (8,), (1,))])])
        == []
    )
    assert table(groups) == [(7, 10)]


def test_groups_of_an_event_come_in_order_of_first_touch():
    """Not in order of age, nor of the last touch."""
    groups = made(["int64"], [("COUNT", None)])
    step(groups, signed((1, 1, 0), (1, 2, 0), (1, 3, 0)))
    event = [(-1, (3,), (0,)), (-1, (1,), (0,)), (1, (2,), (0,)), (1, (1,), (0,)), (1, (1,), (0,))]
    assert step(groups, [(9, event)]) == [
        (-1, (3, 1)),
        (-1, (1, 1)),
        (1, (1, 2)),
        (-1, (2, 1)),
        (1, (2, 2)),
    ]
    assert table(groups) == [(1, 2), (2, 2)]


def test_without_keys_there_is_one_group_always():
    """It shows COUNT 0 and NULL at the start, and again when all rows are gone."""
    groups = made([], [("COUNT", None), ("COUNT", "int64"), ("SUM", "int64"), ("MEDIAN", "float64")])
    assert table(groups) == [(0, 0, None, None)] and len(groups) == 1
    row = ((), (0, 4, 4, 0.5))
    assert step(groups, [(0, [(1, *row)])]) == [(-1, (0, 0, None, None)), (1, (1, 1, 4, 0.5))]
    assert step(groups, [(1, [(-1, *row)])]) == [(-1, (1, 1, 4, 0.5)), (1, (0, 0, None, None))]
    assert table(groups) == [(0, 0, None, None)]


def test_zero_is_shown_as_first_seen_and_nan_is_one_group():
    """-0.0 and 0.0 share a group, whatever sign the rows that follow have; all NaN share another."""
    groups = made(["float64"], [("COUNT", None)])
    changes = step(groups, signed((1, -0.0, 0), (1, 0.0, 0), (-1, -0.0, 0), (1, NAN, 0), (1, -NAN, 0)))
    assert exact([row for _, row in changes]) == exact(
        [(-0.0, 1), (-0.0, 1), (-0.0, 2), (-0.0, 2), (-0.0, 1), (NAN, 1), (NAN, 1), (NAN, 2)]
    )
    assert exact(step(groups, signed((-1, 0.0, 0), (1, 0.0, 0)))) == exact([(-1, (-0.0, 1)), (1, (0.0, 1))])


@pytest.mark.parametrize("count", [62, 63, 64, 130])
def test_many_key_columns_each_with_its_null(count):
    """NULL in one column is not NULL in another, beyond the bits of one word too."""
    groups = made(["int64"] * count, [("COUNT", None)])
    rows = [tuple(None if i == j else 0 for i in range(count)) for j in range(count)]
    events = [(j, [(1, row, (0,))]) for j, row in enumerate(rows)]
    assert [row for _, row in step(groups, events)] == [(*row, 1) for row in rows]
    assert table(groups) == [(*row, 1) for row in rows]


def test_many_groups_give_their_memory_back():
    """Half a million groups pass, five hundred at a time; then a hundred thousand at once, and none again."""
    functions = [("SUM", (FLOAT64,)), ("MEDIAN", (FLOAT64,)), ("COUNT", ())]
    groups, most, n = Groups([INT64], functions), 0, 500
    for start in range(0, 500_000, n):
        keys = np.concatenate([np.arange(start, start + n), np.arange(start - n, start)])[
            : n if start == 0 else None
        ]
        values = column(keys * 0.5, np.float64)
        signs = np.repeat(np.array([1, -1], np.int8), n)[: len(keys)]
        changes = groups.step(
            [column(keys, np.int64)], [[values], [values], []], signs, np.arange(len(keys), dtype=np.int32)
        )
        assert changes.keys[0].values.tolist() == keys.tolist() and changes.signs.tolist() == signs.tolist()
        assert changes.values[1].values.tolist() == values.values.tolist()
        most = max(most, groups.nbytes)
    assert len(groups) == n and most < 2_000_000
    many = column(np.arange(-100_000, 0), np.int64)
    values, events = column(many.values * 0.5, np.float64), np.zeros(100_000, np.int32)
    groups.step([many], [[values], [values], []], np.ones(100_000, np.int8), events)
    assert len(groups) == 100_500 and groups.nbytes > 30_000_000
    groups.step([many], [[values], [values], []], -np.ones(100_000, np.int8), events)
    for _ in range(130):
        assert len(step(groups, [])) == 0
    assert len(groups) == n and groups.nbytes < 2_000_000
    assert [row[0] for row in table(groups)] == list(range(500_000 - n, 500_000))
    groups.step([many], [[values], [values], []], np.ones(100_000, np.int8), events)
    live = [*range(500_000 - n, 500_000), *range(-100_000, 0)]
    assert table(groups) == [(key, key * 0.5, key * 0.5, 1) for key in live]


def test_groups_survive_every_collision():
    """Groups that leave a crowded hash table do not hide others from their rows."""
    groups, random = made(["int64"], [("COUNT", None)]), np.random.default_rng(1)
    live: dict[int, int] = {}
    for turn in range(200):
        rows = []
        for key in random.integers(0, 3 * SMALLEST, 20).tolist():
            sign = -1 if live.get(key) and random.random() < 0.6 else 1
            live[key] = live.get(key, 0) + sign
            rows.append((sign, key, 0))
        step(groups, signed(*rows))
        live = {key: n for key, n in live.items() if n}
        assert dict(table(groups)) == live and len(groups) == len(live), turn


def test_a_group_that_returns_within_the_event_that_makes_room_for_others():
    """It has lost its rows when slots run out, and gets one again at the same event: its change is one."""
    groups, model = made(["int64"], [("SUM", "int64")]), Model(["SUM"], True)
    first = [(0, [(1, (key,), (key,)) for key in range(SMALLEST - 1)])]
    leave = [(1, [(-1, (key,), (key,)) for key in range(0, SMALLEST // 2)])]
    fresh = [(1, (key,), (key,)) for key in range(SMALLEST, 2 * SMALLEST)]
    last = [(2, [(-1, (60,), (60,)), *fresh, (1, (60,), (7,)), (1, (3,), (3,))])]
    for events in (first, leave, last):
        expected = [change for _, rows in events for change in model.event(rows)]
        assert step(groups, events) == expected
    assert table(groups) == model.table() and len(groups) == len(model.groups)


def test_codes_of_strings_that_groups_are_known_by():
    """Those of groups that exist, and of no others; NULL has none."""
    groups = Groups([INT64, STRING], [("COUNT", ())])
    rows = [(1, (1, 5), (0,)), (1, (1, None), (0,)), (1, (2, 9), (0,)), (-1, (1, 5), (0,))]
    step(groups, list(enumerate([row] for row in rows)))
    assert [codes.tolist() for codes in groups.codes_in_use()] == [[9]]


def test_arrays_that_must_not_be_written():
    """Arguments, signs and events may be read-only, or parts of wider arrays."""
    values = np.broadcast_to(np.array([1.5]), (4,))
    signs, events = np.broadcast_to(np.int8(1), (4,)), np.arange(8, dtype=np.int32)[::2]
    events.flags.writeable = False
    groups = made(["float64"], [("SUM", "float64"), ("MAX", "float64")])
    changes = groups.step([Column(values)], [[Column(values)], [Column(values)]], signs, events)
    assert changes.signs.tolist() == [1, -1, 1, -1, 1, -1, 1]
    assert table(groups) == [(1.5, 6.0, 1.5)]


def test_a_row_that_never_came_cannot_be_withdrawn():
    """Neither from a group that is not there, nor twice, nor a value that the group does not hold."""
    for rows in ([(-1, 1, 0)], [(1, 1, 0), (-1, 1, 0), (-1, 1, 0)], [(1, 1, 0), (1, 1, 0), (-1, 1, 5)]):
        with pytest.raises(StateError, match="withdraw"):
            step(made(["int64"], [("MIN", "int64")]), signed(*rows))


@pytest.mark.parametrize(
    "function, kind",
    [("SUM", "string"), ("AVG", "timestamp[us]"), ("MODE", "int64"), ("SUM", None)],
)
def test_functions_that_a_type_has_not(function, kind):
    """Strings are only counted; of times there are no sums."""
    with pytest.raises(QueryError, match=function):
        made([], [(function, kind)])
