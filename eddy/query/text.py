"""A query as SQL text that `eddy.sql` reads back."""

from __future__ import annotations

import datetime
from collections.abc import Sequence
from typing import TYPE_CHECKING

from eddy.query.aggregates import AggregateOutput
from eddy.query.attachment import Attachment
from eddy.query.expressions import Expression, Literal, quoted
from eddy.query.logic import conjuncts
from eddy.query.minus import Minus
from eddy.query.outputs import Computed, Output
from eddy.query.windows import Range, Rows, Sliding, Tumbling, Unbounded, Width, Window
from eddy.values.durations import nanoseconds

if TYPE_CHECKING:
    from eddy.query.query import Query


def text_of(query: Query) -> str:
    """The whole query, a clause a line."""
    lines = [f"SELECT {', '.join(map(_output, query.shown))}", f"FROM {_sources(query)}"]
    lines += [f"EXCEPT {_source(query, minus.stream)} ON {_condition(query, minus)}" for minus in query.minus]
    lines += [_attached(query, one) for one in query.attachments]
    where = _where(query)
    if where:
        lines.append("WHERE " + "\n  AND ".join(predicate.within(2) for predicate in where))
    if query.group_by:
        lines.append(f"GROUP BY {', '.join(_group(output.expression) for output in query.group_by)}")
    if query.having is not None:
        lines.append(f"HAVING {query.having}")
    if query.cut:
        lines.append(str(query.cut))
    if query.changes:
        lines.append("EMIT CHANGES")
    return "\n".join(lines)


def _attached(query: Query, one: Attachment) -> str:
    """An attachment, with its condition."""
    on = " AND ".join(part.within(2) for part in one.on) or "TRUE"
    return f"{one.join.text} {_source(query, one.stream)} ON {on}"


def _where(query: Query) -> tuple[Expression, ...]:
    """The predicates of WHERE: those of the core, unless JOIN ... ON has them, and those behind the attachments."""
    after = tuple(conjuncts(query.after)) if query.after is not None else ()
    return after if query.keeps_right else tuple(dict.fromkeys((*query.predicates, *after)))


def _group(expression: Expression) -> str:
    """What is grouped by; a bare number would stand for an item of SELECT."""
    return f"({expression})" if isinstance(expression, Literal) else str(expression)


def _sources(query: Query) -> str:
    names = [query.base] if query.base else query.core.names
    if query.keeps_right and len(names) > 1:  # in WHERE it would rule out more
        return _joined(query, names)
    comma = " CROSS JOIN " if query.cross else ", "
    return comma.join(_source(query, name) for name in names)


def _joined(query: Query, names: Sequence[str]) -> str:
    """The core, each predicate behind the last stream that it reads."""
    parts = [part for part in query.predicates if len(part.streams) > 1]
    parts += [part for name in names for part in query.only.get(name, ())]
    if not parts:
        return " CROSS JOIN ".join(_window(query, name) for name in names)
    said: dict[str, list[str]] = {name: [] for name in names[1:]}
    for part in parts:
        last = max((names.index(name) for name in part.streams), default=0)
        said[names[max(1, last)]].append(part.within(2))
    joins = [f" JOIN {_window(query, name)} ON {' AND '.join(on) or 'TRUE'}" for name, on in said.items()]
    return _window(query, names[0]) + "".join(joins)


def _source(query: Query, name: str) -> str:
    """A stream with its window, and which rows of it take part."""
    only = query.only.get(name, ())
    if not only:
        return _window(query, name)
    where = " AND ".join(part.within(2) for part in only)
    return f"(SELECT * FROM {_window(query, name)} WHERE {where}) AS {quoted(name)}"  # nosec B608


def _window(query: Query, name: str) -> str:
    stream = query.streams[name]
    if stream.static:
        return quoted(name) + " [STATIC]"
    if name in query.followed:
        return quoted(name)
    kept = name in query.allowed and isinstance(stream.window, Unbounded) and stream.window.declared
    return quoted(name) + (" [UNBOUNDED]" if kept else _bracket(stream.window))


def _condition(query: Query, minus: Minus) -> str:
    columns = [(_column(str(query.base), ours), _column(minus.stream, theirs)) for ours, theirs in minus.on]
    return " AND ".join(f"{ours} = {theirs}" for ours, theirs in columns)


def _output(output: Output | AggregateOutput | Computed) -> str:
    """What is shown, and its name unless it is the one that it has by itself."""
    if isinstance(output, AggregateOutput):
        text, name = str(output), str(output)
    elif isinstance(output, Computed):
        text, name = str(output.expression), ""  # what is computed has no name that every version gives it
    else:
        text, name = _column(output.stream, output.column), f"{output.stream}.{output.column}"
    return text if output.name == name else f"{text} AS {quoted(output.name)}"


def _column(stream: str, column: str) -> str:
    return f"{quoted(stream)}.{quoted(column)}"


def _bracket(window: Window) -> str:
    if isinstance(window, Rows):
        return f" [ROWS {window.n}]"
    if isinstance(window, Range):
        return f" [RANGE {_written(window.width)}]"
    if isinstance(window, Sliding):
        return f" [RANGE {_written(window.width)} SLIDE {_written(window.every)}]"
    if isinstance(window, Tumbling) and window.time is not None:
        return f" [TUMBLING {_written(window.time)}]"
    return "" if isinstance(window, Unbounded) else f" [TUMBLING {window.rows} ROWS]"


def _written(width: Width) -> str:
    return f"{nanoseconds(width)} ns" if isinstance(width, datetime.timedelta) else str(width)
