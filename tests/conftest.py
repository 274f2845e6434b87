"""What all tests share: how hypothesis searches.

A kernel may compile on its first call, so there are no deadlines. `make test` tries the same examples each
time, so that its verdict is the change's and not the day's; `make fuzz` is the random search.
"""

from hypothesis import HealthCheck, settings

settings.register_profile(
    "repeatable", deadline=None, derandomize=True, suppress_health_check=[HealthCheck.too_slow]
)
settings.load_profile("repeatable")
