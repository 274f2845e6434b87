"""The loop that runs an aggregate of the user's own over the groups of a batch; made once for each aggregate.

A group's slot has three words that are shown, HELD, VALUE and KNOWN, and a record of fields, which is `self` to the
user's functions. Rows are given by visit, as to the kernels of the aggregates that SQL knows.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numba as nb
from numba import types

HELD, VALUE, KNOWN = range(3)
"""Places in a group's state: the number of its values, what `result` returned of them, and whether that is a value
(1) or NULL (0). Without values all three are 0."""
OPTIONS = {"nogil": True, "boundscheck": False, "error_model": "numpy"}
"""How the user's functions, and the loop, are compiled. A division by 0 gives infinity, NaN or 0: it never raises."""

_starts = types.int32[::1]
_weights = types.int8[::1]
_rows = types.int64[:, ::1]


def make_step(
    start: Any, add: Any, remove: Any, result: Any, record: Any, shown: Any, arguments: Sequence[Any]
) -> Any:
    """The loop around the user's four compiled functions.

    ``record`` is the Numba type of the fields, ``shown`` that of what `result` returns, ``arguments`` have those of the
    values that `add` and `remove` take besides `self`.
    """
    take = _taking(len(arguments))

    @nb.njit(**OPTIONS)
    def step(starts, slots, weights, columns, fields, words, state, values, out):
        """Add and remove the rows of each visit; `out` receives the group's state before it, and after.

        A weight is 1 for a row that comes, -1 for one that is withdrawn, 0 where an argument is NULL. `words` are the
        fields bit by bit, and `values` is the state in the type of the value. A group that has no values begins anew
        with its next one, so that nothing is left of those that have gone.
        """
        for v in range(slots.size):
            slot = slots[v]
            for j in range(3):
                out[2 * v, j] = state[slot, j]
            own, held = fields[slot], state[slot, HELD]
            for i in range(starts[v], starts[v + 1]):
                if weights[i] > 0:
                    if held == 0:
                        for j in range(words.shape[1]):
                            words[slot, j] = 0
                        start(own)
                    add(own, *take(columns, i))
                    held += 1
                elif weights[i] < 0:
                    remove(own, *take(columns, i))
                    held -= 1
            state[slot, HELD], state[slot, VALUE], state[slot, KNOWN] = held, 0, 0
            if held > 0:
                value = result(own)
                if value is not None:
                    values[slot, VALUE] = value
                    state[slot, KNOWN] = 1
            for j in range(3):
                out[2 * v + 1, j] = state[slot, j]

    columns = types.Tuple([types.Array(of, 1, "C") for of in arguments])
    fields, values = types.Array(record, 1, "C"), types.Array(shown, 2, "C")
    step.compile((_starts, _starts, _weights, columns, fields, _rows, _rows, values, _rows))
    step.disable_compile()
    return step


def _taking(count: int) -> Any:
    """A function that takes entry i of each of ``count`` columns, which may differ in type, as a tuple."""
    if count == 1:
        return nb.njit(lambda columns, i: (columns[0][i],))
    others = _taking(count - 1)
    return nb.njit(lambda columns, i: (*others(columns[:-1], i), columns[-1][i]))
