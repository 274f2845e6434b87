"""Functions of the user's own that take Arrow arrays: in select, group_by and where."""

import pickle

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pytest

import eddy

STREAMS = {"A": {"k": "int64", "s": "string"}, "B": {"k": "int64", "t": "string"}}
ROWS = {
    "A": {"k": [1, 2, None, 3], "s": ["anna", "bob", "eve", None]},
    "B": {"k": [1, 2, 3], "t": ["n", "x", "v"]},
}


def double(text):
    return pc.binary_join_element_wise(text, text, "-")


def within(text, part):
    pairs = zip(text.to_pylist(), part.to_pylist(), strict=True)
    return pa.array([None if None in pair else pair[1] in pair[0] for pair in pairs], pa.bool_())


def halves(numbers):
    return numbers.to_numpy(zero_copy_only=False) / 2


def run(query, **options):
    engine = eddy.Eddy(query, **options)
    engine.push("A", ROWS["A"])
    return engine.push("B", ROWS["B"])


def test_select():
    """Values of any make, beside columns and expressions; NULL comes as null, and constants as arrays."""
    query = eddy.Query(
        STREAMS,
        "A.k = B.k",
        select=[
            "A.k",
            eddy.function(double, "A.s", type="string", name="twice"),
            eddy.function(halves, "A.k + 1", type="float64"),
            eddy.function(within, "A.s || 'x'", "B.t", type=bool, name="has"),
            eddy.function(lambda k, c: pc.add(k, c), "A.k", "10", type="int64", name="more"),
        ],
    )
    expected = {
        "A.k": [1, 2, 3],
        "twice": ["anna-anna", "bob-bob", None],
        "halves(A.k + 1)": [1.0, 1.5, 2.0],
        "has": [True, True, None],
        "more": [11, 12, 13],
    }
    assert run(query).to_pydict() == expected
    assert pickle.loads(pickle.dumps(run(query, threads=2).to_pydict())) == expected


def test_where():
    """On one stream a filter at intake, between streams a test of candidates; NULL does not hold."""
    alone = eddy.Query(
        STREAMS, ["A.k = B.k", eddy.function(within, "A.s", "'n'", type="bool")], select=["A.k", "B.t"]
    )
    assert list(alone.filters) == ["A"]
    assert run(alone).to_pydict() == {"A.k": [1], "B.t": ["n"]}
    between = eddy.Query(STREAMS, eddy.function(within, "A.s", "B.t", type="bool"), select=["A.s", "B.t"])
    assert run(between).to_pydict() == {"A.s": ["anna", "eve"], "B.t": ["n", "v"]}


def test_groups():
    """What it returns may be grouped by."""
    query = eddy.Query(
        STREAMS,
        "A.k = B.k",
        group_by=eddy.function(halves, "A.k - A.k % 2", type="float64", name="half"),
        aggregates={"n": "COUNT(*)"},
    )
    engine = eddy.Eddy(query)
    engine.push("A", ROWS["A"])
    engine.push("B", ROWS["B"])
    assert engine.table().to_pydict() == {"half": [0.0, 1.0], "n": [1, 2]}


def test_snapshots_need_the_query(tmp_path):
    """A text cannot hold a function: it is loaded with the query."""
    query = eddy.Query(
        STREAMS, "A.k = B.k", select=[eddy.function(double, "A.s", type="string", name="twice")]
    )
    engine = eddy.Eddy(query)
    engine.push("A", ROWS["A"])
    engine.save(tmp_path / "x.eddy")
    with pytest.raises(eddy.StateError, match=r"only your program knows, double\(A.s\)"):
        eddy.Eddy.load(tmp_path / "x.eddy")
    again = eddy.Eddy.load(tmp_path / "x.eddy", query=query)
    assert again.push("B", ROWS["B"]).to_pydict() == {"twice": ["anna-anna", "bob-bob", None]}


@pytest.mark.parametrize(
    "make, message",
    [
        (lambda: eddy.function(3, "A.s", type="string"), "function needs a function, not"),
        (lambda: eddy.function(double, 5, type="string"), "function needs what its function takes"),
        (lambda: eddy.function(double, "A.s", type="str8"), "unknown column type"),
        (
            lambda: eddy.Query(STREAMS, "A.k = B.k", eddy.function(double, "A.z", type="string")),
            "no column z",
        ),
        (
            lambda: eddy.Query(STREAMS, "A.k = B.k", eddy.function(double, "'x'", type="string")),
            "reads no column",
        ),
        (lambda: eddy.Query(STREAMS, eddy.function(double, "A.s", type="string")), "true or false is needed"),
        (
            lambda: eddy.Query(
                STREAMS, "A.k = B.k", [eddy.function(double, "A.s", type="string"), "COUNT(*)"]
            ),
            "does not go with groups in select",
        ),
    ],
)
def test_refused(make, message):
    """What is no function, or of nothing, is refused where it is written."""
    with pytest.raises(eddy.QueryError, match=message):
        make()


@pytest.mark.parametrize(
    "function, message",
    [(lambda k: k[:1], "returned 1 values for 3 rows"), (lambda k: ["x"] * len(k), "what is no int64")],
)
def test_what_it_returns_is_checked(function, message):
    """A value for each row, of the type that it said."""
    result = run(eddy.Query(STREAMS, "A.k = B.k", [eddy.function(function, "A.k", type="int64", name="x")]))
    with pytest.raises(eddy.EddyError, match=message):
        result.to_arrow()
    assert np.array_equal(result.rows[:, 0], [0, 1, 3])
