"""`eddy sql` without a terminal: statements of -c, of files and of standard input."""

from __future__ import annotations

import io
import json
import signal
import subprocess

import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet
import pytest

from eddy.cli import main
from tests.runs import QUERY, counted, expected, feed, write
from tests.shell.terminal import COMMAND, environment


@pytest.fixture
def place(tmp_path, monkeypatch):
    """A folder with three files, and the statements that declare them."""
    monkeypatch.chdir(tmp_path)
    for (name, table), ending in zip(feed(1).items(), ("csv", "parquet", "jsonl"), strict=True):
        write(table, tmp_path / f"{name}.{ending}")
    return tmp_path


STREAMS = "CREATE STREAM A FROM 'A.csv'; CREATE STREAM B FROM 'B.parquet'; CREATE STREAM C FROM 'C.jsonl';\n"


@pytest.mark.parametrize("format", ["csv", "jsonl", "arrow"])
@pytest.mark.parametrize("way", ["-c", "file", "stdin"])
def test_a_query_gives_its_results(way, format, place, capfd, monkeypatch):
    """As lines on standard output, and how many on standard error."""
    (place / "declared.sql").write_text(STREAMS)
    (place / "query.sql").write_text(f"{QUERY} -- the end")
    arguments = ["declared.sql", "query.sql"]
    if way == "-c":
        arguments = ["-c", STREAMS + QUERY]
    if way == "stdin":
        arguments = []
        monkeypatch.setattr("sys.stdin", io.StringIO(STREAMS + QUERY))
    assert main(["sql", *arguments, "--format", format]) == 0
    told = capfd.readouterr() if format != "arrow" else None
    if told is not None:
        wanted = expected(feed(1))
        assert told.err.startswith(f"{wanted.total():,} results of 120 A + 120 B + 120 C rows in ")
        read = (
            pa.csv.read_csv(io.BytesIO(told.out.encode()))
            if format == "csv"
            else pa.Table.from_pylist([json.loads(line) for line in told.out.splitlines()])
        )
        assert counted(read) == wanted


def test_arrow_on_standard_output(place):
    """A stream that another program reads."""
    done = subprocess.run(
        [*COMMAND, "sql", "--quiet", "--format", "arrow", "-c", STREAMS + QUERY],
        cwd=place,
        env=environment(),
        capture_output=True,
        check=True,
    )
    assert counted(pa.ipc.open_stream(done.stdout).read_all()) == expected(feed(1))
    assert done.stderr == b""


def test_statements_show_and_change_what_there_is(place, capfd):
    """Whole outputs."""
    text = """
        CREATE STREAM A (ts BIGINT, id INT) FROM 'A.csv';
        SHOW STREAMS; DESCRIBE A;
        DROP STREAM A; SHOW STREAMS;
        CREATE STREAM a FROM 'A.csv' WITH (time = 'id');
        CREATE OR REPLACE STREAM a FROM 'A.csv';
        SET limit = 2; SELECT x.id AS i FROM a x [ROWS 1] WHERE id > 7;
        RESET limit; SELECT b.id AS n FROM (SELECT id FROM a [ROWS 1] WHERE id > 117) b;
    """
    assert main(["sql", "--quiet", "-c", text]) == 0
    out, err = capfd.readouterr()
    lines = out.splitlines()
    assert lines[:9] == [
        '"stream","source","columns","time"',
        '"A","A.csv",4,"ts"',
        '"column","type","note"',
        '"ts","int64","time"',
        '"k","int64",""',
        '"id","int32",""',
        '"note","string",""',
        '"stream","source","columns","time"',
        '"i"',
    ]
    assert lines[9:11] == ["8", "9"]
    assert lines[11:] == ['"n"', "118", "119"]
    assert err == ""


def test_a_query_goes_into_a_file(place, capfd):
    """INSERT INTO has the sinks of `eddy run`."""
    text = f"INSERT INTO 'out.parquet' {QUERY}; INSERT INTO 'f/' WITH (format = 'csv') {QUERY}"
    text = f"{STREAMS} SET threads = 2; {text}"
    assert main(["sql", "-c", text]) == 0
    assert counted(pa.parquet.read_table(place / "out.parquet")) == expected(feed(1))
    (part,) = (place / "f").glob("*.csv")
    assert counted(pa.csv.read_csv(part)) == expected(feed(1))
    out, err = capfd.readouterr()
    assert out == "" and err.count(" results of 120 A + 120 B + 120 C rows in ") == 2


