"""Random cases against the oracle for as long as one likes: ``python -m tests.fuzz --minutes 10 [--seed 1]``.

With ``--kind ways`` all cases are of one kind, here those of `tests/ways.py`, which compare every way of a push.
A failing case is made smaller by leaving things out, and printed as a test to paste.
"""

from __future__ import annotations

import argparse
import random
import re
import sys
import time

from attrs import evolve, fields

from tests import checks, naive, push_cases, ways
from tests.cases import ANY_TECHNIQUE, Case, make_query, step_events
from tests.strategies import Pick, large, long, migrating, small
from tests.way_cases import draw

ANY = {"techniques": ANY_TECHNIQUE}
KINDS = {
    "small": lambda pick: small(
        pick, chunks=pick.choice([0, 0, 20]), rejects=pick.choice([0, 0, 0, 20]), **ANY
    ),
    "changing": lambda pick: small(pick, migrations=90, doors=("push",), **ANY),
    "demoting": lambda pick: small(pick, migrations=10, demotes=40, **ANY),
    "by hand": lambda pick: small(pick, migrations=15, hands=50, restarts=3, chunks=5, **ANY),
    "restarting": lambda pick: small(pick, restarts=20, demotes=10, chunks=10, **ANY),
    "migrating": migrating,
    "large": large,
    "long": long,
    "ways": draw,
    "files": push_cases.file,
    "turning": push_cases.turning,
}
OFTEN = {
    "small": 8,
    "migrating": 8,
    "ways": 5,
    "changing": 4,
    "demoting": 3,
    "by hand": 3,
    "restarting": 3,
    "files": 2,
    "turning": 2,
    "large": 1,
    "long": 1,
}
"""How many of 40 cases are of each kind."""
MODULES = {"ways": ways, "files": push_cases, "turning": push_cases}
"""Who checks the cases of a kind, unless `tests.checks` does."""


def failure(case, module=checks):
    """The error that the case ends in, or None; ``module`` has the function that checks it."""
    try:
        module.check(case)
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


def smaller_lists(items):
    """The list without a half, a quarter, ... of its items, and without each one."""
    size = len(items) // 2
    while size:
        for start in range(0, len(items), size):
            yield items[:start] + items[start + size :]
        size //= 2


def fewer_steps(case):
    """Cases without some of the steps."""
    for steps in smaller_lists(case.steps):
        yield evolve(case, steps=steps)


def fewer_rows(case):
    """Cases in which a step has fewer rows."""
    for place, step in enumerate(case.steps):
        if step[0] == "push":
            steps = [(*step[:2], rows, *step[3:]) for rows in smaller_lists(step[2])]
        elif step[0] == "push_all":
            batches = [{**step[1], name: less} for name in step[1] for less in smaller_lists(step[1][name])]
            steps = [("push_all", batch) for batch in batches]
            steps += [("push", name, rows) for name, rows in step[1].items()]
        else:
            continue
        for smaller in steps:
            yield evolve(case, steps=[*case.steps[:place], smaller, *case.steps[place + 1 :]])


def plan_without(plan, name):
    """A plan without one of its streams."""
    if plan is None:
        return None
    routes = plan.split("|") if ":" in plan else [plan]
    left = [route for route in routes if ":" not in plan or route.split()[0].rstrip(":") != name]
    return "|".join(re.sub(r"\(\s*\)", "", re.sub(rf"\b{name}\b", "", route)) for route in left).strip()


def fewer_streams(case):
    """Cases without one of the streams."""
    for name in case.streams:
        steps = []
        for step in case.steps:
            if step[0] == "push_all":
                step = ("push_all", {other: rows for other, rows in step[1].items() if other != name})
            elif step[0] == "migrate":
                step = ("migrate", plan_without(step[1], name))
            if name not in step[1:]:
                steps.append(step)
        streams = {other: stream for other, stream in case.streams.items() if other != name}
        where = [tree for tree in case.where if name not in naive.reads(tree)]
        plan = plan_without(case.plan, name)
        for cross in (case.cross, True):
            yield evolve(case, streams=streams, where=where, steps=steps, plan=plan, select=None, cross=cross)


