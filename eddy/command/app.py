"""The command line. Built on cyclopts: typed functions are commands, its errors are single lines that we print as ours,
and beside attrs and rich, which are here anyway, it brings hardly anything (typer would bring pydantic)."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from importlib.metadata import version
from typing import Annotated

from cyclopts import App, CycloptsError, Parameter

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
def run(
    query: str,
    /,
    *sources: str,
    out: Annotated[str, Parameter(allow_leading_hyphen=True)] = "-",
    format: str | None = None,
    schema: str | None = None,
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
    idle: str | None = None,
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
    out
        A file (.parquet, .csv, .jsonl, .arrow), a folder (out/), or - for standard output.
    format
        Of a folder, or of standard output: parquet, csv, tsv, jsonl, arrow.
    schema
        A JSON file with the columns of streams: {"clicks": {"ts": "timestamp", "user": "int64"}}.
    time
        The time column of a stream: clicks=when. It may be given for each.
    lateness
        How far rows may be out of order: 30s. Without it files are looked through for it first.
    late
        What becomes of rows that are later: error, drop or keep:FILE.
    bad
        What becomes of rows that are none: drop, error or keep:FILE.
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
        Rows that are read at a time, about.
    limit
        Results after which the run is over.
    idle
        How long a silent source holds up the others: 10s.
    follow
        Files grow, and folders have more of them later: go on until Ctrl-C.
    explain
        Say how the query would be run, and do not run it.
    quiet
        Say nothing but errors.
    """
    from eddy.command.run import Asked, run

    asked = Asked(query, sources, schema, time or [], follow)
    options = {"lateness": lateness, "late": late, "bad": bad, "checkpoint": checkpoint, "every": every}
    engine = {"threads": threads, "memory": memory, "plan": plan, "idle": idle}
    return run(
        asked, out, format, {**options, "batch": batch, "limit": limit}, engine, explain=explain, quiet=quiet
    )


@app.command
def check(query: str, /, *sources: str, schema: str | None = None, time: list[str] | None = None) -> int:
    """Type a query against its sources without running it: windows, keys, warnings.

    Parameters
    ----------
    query
        A file with one SELECT, or the SELECT itself.
    sources
        A source for each stream: name=path.
    schema
        A JSON file with the columns of streams.
    time
        The time column of a stream: clicks=when. It may be given for each.
    """
    from eddy.command.check import check
    from eddy.command.run import Asked

    return check(Asked(query, sources, schema, time or [], False))


@app.command
def doctor() -> int:
    """Say what is installed, what is missing and for what, and whether kernels are compiled."""
    from eddy.command.doctor import doctor

    return doctor()


@app.command
def demo(
    *,
    synthetic: bool = False,
    seconds: float | None = None,
    seed: int | None = None,
    partitions: int | None = None,
) -> int:
    """Spark joins four feeds of real data through partitions of eddies.

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


COMMANDS = ("run", "check", "doctor", "demo")
