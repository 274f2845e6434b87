"""Tests. Exactness is shown against `tests/naive.py`; `EDDY_TESTS=thorough` lets properties search longer."""

import os

from hypothesis import HealthCheck, settings

_common = {
    "deadline": None,
    "print_blob": True,
    "suppress_health_check": [
        HealthCheck.too_slow,
        HealthCheck.data_too_large,
        HealthCheck.large_base_example,
    ],
}
settings.register_profile("default", max_examples=100, **_common)
settings.register_profile("thorough", max_examples=2000, **_common)
settings.load_profile(os.environ.get("EDDY_TESTS", "default"))
