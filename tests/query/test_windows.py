"""Windows: how they are written, and what they come to in one unit of time."""

import datetime

import numpy as np
import pytest

from eddy.errors import BatchError, QueryError
from eddy.query.query import Query, Stream
from eddy.query.windows import Range, Rows, Sliding, Tumbling, Unbounded


@pytest.mark.parametrize(
    "window",
    [
        Rows(10),
        Range(5),
        Range("5 minutes"),
        Tumbling(rows=3),
        Tumbling(time="1 h"),
        Tumbling(time=7),
        Sliding(7, every=2),
        Sliding("1 h", every="5 minutes"),
        Unbounded(),
    ],
)
def test_prints_as_written(window):
    """A window prints as the call that makes an equal one."""
    assert eval(repr(window)) == window


@pytest.mark.parametrize(
    "make",
    [
        lambda: Rows(0),
        lambda: Rows(-1),
        lambda: Rows(1.5),
        lambda: Rows(True),
        lambda: Rows("5"),
        lambda: Rows(2**63),
        lambda: Range(-1),
        lambda: Range(1.5),
        lambda: Range("5 parsecs"),
        lambda: Range("5"),
        lambda: Range(""),
        lambda: Range("-5 minutes"),
        lambda: Range("1 month"),
        lambda: Range("0.1 ns"),
        lambda: Tumbling(),
        lambda: Tumbling(rows=1, time=1),
        lambda: Tumbling(rows=0),
        lambda: Tumbling(time=0),
        lambda: Tumbling(time="0 s"),
        lambda: Sliding(5),
        lambda: Sliding(5, every=0),
        lambda: Sliding(-1, every=1),
        lambda: Sliding("5 s", every="-1 s"),
    ],
)
def test_refused(make):
    """A window without a positive size, or with one that means nothing, is an error at once."""
    with pytest.raises((QueryError, TypeError)):
        make()


@pytest.mark.parametrize(
    "window", [Range(300), Sliding(300, every="1 s"), Sliding("1 s", every=300), Tumbling(time=300)]
)
def test_a_bare_number_is_refused_for_timestamps(window):
    """Both spellings are shown: of what it used to mean, and of what was likely meant. Nothing counts 0."""
    told = r"so say what 300 counts, as in '300 ms', .* or '300 seconds'; in SQL 300 MS, or 300 SECONDS"
    columns = {"ts": "timestamp[ms]", "x": "int64"}
    with pytest.raises(QueryError, match=told):
        Query({"A": Stream(columns, window=window), "B": Stream(columns)}, where="A.x = B.x")
    Query({"A": Stream(columns, window=Range(0)), "B": Stream(columns)}, where="A.x = B.x")


def query(a, b, **columns):
    columns = {"A": "int64", "B": "int64"} | columns
    return Query(
        {
            "A": Stream({"ts": columns["A"], "x": "int64"}, a),
            "B": Stream({"ts": columns["B"], "x": "int64"}, b),
        },
        "A.x = B.x",
    )


def test_table():
    """Each kind of window has its number, and its size stands beside it."""
    kinds, sizes = query(Rows(7), Range(5)).window_table()
    assert (kinds.tolist(), sizes.tolist()) == ([1, 2], [7, 5])
    kinds, sizes = query(Tumbling(rows=4), Tumbling(time=9)).window_table()
    assert (kinds.tolist(), sizes.tolist()) == ([3, 4], [4, 9])
    kinds, sizes = query(Unbounded(), Unbounded()).window_table()
    assert (kinds.tolist(), kinds.dtype, sizes.tolist()) == ([0, 0], np.int64, [0, 0])


@pytest.mark.parametrize(
    ("width", "size"),
    [
        ("5 minutes", 300_000_000),
        ("1 h 30 min", 5_400_000_000),
        ("1.5ms", 1500),
        ("1 DAY", 86_400_000_000),
        (datetime.timedelta(seconds=2), 2_000_000),
        ("3 s", 3_000_000),
        (0, 0),
        ("1500 ns", 1),
    ],
)
def test_widths(width, size):
    """A width comes to the finest unit of the query."""
    table = query(Range(width), Rows(1), A="timestamp[s]", B="timestamp[us]").window_table()
    assert table[1].tolist() == [size, 1]


