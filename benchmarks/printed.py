"""What the printed algorithms lose, repeat and invent: `python -m benchmarks.printed [--write]`.

Every example of a fault is a few rows that a reader can follow by hand; below them are random feeds. The due results
are those of an `Eddy`. With ``--write`` the tables go to `docs/printed.md`.
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from itertools import pairwise
from typing import Literal

import numpy as np
from attrs import frozen

import eddy
from benchmarks.pages import put
from benchmarks.stamp import load
from policies import HybMig, Jisc, Mns

JISC, HYBMIG, JIT = Jisc(literal=True), HybMig(background=1, literal=True), Mns(literal=True)


@frozen
class Example:
    """Rows that a printed rule gets wrong."""

    name: str
    rule: str
    technique: Jisc | HybMig | Mns
    plan: str
    where: Sequence[str]
    steps: Sequence[str]
    """``"a 3: x=1"``: a row of A at time 3; a plan: change to it."""
    width: int = 100
    fresh: Literal["own", "any"] = "own"

    @property
    def streams(self) -> list[str]:
        return sorted(set(self.plan) & set("ABCDEQRSTU"))


def one_key(plan: str) -> list[str]:
    """Equalities of a single key over the streams of a plan."""
    return [f"{one}.x = {other}.x" for one, other in pairwise(sorted(set(plan) & set("ABCDEQRSTU")))]


def jisc(
    name: str, rule: str, plan: str, steps: str, width: int = 100, fresh: Literal["own", "any"] = "own"
) -> Example:
    return Example(name, rule, JISC, plan, one_key(plan), steps.split(", "), width, fresh)


EXAMPLES = [
    jisc("T36", "Procedure 1 takes a state that contains the key for complete", "(R S) T", "s, t, (S T) R, t, r"),
    jisc("T37", "a row of any stream makes the next of its key attempted (Definition 2)", "((R S) T) U",
         "s, t, ((S T) R) U, u, r", fresh="any"),
    jisc("T38", "an attempted row's removal stops at an incomplete state (4.4)", "((R S) T) U",
         "s 0, r 1, t 1, ((S T) R) U, s 5, u 11", 10),
    jisc("T39", "Procedure 3 adds what is there already", "(((Q R) S) T) U",
         "u, t, s, r: x=7, (((U T) S) R) Q, s, q, r"),
    jisc("T40", "counters count keys of either side (4.3)", "(R S) T",
         "s: x=1, s: x=2, t: x=2, t: x=3, t: x=4, (S T) R, r: x=3, r: x=4, r: x=2"),
    jisc("T41", "a state whose inputs are complete is called complete (4.3)", "(((A E) C) B) D",
         "a, b, c, d, ((A B) (C D)) E, a, c, e"),
    jisc("T42", "a second change forgets what was completed (4.5)", "((R S) T) U",
         "s, s: x=2, t, t: x=2, u, ((S T) R) U, r, ((S T) U) R, r"),
    Example("T28", "a merged state takes the sibling off the old plan (3.4)", HYBMIG, "((A B) C) D",
            one_key("ABCD"), ["c", "d", "A (B (C D))", "b", "a"]),
    Example("T56", "partners later than the suspension are enough (IV-B, Table I)", JIT, "(A B) C",
            ["A.x = B.x", "A.y = C.y"],
            ["c 0: y=999", "b 0", "b 0", "b 0", "a 1: y=100", "b 2", "a 3: y=100", "c 4: y=100"]),
    Example("T58", "an MNS goes with the row it was found in (IV-A)", JIT, "(A B) C", ["A.x = B.x", "A.y = C.y"],
            ["c 0: y=9", "b 0", "a 1: y=100", "b 7", "a 8: y=100", "c 9: y=998", "c 12: y=100"], 10),
    Example("T60", "a row that comes back does not look for what waits for it", JIT, "((A D) B) C",
            ["A.x = D.x", "A.x = B.x", "B.z = C.z"],
            ["c 0: z=9", "b 1: z=0", "a 2", "d 3", "a 4", "c 5: z=0", "a 6"]),
    Example("T61", "both sides of a join wait for each other", JIT, "(A B) (C D)",
            ["A.k = B.k", "C.m = D.m", "A.p = D.p", "B.q = C.q"],
            ["d 0: p=1", "d 1: p=0", "a 2: p=0", "b 3: q=1", "c 4: q=0", "b 5: q=1", "b 6: q=0"]),
]  # fmt: skip


def columns(example: Example) -> list[str]:
    """The columns that some predicate reads; a row that does not say otherwise has 1 in each."""
    return sorted({side.split(".")[1] for text in example.where for side in text.split(" = ")})


def run(example: Example) -> eddy.AsPrinted:
    """Push an example row by row."""
    names = columns(example)
    schema = {"ts": "int64", **dict.fromkeys(names, "int64")}
    streams = {name: eddy.Stream(schema, window=eddy.Range(example.width)) for name in example.streams}
    query = eddy.Query(streams, where=list(example.where))
    engine = eddy.AsPrinted(query, example.plan, example.technique, example.fresh)
    now = 0
    for step in example.steps:
        if " " in step and step[0] in "(ABCDE" and not step[0].islower():
            engine.migrate(step)
            continue
        head, _, values = step.partition(":")
        stream, _, time = head.partition(" ")
        now = int(time) if time else now + 1
        given = dict(part.strip().split("=") for part in values.split()) if values else {}
        row = {"ts": [now], **{name: [int(given.get(name, 1))] for name in names}}
        engine.push(stream.upper(), row)
    return engine


FEEDS = [
    ("JISC", JISC, ["((A B) C) D", "((B C) A) D", "((C D) B) A"], one_key("ABCD")),
    ("HybMig with background computation", HYBMIG, ["((A B) C) D", "A (B (C D))"], one_key("ABCD")),
    ("JIT, left-deep", JIT, ["((A B) C) D"], ["A.x = B.x", "A.y = C.y", "B.z = D.z"]),
    ("JIT, bushy", JIT, ["(A B) (C D)"], ["A.x = B.x", "C.x = D.x", "A.y = D.y", "B.z = C.z"]),
]


def feed(
    technique: Jisc | HybMig | Mns, plans: Sequence[str], where: Sequence[str], seed: int, events: int = 200
) -> eddy.AsPrinted:
    """A random feed over windows of 12 rows, with plan changes on the way."""
    rng = np.random.default_rng(seed)
    schema = {"x": "int64", "y": "int64", "z": "int64"}
    streams = {name: eddy.Stream(schema, window=eddy.Rows(12)) for name in "ABCD"}
    engine = eddy.AsPrinted(eddy.Query(streams, where=list(where)), plans[0], technique)
    for i in range(events):
        if i and i % 50 == 0 and len(plans) > 1 and (technique is JISC or i == 50):
            engine.migrate(plans[(i // 50) % len(plans)])
        engine.push("ABCD"[rng.integers(4)], {name: [int(rng.integers(4))] for name in schema})
    return engine


def markdown(heads: Sequence[str], lines: Sequence[Sequence[object]]) -> list[str]:
    """A table."""
    rule = "|".join("---" for _ in heads)
    return [
        "",
        f"| {' | '.join(heads)} |",
        f"|{rule}|",
        *(f"| {' | '.join(map(str, line))} |" for line in lines),
        "",
    ]


def tables(feeds: int) -> tuple[list[str], list[str]]:
    """The examples, and the random feeds."""
    lines = []
    for example in EXAMPLES:
        got = run(example).account
        lines.append([example.name, type(example.technique).__name__, example.rule, got.due, got.given, got.lost,
                      got.repeated, got.false])  # fmt: skip
    heads = ["example", "technique", "printed rule", "due", "given", "lost", "repeated", "false"]
    totals = []
    for name, technique, plans, where in FEEDS:
        accounts = [feed(technique, plans, where, seed).account for seed in range(feeds)]
        wrong = sum(not account.exact for account in accounts)
        sums = [sum(getattr(a, field) for a in accounts) for field in ("due", "lost", "repeated", "false")]
        totals.append([name, feeds, wrong, *sums])
    return markdown(heads, lines), markdown(
        ["feed", "feeds", "wrong", "due", "lost", "repeated", "false"], totals
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--feeds", type=int, default=100, help="random feeds of each kind")
    parser.add_argument("--write", action="store_true", help="put the tables into docs/printed.md")
    asked, before = parser.parse_args(), load()
    examples, totals = tables(asked.feeds)
    print(*examples, *totals, sep="\n")
    if asked.write:
        measures = ("eddy/printed", "policies/migration", "policies/feedback")
        put("printed.md", "examples", "printed", examples, measures, before)
        put("printed.md", "random feeds", "printed", totals, measures, before)


if __name__ == "__main__":
    main()
