"""Tests of `eddy.monitoring`."""
