"""The command line. Built on cyclopts: typed functions are commands, its errors are single lines that we print as ours,
and beside attrs and rich, which are here anyway, it brings hardly anything (typer would bring pydantic)."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from importlib.metadata import version
from typing import Annotated

from cyclopts import App, CycloptsError, Parameter

from eddy.command.flowing import flowing

DISTRIBUTION = "eddy-stairs"

app = App(
    name="eddy",
    help="Joins several live streams at once and changes the join order while it runs.",
    version=lambda: f"eddy {version(DISTRIBUTION)}",
    help_format="plaintext",
    default_parameter=Parameter(negative=()),
)


class Wrong(Exception):
    """Wrong use of a command: what was wrong, and what to give."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command and return its exit status; SystemExit for wrong use, help and the version."""
    given = list(sys.argv[1:] if arguments is None else arguments)
    try:
        if not given:
            raise Wrong(f"give a COMMAND: {', '.join(COMMANDS)}; eddy --help says more")
        command, bound = understood(given)
    except (CycloptsError, Wrong) as error:
        return _refuse(error)
    if command in (app.help_print, app.version_print):
        command(*bound.args, **bound.kwargs)
        raise SystemExit(0)
    try:
        return int(command(*bound.args, **bound.kwargs) or 0)
    except Wrong as error:
        return _refuse(error)


def understood(arguments: Sequence[str]):  # type: ignore[no-untyped-def]
    """The function of a command, and its arguments; CycloptsError if they make no sense."""
    command, bound, _ = app.parse_args(list(arguments), exit_on_error=False, print_error=False)
    return command, bound


def _refuse(error: Exception) -> int:
    text = " ".join(str(error).split())
    print(f"eddy: {text}", file=sys.stderr)
    raise SystemExit(2)


@app.command
@flowing
def run(
    query: str,
    /,
    *sources: str,
    queries: Annotated[list[str] | None, Parameter(name="--query")] = None,
    out: Annotated[list[str] | None, Parameter(allow_leading_hyphen=True)] = None,
    format: str | None = None,
    read: list[str] | None = None,
    schema: list[str] | None = None,
    time: list[str] | None = None,
    lateness: str | None = None,
    late: str | None = None,
    bad: str = "drop",
    checkpoint: str | None = None,
    every: str | None = None,
    threads: int = 1,
    memory: str | None = None,
    plan: str | None = None,
    batch: int | None = None,
    limit: int | None = None,
    latency: str | None = None,
    idle: str | None = None,
    speed: str | None = None,
    metrics: str | None = None,
    watch: bool = False,
    port: int | None = None,
    report: str | None = None,
    final: bool = False,
    on: str | None = None,
    follow: bool = False,
    explain: bool = False,
    quiet: bool = False,
) -> int:
    """Run a query over files and write its results.

    Parameters
    ----------
    query
        A file with one SELECT, or the SELECT itself.
    sources
        A source for each stream: name=path, name='folder/*.parquet', name=s3://..., name=- for standard input.
    queries
        One of several queries, which share an engine: fraud=fraud.sql, or a folder of files that end with .sql. It is
        given for each, and all else are sources.
    out
        A file (.parquet, .csv, .jsonl, .arrow), a folder (out/), or - for standard output. Of several queries one
        for each, fraud=fraud.csv, or one for all, with a column query.
    format
        Of results, in a folder or on standard output: parquet, csv, tsv, jsonl, arrow.
    read
        The format of a source whose name does not say it: clicks=csv. It may be given for each.
    schema
        The columns of streams: a JSON file, {"clicks": {"ts": "timestamp", "user": "int64"}}; or clicks=like.parquet,
        a file whose columns one stream has; or those of one stream, clicks='{"ts": "timestamp[us, UTC]"}'. Columns that
        it does not name are inferred. It may be given for each.
    time
        The time column of a stream: clicks=when. It may be given for each.
    lateness
        How far rows may be out of order: 30s. Without it files are looked through for it first.
    late
        What becomes of rows that are later: error, drop or keep:FILE.
    bad
        What becomes of lines that are not valid rows: drop, error or keep:FILE.
    checkpoint
        A folder: after a crash the same command goes on from there.
    every
        How often all is committed: 10s.
    threads
        Threads that join.
    memory
        A budget for what is kept of joins: 2GB.
    plan
        The join order: "(A B) C". Without it the engine chooses.
    batch
        Rows that are read at a time, about; with --latency at most.
    limit
        Results after which the run is over.
    latency
        How long it may take from the reading of a row to the writing of its results: 50ms. Batches are sized for that.
    idle
        How long a silent source holds up the others: 10s.
    speed
        How many times as fast as their times say rows come: 10x. Without it, as fast as they can be read.
    metrics
        Where Prometheus asks for metrics: :9100, on this machine only, or 0.0.0.0:9100; or otel for OpenTelemetry.
    watch
        A live page of the run, on this machine; in a terminal it stays when the run is over, until Ctrl-C.
    port
        Of that page; without it any that is free.
    report
        A file for that page when the run is over, such as run.html: it needs nothing else.
    final
        The groups of an aggregate at the end, sorted and cut by ORDER BY and LIMIT, instead of every change of them.
    on
        Where it runs: here, or on spark, over files and folders.
    follow
        Files grow, folders have more of them later, and what is not there yet is waited for: go on until Ctrl-C.
    explain
        Say how the query would be run, and do not run it.
    quiet
        Say nothing but errors.
    """
    from eddy.command.run import Asked, run

    asked = Asked(query, sources, schema or [], time or [], follow, read or [], queries or [])
    options = {"lateness": lateness, "late": late, "bad": bad, "checkpoint": checkpoint, "every": every}
    options |= {"speed": speed, "latency": latency, "metrics": metrics, "on": on}
    pages = {"watch": watch if port is None else port, "report": report}
    engine = {"threads": threads, "memory": memory, "plan": plan, "idle": idle}
    return run(
        asked,
        out or [],
        format,
        {**options, **pages, "batch": batch, "limit": limit, "final": final},
        engine,
        explain=explain,
        quiet=quiet,
    )


