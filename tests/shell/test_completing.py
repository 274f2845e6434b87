"""What is suggested behind what somebody has typed."""

from __future__ import annotations

import pytest

from eddy.shell.completing import suggested
from eddy.shell.session import Session
from eddy.shell.splitting import split
from eddy.shell.views import Plain, Rows, shown
from tests.runs import feed, write


@pytest.fixture
def session(tmp_path, monkeypatch):
    """Two streams."""
    monkeypatch.chdir(tmp_path)
    write(feed(1)["A"], tmp_path / "clicks.csv")
    write(feed(1)["B"].select(["ts", "id"]).rename_columns(["ts", "order"]), tmp_path / "orders.csv")
    (tmp_path / "old").mkdir()
    (tmp_path / "old" / "x.parquet").touch()
    (tmp_path / "notes.txt").touch()
    (tmp_path / ".hidden.csv").touch()
    found = Session(Plain("csv"))
    for part in split("CREATE STREAM clicks FROM 'clicks.csv'; CREATE STREAM orders FROM 'orders.csv'"):
        found.do(part)
    return found


@pytest.mark.parametrize(
    "before, typed, wanted",
    [
        ("cre", 3, ["create"]),
        ("SH", 2, ["SHOW"]),
        ("SHOW STREAMS; DES", 3, ["DESCRIBE", "DESC"]),
        ("SHOW ", 0, ["STREAMS", "OPTIONS"]),
        ("DESCRIBE o", 1, ["orders"]),
        ("DROP STREAM ", 0, ["clicks", "orders"]),
        ("SET la", 2, ["lateness", "late"]),
        ("SELECT 1 FROM cl", 2, ["clicks"]),
        ("SELECT no FROM clicks [ROWS 1] WHERE no", 2, ["note", "not"]),
        ("SELECT ord", 3, ["order", "orders", "order"]),
        ("SELECT 1 FROM orders AS o [ROWS 1] WHERE o.", 0, ["ts", "order"]),
        ("SELECT 1 FROM orders [ROWS 1] o, clicks c [ROWS 1] WHERE c.i", 1, ["id"]),
        ("SELECT clicks.k", 1, ["k"]),
        ("CREATE STREAM x FROM '", 0, ["clicks.csv", "old/", "orders.csv"]),
        ("CREATE STREAM x FROM 'o", 1, ["old/", "orders.csv"]),
        ("CREATE STREAM x FROM 'old/", 4, ["old/x.parquet"]),
        ("CREATE STREAM x FROM '.h", 2, [".hidden.csv"]),
        ("CREATE STREAM x FROM 'nowhere/", 8, []),
        ('SELECT "', 0, []),
    ],
)
def test_what_is_suggested(before, typed, wanted, session):
    """And how many letters it takes the place of."""
    assert suggested(before, session) == (typed, list(dict.fromkeys(wanted)))


def test_rows_for_eyes(capsys):
    """Columns are as wide as the first screen of rows asks for; nothing moves the cursor; NULL is told apart."""
    table = feed(1)["A"].slice(0, 3).select(["id", "k", "note"])
    rows = Rows(80, 2)
    rows.open(table.schema, None)
    rows.write(table.slice(0, 2))
    rows.write(table.slice(2))
    keys = [" " * 3 + str(k) if k is not None else "NULL" for k in table.column("k").to_pylist()]
    width = max(len(key.strip()) for key in keys[:2])
    assert capsys.readouterr().out.splitlines() == [
        f"id  {'k'.rjust(width)}  note",
        f"--  {'-' * width}  ----",
        *(f"{i:>2}  {key.strip().rjust(width)}  A {i}" for i, key in enumerate(keys)),
    ]
    assert shown("a\x1b[2Jb\n") == "a\\x1b[2Jb\\n"
