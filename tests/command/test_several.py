"""`eddy run` and `check` of several queries."""

from __future__ import annotations

from collections import Counter

import pytest

from eddy.cli import main
from tests.running.test_several import alone, tallied
from tests.runs import feed, read, write

PAIR = "SELECT A.id AS a, B.id AS b FROM A [RANGE 30], B [RANGE 30] WHERE A.k = B.k"
QUERIES = {"all": PAIR, "some": f"{PAIR} AND A.id > 40", "other": PAIR.replace("30", "9")}
SOURCES = ["A=A.csv", "B=B.parquet"]


@pytest.fixture
def place(tmp_path, monkeypatch):
    """A folder with queries and two files."""
    monkeypatch.chdir(tmp_path)
    for name, ending in (("A", "csv"), ("B", "parquet")):
        write(feed(1)[name], tmp_path / f"{name}.{ending}")
    (tmp_path / "rules").mkdir()
    for name, text in QUERIES.items():
        (tmp_path / "rules" / f"{name}.sql").write_text(f"{text};\n")
    return tmp_path


def options(*names):
    return [word for name in names for word in ("--query", f"{name}=rules/{name}.sql")]


def wanted():
    return alone({name: feed(1)[name] for name in "AB"}, QUERIES)


def test_each_has_a_place(place, capfd):
    """Files and a text; the last words count the results of each."""
    given = [*options("all", "some"), "--query", f"other={QUERIES['other']}"]
    outs = ["--out", "all=all.csv", "--out", "some=some.parquet", "--out", "other=other/"]
    assert main(["run", *SOURCES, *given, *outs]) == 0
    for name, out in (("all", "all.csv"), ("some", "some.parquet"), ("other", "other")):
        assert tallied(read(place / out)) == wanted()[name]
    told = capfd.readouterr().err.splitlines()
    counts = {name: rows.total() for name, rows in wanted().items()}
    assert told[-2].startswith(f"{sum(counts.values()):,} results of 120 A + 120 B rows in ")
    assert told[-1] == ", ".join(f"{count:,} {name}" for name, count in counts.items())


def test_a_folder_of_queries_and_one_place_for_all(place, capfd):
    """Each query is called as its file; lines say whose they are."""
    assert main(["run", *SOURCES, "--query", "rules/", "--out", "out.csv", "--checkpoint", "here"]) == 0
    rows = read(place / "out.csv").to_pylist()
    for name, own in wanted().items():
        assert Counter((row["a"], row["b"]) for row in rows if row["query"] == name) == own
    assert main(["run", "--query", "rules/", *SOURCES, "--format", "csv", "--quiet"]) == 0
    assert sorted(capfd.readouterr().out.splitlines()) == sorted((place / "out.csv").read_text().splitlines())


def test_check_and_explain_tell_of_each(place, capfd):
    """And nothing is run."""
    assert main(["check", *SOURCES, *options("all", "some")]) == 0
    told = capfd.readouterr().out
    assert told.startswith("query all\n  stream A from A.csv\n") and "query some\n" in told
    assert "    filter A.id > 40" in told
    assert main(["run", *SOURCES, "--query", "rules", "--explain"]) == 0
    assert "all, some: 2 queries, one core" in capfd.readouterr().out


REFUSED = {
    "--query is name=file": (["--query", "rules/all.sql"],),
    "there is no file in it that ends with .sql": (["--query", "."],),
    "--query: all is given twice": (["--query", "rules", *options("all")],),
    "cannot read the query rules/no.sql": (options("no"),),
    "query other has no --out": (["--query", "rules", "--out", "all=a.csv", "--out", "some=b.csv"],),
    "--out is one place for all queries": (["--query", "rules", "--out", "all=a.csv", "--out", "b.csv"],),
    "--out is given twice for one query": ([*options("all"), "--out", "all=a.csv", "--out", "all=b.csv"],),
    "no source for A: add A=PATH": ([*options("all")],),
}


@pytest.mark.parametrize("said", REFUSED)
def test_wrong_use_is_told_in_a_line(said, place, capfd):
    """With what to give."""
    sources = SOURCES[1:] if "no source" in said else SOURCES
    with pytest.raises(SystemExit) as ended:
        raise SystemExit(main(["run", *sources, *REFUSED[said][0]]))
    assert ended.value.code == 2
    told = capfd.readouterr().err
    assert said in told and (told.count("\n") == 1 or "line 1" in told)


def test_what_looks_like_several_queries_says_how(place, capfd):
    """A query is not known by its place."""
    for words, said in (
        (["all=rules/all.sql", *SOURCES], "each is given with --query all=rules/all.sql"),
        (["rules/all.sql", *SOURCES, "--out", "a.csv", "--out", "b.csv"], "--out is given 2 times"),
    ):
        with pytest.raises(SystemExit):
            raise SystemExit(main(["run", *words]))
        assert said in capfd.readouterr().err
