"""Running a case of signed results and holding every step of it against the oracle."""

from __future__ import annotations

import tempfile
from collections import Counter
from pathlib import Path

from tests import by_hand
from tests.cases import step_events
from tests.checks import Book, demote, plain, push, refuse
from tests.inside import Inside
from tests.operator_cases import empty_table, expected, make_engine, shown


def check(case, **options):
    """Run the case and compare each push with the oracle; ``options`` go before the case's own."""
    return follow(case, make_engine(case, **options), case.answer or expected(case))


def follow(case, engine, wanted):
    """Do the case's steps and judge each push, at once or, where the case holds its results, at the end."""
    book, table = Book(case), Counter(empty_table(case))
    held = []
    for step, want in zip(case.steps, wanted, strict=True):
        if step[0] in ("push", "push_all"):
            held.append((want, push(engine, case, step)))
            book.enter(step_events(case, step))
            if not case.hold:
                judge(book, *held[-1])
        elif step[0] == "migrate":
            engine.migrate(step[1])
            assert engine.plan in engine.explain()
        elif step[0] == "settle":
            assert len(engine.settle()) == 0, "settle gave results, though none are held back"
        elif step[0] == "demote":
            demote(engine, step[1])
        elif step[0] == "by hand":
            by_hand.use(engine, book, step[1])
        elif step[0] == "restart":
            engine = restart(engine, *step[1:])
        elif step[0] == "reject":
            refuse(engine, book, *step[1:])
        if case.aggregates:
            apply(table, want)
            assert Counter(values(case, engine.table())) == comparable(table), "table() differs"
    for want, results in held if case.hold else ():
        judge(book, want, results)
    statistics = engine.statistics()
    assert statistics.events == book.count
    assert statistics.results == sum(len(changes) for want in wanted for changes in want)
    return engine


def restart(engine, options=None):
    """An engine that goes on from a snapshot of this one, with other options."""
    with tempfile.TemporaryDirectory() as folder:
        engine.save(Path(folder) / "snapshot")
        kept = {"migration": engine.migration}
        return Inside.load(Path(folder) / "snapshot", engine.query, **kept | (options or {}))


def values(case, result):
    """The columns of a result as tuples of values that compare."""
    columns = result.to_pydict()
    assert list(columns) == shown(case), f"the columns are {list(columns)}"
    return [tuple(map(same, row)) for row in zip(*columns.values(), strict=True)]


def same(value):
    """A value that compares: all NaN are one, and -0.0 is 0.0, but True is not 1, nor is 1.0."""
    if isinstance(value, (list, tuple)):
        return tuple(map(same, value))
    return plain(value + 0.0) if isinstance(value, float) else (type(value).__name__ == "bool", value)


def comparable(rows):
    """A multiset of the oracle's rows, with values that compare."""
    counted = Counter()
    for row, count in rows.items():
        counted[tuple(map(same, row))] += count
    return +counted


def apply(table, want):
    """Let the oracle's changes of a step come over the oracle's table."""
    for changes in want:
        for sign, row in changes:
            table[row] += sign
            assert table[row] >= 0, "the oracle withdraws what is not there"


def signed_rows(case, results):
    """All changes in results that follow each other: (sign, row numbers from 0, or values)."""
    found = []
    for result in results:
        signs = result.sign.tolist()
        if case.aggregates:
            rows = values(case, result)
        else:
            numbers = result.rows
            rows = map(tuple, (numbers - (numbers >= 0) * case.first_row).tolist())
        found += zip(signs, rows, strict=True)
    return found


def judge(book, wanted, results):
    """Hold a step's results against the oracle's: event by event the same changes, with their values."""
    case = book.case
    if case.aggregates:
        wanted = [[(sign, tuple(map(same, row))) for sign, row in changes] for changes in wanted]
    found = signed_rows(case, results)
    assert len(found) == sum(map(len, wanted)), describe(wanted, found)
    start = 0
    for number, changes in enumerate(wanted):
        here = found[start : start + len(changes)]
        start += len(changes)
        assert Counter(here) == Counter(changes), f"event {number} of the step: {describe([changes], here)}"
        in_order(case, here, changes)
    if not case.aggregates:
        columns = [result.to_pydict() for result in results]
        for item in shown(case):
            given = [plain(value) for part in columns for value in part[item]]
            assert given == book.values([row for _, row in found], item), f"column {item} differs"


def in_order(case, here, changes):
    """The order within an event: a difference fixes it whole; otherwise what goes comes before what comes."""
    if case.minus:
        assert here == changes, f"in another order: {here} for {changes}"
    elif not case.aggregates:
        signs = [sign for sign, _ in here]
        assert signs == sorted(signs), f"a new result before a withdrawal: {here}"
    else:
        groups = [row[: len(case.group_by)] for _, row in here]
        for place, (sign, _) in enumerate(here):
            if sign < 0:
                assert groups[place] not in groups[:place], f"a group is told twice: {here}"
            elif groups[place] in groups[:place]:
                assert groups[place] == groups[place - 1], f"a group's rows are apart: {here}"


def describe(wanted, found):
    """What is wrong with the changes found, in a line."""
    want = Counter(change for changes in wanted for change in changes)
    lost, extra = list((want - Counter(found)).elements()), list((Counter(found) - want).elements())
    return f"lost {len(lost)}: {lost[:6]}, extra {len(extra)}: {extra[:6]} of {want.total()}"
