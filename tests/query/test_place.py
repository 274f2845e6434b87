"""An error of a query shows the line that it is about, with carets under the place."""

import pytest

import eddy
from eddy.query.place import rendered

SCHEMAS = {
    "A": {"ts": "int64", "x": "int64", "y": "int64", "s": "string"},
    "B": {"ts": "int64", "x": "int64", "z": "int64"},
    "C": {"k": "int64"},
}

MARKED = [  # a statement, and below it the place that its error is about
    "SELECT A.x\nFROM A [ROWS 10], B [ROWS 4]\nWHERE A.x = <<B.q>> AND A.x > 3",
    "SELECT A.x\nFROM A [ROWS 10], B <<[ROWZ 4]>>\nWHERE A.x = B.x",
    "SELECT A.x FROM A <<[ROWS 0]>>",
    "SELECT A.x FROM A [ROWS 3] <<[ROWS 4]>>",
    "SELECT A.x <<[ROWS 3]>> FROM A",
    "SELECT A.x FROM A, C <<[RANGE 3]>> WHERE A.x = C.k",
    "SELECT A.x FROM A <<[RANGE 3 SECONDS]>>",
    "SELECT <<UPER(A.s)>> FROM A",
    "SELECT <<UPPER(A.x)>> FROM A",
    "SELECT A.x + (<<A.s + A.x>>) FROM A",
    "SELECT A.x FROM A WHERE <<(A.x + 1) * (2)>>",
    "SELECT A.x FROM A WHERE A.x > 1 AND <<A.s + 1>> > 2",
    "SELECT 'ä (', /* A.q */ <<A.q>> FROM A",
    "SELECT A.x\r\nFROM A\r\nWHERE\t<<A.q>> = 1\r\n",
    "SELECT A.x, <<w>> FROM A",
    "SELECT <<x>> FROM A, B",
    "SELECT <<D.*>> FROM A",
    "SELECT A.x FROM <<Aa>>",
    "SELECT A.x FROM A, <<A>>",
    "SELECT A.x FROM A JOIN <<B USING (w)>>",
    "SELECT A.x FROM A FULL JOIN <<B>> USING (w)",
    "SELECT A.x + <<FROM>> A",
    "SELECT A.x FROM A ORDER BY <<x>>",
    "SELECT A.x FROM A LIMIT <<3>>",
    "SELECT A.x FROM A <<EXCEPT (>>VALUES (1))",
    "SELECT A.x FROM A WHERE A.x > 1 <<EXCEPT>> B ON A.x = B.x",
    "SELECT A.x FROM A EXCEPT <<B>>",
    "SELECT A.x FROM A EXCEPT B ON A.x = B.x AND <<A.x > B.z>>",
    "SELECT A.x FROM A EXCEPT B ON A.x = B.x WHERE A.y > 1 AND <<A.x < B.z>>",
    "SELECT <<B.z>> FROM A EXCEPT B ON A.x = B.x",
    "SELECT <<A.x>>, COUNT(*) FROM A",
    "SELECT A.x, COUNT(*) + <<A.y>> FROM A GROUP BY A.x",
    "SELECT A.x, <<SUM(A.s)>> FROM A GROUP BY A.x",
    "SELECT A.x, COUNT(*) FROM A GROUP BY A.x HAVING <<SUM(A.y)>>",
    "SELECT A.x, COUNT(*) FROM A GROUP BY A.x HAVING SUM(<<A.w>>) > 1",
    "SELECT A.x, COUNT(*) FROM A GROUP BY A.x, <<w>>",
    "SELECT A.x FROM A GROUP BY <<7>>",
    "SELECT <<q.n + 'x'>> FROM (SELECT x + y AS n FROM A) AS q",
    "SELECT <<q.m>> FROM (SELECT x + y AS n FROM A) AS q",
    "SELECT q.x FROM (SELECT x FROM A WHERE <<s>>) AS q",
    "SELECT q.x FROM (SELECT x FROM A WHERE A.x > <<A.w>>) AS q",
    "SELECT <<Z.*>> FROM (SELECT x FROM A) AS q",
    "SELECT q.x FROM (SELECT <<Z.*>> FROM A) AS q",
    "WITH q AS (SELECT x FROM A)\nSELECT q.x FROM q\nWHERE <<q.y>> = 1",
]


