"""What all tests share: how hypothesis searches.

A kernel may compile on its first call, so there are no deadlines; whole feeds are drawn, and they are large.
`make test` tries the same examples each time, so that its verdict is the change's and not the day's;
`make fuzz` is the random search.
"""

from hypothesis import HealthCheck, settings

SLOW_OR_LARGE = [HealthCheck.too_slow, HealthCheck.data_too_large, HealthCheck.large_base_example]

settings.register_profile("repeatable", deadline=None, derandomize=True, suppress_health_check=SLOW_OR_LARGE)
settings.load_profile("repeatable")
