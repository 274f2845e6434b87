"""What columns of lines are taken to be, where nobody gives a schema and some values are not as the others."""

from __future__ import annotations

import json
import time

import pytest

import eddy

GOOD = [(i, i % 5) for i in range(100)]


def csv(path, rows):
    """The source of a file with two columns."""
    path.write_text("ts,k\n" + "".join(f"{ts},{k}\n" for ts, k in rows))
    return eddy.source(path)


def jsonl(path, rows):
    """The source of a file of objects; a text stands in a line as it is."""
    path.write_text("".join((row if isinstance(row, str) else json.dumps(row)) + "\n" for row in rows))
    return eddy.source(path)


def types(source):
    """The types of the columns, as texts."""
    return dict(zip(source.schema.names, map(str, source.schema.types), strict=True))


@pytest.mark.parametrize(
    "good, odd, kind",
    [
        (range(100), "x", "int64"),
        ([i / 2 for i in range(100)], "none", "double"),
        ([f"2024-01-01 00:00:{i % 60:02}" for i in range(100)], "soon", "timestamp[us]"),
        ([f"2024-01-01 00:00:{i % 60:02}Z" for i in range(100)], "5", "timestamp[us, tz=UTC]"),
        (["true", "false"] * 50, "maybe", "bool"),
    ],
)
def test_one_value_among_a_hundred_does_not_make_a_column_text(good, odd, kind, tmp_path):
    """It is kept which one does not fit; two are too many for a column that could be text as well."""
    rows = [(ts, value) for ts, value in enumerate(good)]
    source = csv(tmp_path / "a.csv", [*rows[:50], (50, odd), *rows[50:]])
    assert types(source)["k"] == kind
    misfit = source.inferred.misfits["k"]
    assert (str(misfit.kind), misfit.misfits, misfit.values, misfit.example) == (kind, 1, 101, odd)
    two = csv(tmp_path / "a.csv", [(50, odd), *rows, (50, odd)])
    assert types(two)["k"] == "string" and str(two.inferred.seeming["k"].kind) == kind


@pytest.mark.parametrize(
    "values, kind",
    [
        ([2**64 - 1, 5], "uint64"),
        ([10**25, 5], "string"),
        ([*range(2**53, 2**53 + 99), 1.5], "int64"),
        ([*range(99), 1.5], "double"),
        ([2**53, 0.5], "double"),
    ],
)
def test_whole_numbers_are_not_rounded(values, kind, tmp_path):
    """float64 does not hold all of them: where they are beyond 2**53 they are none, unless most numbers are."""
    assert types(csv(tmp_path / "a.csv", list(enumerate(values))))["k"] == kind


def test_whole_numbers_of_json_are_not_rounded(tmp_path):
    """As in CSV; but a number is never a text."""
    for values, kind in (([2**64 - 1, 5], "uint64"), ([*range(2**53, 2**53 + 99), 1.5], "int64")):
        rows = [{"ts": ts, "k": value} for ts, value in enumerate(values)]
        assert types(jsonl(tmp_path / "a.jsonl", rows))["k"] == kind
    rows = [{"ts": 1, "k": 2**64 - 1}, {"ts": 2, "k": 2**64 - 2}]
    found = eddy.run("SELECT k FROM A [ROWS 1]", {"A": jsonl(tmp_path / "a.jsonl", rows)}).to_arrow()
    assert found.column(0).to_pylist() == [2**64 - 1, 2**64 - 2]


@pytest.mark.parametrize(
    "odd, misfits",
    [
        ('{"ts": "x", "k": 1}', {"ts"}),
        ('{"ts": 1, "k": "x"}', {"k"}),
        ('{"ts": 1, "k": [1]}', {"k"}),
        ("{broken", set()),
        ("[1]", set()),
        ('{"ts": 1, "k": 1} {"ts": 2, "k": 2}', set()),
    ],
)
@pytest.mark.parametrize("place", [0, 50])
def test_one_line_of_json_does_not_decide(odd, misfits, place, tmp_path):
    """Wherever it stands: most lines say what a column is."""
    rows = [{"ts": ts, "k": k} for ts, k in GOOD]
    source = jsonl(tmp_path / "a.jsonl", [*rows[:place], odd, *rows[place:]])
    assert types(source) == {"ts": "int64", "k": "int64"}
    assert set(source.inferred.misfits) == misfits


def test_what_is_nested_may_be_of_several_kinds(tmp_path):
    """No query can use it, and the others are as they are."""
    rows = [{"ts": 1, "in": {"a": 1}}, {"ts": 2, "in": {"a": "x"}}, {"ts": 3, "in": {"a": []}}]
    source = jsonl(tmp_path / "a.jsonl", rows)
    assert types(source)["ts"] == "int64"
    assert eddy.run("SELECT ts FROM A [ROWS 1]", {"A": source}).results == 3


@pytest.mark.parametrize(
    "content, said",
    [
        ('[{"ts": 1},\n {"ts": 2}]', "a JSON array, .* jq -c"),
        ('{\n"ts": 1\n}\n', "over several lines, .* jq -c"),
        ("ts,k\n1,2\n", "begins with 'ts,k'. For CSV"),
    ],
)
def test_files_that_are_no_lines_of_json_say_what_they_are(content, said, tmp_path):
    """And what makes lines of them."""
    (tmp_path / "a.jsonl").write_text(content)
    with pytest.raises(eddy.EddyError, match=f"a.jsonl: .*{said}"):
        eddy.source(tmp_path / "a.jsonl")


def test_a_file_with_a_header_alone_says_nothing_where_another_has_rows(tmp_path):
    """The types are those of the first file with rows."""
    csv(tmp_path / "1.csv", [])
    csv(tmp_path / "2.csv", GOOD)
    assert types(eddy.source(tmp_path)) == {"ts": "int64", "k": "int64"}
    assert eddy.run("SELECT k FROM A [ROWS 1] WHERE k >= 0", {"A": tmp_path}).results == 100


def test_many_values_that_look_like_times_and_are_none_take_no_time(tmp_path):
    """Days of month 13 are texts, and are not tried one by one; a few of them are bad rows."""
    (tmp_path / "a.csv").write_text("at\n" + "2024-13-01 00:00:00\n" * 40_000)
    began = time.process_time()
    assert types(eddy.source(tmp_path / "a.csv")) == {"at": "string"}
    assert time.process_time() - began < 1
    few = ["2024-12-01 00:00:00"] * 990 + ["2024-13-01 00:00:00"] * 9
    for texts in (few, few[::-1]):
        (tmp_path / "a.csv").write_text("\n".join(["at", *texts]) + "\n")
        source = eddy.source(tmp_path / "a.csv")
        assert types(source) == {"at": "timestamp[us]"}
        assert source.inferred.misfits["at"].misfits == 9
