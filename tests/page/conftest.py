"""One browser for all tests of a module."""

from __future__ import annotations

import pytest

from tests.page.browser import browser


@pytest.fixture(scope="module")
def chrome(tmp_path_factory):
    with browser(tmp_path_factory.mktemp("profile")) as found:
        yield found
