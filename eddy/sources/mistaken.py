"""Files that are something else than their names say: what they are, and what makes lines of them."""

from __future__ import annotations

from eddy.errors import EddyError

_BEGINNINGS = (
    (b"\x1f\x8b", "compressed: end its name with .gz"),
    (b"\x28\xb5\x2f\xfd", "compressed: end its name with .zst"),
    (b"PAR1", "a Parquet file: give format='parquet'"),
    (b"ARROW1", "an Arrow file: give format='arrow'"),
    (b"\xff\xfe", "UTF-16: iconv -f UTF-16 -t UTF-8 makes UTF-8 of it"),
    (b"\xfe\xff", "UTF-16: iconv -f UTF-16 -t UTF-8 makes UTF-8 of it"),
)
_OLD_ENDS = "has lines that end with a carriage return alone: tr '\\r' '\\n' makes line feeds of them"


def refuse_others(name: str, sample: bytes) -> None:
    """EddyError if a file that begins like this is none of lines."""
    for beginning, said in _BEGINNINGS:
        if sample.startswith(beginning):
            raise EddyError(f"{name} is {said}")
    if one_line(sample.partition(b"\n")[0]) is not None:
        raise EddyError(f"{name} {_OLD_ENDS}")


def one_line(header: bytes) -> str | None:
    """What is wrong with a first line that is in truth several; None if it is one."""
    return f"the file {_OLD_ENDS}" if b"\r" in header.strip(b"\r\n") and b'"' not in header else None


def refuse_separators(name: str, columns: list[str], delimiter: str) -> None:
    """EddyError if the only column of a file looks like several."""
    found = next((one for one in ";\t|," if one != delimiter and one in columns[0]), None)
    if len(columns) == 1 and found is not None:
        called = {"\t": "a tab: give format='tsv'", ",": "a comma: give format='csv'"}.get(
            found, f"{found!r}, where CSV has commas"
        )
        raise EddyError(f"{name}: names in its first line, {columns[0]!r}, are separated by {called}")


def is_open(line: bytes, delimiter: bytes) -> bool:
    """Whether a quote in a line of CSV does not end there."""
    inside, begins, place = False, True, 0
    text = line.rstrip(b"\r\n")
    while place < len(text):
        one = text[place : place + 1]
        if inside:
            if one == b'"':
                doubled = text[place + 1 : place + 2] == b'"'
                inside, place = doubled, place + doubled
        elif one == b'"' and begins:
            inside = True
        begins = not inside and one == delimiter
        place += 1
    return inside
