"""Results that go to another process."""

import pickle

import numpy as np
import pytest

import eddy


@pytest.mark.parametrize("options", [{}, {"retractions": True}, {"threads": 2}], ids=str)
def test_a_result_can_be_pickled_before_it_was_read(options):
    """It lets go of its engine first."""
    streams = {name: eddy.Stream({"k": "int64", "s": "string"}, window=eddy.Rows(10)) for name in "AB"}
    engine = eddy.Eddy(eddy.Query(streams, where=["A.k = B.k"]), **options)
    engine.push("A", {"k": np.arange(5), "s": list("abcde")})
    result = engine.push("B", {"k": np.arange(3), "s": list("xyz")})
    copy = pickle.loads(pickle.dumps(result))
    assert (
        copy.to_pydict()
        == result.to_pydict()
        == {
            "A.k": [0, 1, 2],
            "A.s": list("abc"),
            "B.k": [0, 1, 2],
            "B.s": list("xyz"),
        }
    )
    assert (copy.rows == result.rows).all()
