"""Who may be in an engine, and when."""

from __future__ import annotations

import threading

import pytest

from eddy.access import Access


def test_whoever_changes_the_engine_already_is_told_so_at_once():
    """He does not wait for a reader who waits for him; and both go on."""
    access, found = Access(), []
    reader = threading.Thread(target=lambda: found.append(access.ask(lambda: "read")))
    access.take()
    reader.start()
    with pytest.raises(RuntimeError, match="changes the engine already"):
        access.take()
    assert not found
    access.give()
    reader.join(60)
    assert found == ["read"]
    access.take()
    access.give()
