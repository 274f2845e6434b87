"""Seconds per operation of our kernels. Written by `python -m benchmarks.calibrate --write`."""

SECONDS = {
    "probe": 1e-12,
    "miss": 2.09e-09,
    "match": 3.99e-09,
    "byte": 3.58e-10,
    "insert": 2.44e-08,
    "rekey": 8.05e-09,
    "verify": 1.72e-08,
    "seek": 6.68e-08,
    "compare": 6.68e-10,
    "step": 1e-12,
    "batch": 4.66e-05,
    "event": 6.97e-09,
    "look": 1.5e-05,
    "sample": 2.5e-05,
    "think": 7e-04,
    "change": 1e-04,
}
