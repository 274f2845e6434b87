"""Eddy beside what people use: `make peers`, or `make peers ARGS="--only flink spark --workload three"`.

Every contender runs in a process of its own, with the same data, and its results are compared with Eddy's, by their
number and a checksum of all rows, before anything is timed. Then both run in turns, at least three times, or once where
the first run has taken more than 20 s. Each pair of a contender and a workload has a record of its own in
benchmarks/results/peers; the tables in docs/benchmarks.md and README.md are made of all of them.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

from benchmarks.peers import contenders, tables, workloads
from benchmarks.peers.environments import install
from benchmarks.peers.measure import Options, run


def main() -> int:
    parser = argparse.ArgumentParser(prog="make peers", description=__doc__.partition("\n")[0])
    names = [contender.name for contender in contenders.CONTENDERS]
    kinds = [workload.name for workload in workloads.WORKLOADS]
    parser.add_argument("--only", nargs="+", metavar="NAME", default=names, help=", ".join(names))
    parser.add_argument("--workload", nargs="+", metavar="NAME", default=kinds, help=", ".join(kinds))
    parser.add_argument("--rounds", type=int, default=3, help="runs of each, at least")
    parser.add_argument("--bound", type=float, default=600.0, help="seconds that a run may take")
    parser.add_argument("--events", type=int, help="another number of events: then nothing is kept")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--tables", action="store_true", help="only write the tables of what is kept")
    options = parser.parse_args()
    for given, known in ((options.only, names), (options.workload, kinds)):
        for name in given:
            if name not in known:
                parser.error(f"{name} is none of {', '.join(known)}")
    if not options.tables:
        chosen = [contenders.BY_NAME[name] for name in names if name in options.only]
        for line in install(chosen):
            print(f"left out: {line}", file=sys.stderr)
        how = Options(options.bound, options.rounds, options.seed, options.events)
        with _progress(len(chosen) * len(options.workload)) as (tell, done):
            for kind in options.workload:
                workload = workloads.BY_NAME[kind]
                tell(workload.title)
                for contender, row in run(workload, chosen, how):
                    print(f"{workload.title}: {contender.title}: {_line(row)}", flush=True)
                    done()
    if options.events is None:
        tables.write()
    return 0


def _line(row: dict[str, Any]) -> str:
    if row["status"] != "timed":
        least = f", at least {row['ratio']:.3g} times" if "ratio" in row else ""
        return f"{row['status']}: {row['why']}{least}"
    rate = row["events"] / row["seconds"]
    return (
        f"Eddy is {row['ratio']:.3g} times as fast by {row['clock']} time; {row['seconds']:.3f} s and "
        f"{row['eddy seconds']:.3f} s, {rate:,.0f} events/s, {row['peak'] / 2**20:,.0f} MB; {row['runs']} runs"
    )


@contextmanager
def _progress(total: int) -> Iterator[Any]:
    """What to tell, and what to call after each contender. Silent where there is no terminal."""
    console = Console(file=sys.stderr)
    if not console.is_terminal:
        yield (lambda _: None), (lambda: None)
        return
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
    with Progress(*columns, console=console, transient=True) as bar:
        shown = bar.add_task("", total=total)
        yield (lambda what: bar.update(shown, description=what)), (lambda: bar.update(shown, advance=1))


if __name__ == "__main__":
    sys.exit(main())
