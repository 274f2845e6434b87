"""Times in lines: what they are inferred as, where nobody gives a schema."""

from __future__ import annotations

import json

import pytest

import eddy

UTC, LOCAL = "timestamp[us, tz=UTC]", "timestamp[us]"


@pytest.mark.parametrize(
    "texts, json_type, csv_type",
    [
        (["2024-07-06T06:59:37.744433Z", "2024-07-06T06:59:37Z"], UTC, UTC),
        (["2024-07-06 06:59:37Z", None], UTC, UTC),
        (["2024-07-06T06:59:37+02:00", "2024-07-06T06:59:37.5-0330"], UTC, UTC),
        (["2024-07-06T06:59:37"], LOCAL, LOCAL),
        (["2024-07-06T06:59:37.5"], LOCAL, LOCAL),
        (["2024-07-06T06:59:37.744433123Z"], "timestamp[ns, tz=UTC]", "timestamp[ns, tz=UTC]"),
        (["2024-07-06T06:59:37.5", "x"], "string", "string"),
        (["2024-07-06T06:59:37.5", "2024-07-06T06:59:37.5Z"], "string", "string"),
        (["2024-13-06T06:59:37"], "string", "string"),
    ],
)
def test_texts_that_are_times_become_such(texts, json_type, csv_type, tmp_path):
    """With the zone that they say, and in microseconds where these are enough; in JSON as in CSV."""
    (tmp_path / "a.jsonl").write_text("".join(json.dumps({"at": text}) + "\n" for text in texts))
    (tmp_path / "a.csv").write_text("".join(f"{text or ''}\n" for text in ("at", *texts)))
    for ending, wanted in (("jsonl", json_type), ("csv", csv_type)):
        assert str(eddy.source(tmp_path / f"a.{ending}").schema.field("at").type) == wanted


@pytest.mark.parametrize("name", ["out.jsonl", "out.csv"])
def test_times_that_were_written_are_read_again(name, tmp_path):
    """The results of a run are the source of another."""
    rows = {"at": ["2024-07-06T06:59:37.5Z", "2024-07-06T06:59:38Z"], "k": [1, 2]}
    (tmp_path / "a.jsonl").write_text(
        "".join(
            json.dumps(dict(zip(rows, row, strict=True))) + "\n" for row in zip(*rows.values(), strict=True)
        )
    )
    for source, out in (("a.jsonl", name), (name, f"again-{name}")):
        eddy.run("SELECT at, k FROM A [ROWS 1]", {"A": tmp_path / source}, tmp_path / out)
    assert (tmp_path / name).read_text() == (tmp_path / f"again-{name}").read_text()
