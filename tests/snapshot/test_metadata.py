"""What a user keeps beside a snapshot comes back as it was given."""

import pytest

import eddy


def engine():
    return eddy.Eddy(
        eddy.sql(
            "SELECT * FROM a [ROWS 9], b [ROWS 9] WHERE a.k = b.k", {"a": {"k": "int64"}, "b": {"k": "int64"}}
        )
    )


@pytest.mark.parametrize(
    "metadata",
    [None, 7, 1.5, "Zoë", True, [], {"clicks": {"file": "c.csv", "row": 2**60, "more": [1, None]}}],
)
def test_metadata_comes_back(tmp_path, metadata):
    made = engine()
    made.push("a", {"k": [1, 2]})
    made.save(tmp_path / "a.eddy", metadata=metadata)
    loaded = eddy.Eddy.load(tmp_path / "a.eddy")
    assert loaded.metadata == metadata and made.metadata is None
    assert len(loaded.push("b", {"k": [2]})) == 1
    loaded.save(tmp_path / "b.eddy")
    assert eddy.Eddy.load(tmp_path / "b.eddy").metadata is None, "each snapshot has its own"


@pytest.mark.parametrize(
    "metadata", [{1: 2}, object(), {"a": {1}}, float("nan"), [{"a": {None: 1}}], "\ud800"]
)
def test_what_would_not_come_back_is_refused(tmp_path, metadata):
    path = tmp_path / "a.eddy"
    engine().save(path, metadata="before")
    with pytest.raises(eddy.EddyError, match="metadata is anything that JSON can hold"):
        engine().save(path, metadata=metadata)
    assert eddy.Eddy.load(path).metadata == "before"
