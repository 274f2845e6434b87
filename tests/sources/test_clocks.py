"""Times in lines whose columns were declared: with a zone, without, and texts that have one or not."""

from __future__ import annotations

import json

import pytest

import eddy

BERLIN = "timestamp[us, Europe/Berlin]"


def _run(tmp_path, ending, texts, kind):
    """The times that are taken, in UTC or without a zone, and the bad rows."""
    path = tmp_path / f"a.{ending}"
    if ending == "csv":
        path.write_text("".join(f"{text}\n" for text in ("ts,k", *(f"{text},1" for text in texts))))
    else:
        path.write_text("".join(json.dumps({"ts": text, "k": 1}) + "\n" for text in texts))
    source = eddy.source(path, schema={"ts": kind, "k": "int64"})
    outcome = eddy.run("SELECT ts FROM a [ROWS 1]", {"a": source})
    return [f"{time:%d %H:%M}" for time in _utc(outcome.to_arrow().column(0))], outcome.letters


def _utc(column):
    return column.cast("int64").cast("timestamp[us]").to_pylist()


@pytest.mark.parametrize("ending", ["csv", "jsonl"])
def test_a_text_without_an_offset_is_local_time_of_its_columns_zone(ending, tmp_path):
    """Beside texts that have one; where clocks go back it is the earlier, and where they go forward it is a bad row."""
    texts = [
        "2026-03-28 12:00:00",
        "2026-03-28T12:30:00Z",
        "2026-03-29 02:30:00",
        "2026-03-29 03:30:00",
        "2026-10-25 02:30:00",
    ]
    times, letters = _run(tmp_path, ending, texts, BERLIN)
    assert times == ["28 11:00", "28 12:30", "29 01:30", "25 00:30"]
    assert [("2026-03-29 02:30:00" in letter, "does not fit" in letter) for letter in letters] == [
        (True, True)
    ]


@pytest.mark.parametrize("ending", ["csv", "jsonl"])
def test_a_text_with_an_offset_does_not_fit_a_column_without_a_zone(ending, tmp_path):
    """It is a bad row, as in a push."""
    texts = ["2026-03-28 12:00:00", "2026-03-28T12:30:00+02:00", "2026-03-28T13:00:00Z", "noon"]
    times, letters = _run(tmp_path, ending, texts, "timestamp")
    assert times == ["28 12:00"]
    told = [letter.partition(" does not fit timestamp[us]")[2] for letter in letters]
    assert [text.startswith(", which has no zone: ") for text in told] == [True, True, False]
    assert len(told) == 3 and told[2].startswith(": ")
