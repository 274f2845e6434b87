"""`eddy check`: what a query is, without a row of anything being taken."""

from __future__ import annotations

import pytest

from eddy.cli import main
from eddy.connect.libraries import Kind
from eddy.sources.schemes import SCHEMES


@pytest.fixture(autouse=True)
def served(monkeypatch, tmp_path):
    """Addresses of a server, and a file beside them."""
    monkeypatch.setitem(SCHEMES, "served", Kind("tests.command.served"))
    monkeypatch.chdir(tmp_path)
    (tmp_path / "users.csv").write_text("user,name\n1,a\n")
    (tmp_path / "no.csv").write_text("ts,name\n2026-01-01 10:00:00,a\n")


SOURCES = ["c=served://h:1/clicks", "o=served://h:1/orders"]


def test_nothing_is_read_from_a_server(capfd):
    """Types, windows, keys, filters, attachments, groups and results are told."""
    query = """
        SELECT c.user, COUNT(*) AS n FROM c [RANGE 5 MINUTES] JOIN o [RANGE 1 MINUTE] ON c.user = o.user AND o.price > 1
          AND o.ts BETWEEN c.ts AND c.ts + INTERVAL '5' MINUTE
        LEFT JOIN users [STATIC] ON users.user = c.user
        GROUP BY c.user
    """
    assert main(["check", query, *SOURCES, "users=users.csv"]) == 0
    told = capfd.readouterr()
    lines = told.out.splitlines()
    assert lines[:8] == [
        "stream c from served://h:1/clicks",
        "  columns ts timestamp[us], user int64, price float64",
        "  time ts, window Range('5 MINUTES')",
        "stream o from served://h:1/orders",
        "  columns ts timestamp[us], user int64, price float64",
        "  time ts, window Range('1 MINUTE')",
        "  filter o.price > 1",
        "stream users from users.csv",
    ]
    assert "key c.user = o.user" in lines
    assert "LEFT JOIN users ON users.user = c.user" in lines
    assert lines[-3:] == [
        "groups of c.user",
        "results c.user int64, n int64",
        "results are withdrawn too: they have a sign",
    ]


def test_a_window_that_loses_results_is_warned_of(capfd):
    """On standard error; the exit status stays 0."""
    query = "SELECT c.user FROM c [RANGE 1 MINUTE], o WHERE c.user = o.user AND o.ts BETWEEN c.ts AND c.ts"
    query += " + INTERVAL '5' MINUTE"
    assert main(["check", query, *SOURCES]) == 0
    told = capfd.readouterr().err
    assert told.startswith(
        "warning: the window of c, Range('1 MINUTE'), is shorter than the predicates allow"
    )


@pytest.mark.parametrize(
    "query, told",
    [
        ("SELECT c.usr FROM c [ROWS 1], o [ROWS 1] WHERE c.user = o.user", "did you mean user?"),
        ("SELECT c.pric FROM c [ROWS 1], o [ROWS 1] WHERE c.user = o.user", "did you mean price?"),
        ("SELECT c.user FROM c [ROWS 1], o [ROWS 1]", "no predicate connects"),
        ("SELECT c.user FROM c [ROWS 1], p [ROWS 1] WHERE c.user = p.user", "no source for p: add p=PATH"),
        ("SELECT c.user FROM c [ROWS 1] WHERE c.user = 'x'", "line 1, column"),
    ],
)
def test_what_is_wrong_is_told(query, told, capfd):
    """With a name that is near among all columns, also those that the query does not name."""
    assert main(["check", query, *SOURCES]) == 2
    assert told in capfd.readouterr().err
