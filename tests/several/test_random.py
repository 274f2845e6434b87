"""Random sets of queries, added and dropped at random moments, with plan changes, techniques and windows of each."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.several import late_worlds, naive_worlds
from tests.several.worlds import check
from tests.strategies import Drawn, Pick


@settings(max_examples=25, deadline=None)
@given(st.data())
def test_each_query_gives_what_it_gives_alone(data):
    """Whatever runs beside a query, and whenever it came, its results are those of an engine of its own."""
    check(Drawn(data.draw))


@pytest.mark.parametrize("seed", range(60))
def test_each_query_gives_what_it_gives_alone_by_seed(seed):
    """The same for worlds that are made by a generator, and are larger."""
    check(Pick(seed), 24)


@pytest.mark.parametrize("seed", [*range(40), 1335, 1500])
def test_each_query_gives_what_the_oracle_says(seed):
    """Joins that come and go, each with a plan of its own, under a memory budget or frozen, against nested loops."""
    naive_worlds.check(Pick(seed), 24)


@pytest.mark.parametrize("seed", range(30))
def test_each_query_gives_what_it_gives_alone_when_rows_wait(seed):
    """With lateness all queries have one watermark, and give in the end what they give alone."""
    late_worlds.check(Pick(seed))
