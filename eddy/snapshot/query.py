"""The query of a snapshot as plain values, and whether a query is the one that was saved."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from eddy.errors import EddyError, StateError
from eddy.query.conditions import Conditions, read
from eddy.query.expressions import Expression
from eddy.query.function import Vectorised
from eddy.query.keys import key_classes
from eddy.query.predicate import Call
from eddy.query.query import Computed, Output, Query, Stream, changed
from eddy.query.sql import arguments
from eddy.query.windows import Unbounded, Window
from eddy.snapshot import attaching

# What snapshots of joins did not say before there were differences and aggregates.
_ABSENT: dict[str, Any] = {"minus": {}, "group_by": [], "aggregates": [], "computed": [], "having": None}
_ABSENT |= attaching.ABSENT


def describe(query: Query) -> dict[str, Any]:
    """A query as JSON can hold it: its SQL, which can be read back, and its parts, which can be compared."""
    columns = (*query.window_table(), query.window_steps())
    windows = [
        list(line if line[2] else line[:2]) for line in zip(*(c.tolist() for c in columns), strict=True)
    ]
    return {
        "sql": str(query),
        "functions": [
            *(
                str(call)
                for predicate in (*query.predicates, *attaching.conditions(query))
                for call in _calls(predicate)
            ),
            *(
                str(call)
                for output in (*query.computed, *query.group_by)
                for call in _calls(output.expression)
            ),
            *(str(aggregate) for aggregate in query.aggregates if aggregate.own is not None),
        ],
        "streams": {
            name: {
                "columns": {column: kind.written for column, kind in stream.columns.items()},
                "time": stream.time,
                "static": stream.static,
                "strict": stream.strict,
                "parse": stream.parse,
                "window": str(stream.window),
                "window_numbers": numbers,
            }
            for (name, stream), numbers in zip(query.streams.items(), windows, strict=True)
        },
        "time_unit": query.time_unit,
        "where": [str(predicate) for predicate in query.predicates],
        "select": [[output.name, output.stream, output.column] for output in query.select],
        "computed": [[output.name, str(output.expression)] for output in query.computed],
        "cross": query.cross,
        "minus": {
            minus.stream: sorted(
                f"{query.base}.{ours} = {minus.stream}.{theirs}" for ours, theirs in minus.on
            )
            for minus in query.minus
        },
        "group_by": [[output.name, *_place(output)] for output in query.group_by],
        "having": None if query.having is None else str(query.having),
        "aggregates": [[aggregate.name, str(aggregate)] for aggregate in query.aggregates],
        **attaching.described(query),
    }


def _place(output: Output | Computed) -> tuple[str, str]:
    """The stream and the column of what is grouped by; no stream, and the text, of an expression."""
    return (output.stream, output.column) if isinstance(output, Output) else ("", str(output.expression))


def _kept(stream: Mapping[str, Any]) -> Window:
    """The window of a stream where the text has none: one that had none, or takes what follows from predicates."""
    return Unbounded(declared=stream["window_numbers"][0] == 0)


def _calls(expression: Expression) -> Iterator[Expression]:
    """The functions of the user's own in an expression: no text can hold them."""
    if isinstance(expression, (Call, Vectorised)):
        yield expression
    for child in expression.children:
        yield from _calls(child)


def rebuilt(saved: Mapping[str, Any], path: str) -> Query:
    """The query that was saved, made anew from its text."""
    if saved["functions"]:
        function = saved["functions"][0]
        aggregated = any(text == function for _, text in saved.get("aggregates", ()))
        raise StateError(
            f"the query of the snapshot {path!r} has {'an aggregate' if aggregated else 'a predicate'} that only your "
            f"program knows, {function}: load it with Eddy.load(path, query=query)"
        )
    try:
        streams = {
            name: Stream(
                of["columns"],
                _kept(of),
                of["time"],
                static=of.get("static", False),
                strict=of.get("strict", False),
                parse=of.get("parse", False),
            )
            for name, of in saved["streams"].items()
        }
        parts = arguments(saved["sql"], streams, saved["cross"])
        # The text of a difference has the base first, wherever it was declared.
        parts["streams"] = {name: parts["streams"][name] for name in streams if name in parts["streams"]}
        return Query(**{**parts, **attaching.arguments_of(saved)})
    except EddyError as error:
        raise StateError(
            f"the query of the snapshot {path!r} cannot be read ({error}): "
            "build it in your program and load with Eddy.load(path, query=query)"
        ) from error


