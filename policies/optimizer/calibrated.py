"""Seconds per operation of our kernels. Written by `python -m benchmarks.calibrate --write`."""

SECONDS = {
    "probe": 1.64e-09,
    "miss": 1.7e-09,
    "match": 2.61e-09,
    "byte": 2.79e-10,
    "insert": 2.17e-08,
    "rekey": 4.9e-09,
    "verify": 1.65e-08,
    "seek": 5.67e-08,
    "compare": 9e-10,
    "step": 1e-12,
    "batch": 3.87e-05,
    "event": 7.02e-09,
    "mark": 4.88e-09,
    "look": 1.5e-05,
    "sample": 2.5e-05,
    "think": 0.0015,
    "change": 0.00025,
    "keep": 1e-09,
}