def test_panes_are_whole():
    """A tumbling width that the common unit cannot express is refused: rounding would move every pane."""
    with pytest.raises(QueryError, match="not a whole number of s"):
        query(Tumbling(time="1500 ms"), Rows(1), A="timestamp[s]", B="timestamp[s]")
    sizes = query(Tumbling(time="1500 ms"), Rows(1), A="timestamp[s]", B="timestamp[ms]").window_table()[1]
    assert sizes.tolist() == [1500, 1]


def test_times_come_to_one_unit():
    """Times of all streams are int64 in the finest unit; those that overflow it are refused."""
    q = query(Range("1 s"), Range("1 s"), A="timestamp[s]", B="timestamp[ns]")
    assert q.time_of("A", np.array([1, -2])).tolist() == [1_000_000_000, -2_000_000_000]
    times = np.array([1, 2])
    assert q.time_of("B", times) is times
    with pytest.raises(BatchError, match=r"stream A \(9300000000\).*1678 to 2262"):
        q.time_of("A", np.array([0, 9_300_000_000]))


def test_times_of_small_integers():
    """Integer times of any width become int64."""
    q = query(Range(1), Range(1), A="int16", B="uint32")
    assert q.time_of("A", np.array([-3], np.int16)).dtype == np.int64
    assert q.time_of("B", np.array([2**32 - 1], np.uint32)).tolist() == [2**32 - 1]


def test_time_windows_need_time():
    """Where one window uses time, every stream needs a time column, and all of one make."""
    with pytest.raises(QueryError, match=r"window of A uses time.*but B has none"):
        Query({"A": Stream({"ts": "int64", "x": "int64"}, Range(5)), "B": {"x": "int64"}}, "A.x = B.x")
    with pytest.raises(QueryError, match=r"A.ts is int64, B.ts is timestamp\[us\]"):
        query(Range(5), Rows(1), B="timestamp")
    with pytest.raises(QueryError, match="cannot be compared"):
        query(Range(5), Rows(1), A="timestamp", B="timestamp[us, UTC]")
    with pytest.raises(QueryError, match="duration, but its time column is an integer"):
        query(Range("5 minutes"), Rows(1))
    with pytest.raises(QueryError, match="too wide"):
        query(Range(f"{2**61} s"), Rows(1), A="timestamp[s]", B="timestamp[ns]")


def test_timed():
    """A query is timed when all streams have comparable times, whether or not a window uses them."""
    assert query(Rows(1), Rows(1)).timed
    assert not query(Rows(1), Rows(1)).time_windows
    assert query(Rows(1), Range(1)).time_windows
    assert not query(Rows(1), Rows(1), B="timestamp").timed
    assert not query(Rows(1), Rows(1), B="string").timed


def test_time_column():
    """The time is in ts where that can hold a time, or in the column that the stream names."""
    assert Stream({"ts": "int64"}).time == "ts"
    assert Stream({"ts": "float64"}).time is None
    assert Stream({"ts": "int64", "at": "timestamp"}, time="at").time == "at"
    with pytest.raises(QueryError, match="did you mean at"):
        Stream({"at": "timestamp"}, time="att")
    with pytest.raises(QueryError, match="at is string"):
        Stream({"at": "string"}, time="at")
    with pytest.raises(
        QueryError, match="at is uint64, which cannot be a time: declare it as int8 to int64, "
    ):
        Stream({"at": "uint64"}, time="at")


@pytest.mark.parametrize("kind", ["float64", "uint64", "string"])
def test_a_time_column_of_a_type_that_is_none(kind):
    """The error says which column it is, its type, and which types can be a time."""
    can = "int8 to int64, uint8 to uint32, or a timestamp, or name another with"
    with pytest.raises(QueryError) as caught:
        query(Range(5), Rows(1), A=kind, B=kind)
    assert str(caught.value) == (
        f"the window of A uses time, so every stream needs a time column, but A.ts is {kind}, which cannot be a time "
        f"and B.ts is {kind}, which cannot be a time: declare a column ts as {can} Stream(..., time=)"
    )
    with pytest.raises(QueryError, match=f"A.ts is {kind}, which cannot be a time and B has none: declare"):
        Query(
            {
                "A": Stream({"ts": kind, "x": "int64"}),
                "B": Stream({"x": "int64"}),
                "C": Stream({"ts": "int64", "x": "int64"}, Range(5)),
            },
            "A.x = B.x AND B.x = C.x",
        )
    with pytest.raises(
        QueryError, match=f"^column at is {kind}, which cannot be a time: declare it as {can} time=$"
    ):
        Stream({"at": kind}, time="at")
