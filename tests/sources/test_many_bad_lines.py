"""Many bad lines: what is read of the others, and what is said of each, are what each line alone gives."""

from __future__ import annotations

import json
import random

import pyarrow as pa
import pytest

from eddy.sources.lines import read_block
from eddy.sources.text import LINES

COLUMNS = {"ts": pa.int64(), "v": pa.float64(), "s": pa.string(), "b": pa.bool_(), "at": pa.timestamp("us")}
ROW = {"ts": 1, "v": 1.5, "s": "x", "b": True, "at": "2026-01-01 10:00:00"}
ODD = {
    "csv": [
        *(
            "",
            "1",
            "oops,1.5,x,true,2026-01-01",
            "1,y,x,true,",
            "1,1,x,maybe,",
            "1,1,x,true,never",
            "1,1,x,true,,",
        ),
        *(
            " 1,1.5,x,true,",
            '1,1,"a,b",true,',
            '"1",1,x,true,',
            '1,1,"open,true,',
            "1_0,1,x,true,",
            "1,nan,x,1,",
        ),
        *("99999999999999999999,1,x,true,", ",,,,", "1,1,\udcff,true,", "1,1,x,true,2026-01-01\r"),
    ],
    "jsonl": [
        *(
            "",
            "{",
            "[1]",
            "7",
            '{"ts": "1"}',
            '{"ts": 1.5}',
            '{"ts": null}',
            '{"v": 1}',
            '{"s": 1}',
            '{"b": 1}',
        ),
        *('{"at": "never"}', '{"ts": 1} {"ts": 2}', '{"ts": 99999999999999999999}', '{"s": "\udcff"}', "{}"),
        *('{"ts": 1, "more": [1]}', '{"v": "x"}', '{"ts": 1, "ts": 2}', '{"ts": true}', "[" * 2000),
    ],
}


def reader_of(form):
    """A reader that counts how often it reads."""
    reader = LINES[form]().reader("a", dict(COLUMNS))
    reader.begin(b"ts,v,s,b,at\n")
    reader.reads, read = 0, reader.read

    def counted(block, lines):
        reader.reads += 1
        return read(block, lines)

    reader.read = counted
    return reader


def content(form, rows, share, odd):
    """Lines, of which about a share are odd."""
    pick = random.Random(rows)
    good = json.dumps(ROW) if form == "jsonl" else "1,1.5,x,true,2026-01-01 10:00:00"
    lines = [pick.choice(odd) if pick.random() < share else good.replace("1", str(i), 1) for i in range(rows)]
    return [line.encode("utf-8", "surrogateescape") + b"\n" for line in lines]


@pytest.mark.parametrize("form", ODD)
@pytest.mark.parametrize("share", [0.02, 0.3, 1])
def test_bad_lines_and_others_are_those_of_lines_alone(form, share):
    """Rows in order, numbers of lines, reasons and contents."""
    lines = content(form, 400, share, ODD[form])
    reader = reader_of(form)
    found = read_block(reader, b"".join(lines), "a", 100, 1)
    alone = [read_block(reader, line, "a", 0, 1 + number) for number, line in enumerate(lines)]
    assert list(found.bad) == [bad for piece in alone for bad in piece.bad]
    good = [(number, piece.rows) for number, piece in enumerate(alone) if piece.rows is not None]
    assert [found.line(row) for row in range(len(good))] == [number + 2 for number, _ in good]
    rows = [] if found.rows is None else found.rows.to_pylist()
    assert [repr(row) for row in rows] == [repr(row) for _, one in good for row in one.to_pylist()]
    assert found.position == {"file": "a", "byte": 100 + sum(map(len, lines)), "line": 1 + len(lines)}


@pytest.mark.parametrize(
    "form, odd", [("csv", "x,1,x,true,"), ("csv", "1,2"), ("jsonl", "{"), ("jsonl", '{"ts": "x"}')]
)
def test_each_of_many_bad_lines_is_read_once(form, odd):
    """By halving each would cost two reads for each halving of a block."""
    lines = content(form, 4000, 0.1, [odd])
    reader = reader_of(form)
    found = read_block(reader, b"".join(lines), "a", 0, 0)
    assert 300 < len(found.bad) < reader.reads < len(found.bad) + 150