def simpler_query(case):
    """Cases with fewer predicates, or, when few rows are left, a window that holds everything."""
    rows = sum(len(step_events(case, step)) for step in case.steps)
    for place in range(len(case.where)):
        yield evolve(case, where=case.where[:place] + case.where[place + 1 :])
    for name, stream in case.streams.items():
        if rows < 200 and stream.window != ("unbounded",):
            yield evolve(case, streams={**case.streams, name: evolve(stream, window=("unbounded",))})


def simpler_engine(case):
    """Cases with an option as it is by default, or smaller batches."""
    for option in fields(Case):
        own = option.name in ("streams", "where", "steps", "cross")
        if not own and getattr(case, option.name) != option.default:
            yield evolve(case, **{option.name: option.default})
    for size in (1, 2, 3):
        if case.batch_size > size > 0 and case.batch_size != 4096:
            yield evolve(case, batch_size=size)


def shrink(case, kind, seconds=90, module=checks):
    """A smaller case that ends in the same kind of error."""
    if not valid(case):
        return case
    end = time.monotonic() + seconds
    passes = [fewer_steps, fewer_rows, fewer_streams, simpler_engine, simpler_query]
    idle = 0
    while idle < len(passes) and time.monotonic() < end:
        smaller = iter(passes[0](case))
        idle += 1
        while time.monotonic() < end and (candidate := next(smaller, None)) is not None:
            if valid(candidate) and type(failure(candidate, module)) is kind:
                case, idle = candidate, 0
                smaller = iter(passes[0](case))
        passes.append(passes.pop(0))
    return case


def as_test(case, seed, error, module=checks):
    """The case as a test function."""
    lines = [
        f"def test_found_by_seed_{seed}():",
        f'    """{str(error).splitlines()[0] if str(error) else error!r}"""',
    ]
    lines += ["    check(", "        Case("]
    for option in fields(Case):
        value = getattr(case, option.name)
        if value == option.default:
            continue
        if option.name == "steps":
            lines += [
                "            steps=[",
                *[f"                {step!r}," for step in value],
                "            ],",
            ]
        elif option.name == "streams":
            rows = [f"                {name!r}: {stream!r}," for name, stream in value.items()]
            lines += ["            streams={", *rows, "            },"]
        else:
            lines.append(f"            {option.name}={value!r},")
    policies = [case.feedback, case.technique]
    own = isinstance(case.routing, push_cases.Turning)
    policies += [] if own else [case.routing]
    heading = [
        "from math import inf, nan  # noqa: F401",
        "",
        f"from policies import {', '.join(sorted({type(p).__name__ for p in policies}))}  # noqa: F401",
        "from tests.cases import Case, S",
        f"from {module.__name__} import {'Turning, ' if own else ''}check",
    ]
    return "\n".join([*heading, "", "", *lines, "        )", "    )"])


def main(arguments=None):
    """Run until the time is up or a case fails."""
    parser = argparse.ArgumentParser(prog="python -m tests.fuzz", description=__doc__.splitlines()[0])
    parser.add_argument("--minutes", type=float, default=1.0, help="how long to search")
    parser.add_argument(
        "--seed", type=int, default=None, help="the first seed; the next cases count on from it"
    )
    parser.add_argument("--kind", choices=KINDS, help="cases of one kind only")
    options = parser.parse_args(arguments)
    kinds = [kind for kind, count in OFTEN.items() for _ in range(count)]
    first = random.randrange(10**9) if options.seed is None else options.seed
    start = time.monotonic()
    seed = first
    while time.monotonic() - start < 60 * options.minutes:
        pick = Pick(seed)
        kind = options.kind or pick.choice(kinds)
        case, module = KINDS[kind](pick), MODULES.get(kind, checks)
        error = failure(case, module)
        if error is not None:
            print(
                f"\nseed {seed} ({kind}): {type(error).__name__}: {error}\nmaking it smaller ...", flush=True
            )
            case = shrink(case, type(error), module=module)
            print("\n" + as_test(case, seed, failure(case, module) or error, module) + "\n")
            return 1
        seed += 1
        if sys.stdout.isatty():
            print(f"\r{seed - first} cases, {time.monotonic() - start:.0f} s, no failure", end="", flush=True)
    print(f"\r{seed - first} cases from seed {first} in {options.minutes:g} min: no failure")
    return 0


if __name__ == "__main__":
    sys.exit(main())
