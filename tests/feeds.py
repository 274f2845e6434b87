"""The plainest feeds: streams with one key in common, batches for them, and the rows of what they bring."""

from __future__ import annotations

import numpy as np
import pyarrow as pa

import eddy


class Listed(list):
    """A list that the engine has to look at more closely than at one of Python's own: its push goes the long way."""


def roundabout(given):
    """The same batch, of lists, numpy arrays or Arrow, in a make that has to be looked at so."""
    if isinstance(given, pa.Table):
        return pa.concat_tables([given.slice(0, 0), given])
    return {c: np.ma.array(v) if isinstance(v, np.ndarray) else Listed(v) for c, v in given.items()}


def query(names="AB", window=None, **options):
    """Streams with a key ``k`` in common and a value ``v`` each, under one kind of window."""
    window = window or eddy.Unbounded()
    streams = {name: eddy.Stream({"k": "int64", "v": "int64"}, window=window) for name in names}
    where = [f"{names[0]}.k = {name}.k" for name in names[1:]]
    return eddy.Query(streams, **{"where": where, **options})


def batch(keys, values=None):
    """A batch of ``query``; values count up unless given."""
    keys = np.asarray(keys, np.int64)
    return {"k": keys, "v": np.arange(len(keys)) if values is None else np.asarray(values, np.int64)}


def rows(*results):
    """Row numbers of results that follow each other, as tuples."""
    return [tuple(row) for result in results for row in result.rows.tolist()]


def feed(names, pushes, size, keys, seed=0):
    """Pushes of random rows, to each stream once and then to any."""
    rng = np.random.default_rng(seed)
    order = [*names, *rng.choice(list(names), pushes)][:pushes]
    return [(str(n), batch(rng.integers(0, keys, size), rng.integers(0, 99, size))) for n in order]
