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
    **dict.fromkeys(("DATEADD", "TSORDSADD", "TIMESTAMPADD"), _ADD),
    **dict.fromkeys(("DATESUB", "TIMESTAMPSUB"), "write t - INTERVAL '1' DAY"),
    **dict.fromkeys(("TO_TIMESTAMP", "STRTOTIME", "TSORDSTOTIMESTAMP"), "write CAST(x AS TIMESTAMP)"),
    **dict.fromkeys(("STRFTIME", "TIMETOSTR", "TOCHAR"), "write CAST(t AS VARCHAR), or EXTRACT the parts"),
    **dict.fromkeys(("DATE", "TSORDSTODATE"), "write DATE_TRUNC('day', t)"),
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
    "CBRT": "write POWER(x, 1.0 / 3)",
    "INTDIV": "write FLOOR(x / y)",
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
