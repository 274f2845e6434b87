"""Tests. Exactness is shown against `tests/naive.py`."""
