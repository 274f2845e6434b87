"""Snapshots at addresses that fsspec knows."""

from __future__ import annotations

import fsspec
import pytest

import eddy
from tests.snapshots import feed, zoned


@pytest.fixture(params=["memory", "file"])
def place(request, tmp_path):
    """An address of a folder."""
    if request.param == "file":
        return f"file://{tmp_path}"
    fsspec.filesystem("memory").makedirs("/eddy-snapshots", exist_ok=True)
    return "memory://eddy-snapshots"


def test_an_engine_goes_on_from_an_address(place):
    """What was saved there is replaced as a whole, and nothing else is left."""
    engine = zoned()
    feed(engine, 0, 6)
    engine.save(f"{place}/engine.eddy", metadata={"offset": 6})
    feed(engine, 6, 12)
    engine.save(f"{place}/engine.eddy", metadata={"offset": 12})
    loaded = eddy.Eddy.load(f"{place}/engine.eddy")
    assert loaded.metadata == {"offset": 12}
    assert feed(loaded, 12, 30) == feed(engine, 12, 30)
    system, path = fsspec.core.url_to_fs(place)
    assert [name.rsplit("/")[-1] for name in system.ls(path, detail=False)] == ["engine.eddy"]


def test_what_is_not_there_is_refused(place):
    """And so is what is no snapshot, and an address that nobody knows."""
    with pytest.raises(eddy.StateError, match=r"cannot read the snapshot .*nothing.eddy"):
        eddy.Eddy.load(f"{place}/nothing.eddy")
    with fsspec.open(f"{place}/other.eddy", "wb") as file:
        file.write(b"something else")
    with pytest.raises(eddy.StateError, match="is no snapshot of Eddy"):
        eddy.Eddy.load(f"{place}/other.eddy")
    with pytest.raises(eddy.EddyError, match="Protocol not known: nowhere"):
        zoned().save("nowhere://engine.eddy")


def test_a_save_that_fails_leaves_what_was_there(monkeypatch):
    """Half of a snapshot never has its name."""
    system = fsspec.filesystem("memory")
    system.makedirs("/eddy-failing", exist_ok=True)
    engine = zoned()
    engine.save("memory://eddy-failing/engine.eddy")
    before = system.cat_file("/eddy-failing/engine.eddy")
    feed(engine, 0, 3)

    def broken(*_, **__):
        raise OSError("the connection was reset")

    monkeypatch.setattr(type(system), "mv", broken)
    with pytest.raises(
        eddy.StateError, match=r"the connection was reset\. A snapshot that was there is as it was"
    ):
        engine.save("memory://eddy-failing/engine.eddy")
    assert system.cat_file("/eddy-failing/engine.eddy") == before
    assert system.ls("/eddy-failing", detail=False) == ["/eddy-failing/engine.eddy"]