def test_check_and_explain_run_nothing(place, capfd):
    """CHECK tells windows that follow from predicates, and warnings; EXPLAIN the plan."""
    query = "SELECT A.id FROM A [RANGE 5], B WHERE A.k = B.k AND B.ts BETWEEN A.ts AND A.ts + 9"
    assert main(["sql", "-c", f"{STREAMS} CHECK {query}; SET plan = '(B A)'; EXPLAIN {query}"]) == 0
    out, err = capfd.readouterr()
    assert "  time ts, window Range(0), by predicates\nkey A.k = B.k\n" in out
    assert "\nplan B A\n0 events, 0 results, " in out
    assert "the window of A, Range(5), is shorter" in err


@pytest.mark.parametrize(
    "text, told",
    [
        ("SELECT 1", "there are no streams yet: CREATE STREAM clicks FROM 'clicks.parquet'"),
        ("CREATE STREAM A FROM 'none.csv'", "there is no file none.csv"),
        ("CREATE STREAM A FROM 'A.csv' WITH (time = 'whn')", "has no column whn for its time"),
        (STREAMS + "CREATE STREAM A FROM 'A.csv'", "there is a stream A already"),
        ("DROP STREAM A", "there is no stream A"),
        (STREAMS + "\nSELECT nte\nFROM A [ROWS 1]", "did you mean A.note?"),
        (
            STREAMS + "SELECT D.id FROM A [ROWS 1], D [ROWS 1]",
            "there is no stream D: CREATE STREAM D FROM 'place'",
        ),
        ("SET latenes = '3s'", "there is no option latenes: did you mean lateness?"),
        ("SET limit = 'x'", "limit must be a whole number"),
        ("SET late = 'never'", "late must be"),
        ("SET speed = 'fast'", "speed is how many times"),
        ("SET plan = 7", "plan is the join order"),
        (STREAMS + "SET lateness = 'soon'; SELECT id FROM A [ROWS 1]", "'soon' is not a duration"),
        (STREAMS + "INSERT INTO 'no/out.csv' SELECT id FROM A [ROWS 1]", "cannot write no/out.csv"),
    ],
)
def test_the_first_error_ends_it(text, told, place, capfd):
    """Its statement and those behind it do nothing; the exit status is 2."""
    assert main(["sql", "--quiet", "--format", "jsonl", "-c", f"{text}; SHOW OPTIONS"]) == 2
    out, err = capfd.readouterr()
    assert out == "" and err.startswith("eddy: ") and told in err and "Traceback" not in err


def test_the_place_of_an_error_is_that_in_the_whole_text(place, capfd):
    """Also of one in a query."""
    assert main(["sql", "-c", f"{STREAMS}\n  EXPLAIN SELECT nte FROM A [ROWS 1]"]) == 2
    assert "line 3, column 18:\n" in capfd.readouterr().err


def test_standard_input_is_a_stream_where_statements_do_not_come_from_it(place, monkeypatch, capfd):
    """It can be read once."""
    text = "CREATE STREAM s FROM '-'; SELECT id FROM s [ROWS 1] WHERE id > 117;"
    done = subprocess.run(
        [*COMMAND, "sql", "--quiet", "-c", text + text.partition(";")[2]],
        input=(place / "C.jsonl").read_bytes(),
        cwd=place,
        env=environment(),
        capture_output=True,
    )
    assert done.stdout == b'"id"\n118\n119\n' and done.returncode == 2
    assert b"standard input can be read once only" in done.stderr
    monkeypatch.setattr("sys.stdin", io.StringIO(text))
    assert main(["sql"]) == 2
    assert "statements come from standard input" in capfd.readouterr().err


def test_ctrl_c_ends_a_script(place):
    """After the push that is under way; what comes behind it is not run."""
    text = "CREATE STREAM s FROM 'A.csv' WITH (follow = true); SELECT id FROM s [ROWS 1]; SHOW OPTIONS"
    with subprocess.Popen(
        [*COMMAND, "sql", "-c", text], cwd=place, env=environment(), stdout=-1, stderr=-1, bufsize=0
    ) as process:
        assert process.stdout.readline() == b'"id"\n'
        first = process.stdout.readline()
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=60)
    assert process.returncode == 130
    times = feed(1)["A"].column("ts").to_pylist()
    given = [*first.split(), *out.split()]
    expected = [b"%d" % i for i, ts in enumerate(times) if ts < times[-1]]  # others may come of that time
    assert given and given == expected[: len(given)]
    assert b"stopped before the end" in err and b"option" not in out


@pytest.mark.parametrize(
    "arguments, told",
    [
        (["-c", "x", "y.sql"], "not both"),
        (["--format", "xml"], "no format 'xml'"),
        (["no.sql"], "cannot read no.sql"),
    ],
)
def test_wrong_use(arguments, told, place, capfd):
    """The exit status is 2."""
    try:
        status = main(["sql", *arguments])
    except SystemExit as stop:
        status = stop.code
    assert status == 2 and told in capfd.readouterr().err
