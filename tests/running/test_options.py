"""Options of a run that are wrong are told of before it begins."""

from __future__ import annotations

import inspect

import pytest

import eddy
from eddy.running.options import OF_A_RUN

QUERY = "SELECT A.k FROM A [ROWS 1]"


def begun(source):
    """A source that says so when it is read."""
    source.append("begun")
    yield {"k": [1]}


@pytest.mark.parametrize(
    ("option", "said"),
    [
        ({"thread": 2}, "eddy.run has no option thread: did you mean threads"),
        ({"sinks": "out.csv"}, "eddy.run has no option sinks: did you mean sink"),
        ({"report": "/nowhere/at/all/run.html"}, "there is no folder /nowhere/at/all"),
        ({"report": "/"}, "/ is a folder; give a file in it"),
    ],
)
def test_a_run_with_a_wrong_option_does_not_begin(option, said):
    """One error that says what to do, and no row is read."""
    read = []
    source = eddy.source(begun(read), schema={"k": "int64"})
    with pytest.raises(eddy.EddyError, match=said):
        eddy.run(QUERY, {"A": source}, **option)
    assert read == []


def test_the_options_that_are_named_are_those_of_a_run():
    """What `eddy.run` takes itself, but for what is an engine's too and what the command needs."""
    taken = set(inspect.signature(eddy.run).parameters)
    assert set(OF_A_RUN) == taken - {"query", "sources", "options", "late", "lateness", "control"}