@app.command
@flowing
def sql(
    *files: str,
    command: Annotated[str | None, Parameter(name=["--command", "-c"])] = None,
    format: str = "csv",
    quiet: bool = False,
) -> int:
    """A shell for queries over streams that have names; or statements from files, from -c or from standard input.

    Parameters
    ----------
    files
        Files of statements. The first error ends it.
    command
        Statements: "CREATE STREAM clicks FROM 'clicks.parquet'; SELECT user FROM clicks [ROWS 1]".
    format
        Of what is printed, outside a terminal: csv, tsv, jsonl, arrow.
    quiet
        Print nothing but results and errors.
    """
    from eddy.command.sql import sql

    return sql(files, command, format, quiet)


@app.command
@flowing
def check(
    query: str,
    /,
    *sources: str,
    queries: Annotated[list[str] | None, Parameter(name="--query")] = None,
    read: list[str] | None = None,
    schema: list[str] | None = None,
    time: list[str] | None = None,
) -> int:
    """Type a query against its sources without running it: windows, keys, warnings.

    Parameters
    ----------
    query
        A file with one SELECT, or the SELECT itself.
    sources
        A source for each stream: name=path.
    queries
        One of several queries: fraud=fraud.sql, or a folder of such files. It is given for each.
    read
        The format of a source whose name does not say it: clicks=csv. It may be given for each.
    schema
        The columns of streams: a JSON file, clicks=like.parquet, or clicks='{"ts": "timestamp[us, UTC]"}'; others are
        inferred. It may be given for each.
    time
        The time column of a stream: clicks=when. It may be given for each.
    """
    from eddy.command.check import check
    from eddy.command.run import Asked

    return check(Asked(query, sources, schema or [], time or [], False, read or [], queries or []))


