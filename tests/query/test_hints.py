"""What errors name besides what the topics of `tests/sql` pin: options of doors, and functions of the user's own."""

from __future__ import annotations

import logging

import pyarrow.compute as pc
import pytest

import eddy

SCHEMAS = {"A": {"ts": "int64", "k": "int64", "x": "int64"}, "B": {"ts": "int64", "k": "int64", "y": "int64"}}


def spread(values):
    return pc.max(values).as_py() - pc.min(values).as_py()


def test_time_that_goes_back_names_lateness():
    """After push the other door as well; after push_all, and within a batch, lateness alone."""
    engine = eddy.Eddy(eddy.sql("SELECT A.x FROM A [RANGE 10], B [RANGE 10] WHERE A.k = B.k", SCHEMAS))
    late = {"ts": [1], "k": [1], "x": [1]}
    engine.push("A", late | {"ts": [10]})
    with pytest.raises(eddy.OrderError, match=r"with push_all, or say how late rows may be.*lateness="):
        engine.push("A", late)
    with pytest.raises(eddy.OrderError, match=r"in order of time: say how late rows may be.*lateness="):
        engine.push_all({"A": late, "B": {"ts": [1], "k": [1], "y": [1]}})
    with pytest.raises(eddy.OrderError, match=r"sort the batch by ts, or say how late.*lateness="):
        engine.push("A", {"ts": [12, 11], "k": [1, 1], "x": [1, 1]})


def test_an_aggregate_among_functions_is_told_where_it_goes():
    """And a function of rows among aggregates."""
    aggregate = eddy.aggregate_function(spread, type="int64")
    function = eddy.function(pc.negate, type="int64", name="minus")
    with pytest.raises(eddy.QueryError, match="aggregates go into aggregates="):
        eddy.sql("SELECT spread(x) AS r FROM A", SCHEMAS, functions=[aggregate])
    with pytest.raises(eddy.QueryError, match="functions of rows go into functions="):
        eddy.sql("SELECT minus(x) AS r FROM A", SCHEMAS, aggregates=[function])


def test_a_misspelt_function_of_ones_own_is_guessed():
    """An aggregate as well as a function of rows."""
    own = {
        "aggregates": [eddy.aggregate_function(spread, type="int64")],
        "functions": [eddy.function(pc.negate, type="int64", name="minus")],
    }
    with pytest.raises(eddy.QueryError, match="did you mean SPREAD"):
        eddy.sql("SELECT k, spraed(x) AS r FROM A GROUP BY k", SCHEMAS, **own)
    with pytest.raises(eddy.QueryError, match="did you mean MINUS"):
        eddy.sql("SELECT minsu(x) AS r FROM A", SCHEMAS, **own)


@pytest.mark.parametrize(
    "call", ["TO_CHAR(x, 'YYYY')", "STRFTIME(x, '%Y')", "STRPTIME('a', '%Y')", "INITCAP('a')"]
)
def test_nothing_is_said_beside_the_error(call, caplog):
    """sqlglot, which cannot write every function in its own dialect, does not warn of that."""
    with caplog.at_level(logging.DEBUG), pytest.raises(eddy.QueryError, match="is not supported: write"):
        eddy.sql(f"SELECT {call} AS z FROM A", SCHEMAS)
    assert not caplog.records


def test_what_belongs_to_a_greatest_value_is_a_function_of_ones_own():
    """As the refusal of ARG_MAX says."""

    def latest(values, by):
        return values[pc.index(by, pc.max(by)).as_py()].as_py()

    query = eddy.sql(
        "SELECT k, latest(x, ts) AS z FROM A GROUP BY k",
        SCHEMAS,
        aggregates=[eddy.aggregate_function(latest, type="int64")],
    )
    engine = eddy.Eddy(query)
    engine.push("A", {"ts": [1, 2, 3], "k": [1, 1, 2], "x": [7, 5, 9]})
    assert engine.table().to_pydict() == {"k": [1, 2], "z": [5, 9]}
