"""What a plan change costs, as the papers have it: one function for each equation.

First Zhu, Rundensteiner and Heineman (SIGMOD 2004, section 5), then HybMig (TKDE 2007, section 4.4), each under the
number, or the name, that it has there, and then the shares of a plan's work that a technique makes of it while windows
turn over, which are the same equations for any number of streams. Times are in one unit and rates in rows per such a
unit; ``join`` is the time to join a pair of rows (Tj), ``insert`` that to put one into a state (Ts). What is printed
wrong is corrected, and the docstring says what.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence

# -- Zhu et al., section 5.1: Moving State -----------------------------------------------------------------------------


def matching_seconds(old_joins: int, new_joins: int, compare: float) -> float:
    """T_match = 4 N M Tm: every state of one plan is compared with every state of the other, by name."""
    return 4 * old_joins * new_joins * compare


def moving_seconds(old_joins: int, new_joins: int, cursor: float) -> float:
    """T_move = 2 min(N, M) Tc: a cursor for each state that both plans have."""
    return 2 * min(old_joins, new_joins) * cursor


def state_seconds(rows: float, other_rows: float, selectivity: float, join: float, insert: float) -> float:
    """Equation 1: the state of a join is made anew, by nested loops over the states of its inputs.

    T_S_AB = |S_A| |S_B| (Tj + Ts sigma_AB), where |S_A| is `state_rows`.
    """
    return rows * other_rows * (join + insert * selectivity)


def state_rows(rate: float, window: float) -> float:
    """|S_A| = lambda_A W: the rows of a stream that are live."""
    return rate * window


def output_rate(rate: float, other_rate: float, window: float, selectivity: float) -> float:
    """Equation 2: lambda_AB = 2 lambda_A lambda_B W sigma_AB."""
    return 2 * rate * other_rate * window * selectivity


def composite_rows(rate: float, other_rate: float, window: float, selectivity: float) -> float:
    """Live composites of two streams: lambda_A lambda_B W^2 sigma_AB.

    The paper sizes the state as a stream of the rate of equation 2, lambda_AB W, which is twice as much: half of these
    have a row that has left its window.
    """
    return state_rows(rate, window) * state_rows(other_rate, window) * selectivity


def moving_state_seconds(matching: float, moving: float, states: Iterable[float]) -> float:
    """Equation 3: T_MS = T_match + T_move + T_S, the sum over the states that the old plan has not."""
    return matching + moving + sum(states)


def chain_seconds(
    rates: Sequence[float],
    window: float,
    selectivities: Sequence[float],
    join: float,
    insert: float,
    printed: bool = False,
) -> float:
    """Equation 8: T_MS for ((A B) C) D to A ((B C) D), from the rates of B, C and D and the selectivities of B C and
    of C D (which the equation calls sigma_BCD and the paper's Table 2 sigma_CD).

    ``printed``: S_BC has the size lambda_BC W, with a factor of 2, where equation 1 has put half as many into it. It is
    told here what `composite_rows` says.
    """
    b, c, d = rates
    first, second = selectivities
    below = state_seconds(state_rows(b, window), state_rows(c, window), first, join, insert)
    held = (output_rate(b, c, window, first) * window) if printed else composite_rows(b, c, window, first)
    return below + state_seconds(held, state_rows(d, window), second, join, insert)


# -- Zhu et al., section 5.2: Parallel Track ---------------------------------------------------------------------------


def parallel_track_length(window: float, height: int, exact: bool = True) -> float:
    """Equation 4: how long two plans run. W where the old plan has one join, and 2 W where it has more.

    With ``exact`` expiry it is W in any case (HybMig, section 3.5): a composite with an old row leaves with that row,
    and not a window after it was made.
    """
    return window if exact or height == 1 else 2 * window


def old_join_seconds(
    rate: float, other_rate: float, window: float, length: float, join: float, insert: float
) -> float:
    """Equation 5: a join of the old plan, over ``length``, 2 W in the paper: rows are purged, inserted, joined.

    T_AB = length (2 Tj lambda_a lambda_b W + 2 Ts (lambda_a + lambda_b)).
    """
    return length * (2 * join * rate * other_rate * window + 2 * insert * (rate + other_rate))


def new_join_seconds(
    rate: float, other_rate: float, window: float, length: float, join: float, insert: float
) -> float:
    """Equation 6: a join of the new plan, which begins empty, over ``length``, 2 W in the paper.

    In the first W states grow and nothing is purged: Ts (lambda_b + lambda_c) W for inserting and, for joining, Tj
    times the integral of 2 lambda_b lambda_c t from 0 to W, which is lambda_b lambda_c W^2. Printed, that integral is
    multiplied by W once more, and the rates are those of a and b. What is beyond W is as in equation 5.
    """
    growing = min(length, window)
    first = insert * (rate + other_rate) * growing + join * rate * other_rate * growing**2
    return first + old_join_seconds(rate, other_rate, window, length - growing, join, insert)


def new_output_rate(
    rate: float, other_rate: float, window: float, selectivity: float, elapsed: float
) -> float:
    """Equation 7: the output rate of a join that began empty: 2 lambda_b lambda_c sigma_bc t, up to t = W.

    Printed is the integral of it, from 0 to t, which is no rate but the number of results so far.
    """
    return output_rate(rate, other_rate, min(elapsed, window), selectivity)


# -- HybMig, section 4.4: black boxes ----------------------------------------------------------------------------------


def gms_seconds(old_rate: float, streams: int, window: float, new_each_old: float) -> float:
    """Duration and CPU time of GMS: tau' n w T'new, the old rows times what the new plan takes for one of them."""
    return old_rate * streams * window * new_each_old


def gms_spike(
    rate: float, old_rate: float, streams: int, window: float, new_each_old: float, new_each: float
) -> float:
    """How long GMS then takes to catch up: tau tau' n^2 w T'new Tnew / (1 - tau n Tnew).

    For ever (infinity) where rows come as fast as the new plan can take them.
    """
    spare = 1 - rate * streams * new_each
    paused = gms_seconds(old_rate, streams, window, new_each_old)
    return rate * streams * paused * new_each / spare if spare > 0 else math.inf


def gpt_seconds(rate: float, streams: int, window: float, old_each: float, new_each: float) -> float:
    """CPU time of GPT, which takes w: tau n w (Told + Tnew)."""
    return rate * streams * window * (old_each + new_each)


def ghm_phases(
    rate: float,
    old_rate: float,
    streams: int,
    window: float,
    new_each_old: float,
    new_each: float,
    old_each: float,
) -> tuple[float, float]:
    """d1 and d2 of GHM: until the old rows are done, and until those are done that have come meanwhile.

    d1 = tau' n w T'new / (1 - tau n Told) and d2 = tau n d1 Tnew / (1 - tau n (Told + Tnew)). The text says that an
    old row costs Tnew; the equations have T'new, as for GMS. Infinite where there is no time to spare.
    """
    spare = 1 - rate * streams * old_each
    if spare <= 0:
        return math.inf, math.inf
    first = old_rate * streams * window * new_each_old / spare
    both = spare - rate * streams * new_each
    return first, rate * streams * first * new_each / both if both > 0 else math.inf


def ghm_seconds(
    rate: float,
    old_rate: float,
    streams: int,
    window: float,
    new_each_old: float,
    new_each: float,
    old_each: float,
) -> float:
    """Duration and CPU time of GHM: d1 + d2 = tau' n w T'new / (1 - tau n (Told + Tnew)).

    The sum is garbled in print (its first term has the d1 that it is to replace). It is w where that is less, as in
    GPT: when all old rows have left their windows nothing is left to be replayed. So it is also where tau n (Told +
    Tnew) is 1 or more, for which the equations have no solution.
    """
    spare = 1 - rate * streams * (old_each + new_each)
    if spare <= 0:
        return window
    return min(window, old_rate * streams * window * new_each_old / spare)


# -- shares of a plan's work, for any number of streams ----------------------------------------------------------------


def all_new_share(streams: int) -> float:
    """Of the composites of so many streams that are made while windows turn over once, the part without an old row.

    Equations 6 and 7 for more than two streams: at the time t, in windows, the other rows of a composite are new with
    a chance of t each, and the integral of t^(k - 1) from 0 to 1 is 1 / k.
    """
    return 1 / streams


def owed_share(streams: int, entry: int) -> float:
    """The part of which ``entry`` given streams have old rows: what HybMig's old plan makes for an entry of its table.

    A composite is made when its last row comes, which is a new one and of no stream of the entry: that is so for
    (k - j) of k. Each of the j rows is old with a chance of 1 - t, and the integral of (1 - t)^j is 1 / (j + 1).
    """
    return (streams - entry) / streams / (entry + 1)
