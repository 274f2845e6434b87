"""Nothing is written over what is read, nor by two over each other."""

from __future__ import annotations

import asyncio
import os

import pytest

import eddy
from eddy.cli import main
from tests.runs import QUERY, feed, write


@pytest.fixture
def place(tmp_path, monkeypatch):
    """A folder with three files, and one with the first of them."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "in").mkdir()
    tables = feed(1)
    for name, ending in (("A", "csv"), ("B", "parquet"), ("C", "jsonl")):
        write(tables[name], tmp_path / f"{name}.{ending}")
    write(tables["A"], tmp_path / "in" / "0.csv")
    os.symlink("A.csv", "link.csv")
    return tmp_path


SOURCES = {"A": "A.csv", "B": "B.parquet", "C": "C.jsonl"}


@pytest.mark.parametrize(
    ("sources", "out", "options", "told"),
    [
        ({}, "A.csv", {}, "A.csv, which A reads"),
        ({}, "./link.csv", {}, "link.csv, which A reads"),
        ({}, "B.parquet", {}, "B.parquet, which B reads"),
        ({"A": "in/"}, "in/out.csv", {}, "in/out.csv, which A reads"),
        ({"A": "in/*.csv"}, "in/out.csv", {}, "in/out.csv, which A reads"),
        ({"A": "in/*.csv"}, eddy.sink("in/", format="csv"), {}, "in, which A reads"),
        ({"A": "in/**/*.csv"}, "in/more/out.csv", {}, "in/more/out.csv, which A reads"),
        ({}, "out.csv", {"bad": "keep:C.jsonl"}, "C.jsonl, which C reads"),
        ({}, "out.csv", {"late": "keep:A.csv"}, "A.csv, which A reads"),
        (
            {},
            "out.jsonl",
            {"bad": "keep:./out.jsonl"},
            "results and bad rows cannot both go to .*out.jsonl: give another place",
        ),
    ],
)
def test_a_place_that_is_read_is_not_written_to(sources, out, options, told, place):
    """A file, also by another name, or one that a pattern or a folder would have; it stays as it is."""
    before = {path: path.read_bytes() for path in place.rglob("*.*") if path.is_file()}
    with pytest.raises(eddy.EddyError, match=told) as error:
        eddy.run(QUERY, SOURCES | sources, out, **options)
    assert "\n" not in str(error.value)
    assert {path: path.read_bytes() for path in place.rglob("*.*") if path.is_file()} == before


def test_other_files_beside_what_is_read_are_written(place):
    """Those that no source takes up."""
    eddy.run(QUERY, SOURCES | {"A": "in/*.csv"}, "in/out.parquet")
    eddy.run(QUERY, SOURCES | {"A": "in/"}, "in/results.parquet", bad="keep:bad.jsonl")
    eddy.run(QUERY, SOURCES | {"A": "in/*.csv"}, "in/.out.csv")


def test_other_doors_hold_it_too(place, capsys):
    """`eddy.arun`, and `eddy replay`."""

    async def read():
        async for _ in eddy.arun(QUERY, SOURCES, bad="keep:C.jsonl"):
            pass

    with pytest.raises(eddy.EddyError, match=r"C\.jsonl, which C reads"):
        asyncio.run(read())
    assert main(["replay", "C=C.jsonl", "--to", "./", "--speed", "max"]) == 2
    assert "C.jsonl, which C reads" in capsys.readouterr().err
