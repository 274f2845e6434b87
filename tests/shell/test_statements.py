"""Statements of the shell: how a text is split, what each one says, and where it is wrong."""

from __future__ import annotations

import pytest

from eddy import QueryError
from eddy.shell.parsing import parsed
from eddy.shell.splitting import is_complete, open_quote, split
from eddy.shell.statements import (
    Check,
    Create,
    Describe,
    Drop,
    Explain,
    Help,
    Insert,
    Quit,
    Select,
    Set,
    Show,
)
from eddy.shell.wording import told
from eddy.values.types import column_type

BIGINT, DECIMAL = column_type("int64"), column_type("decimal(10, 2)")
TIME, ZONED = column_type("timestamp[us]"), column_type("timestamp[ns, UTC]")
UTC = column_type("timestamp[us, UTC]")


@pytest.mark.parametrize(
    "text, said",
    [
        ("CREATE STREAM c FROM 'c/*.csv'", Create("c", "c/*.csv", None, {})),
        (
            "create or replace stream \"my c\" from 'it''s.csv' with (time = 'when', follow = TRUE, format = csv)",
            Create("my c", "it's.csv", None, {"time": "when", "follow": True, "format": "csv"}, True),
        ),
        (
            "CREATE STREAM c (ts TIMESTAMP, k BIGINT, d DECIMAL(10, 2), z timestamp[ns, UTC]) FROM 'kafka://h/c'",
            Create("c", "kafka://h/c", {"ts": TIME, "k": BIGINT, "d": DECIMAL, "z": ZONED}, {}),
        ),
        *(
            (
                f"CREATE STREAM c (ts {kind}, k BIGINT) FROM 'c'",
                Create("c", "c", {"ts": UTC, "k": BIGINT}, {}),
            )
            for kind in (
                *(
                    "TIMESTAMPTZ",
                    "TIMESTAMP WITH TIME ZONE",
                    "timestamp with time zone",
                    "timestamp[us, UTC]",
                ),
                *("'timestamp[us, UTC]'", '"timestamp[us, UTC]"'),
            )
        ),
        ("DROP STREAM c", Drop("c")),
        ("SHOW STREAMS", Show("STREAMS")),
        ("show /* all */ options -- of them", Show("OPTIONS")),
        ("SET", Show("OPTIONS")),
        ("DESCRIBE c", Describe("c")),
        ('DESC "SELECT"', Describe("SELECT")),
        ("SELECT a FROM b [ROWS 1]", Select("SELECT a FROM b [ROWS 1]")),
        ("WITH x AS (SELECT 1) SELECT 2", Select("WITH x AS (SELECT 1) SELECT 2")),
        ("EXPLAIN SELECT 1", Explain("        SELECT 1")),
        ("CHECK\n SELECT 1", Check("\n SELECT 1")),
        ("INSERT INTO 'o.csv' SELECT 1", Insert("o.csv", {}, " " * 20 + "SELECT 1")),
        ("INSERT INTO 'o/' WITH (format = 'csv') WITH x AS (SELECT 1) SELECT 2", None),
        ("SET lateness = '30s'", Set("lateness", "30s")),
        ("SET Threads TO 2", Set("threads", 2)),
        ("SET late = drop", Set("late", "drop")),
        ("SET x = -1.5", Set("x", -1.5)),
        ("SET limit = DEFAULT", Set("limit", None)),
        ("RESET limit", Set("limit", None)),
        ("help", Help()),
        ("\\q", Quit()),
        ("exit", Quit()),
    ],
)
def test_what_a_statement_says(text, said):
    """Names and places as they are written; words in any case."""
    (part,) = split(f"{text};")
    found = parsed(part)
    if said is None:
        assert isinstance(found, Insert) and found.options == {"format": "csv"}
        assert found.text.strip() == "WITH x AS (SELECT 1) SELECT 2"
    else:
        assert found == said


def test_statements_end_at_semicolons_that_are_no_part_of_a_text_or_a_comment():
    """And a query stands on its own line and in its own column, so errors name the place in the whole text."""
    text = "SHOW STREAMS; -- one; two\n/* ; */ SELECT ';' FROM a [ROWS 1] WHERE x = 'it''s;';;\n  EXIT"
    first, second, third = split(text)
    assert [parsed(first), parsed(third)] == [Show("STREAMS"), Quit()]
    assert parsed(second).text == "\n        SELECT ';' FROM a [ROWS 1] WHERE x = 'it''s;'"
    assert split(" ; -- nothing\n;") == []


