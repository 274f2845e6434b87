"""The papers' cost models of plan changes: the equations with numbers, their limits, and what is corrected."""

from __future__ import annotations

import math

import pytest

from policies.migration.costs import (
    all_new_share,
    chain_seconds,
    composite_rows,
    ghm_phases,
    ghm_seconds,
    gms_seconds,
    gms_spike,
    gpt_seconds,
    matching_seconds,
    moving_seconds,
    moving_state_seconds,
    new_join_seconds,
    new_output_rate,
    old_join_seconds,
    output_rate,
    owed_share,
    parallel_track_length,
    state_rows,
    state_seconds,
)


@pytest.mark.parametrize(("join", "insert"), [(1.0, 0.0), (0.0, 1.0), (0.3, 2.0)])
def test_t15_moving_state_for_zhus_example(join, insert):
    """T15: rows every 100 ms, W = 1000 ms, sigma_BC = .05, sigma_CD = .02: 200 Tj + 7 Ts by equation 8 as printed.

    S_BC has 5 composites and not the 10 that its factor of 2 makes of it: with these it is 150 Tj + 6 Ts.
    """
    given = (0.01, 0.01, 0.01), 1000.0, (0.05, 0.02), join, insert
    assert chain_seconds(*given, printed=True) == pytest.approx(200 * join + 7 * insert)
    assert chain_seconds(*given) == pytest.approx(150 * join + 6 * insert)
    assert composite_rows(0.01, 0.01, 1000.0, 0.05) == pytest.approx(5.0)
    assert output_rate(0.01, 0.01, 1000.0, 0.05) * 1000.0 == pytest.approx(10.0)


def test_equations_1_to_3():
    """States that are matched and moved cost next to nothing; those that are made anew what their pairs cost."""
    first = state_seconds(state_rows(2.0, 5.0), state_rows(3.0, 5.0), 0.1, join=1.0, insert=10.0)
    assert first == pytest.approx(2 * 3 * 5**2 * (1 + 10 * 0.1))
    assert (matching_seconds(3, 4, 0.5), moving_seconds(3, 4, 0.5)) == (24.0, 3.0)
    assert moving_state_seconds(24.0, 3.0, [first, 1.0]) == pytest.approx(28.0 + first)
    assert moving_state_seconds(0.0, 0.0, []) == 0.0


def test_equation_4_and_exact_expiry():
    """Two windows with the paper's purging if there is more than one join, one where rows leave exactly."""
    assert [parallel_track_length(7.0, height, exact=False) for height in (1, 2, 3)] == [7.0, 14.0, 14.0]
    assert parallel_track_length(7.0, 3) == 7.0


def test_equations_5_to_7_agree_with_a_sum_over_time():
    """What a join that began empty does in two windows, added up moment by moment; its output rate is a rate."""
    b, c, window, join, insert, moments = 3.0, 2.0, 4.0, 0.7, 0.3, 20_000
    total = 0.0
    for i in range(moments):
        elapsed, step = 2 * window * (i + 0.5) / moments, 2 * window / moments
        pairs = b * state_rows(c, min(elapsed, window)) + c * state_rows(b, min(elapsed, window))
        assert new_output_rate(b, c, window, 0.1, elapsed) == pytest.approx(0.1 * pairs)
        purged = (b + c) if elapsed > window else 0.0
        total += step * (join * pairs + insert * (b + c + purged))
    assert new_join_seconds(b, c, window, 2 * window, join, insert) == pytest.approx(total, rel=1e-3)
    old = old_join_seconds(b, c, window, 2 * window, join, insert)
    assert old == pytest.approx(2 * window * (2 * join * b * c * window + 2 * insert * (b + c)))
    assert new_join_seconds(b, c, window, window, join, insert) < old / 2


def test_t34_ghm():
    """T34: tau = tau' = 1, n = 2, w = 10, T'new = .1, Tnew = .05, Told = .2: 3.3333 and .6667, 4.0 in all."""
    given = (1.0, 1.0, 2, 10.0, 0.1, 0.05, 0.2)
    assert ghm_phases(*given) == pytest.approx((10 / 3, 2 / 3))
    assert ghm_seconds(*given) == pytest.approx(4.0) == pytest.approx(sum(ghm_phases(*given)))


@pytest.mark.parametrize(("old", "new"), [(0.25, 0.25), (0.5, 0.05), (0.6, 0.0), (0.2, 0.4)])
def test_ghm_takes_a_window_where_there_is_no_time_to_spare(old, new):
    """Where tau n (Told + Tnew) is 1 or more nothing is divided by what is left: it is w, as for GPT."""
    assert ghm_seconds(1.0, 1.0, 2, 10.0, 0.1, new, old) == 10.0
    first, second = ghm_phases(1.0, 1.0, 2, 10.0, 0.1, new, old)
    assert second == math.inf and (first == math.inf) == (old >= 0.5)


def test_ghm_never_takes_longer_than_gpt():
    """With little to spare the equations say more than a window, in which every old row leaves."""
    assert ghm_seconds(1.0, 1.0, 2, 10.0, 0.4, 0.2, 0.2) == 10.0


def test_gms_and_gpt():
    """GMS pauses for the old rows, and catches up in finite time only if rows come slower than it takes them."""
    assert gms_seconds(1.0, 2, 10.0, 0.1) == pytest.approx(2.0)
    assert gms_spike(1.0, 1.0, 2, 10.0, 0.1, 0.05) == pytest.approx(2 * 2.0 * 0.05 / 0.9)
    assert gms_spike(1.0, 1.0, 2, 10.0, 0.1, 0.5) == math.inf
    assert gpt_seconds(1.0, 2, 10.0, 0.2, 0.05) == pytest.approx(5.0)


@pytest.mark.parametrize("streams", [1, 2, 3, 6])
def test_shares_are_those_of_ages_drawn_by_chance(streams):
    """Of composites whose last row is any of theirs, and whose other rows are new with a chance of t."""
    moments = [(i + 0.5) / 1000 for i in range(1000)]
    assert all_new_share(streams) == pytest.approx(sum(t ** (streams - 1) for t in moments) / 1000, rel=1e-3)
    for entry in range(streams + 1):
        chance = sum((1 - t) ** entry for t in moments) / 1000 * (streams - entry) / streams
        assert owed_share(streams, entry) == pytest.approx(chance, rel=1e-3, abs=1e-6)
    assert owed_share(streams, 0) == 1.0 and owed_share(streams, streams) == 0.0
