"""The command line: ``eddy demo``, ``eddy --version``, ``eddy --help``."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Sequence
from importlib.metadata import version

from eddy.errors import EddyError

DISTRIBUTION = "eddy-stairs"


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command and return its exit status: 0 well, 1 results were not right, 2 wrong use or input."""
    options = _parser().parse_args(arguments)
    try:
        return int(options.run(options))
    except EddyError as error:
        print(f"eddy: {error}", file=sys.stderr)
        return 2
    except BrokenPipeError:
        # The reader has seen enough, as in `eddy demo | head`. What is still buffered has nowhere to go.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 141


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="eddy",
        description="Joins several live streams at once and changes the join order while it runs.",
    )
    parser.add_argument("--version", action="version", version=f"eddy {version(DISTRIBUTION)}")
    commands = parser.add_subparsers(title="commands", metavar="COMMAND", required=True)
    demo = commands.add_parser(
        "demo",
        help="Spark joins four feeds of real data through partitions of eddies",
        description="Spark reads a year of flights with their weather, planes and airports, joins them through "
        "partitions of eddies that change their plans, and checks every result by a join of its own. With --synthetic: "
        "a live join, without Spark, of four made-up streams that drift, checked by an independent count.",
    )
    demo.add_argument(
        "--synthetic", action="store_true", help="four made-up streams that drift, without Spark"
    )
    demo.add_argument("--seconds", type=_seconds, metavar="N", help="how long, with --synthetic (default 20)")
    demo.add_argument(
        "--seed", type=_seed, metavar="S", help="the seed of the feed, with --synthetic (default 7)"
    )
    demo.add_argument(
        "--partitions", type=_partitions, metavar="P", help="Spark's partitions (default: cores)"
    )
    demo.set_defaults(run=_demo, parser=demo)
    return parser


def _demo(options: argparse.Namespace) -> int:
    if options.synthetic:
        if options.partitions is not None:
            options.parser.error("--partitions is for Spark, and --synthetic runs without it")
        from eddy.demo.synthetic import demo

        return demo(options.seconds or 20.0, 7 if options.seed is None else options.seed)
    if options.seconds is not None or options.seed is not None:
        options.parser.error("--seconds and --seed are for the made-up streams: add --synthetic")
    from eddy.demo.flights import flights

    return flights(partitions=options.partitions)


def _partitions(text: str) -> int:
    value = int(text)
    if not 1 <= value <= 256:
        raise argparse.ArgumentTypeError("a whole number from 1 to 256")
    return value


def _seconds(text: str) -> float:
    value = float(text)
    if not 0 < value <= 86_400:
        raise argparse.ArgumentTypeError("a number of seconds above 0, at most 86400")
    return value


def _seed(text: str) -> int:
    value = int(text)
    if value < 0:
        raise argparse.ArgumentTypeError("a whole number, 0 or more")
    return value