@pytest.mark.parametrize(
    "text, told, where",
    [
        ("SELEC 1", "there is no statement SELEC: did you mean SELECT?", "SELEC"),
        ("CREATE STREM a FROM 'a'", "STREAM is missing here", "STREM"),
        ("CREATE STREAM FROM 'a'", "FROM is missing here", "'a'"),
        ("CREATE STREAM 'a' FROM 'a'", "a name is not written in single quotes", "'a'"),
        ("CREATE STREAM a FROM a.csv", "a place in single quotes is missing here", "a"),
        ("CREATE STREAM a FROM", "a place in single quotes is missing here", ""),
        ("CREATE STREAM a FROM 'a' WITH (tme = 'x')", "there is no option tme: did you mean time?", "tme"),
        ("CREATE STREAM a FROM 'a' WITH (time = 'x', time = 'y')", "time is there twice", "time"),
        ("CREATE STREAM a FROM 'a' WITH (time 'x')", "= is missing here", "'x'"),
        ("CREATE STREAM a FROM 'a' WITH (time = )", "a value is missing here", ")"),
        ("CREATE STREAM a (x FOO) FROM 'a'", "there is no type FOO", "FOO"),
        ("CREATE STREAM a (x, y INT) FROM 'a'", "a type is missing here", ","),
        ("SHOW TABLES", "write SHOW STREAMS or SHOW OPTIONS", "TABLES"),
        ("DROP STREAM a b", "the statement was over before this", "b"),
        ("EXPLAIN a", "a SELECT is missing here", "a"),
        ("INSERT INTO 'x' VALUES (1)", "a SELECT is missing here", "VALUES"),
        ("\\x", "there is no \\x", "\\"),
        ("SELECT 'a' FROM b WHERE 'c", "the quote ' is not closed", "'c"),
        ('SHOW "STREAMS', 'the quote " is not closed', '"STREAMS'),
    ],
)
def test_what_is_wrong_is_told_with_its_place(text, told, where):
    """On its line, with the part that is wrong."""
    whole = f"SHOW STREAMS;\n  {text}"
    with pytest.raises(QueryError) as raised:
        parsed(split(whole)[-1])
    assert str(raised.value).startswith(told)
    assert "\nline 2, column " in str(raised.value)
    of, start, end = raised.value.place
    assert of == whole and whole[start:end] == where


@pytest.mark.parametrize(
    "text, complete",
    [
        ("", True),
        ("  \n", True),
        ("exit", True),
        (" QUIT ;", True),
        ("\\q", True),
        ("-- a comment", True),
        ("SHOW STREAMS", False),
        ("SHOW STREAMS;", True),
        ("SHOW STREAMS; SELECT", False),
        ("SELECT ';", False),
        ("SELECT ';';", True),
        ("SELECT 1 -- ;", False),
        ("SELECT 1 /* ;", False),
    ],
)
def test_enter_ends_what_is_complete(text, complete):
    """Statements to their semicolons."""
    assert is_complete(text) is complete


def test_an_open_quote():
    """The one that begins the text, not the last one."""
    assert open_quote("FROM 'a") == 5
    assert open_quote("FROM 'a' \"b") == 9
    assert open_quote("FROM 'it''s") == 5
    assert open_quote('FROM \'a "b" c') == 5
    assert open_quote("FROM 'a'") is None


@pytest.mark.parametrize(
    "text, words",
    [
        (
            "it. Give more lateness=, or late='drop'",
            "it. Say SET lateness = '5 min', or more, or SET late = 'drop'",
        ),
        ("give final=True for the groups (or read engine.table())", "SET final = true for the groups"),
        ("limit= counts changes, and final= gives none", "limit counts changes, and final gives none"),
        ("give lateness= too, as in lateness='30 s'", "give lateness too, as in SET lateness = '30 s'"),
        ("the rows (a=5) stay", "the rows (a=5) stay"),
    ],
)
def test_messages_of_the_library_are_told_in_statements(text, words):
    """Options of Python are those of SET, or of WITH."""
    assert told(text) == words