@pytest.mark.parametrize("marked", MARKED)
def test_a_statement(marked):
    """The carets stand under the deepest part that is wrong, in the text as the user wrote it."""
    start, end = marked.index("<<"), marked.index(">>") - 2
    text = marked.replace("<<", "").replace(">>", "")
    with pytest.raises(eddy.QueryError) as caught:
        eddy.sql(text, SCHEMAS)
    assert caught.value.place == (text, start, end), text[slice(*caught.value.place[1:])]
    assert str(caught.value).endswith("\n" + rendered(caught.value.place))


def test_the_whole_text():
    """What is said stays as it was; the place comes behind it."""
    with pytest.raises(eddy.QueryError) as caught:
        eddy.sql("SELECT A.x\n  FROM A\n  WHERE A.x = A.xx", SCHEMAS)
    assert str(caught.value) == (
        "stream A has no column xx: did you mean x? There are ts, x, y, s\n"
        "line 3, column 15:\n"
        "    WHERE A.x = A.xx\n"
        "                ^^^^"
    )


@pytest.mark.parametrize(
    "parts, text, place",
    [
        ({"where": ["A.x = B.x", "A.x = B.q"]}, "A.x = B.q", (6, 9)),
        ({"where": "A.x = = B.x"}, "A.x = = B.x", (6, 7)),
        ({"where": "A.x = B.x", "select": ["A.x", "A.s + 1 AS n"]}, "A.s + 1 AS n", (0, 7)),
        ({"where": "A.x = B.x", "select": ["A.x", "A.x + 1 B.z 3"]}, "A.x + 1 B.z 3", (9, 10)),
        ({"where": "A.x = B.x", "group_by": "A.w"}, "A.w", (0, 3)),
        ({"where": "A.x = B.x", "aggregates": {"n": "SUM(A.s)"}}, "SUM(A.s)", (0, 8)),
        ({"where": "A.x = B.x", "select": "COUNT(*)", "having": "COUN(*) > 1"}, "COUN(*) > 1", (0, 7)),
        ({"minus": {"B": "A.x = B.q"}}, "A.x = B.q", (6, 9)),
        ({"where": eddy.predicate(lambda x: x > 1, "A.w")}, "A.w", (0, 3)),
    ],
)
def test_texts_of_python(parts, text, place):
    """A predicate, a column or an aggregate that is given in Python: the place is one in that string."""
    with pytest.raises(eddy.QueryError) as caught:
        eddy.Query({name: SCHEMAS[name] for name in "AB"}, **parts)
    assert caught.value.place == (text, *place)
    assert str(caught.value).count("line 1, column") == 1


def test_a_long_line():
    """Of a long line only what is around the place is shown."""
    items = ", ".join(f"A.x + {i} AS x{i}" for i in range(50))
    with pytest.raises(eddy.QueryError) as caught:
        eddy.sql(f"SELECT {items}, A.w, {items.replace('AS x', 'AS y')} FROM A", SCHEMAS)
    _, head, line, carets = str(caught.value).splitlines()
    assert head == "line 1, column 838:" and len(line) < 110
    assert line[carets.index("^") : carets.rindex("^") + 1] == "A.w"
    assert line.startswith("  ...") and line.endswith("...")


def test_what_is_about_no_part():
    """An error of the whole query has no place."""
    with pytest.raises(eddy.QueryError, match="no predicate connects") as caught:
        eddy.sql("SELECT A.x FROM A, B", SCHEMAS)
    assert caught.value.place is None and "\n" not in str(caught.value)
