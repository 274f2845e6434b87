"""What tests of the page share: small engines, one whose policy changes the plan, and looks at what a browser shows."""

from __future__ import annotations

import itertools
import time

import numpy as np

import eddy
from policies import Auto

HARM = "</script><img src=x onerror=\"document.title='harm'\">"


def engine(names="ABC", plan="(A B) C", **options):
    streams = {name: eddy.Stream({"ts": "int64", "k": "int64"}, window=eddy.Range(400)) for name in names}
    where = [f"{one}.k = {other}.k" for one, other in itertools.pairwise(names)]
    return eddy.Eddy(eddy.Query(streams, where), plan=plan, **options)


def push(of, count=500, start=0):
    ts = np.arange(start, start + count)
    of.push_all({name: {"ts": ts, "k": ts % 50} for name in of.query.names})


def wait(until, what, seconds=20):
    limit = time.monotonic() + seconds
    while not until():
        assert time.monotonic() < limit, what
        time.sleep(0.05)


def text(chrome, name):
    return chrome.execute_script("return document.getElementById(arguments[0]).textContent", name)


def decided(path):
    """An engine whose policy has changed the plan at least twice, and the report of it."""
    made, start = engine("ABCD", "((A B) C) D", routing=Auto(every=2048, shape="bushy")), 0
    random = np.random.default_rng(1)
    with made.watch() as page:
        for many in ("AB", "CD", "AB", "CD"):  # have many partners, the others few
            before = len(made.decisions)
            for _ in range(30):
                ts = np.arange(start, start + 2_000)
                keys = {name: random.integers(0, 40 if name in many else 2_800, 2_000) for name in "ABCD"}
                made.push_all({name: {"ts": ts, "k": keys[name]} for name in "ABCD"})
                page.recorder.read()
                start += 2_000
                if len(made.decisions) > before:
                    break
        assert len(made.decisions) > 1, "the policy has decided too little"
        push(made, 200, start)
        return made, page.report(path)