@app.command
@flowing
def replay(
    *sources: str,
    to: Annotated[str, Parameter(allow_leading_hyphen=True)],
    speed: str = "1x",
    format: str | None = None,
    read: list[str] | None = None,
    schema: list[str] | None = None,
    time: list[str] | None = None,
    bad: str = "drop",
    follow: bool = False,
    quiet: bool = False,
) -> int:
    """Feed recorded rows to a place as they came, by their times, or so many times faster.

    Parameters
    ----------
    sources
        A source for each stream: name=path.
    to
        A folder (out/), in which each stream gets a file that grows; the address of a server; a place that has {stream}
        in it for their names; or - for standard output, if there is one stream.
    speed
        How many times as fast as recorded: 10x, or max. Times that are whole numbers count seconds.
    format
        Of the files that are written, or of standard output: jsonl, csv, tsv, parquet, arrow.
    read
        The format of a source whose name does not say it: clicks=csv. It may be given for each.
    schema
        The columns of streams: a JSON file, clicks=like.parquet, or clicks='{"ts": "timestamp[us, UTC]"}'; others are
        inferred. It may be given for each.
    time
        The time column of a stream: clicks=when. It may be given for each.
    bad
        What becomes of lines that are not valid rows: drop, error or keep:FILE.
    follow
        Files grow: go on until Ctrl-C.
    quiet
        Say nothing but errors.
    """
    from eddy.command.replay import replay
    from eddy.command.run import Asked

    return replay(
        Asked("", sources, schema or [], time or [], follow, read or []), to, format, speed, bad, quiet=quiet
    )


@app.command
@flowing
def report(folder: str, /, *, out: str = "run.html") -> int:
    """Write a page of what a run was like, of its checkpoints: plans, why they were changed, rates, memory.

    Parameters
    ----------
    folder
        The checkpoints of the run, which is over or was killed.
    out
        The page: a file that needs nothing else.
    """
    from eddy.running.showing import report_of

    print(report_of(folder, out))
    return 0


@app.command
def doctor() -> int:
    """Say what is installed, what is missing and for what, and whether kernels are compiled."""
    from eddy.command.doctor import doctor

    return doctor()


@app.command(name="--install-completion")
@flowing
def completion(*, shell: str | None = None, output: str | None = None) -> int:
    """Install tab completion.

    Parameters
    ----------
    shell
        bash, zsh or fish; by default the one that this is.
    output
        Write the script there, and leave the files that a shell reads when it starts as they are.
    """
    from eddy.command.completion import install

    return install(shell, output)


@app.command
@flowing
def demo(
    *,
    synthetic: bool = False,
    seconds: float | None = None,
    seed: int | None = None,
    partitions: int | None = None,
) -> int:
    """Join a year of flights with their weather, planes and airports on Spark, or made-up streams without it.

    Spark reads a year of flights with their weather, planes and airports, joins them through partitions of eddies that
    change their plans, and checks every result by a join of its own. With --synthetic: a live join, without Spark, of
    four made-up streams that drift, checked by an independent count.

    Parameters
    ----------
    synthetic
        Four made-up streams that drift, without Spark.
    seconds
        How long, with --synthetic (default 20).
    seed
        The seed of the feed, with --synthetic (default 7).
    partitions
        Spark's partitions (default: cores).
    """
    if seconds is not None and not 0 < seconds <= 86_400:
        raise Wrong("--seconds: a number of seconds above 0, at most 86400")
    if seed is not None and seed < 0:
        raise Wrong("--seed: a whole number, 0 or more")
    if partitions is not None and not 1 <= partitions <= 256:
        raise Wrong("--partitions: a whole number from 1 to 256")
    if synthetic:
        if partitions is not None:
            raise Wrong("--partitions is for Spark, and --synthetic runs without it")
        from eddy.demo.synthetic import demo

        return demo(seconds or 20.0, 7 if seed is None else seed)
    if seconds is not None or seed is not None:
        raise Wrong("--seconds and --seed are for the made-up streams: add --synthetic")
    from eddy.demo.flights import flights

    return flights(partitions=partitions)


COMMANDS = ("run", "sql", "check", "replay", "report", "doctor", "demo")
