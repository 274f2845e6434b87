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
        help="a live join of four streams whose plan changes while it runs",
        description="Joins four streams of a shop whose selectivities drift, changes the plan as they do, "
        "and checks every result by an independent count.",
    )
    demo.add_argument("--seconds", type=_seconds, default=20.0, metavar="N", help="how long (default 20)")
    demo.add_argument("--seed", type=_seed, default=7, metavar="S", help="the seed of the feed (default 7)")
    demo.set_defaults(run=_demo)
    return parser


def _demo(options: argparse.Namespace) -> int:
    from eddy.demo import demo

    return demo(options.seconds, options.seed)


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
