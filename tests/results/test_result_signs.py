"""Signs of results, results that are aggregates, and results as pandas has them."""

from __future__ import annotations

import builtins
import pickle
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from eddy.errors import EddyError
from eddy.results.result import Result
from tests.results.feed import PAIRS, A, B, Feed, expected

SIGNS = [1, 1, -1, 1, -1]


def test_rows_are_new_unless_said_otherwise(feed: Feed) -> None:
    """Without signs every row is +1, and nothing is asked to find that out."""
    result = feed.result(*PAIRS)
    assert result.sign.tolist() == [1] * 5 and result.sign.dtype == np.int8
    assert feed.log == []
    result.seal()
    assert result.sign.tolist() == [1] * 5 and feed.result().sign.tolist() == []


def test_signs_are_found_once_and_only_when_asked_for(feed: Feed) -> None:
    """They are as lazy as the rows, and the columns do without them."""
    result = feed.result(*PAIRS, sign=SIGNS)
    result.to_arrow()
    assert "sign" not in feed.log
    assert result.sign.tolist() == SIGNS and result.sign is result.sign
    assert feed.log.count("sign") == 1


def test_signs_outlive_the_engine(feed: Feed) -> None:
    """A sealed result has its signs, and so has what is put together of sealed and open ones."""
    parts = [
        feed.result(*PAIRS[:2], sign=SIGNS[:2]),
        feed.result(*PAIRS[2:3]),
        feed.result(*PAIRS, sign=SIGNS),
    ]
    parts[0].seal()
    assert feed.log.count("sign") == 1
    whole = Result.concat(parts)
    assert feed.log.count("sign") == 1
    whole.seal()
    assert pickle.loads(pickle.dumps(whole)).sign.tolist() == [*SIGNS[:2], 1, *SIGNS]


def test_signs_as_a_column(feed: Feed) -> None:
    """It is added at the end where it is asked for, and only there."""
    result = feed.result(*PAIRS, sign=SIGNS)
    table = result.to_arrow(sign=True)
    table.validate(full=True)
    assert table.schema.names == [*result.to_arrow().schema.names, "sign"]
    assert table.schema.field("sign").type == pa.int8()
    assert result.to_pydict(sign=True)["sign"] == SIGNS and "sign" not in result.to_pydict()
    assert feed.result().to_arrow(sign=True).num_rows == 0
    pytest.importorskip("pandas")
    assert result.to_pandas(sign=True)["sign"].tolist() == SIGNS


def test_an_output_called_sign_is_not_overwritten(feed: Feed) -> None:
    """The column of signs has no other name, so the query must choose one; printing works all the same."""
    feed.query.select[0].name = "sign"
    result = feed.result(*PAIRS, sign=SIGNS)
    for convert in (result.to_arrow, result.to_pydict, result.to_pandas):
        with pytest.raises(EddyError, match="rename it"):
            convert(sign=True)
    assert feed.log == []
    assert result.to_pydict()["sign"] == expected()["A.x"]
    assert repr(result).splitlines()[1].split().count("sign") == 2


def test_repr_shows_signs_if_some_row_is_withdrawn(feed: Feed) -> None:
    """Where all rows are new there is nothing to say."""
    assert "sign" not in repr(feed.result(*PAIRS, sign=[1] * 5)) and "+1" not in repr(feed.result(*PAIRS))
    lines = repr(feed.result(*PAIRS, sign=SIGNS)).rstrip(">").splitlines()
    assert [line.split()[-1] for line in lines[1:]] == ["sign", "+1", "+1", "-1", "+1", "-1"]


def test_an_aggregate_is_made_of_ready_columns(feed: Feed) -> None:
    """Its columns stand in the order of their types, whatever the query selects; it has no row numbers."""
    result = feed.aggregate(["a", None], [3, 1], [-1, 1])
    assert len(result) == 2 and result.to_pydict() == {"A.s": ["a", None], "n": [3, 1]}
    assert result.to_pydict(sign=True)["sign"] == [-1, 1]
    assert result.to_arrow().schema.equals(pa.schema([("A.s", pa.string()), ("n", pa.int64())]))
    assert result.column("n").to_pylist() == [3, 1]
    with pytest.raises(EddyError, match=r"no column 'A\.x'; its columns are: A\.s, n"):
        result.column("A.x")
    with pytest.raises(EddyError, match="an aggregate has no row numbers"):
        _ = result.rows
    assert repr(result) == "<Result of 2 rows\n   A.s  n  sign\n     a  3    -1\n  None  1    +1>"
    assert feed.aggregate([], []).to_pydict() == {"A.s": [], "n": []}
    assert feed.aggregate(["a"], [1]).sign.tolist() == [1]


def test_aggregates_are_sealed_and_put_together_like_other_results(feed: Feed) -> None:
    """Columns, NULLs and signs follow each other; there is nothing to let go of."""
    parts = [feed.aggregate(["a"], [1]), feed.aggregate([], []), feed.aggregate(["a", None], [1, 2], [-1, 1])]
    parts[0].seal()
    whole = Result.concat(parts)
    whole.seal()
    assert len(whole) == 3 and whole.sign.tolist() == [1, -1, 1]
    assert whole.to_pydict() == {"A.s": ["a", "a", None], "n": [1, 1, 2]}
    assert pickle.loads(pickle.dumps(whole)).to_pydict(sign=True)["sign"] == [1, -1, 1]
    with pytest.raises(EddyError, match="no row numbers"):
        _ = whole.rows


def test_pandas(feed: Feed) -> None:
    """A data frame with the selected names."""
    pytest.importorskip("pandas")
    data = feed.result(*PAIRS).to_pandas()
    assert list(data.columns) == [f"A.{c}" for c in A] + [f"B.{c}" for c in B]
    assert data["B.s"].tolist() == expected()["B.s"]
    assert str(data["A.z"].dtype) == "datetime64[us, Europe/Berlin]"


def test_missing_pandas_is_explained(feed: Feed, monkeypatch: pytest.MonkeyPatch) -> None:
    """Without pandas the message says what to do instead."""
    original = builtins.__import__

    def without_pandas(name: str, *rest: Any) -> Any:
        if name == "pandas":
            raise ImportError(name)
        return original(name, *rest)

    monkeypatch.setattr(builtins, "__import__", without_pandas)
    with pytest.raises(EddyError, match=r"to_arrow\(\)"):
        feed.result(*PAIRS).to_pandas()
