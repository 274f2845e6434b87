"""What all tests share: how hypothesis searches, and who runs together.

A kernel may compile on its first call, so there are no deadlines; whole feeds are drawn, and they are large.
`make test` tries the same examples each time, so that its verdict is the change's and not the day's;
`EDDY_TESTS=thorough` searches longer and at random, and `make fuzz` does nothing else.
"""

import os

import pytest
from hypothesis import HealthCheck, Phase, settings

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


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items):
    """Where tests run side by side, those on Spark stay together: one session serves them all."""
    for item in items:
        if "spark" in item.fixturenames or item.path.name == "test_flights.py":
            item.add_marker(pytest.mark.xdist_group("spark"))
