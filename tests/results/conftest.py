"""What the tests of results share."""

from __future__ import annotations

import pytest

from tests.results.feed import Feed


@pytest.fixture
def feed() -> Feed:
    return Feed()
