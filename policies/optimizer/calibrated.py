"""Seconds per operation of our kernels. Written by `python -m benchmarks.calibrate --write`."""

SECONDS = {
    "probe": 2.0e-08,
    "miss": 3.0e-09,
    "match": 1.0e-08,
    "byte": 2.0e-10,
    "insert": 1.0e-08,
    "rekey": 5.0e-09,
    "verify": 5.0e-09,
    "seek": 1.0e-08,
    "compare": 1.0e-09,
}
