"""The types that a query has over lines without a schema: one odd byte changes no result, and stops no run."""

from __future__ import annotations

import json
import warnings

import pytest

import eddy
from eddy.cli import main

QUERY = "SELECT A.ts AS a, B.ts AS b FROM A [ROWS 3], B [ROWS 3] WHERE A.k = B.k"
TYPES = {"ts": "int64", "k": "int64"}
TYPED = eddy.sql(QUERY, {"A": TYPES, "B": TYPES})
GOOD = [(i, i % 5) for i in range(100)]
CLEAN = 60
"""Results of the good rows alone."""


def write(path, rows):
    """A file of CSV, or of JSON lines, by its name; a text is a line as it is."""
    if path.suffix == ".csv":
        lines = ["ts,k", *(row if isinstance(row, str) else f"{row[0]},{row[1]}" for row in rows)]
    else:
        lines = [
            row if isinstance(row, str) else json.dumps(dict(zip(TYPES, row, strict=True))) for row in rows
        ]
    path.write_text("".join(line + "\n" for line in lines))


@pytest.fixture
def place(tmp_path, monkeypatch):
    """A folder with a good file for B."""
    monkeypatch.chdir(tmp_path)
    write(tmp_path / "B.csv", [(i * 10, i % 5) for i in range(10)])
    return tmp_path


ODD = {
    "A.csv": ["oops,1", "50.5,0", "50,x", "50", ",1", "50,1,2"],
    "A.jsonl": ['{"ts": "x", "k": 1}', '{"ts": 50.5, "k": 1}', '{"ts": 50, "k": "x"}', "{broken", '{"k": 1}'],
}


@pytest.mark.parametrize("name, odd", [(name, odd) for name, lines in ODD.items() for odd in lines])
@pytest.mark.parametrize("at", [0, 50, 100])
@pytest.mark.parametrize("query", [QUERY, TYPED], ids=["text", "typed"])
def test_one_odd_line_changes_no_result(name, odd, at, query, place):
    """It is a bad row, wherever it stands; and a text is warned of a type that not all values fit."""
    write(place / name, [*GOOD[:at], odd, *GOOD[at:]])
    with warnings.catch_warnings(record=True) as warned:
        warnings.simplefilter("always")
        outcome = eddy.run(query, {"A": name, "B": "B.csv"})
    assert (outcome.results, outcome.bad) == (CLEAN, {"A": 1})
    told = [str(one.message) for one in warned]
    assert all("int64, 1 of 101 values does not fit" in one for one in told)
    whole = any(text in odd for text in ("oops", "x", "50.5"))
    assert len(told) == (query is QUERY and whole)


def test_few_values_decide_where_the_query_needs_it(place):
    """One of four is no time, and one no number: text could be neither."""
    write(place / "A.csv", [*GOOD[:3], ("soon", "x")])
    with pytest.warns(UserWarning, match=r"A.(ts|k): int64, 1 of 4 values does not fit, such as '(soon|x)'"):
        assert eddy.run(QUERY, {"A": "A.csv", "B": "B.csv"}).bad == {"A": 1}
    write(place / "A.csv", [(1, "x"), (2, "y"), (3, "7")])
    with pytest.raises(eddy.EddyError, match=r"A[.]k: text, as it seems"):
        eddy.run(QUERY, {"A": "A.csv", "B": "B.csv"})


@pytest.mark.parametrize("query", [QUERY, TYPED], ids=["text", "typed"])
def test_a_header_alone_fits_any_query(query, place):
    """There are no rows, and so no results."""
    write(place / "A.csv", [])
    outcome = eddy.run(query, {"A": "A.csv", "B": "B.csv"})
    assert (outcome.results, outcome.rows) == (0, {"A": 0, "B": 10})


@pytest.mark.parametrize("window", ["[RANGE 10]", "[RANGE '10 s']", "[ROWS 3]"])
def test_headers_alone_fit_any_query(window, place):
    """Where no stream says what a time is, the windows do."""
    write(place / "A.csv", [])
    text = f"SELECT A.ts, x.k + 1 AS n FROM A {window}, B AS x {window} WHERE A.k = x.k AND x.k > 3"
    assert eddy.run(text, {"A": "A.csv", "B": "A.csv"}).results == 0


def test_a_text_in_the_place_of_a_time_is_not_passed_over(place, capfd):
    """Rows of several streams would be merged in another order; one alone is warned of. Who says so may have it."""
    write(place / "A.csv", [("01/02/2024", 1), ("02/02/2024", 2)])
    sources = ["A=A.csv", "B=B.csv"]
    for command in ("run", "check"):
        assert main([command, QUERY, *sources]) == 2
        told = capfd.readouterr().err
        assert "A.csv: ts is text, as it seems, so its rows have no time" in told and "--schema" in told
    for command in ("run", "check"):
        assert main([command, "SELECT k FROM A [ROWS 1]", "A=A.csv"]) == 0
        assert "ts is text, as it seems, so its rows have no time" in capfd.readouterr().err
    assert main(["run", QUERY, *sources, "--schema", 'A={"ts": "string"}']) == 0
    assert "no time" not in capfd.readouterr().err


def test_floats_in_the_place_of_times_are_not_passed_over(place):
    """Most of them are no whole numbers, so they are not taken for such."""
    write(place / "A.csv", [(i + 0.5, 1) for i in range(10)])
    with pytest.raises(eddy.EddyError, match=r"A[.]csv: ts is float64, as it seems"):
        eddy.run(QUERY, {"A": "A.csv", "B": "B.csv"})
    table = {"ts": ["a", "b"], "k": [1, 2]}
    with pytest.warns(UserWarning, match="ts is text, so its rows have no time, and streams take turns"):
        eddy.run(QUERY, {"A": table, "B": "B.csv"})


def test_a_schema_may_name_some_of_the_columns(place, capfd):
    """The others are inferred; `*` stands for all of them, and a column that no file has is told of."""
    write(place / "A.csv", [(ts, k) for ts, k in GOOD if ts < 50])
    schema = 'A={"ts": "int64"}'
    assert main(["run", QUERY, "A=A.csv", "B=B.csv", "--schema", schema, "--quiet"]) == 0
    assert len(capfd.readouterr().out.splitlines()) > 10
    source = eddy.source("A.csv", schema={"k": "string"})
    assert eddy.run("SELECT ts, k FROM A [ROWS 1]", {"A": source}).to_arrow().schema.types == [
        "int64",
        "string",
    ]
    assert eddy.run("SELECT * FROM A [ROWS 1]", {"A": source}).to_arrow().column_names == ["A.ts", "A.k"]
    with pytest.raises(eddy.EddyError, match="no column nn"):
        eddy.run("SELECT A.nn FROM A [ROWS 1]", {"A": source})
    typed = eddy.Query({"A": TYPES}, where="A.k >= 0")
    assert eddy.run(typed, {"A": eddy.source("A.csv", schema={"ts": "int64"})}).results == 50


def test_declared_types_are_those_of_lines_without_a_schema(place):
    """Texts of digits, too; but a column of names is no number, and is refused."""
    write(place / "A.csv", [(1, "007"), (2, "8")])
    typed = eddy.Query({"A": {"ts": "int64", "k": "string"}}, where="A.ts >= 0")
    assert eddy.run(typed, {"A": "A.csv"}).to_arrow().column("A.k").to_pylist() == ["007", "8"]
    write(place / "A.csv", [(1, "x"), (2, "y")])
    with pytest.raises(eddy.EddyError, match=r"column k of A[.]csv is string"):
        eddy.run(eddy.Query({"A": TYPES}), {"A": "A.csv"})
