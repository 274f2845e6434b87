"""What to write in the place of functions and operators that other databases have and there are none of here."""

from __future__ import annotations

import difflib
from collections.abc import Iterable

_CLOCK = "a result depends on rows alone: compare with their time column, or push the time as a column"
_OWN = "write a function of your own, eddy.function"
_BITS = "compute on bits in a function of your own, eddy.function"
_PAD = "write CONCAT('...', x) and LEFT or RIGHT, or a function of your own"
_OVER = "write GROUP BY, with a window in brackets behind the stream, such as FROM A [ROWS 100]"
_ADD = "write t + INTERVAL '1' DAY"
_READ = "write CAST(x AS TIMESTAMP), or AS DATE, of a text such as '2024-01-31 12:00:00'"
_UNIX = (
    "write TIMESTAMP '1970-01-01' + x * INTERVAL '1' {}, of a whole number; CAST(x AS TIMESTAMP) reads a text"
)
_PARAMETER = "put the value itself into the text"

INSTEAD = {
    **dict.fromkeys(("NOW", "CURRENTTIMESTAMP", "CURRENTDATE", "CURRENTTIME", "LOCALTIMESTAMP", "AGE"), _CLOCK),
    **dict.fromkeys(("RAND", "RANDN", "UUID"), "a result depends on rows alone: push the number as a column"),
    **dict.fromkeys(("BITWISEAND", "BITWISEOR", "BITWISENOT"), _BITS),
    **dict.fromkeys(("BITWISELEFTSHIFT", "BITWISERIGHTSHIFT"), _BITS),
    "BITWISEXOR": "write POWER(x, y) for a power; " + _BITS,
    "PAD": _PAD,
    "WINDOW": _OVER,
    **dict.fromkeys(("ROLLUP", "CUBE", "GROUPINGSETS"), "run one query for each GROUP BY"),
    "FILTER": "FILTER stands behind an aggregate, such as SUM(x) FILTER (WHERE x > 0)",
    **dict.fromkeys(("DATE_ADD", "DATEADD", "TSORDSADD", "TIMESTAMPADD", "ADD_MONTHS", "ADDMONTHS"), _ADD),
    **dict.fromkeys(("DATE_SUB", "DATESUB", "TIMESTAMPSUB"), "write t - INTERVAL '1' DAY"),
    **dict.fromkeys(("STRTOTIME", "STRPTIME", "TO_DATE", "TSORDSTOTIMESTAMP"), _READ),
    **dict.fromkeys(("TO_TIMESTAMP", "FROM_UNIXTIME", "UNIXTOTIME", "MAKE_TIMESTAMP"), _UNIX.format("SECOND")),
    **dict.fromkeys(("EPOCH_MS", "UNIXMILLIS"), _UNIX.format("MILLISECOND")),
    **dict.fromkeys(("STRFTIME", "TIMETOSTR", "TO_CHAR"), "write CAST(t AS VARCHAR), or EXTRACT the parts"),
    **dict.fromkeys(("DATE", "TSORDSTODATE"), "write CAST(t AS DATE)"),
    **dict.fromkeys(("MAKE_DATE", "DATEFROMPARTS"), "write CAST('2024-01-31' AS DATE), of a text"),
    **dict.fromkeys(("TIME_BUCKET", "DATEBIN", "DATE_BIN"), "write DATE_TRUNC('hour', t)"),
    "ATTIMEZONE": "declare the column with its zone, such as 'timestamp[us, Europe/Berlin]'",
    "EPOCH": "write EXTRACT(EPOCH FROM t)",
    "ISNULL": "write x IS NULL",
    "SPLITPART": "write REGEXP_EXTRACT(x, '...', 1)",
    **dict.fromkeys(("SIMILARTO", "GLOB"), "write REGEXP_LIKE(x, '...'), or LIKE"),
    **dict.fromkeys(("ANY", "ALL"), "write IN (...), EXISTS (SELECT ...), or comparisons with AND and OR"),
    "DECODECASE": "write CASE x WHEN ... THEN ... END",
    "COLLATE": "compare LOWER(x), or write ILIKE",
    **dict.fromkeys(("SIN", "COS", "TAN", "ASIN", "ACOS", "ATAN", "ATAN2", "DEGREES", "RADIANS"), _OWN),
    **dict.fromkeys(("LASTDAY", "LAST_DAY"), "write DATE_TRUNC('month', t), which is the first day"),
    **dict.fromkeys(("LISTAGG", "STRING_AGG"), "write ARRAY_AGG(...), and join the texts where you read them"),
    **dict.fromkeys(("CHR", "CHAR"), "write the character itself, such as 'A'"),
    "ASCII": "write comparisons of texts, such as LEFT(x, 1) >= 'a'",
    "OVERLAY": "write CONCAT(LEFT(x, 2), '...', SUBSTRING(x, 6))",
    "INITCAP": "write CONCAT(UPPER(LEFT(x, 1)), LOWER(SUBSTRING(x, 2)))",
    **dict.fromkeys(("UNNEST", "EXPLODE"), "push a row for each element of a list"),
    **dict.fromkeys(("REGEXPILIKE", "REGEXP_ILIKE"), "write REGEXP_LIKE(x, '(?i)...')"),
    "TUPLE": "write the values side by side; (a, b) IN ((1, 2), (3, 4)) compares several at once",
    "CBRT": "write POWER(x, 1.0 / 3)",
    "PI": "write 3.141592653589793",
    "ISNAN": "write x <> x",
    **dict.fromkeys(("PLACEHOLDER", "PARAMETER"), _PARAMETER),
    "LIST": "write ARRAY_AGG(x)",
    **dict.fromkeys(("STRUCT", "ARRAY", "MAP", "BRACKET", "JSONEXTRACT"), "columns have plain values: push the parts"),
}  # fmt: skip
"""By sqlglot's name of a node, or the name of a function that it does not know."""


def nearest_function(name: str, known: Iterable[str]) -> str:
    """What to write in the place of something unknown, or the function that is called nearly so; may be empty."""
    if name.upper() in INSTEAD:
        return INSTEAD[name.upper()]
    close = difflib.get_close_matches(name.upper(), list(known), 1, 0.7)
    return f"did you mean {close[0]}?" if close else ""
