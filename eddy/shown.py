"""Values in error messages: never more than a line, whatever somebody has given."""

from __future__ import annotations

import reprlib

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
