"""Any attachments of any core, in any windows, under any plan changes, against the oracle."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import eddy
from tests.attachments.cases import attached_case, check, query_of
from tests.strategies import Drawn, Pick


@settings(max_examples=150, deadline=None)
@given(st.data())
@pytest.mark.filterwarnings("ignore::eddy.LossyWindow")
def test_every_attachment_is_what_the_oracle_says(data):
    """Final or with changes, whole or in parts, with threads and feedback, and what the end of all windows owes."""
    check(attached_case(Drawn(data.draw)))


@pytest.mark.parametrize("seed", range(0, 400, 40))
@pytest.mark.filterwarnings("ignore::eddy.LossyWindow")
def test_forty_cases_by_seed(seed):
    """The same for cases that are not drawn anew each time: those that found faults are among them."""
    for number in range(seed, seed + 40):
        check(attached_case(Pick(number)))


@pytest.mark.parametrize("seed", [1044, 1607, *range(3)])
@pytest.mark.filterwarnings("ignore::eddy.LossyWindow")
def test_what_is_past_meets_rows_that_are_gone(seed):
    """Rows of a full join that ended without a partner are matched with all that lived while they did."""
    check(attached_case(Pick(seed)))


def without_inner_joins(seed):
    """A case whose inner joins are all in the core, where SQL has them."""
    while any(one[0] == "inner" for one in attached_case(Pick(seed)).attach):
        seed += 1000
    return attached_case(Pick(seed))


@pytest.mark.parametrize("seed", range(40))
@pytest.mark.filterwarnings("ignore::eddy.LossyWindow")
def test_a_query_prints_what_is_read_back(seed):
    """What a query with attachments prints is SQL for the same query."""
    query = query_of(without_inner_joins(seed))
    schemas = {name: eddy.Stream(s.columns, time=s.time) for name, s in query.streams.items()}
    again = eddy.sql(str(query), schemas, cross=query.cross)
    assert str(again) == str(query)
    assert [type(one.join) for one in again.attachments] == [type(one.join) for one in query.attachments]
    assert again.names == query.names and again.core.names == query.core.names


def test_time_that_passes_over_one_stream_counts_no_row():
    """`advance` moves a window of a query over one stream; it counted as one of its rows."""
    query = eddy.Query({"A": eddy.Stream({"ts": "int64", "k": "int64"}, window=eddy.Range(10))})
    engine = eddy.Eddy(query, retractions=True)
    engine.push("A", {"ts": [1], "k": [7]})
    assert engine.advance(20).sign.tolist() == [-1]
    assert engine.push("A", {"ts": [21], "k": [8]}).rows.tolist() == [[1]]
    assert engine.statistics().streams[0].rows == 2
