"""Random cases of signed results against the oracle: ``python -m tests.fuzz_operators --minutes 10 [--seed 1]``.

A failing case is made smaller by leaving things out, and printed as a test to paste.
"""

from __future__ import annotations

import argparse
import random
import sys
import time

from attrs import evolve, fields

from tests.fuzz import fewer_rows, fewer_steps, smaller_lists
from tests.operator_cases import OperatorCase, make_query
from tests.operator_checks import check
from tests.operator_strategies import large, long, small
from tests.strategies import Pick

OPERATORS = [(), ("minus",), ("aggregates",), ("minus", "aggregates")]


def draw(pick):
    """A case of some kind."""
    operators = pick.choice(OPERATORS)
    if pick.chance(6):
        return pick.choice([large, long])(pick, operators)
    odds = {
        "chunks": pick.choice([0, 0, 20]),
        "rejects": pick.choice([0, 0, 10]),
        "restarts": pick.choice([0, 0, 10]),
        "demotes": pick.choice([0, 0, 10]),
        "hands": pick.choice([0, 0, 20]),
    }
    if pick.chance(30):
        odds["migrations"] = 90
    return small(pick, operators, **odds)


def failure(case):
    """The error that the case ends in, or None."""
    try:
        check(case)
    except Exception as error:  # any error is a finding
        return error
    return None


def valid(case):
    """Whether the query can be made at all."""
    try:
        make_query(case)
    except Exception:  # the smaller case is not one
        return False
    return True


def simpler_query(case):
    """Cases with fewer predicates, groups and aggregates."""
    for where in smaller_lists(case.where):
        yield evolve(case, where=where)
    for group_by in smaller_lists(case.group_by):
        yield evolve(case, group_by=group_by)
    for aggregates in smaller_lists(case.aggregates):
        if aggregates:
            yield evolve(case, aggregates=aggregates)
    for name, stream in case.streams.items():
        if stream.window != ("unbounded",):
            yield evolve(case, streams={**case.streams, name: evolve(stream, window=("unbounded",))})


def simpler_engine(case):
    """Cases with an option as it is by default."""
    own = ("answer", "streams", "where", "steps", "cross", "minus", "retractions", "group_by", "aggregates")
    for option in fields(OperatorCase):
        if option.name not in own and getattr(case, option.name) != option.default:
            yield evolve(case, **{option.name: option.default})


def shrink(case, kind, seconds=60):
    """A smaller case that ends in the same kind of error."""
    case, end = evolve(case, answer=None), time.monotonic() + seconds
    passes = [fewer_steps, simpler_engine, simpler_query, fewer_rows]
    idle = 0
    while idle < len(passes) and time.monotonic() < end:
        idle += 1
        candidates = passes[0](case)
        while time.monotonic() < end and (candidate := next(candidates, None)) is not None:
            if valid(candidate) and type(failure(candidate)) is kind:
                case, idle = candidate, 0
                candidates = passes[0](case)
        passes.append(passes.pop(0))
    return case


def as_test(case, seed, error):
    """The case as a test function."""
    lines = [f"def test_found_by_seed_{seed}():", f'    """{str(error).partition(chr(10))[0]}"""']
    lines += ["    check(", "        OperatorCase("]
    for option in fields(OperatorCase):
        value = getattr(case, option.name)
        if option.name == "steps":
            lines += ["            steps=[", *(f"                {step!r}," for step in value)]
            lines.append("            ],")
        elif option.name != "answer" and value != option.default:
            lines.append(f"            {option.name}={value!r},")
    return "\n".join([*lines, "        )", "    )"])


def main(arguments=None):
    """Run until the time is up or a case fails."""
    parser = argparse.ArgumentParser(
        prog="python -m tests.fuzz_operators", description=__doc__.splitlines()[0]
    )
    parser.add_argument("--minutes", type=float, default=1.0, help="how long to search")
    parser.add_argument(
        "--seed", type=int, default=None, help="the first seed; the next cases count on from it"
    )
    options = parser.parse_args(arguments)
    first = seed = random.randrange(10**9) if options.seed is None else options.seed
    start = time.monotonic()
    while time.monotonic() - start < 60 * options.minutes:
        case = draw(Pick(seed))
        error = failure(case)
        if error is not None:
            print(f"seed {seed}: {type(error).__name__}: {error}\nmaking it smaller ...", flush=True)
            case = shrink(case, type(error))
            print("\n" + as_test(case, seed, failure(case) or error))
            return 1
        seed += 1
    print(f"{seed - first} cases from seed {first} in {options.minutes:g} min: no failure")
    return 0


if __name__ == "__main__":
    sys.exit(main())
