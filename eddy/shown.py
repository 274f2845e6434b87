"""Values in error messages, never more than a line, whatever somebody has given; and tables for notebooks."""

from __future__ import annotations

import reprlib
from collections.abc import Iterable
from html import escape

_MOST = 120
_SHORT = reprlib.Repr()
_SHORT.maxstring = _SHORT.maxother = _MOST


def shown(value: object) -> str:
    """A plain value as it is written, in short; of anything else, such as a table, only what it is."""
    kind = type(value)
    if kind.__module__ != "builtins" and not isinstance(value, type):
        whole = repr(value) if not hasattr(value, "__len__") else ""
        if not whole or len(whole) > _MOST or "\n" in whole:
            return f"a {kind_of(value)}"
        return whole
    return _SHORT.repr(value)


def kind_of(value: object) -> str:
    """Its type, and whose: pandas has DataFrames, and so has Spark."""
    of = type(value)
    return of.__name__ if of.__module__ == "builtins" else f"{of.__module__.split('.')[0]}.{of.__name__}"


def first_line(error: Exception) -> str:
    """The first line of a message; the class of an error that has none."""
    return (str(error).strip().splitlines() or [type(error).__name__])[0]


def html_table(names: Iterable[object], rows: Iterable[Iterable[object]], caption: str = "") -> str:
    """A table for a notebook. Whatever is in it is text, and no markup."""
    head = "".join(f"<th>{escape(str(name))}</th>" for name in names)
    body = "".join(
        "<tr>" + "".join(f"<td>{escape(str(value))}</td>" for value in row) + "</tr>" for row in rows
    )
    told = f"<caption>{escape(caption)}</caption>" if caption else ""
    return f"<table>{told}<thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"
