"""Seconds per operation of our kernels. Written by `python -m benchmarks.calibrate --write`."""

SECONDS = {
    "probe": 1e-12,
    "miss": 2.81e-09,
    "match": 3.71e-09,
    "byte": 2.3e-10,
    "insert": 2.63e-08,
    "rekey": 5.92e-09,
    "verify": 1.46e-08,
    "seek": 6.07e-08,
    "compare": 5.97e-10,
    "step": 1e-12,
    "batch": 9.13e-05,
    "event": 2e-08,
    "look": 5e-06,
    "sample": 2.5e-05,
    "think": 5e-04,
    "change": 1e-04,
}