def check_same(saved: Mapping[str, Any], query: Query, path: str) -> None:
    """StateError unless the query is the saved one; predicates may be written in another way (`eddy.conditions`)."""
    difference = next(differences(current(saved, path), describe(query)), None)
    if difference is not None:
        raise StateError(
            f"the query is not the one of the snapshot {path!r}: {difference}. "
            "Load it with the query that it was saved with; another query needs an engine of its own"
        )


def current(saved: Mapping[str, Any], path: str) -> dict[str, Any]:
    """A query that was saved, described in the words of this version of the library, where it can be."""
    if not saved["functions"]:
        try:
            saved = describe(rebuilt(saved, path))
        except StateError:
            pass
    return {**_ABSENT, **saved}


def differences(
    saved: Mapping[str, Any], given: Mapping[str, Any], keeper: str = "the snapshot"
) -> Iterator[str]:
    """What differs between two described queries, what matters most first; ``keeper`` has the saved one."""
    ours, theirs = given["streams"], saved["streams"]
    if list(ours) != list(theirs):
        yield f"its streams are {', '.join(ours)}, {keeper}'s {', '.join(theirs)}"
        return
    for name, stream in ours.items():
        other = theirs[name]
        for column in {**stream["columns"], **other["columns"]}:
            one, two = stream["columns"].get(column), other["columns"].get(column)
            if one != two:
                yield f"column {name}.{column} {_is(one)}, in {keeper} it {_is(two)}"
        if stream["time"] != other["time"]:
            yield f"the time of {name} {_is(stream['time'])}, in {keeper} it {_is(other['time'])}"
        if stream["static"] != other.get("static", False):
            yield f"stream {name} is {'' if stream['static'] else 'not '}static, unlike in {keeper}"
        if stream["window_numbers"] != other["window_numbers"] or given["time_unit"] != saved["time_unit"]:
            yield f"the window of {name} is {stream['window']}, in {keeper} it is {other['window']}"
    read = [_read(described) for described in (given, saved)]
    for who, mine, other, (own, others) in (
        ("it", given, saved, read),
        (keeper, saved, given, reversed(read)),
    ):
        conditions = Conditions(others)
        for text, predicate in zip(mine["where"], own, strict=True):
            if not conditions.say(predicate):
                yield f"only {who} has the predicate {text}"
        for name, condition in mine["minus"].items():
            if condition != other["minus"].get(name):
                yield f"only {who} subtracts {name} by {' AND '.join(condition)}"
    yield from attaching.differences(
        saved, given, keeper, lambda texts: _read({"where": texts, "streams": given["streams"]})
    )
    if given["cross"] != saved["cross"]:
        yield f"cross is {given['cross']}, in {keeper} it is {saved['cross']}"
    if any(given[part] != saved[part] for part in ("select", "computed", "group_by", "aggregates", "having")):
        yield f"it selects {_shown(given)}, {keeper} {_shown(saved)}"


def arranged(query: Query, saved: Mapping[str, Any], path: str) -> Query:
    """A query that says what the saved one does, in the words of that where they decide about its keys: one column of
    each stream stands for all that equal it, and which one that is, and the numbers of the keys, go by what comes
    first."""
    if query.attachments and query.base is not None:  # the core is one stream, and has no keys
        return query
    if query.minus:
        try:
            again = rebuilt(saved, path)
        except (
            StateError
        ):  # it is written in the words of another version, or has functions of the user's own
            return query
        predicates, classes, minus = again.predicates, again.key_classes, again.minus
    else:
        own = {str(predicate): predicate for predicate in query.predicates}
        predicates = tuple(own[p] if isinstance(p, str) else p for p in _read(saved))
        classes, minus = key_classes(predicates, query.core.names)[0], ()
    if minus == query.minus and list(map(str, classes)) == list(map(str, query.key_classes)):
        return query
    return changed(query, predicates=predicates, key_classes=classes, minus=minus)


def _read(described: Mapping[str, Any]) -> list[Expression | str]:
    """The predicates of a query."""
    return read(
        described["where"], {name: stream["columns"] for name, stream in described["streams"].items()}
    )


def _shown(described: Mapping[str, Any]) -> str:
    """What a result of the query shows, as SELECT has it."""
    columns = described["group_by"] if described["aggregates"] else described["select"]
    texts = [(name, f"{stream}.{column}" if stream else column) for name, stream, column in columns]
    texts += described["aggregates"]
    texts = described["computed"] or texts
    return ", ".join(text if name == text else f"{text} AS {name}" for name, text in texts)


def _is(what: str | None) -> str:
    return "is missing" if what is None else f"is {what}"
