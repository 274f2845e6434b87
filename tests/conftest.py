"""What all tests share: how hypothesis searches, and who runs together.

A kernel may compile on its first call, so there are no deadlines; whole feeds are drawn, and they are large.
`make test` tries the same examples each time, so that its verdict is the change's and not the day's;
`EDDY_TESTS=thorough` searches longer and at random, and `make fuzz` does nothing else.
"""

import gc
import os

import pytest
from hypothesis import HealthCheck, Phase, settings
from xdist.scheduler import LoadGroupScheduling

import eddy.tracks.driver
import stairs.directory
from stairs.lowlevel.secret import WORDS

# A forked child leaves alone what its parent has left to be collected: a client of Kafka waits for threads of its own
# when it goes, and a child has none of them.
os.register_at_fork(after_in_child=gc.freeze)

COMMON = {
    "deadline": None,
    "print_blob": True,
    "suppress_health_check": [
        HealthCheck.too_slow,
        HealthCheck.data_too_large,
        HealthCheck.large_base_example,
    ],
}
# A failing feed shrinks slowly, and its verdict needs no shrinking: `make fuzz` makes a failing case small.
WITHOUT_SHRINKING = [phase for phase in Phase if phase is not Phase.shrink]

settings.register_profile("repeatable", max_examples=60, derandomize=True, phases=WITHOUT_SHRINKING, **COMMON)
settings.register_profile("thorough", max_examples=2000, **COMMON)
settings.load_profile(os.environ.get("EDDY_TESTS", "repeatable"))
if os.environ.get("EDDY_TESTS", "repeatable") == "repeatable":
    WORDS[:] = 0xD1B54A32D192ED03, 0x9E3779B97F4A7C15  # what is drawn by chance is the same each time, too


@pytest.fixture(autouse=True)
def own_thresholds(monkeypatch):
    """What `tests.cases.make_engine` sets for a case ends with the test, so that no test depends on those before it."""
    monkeypatch.setattr(stairs.directory, "LEAST", stairs.directory.LEAST)
    monkeypatch.setattr(eddy.tracks.driver, "FEW", eddy.tracks.driver.FEW)


ON_SPARK = {
    "tests/demo/test_flights.py",
    *(
        f"tests/spark/test_{name}.py"
        for name in (
            "attached daemon errors join packed restart run_on_spark several stream stream_attached timeless"
        ).split()
    ),
}
"""The modules whose tests share one Spark session. Where tests run side by side they stay in one process."""


def pytest_collection_modifyitems(items):
    """A module whose tests use the session is in the list, since who hands out the tests sees their names only."""
    users = {item.nodeid.split("::")[0] for item in items if "spark" in item.fixturenames}
    assert users <= ON_SPARK, f"add to ON_SPARK in tests/conftest.py: {users - ON_SPARK}"


ON_POSTGRESQL = "tests/postgresql/"
"""The folder whose tests share one server, and stay in one process, too."""


class OneSpark(LoadGroupScheduling):
    """Hands out test by test, but all tests on Spark to one process, and all on PostgreSQL to one.

    With pytest 9.2 `--dist loadgroup` of pytest-xdist 3.8 groups nothing (pytest-dev/pytest-xdist#1386): its processes
    write the group into a test's name, where pytest no longer reads it.
    """

    def _split_scope(self, nodeid):
        if nodeid.startswith(ON_POSTGRESQL):
            return ON_POSTGRESQL
        return "spark" if nodeid.split("::")[0] in ON_SPARK else nodeid


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config, log):
    """With ``--dist loadgroup``, as in `make test`."""
    return OneSpark(config, log) if config.getvalue("dist") == "loadgroup" else None
