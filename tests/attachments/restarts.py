"""An engine that is saved and loaded in the middle of a case."""

from __future__ import annotations

import tempfile
from pathlib import Path

import eddy


def a_restart(pick):
    """What is to be different after loading, and whether the query is given again."""
    changed = {"batch_size": pick.choice([None, 1, 3, 4096]), "threads": pick.choice([1, 1, 1, 2])}
    return "save", changed, pick.chance(50)


def restarted(engine, options, query=None):
    """The engine that is loaded from what this one saves; ``options`` go before the saved ones."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "engine.eddy"
        engine.save(path)
        return eddy.Eddy.load(path, query, **options)
