"""A column is sliced, indexed, copied and joined in one place: values and mask together, of numpy and of Arrow."""

import subprocess
import sys
import textwrap

import numpy as np
import pyarrow as pa
import pytest

from eddy.values.types import Column

NUMBERS = Column(np.array([5, 6, 7, 8]), np.array([True, False, True, True]))
TEXTS = Column(pa.array(["a", "", "c", "d"]), np.array([True, False, True, True]))
CHUNKS = Column(pa.chunked_array([["a", ""], ["c", "d"]]), TEXTS.valid)
PLAIN = Column(np.array([1.5, 2.5, 3.5, 4.5]))
COLUMNS = pytest.mark.parametrize("column", [NUMBERS, TEXTS, CHUNKS, PLAIN])


def listed(column):
    """Its values as Python has them, None where it is NULL."""
    values = column.values.tolist() if isinstance(column.values, np.ndarray) else column.values.to_pylist()
    return [value if known else None for value, known in zip(values, column.known, strict=True)]


@COLUMNS
@pytest.mark.parametrize("where", [slice(1, 3), slice(0), slice(None, None, 2)])
def test_a_slice_of_a_column_is_that_of_its_list(column, where):
    assert listed(column.take(where)) == listed(column)[where]


@COLUMNS
@pytest.mark.parametrize("where", [[], [3, 0, 0], [1]])
def test_indexes_take_values_and_mask_in_their_order(column, where):
    whole = listed(column)
    for dtype in (np.int64, np.int32):
        assert listed(column.take(np.array(where, dtype))) == [whole[place] for place in where]


def test_a_slice_shares_memory_and_indexes_do_not():
    assert np.shares_memory(NUMBERS.take(slice(1, 3)).values, NUMBERS.values)
    assert not np.shares_memory(NUMBERS.take(np.array([1, 2])).values, NUMBERS.values)


@COLUMNS
def test_a_copy_is_equal_and_has_memory_of_its_own(column):
    copy = column.copied()
    assert listed(copy) == listed(column)
    if isinstance(column.values, np.ndarray):
        assert not np.shares_memory(copy.values, column.values)
    if column.valid is not None:
        assert not np.shares_memory(copy.valid, column.valid)


def test_columns_are_joined_with_masks_where_any_has_one():
    numbers = Column(np.array([1, 2]))
    assert listed(Column.concat([numbers, NUMBERS])) == [1, 2, *listed(NUMBERS)]
    assert Column.concat([numbers, numbers]).valid is None
    assert listed(Column.concat([TEXTS, CHUNKS])) == [*listed(TEXTS), *listed(CHUNKS)]


def test_taking_strings_does_not_import_pandas():
    """It costs a process half a second, and is needed for nothing."""
    program = """
        import sys
        import numpy as np
        import pyarrow as pa
        from eddy.values.types import Column

        offsets = pa.py_buffer(np.array([0, 1], np.int32).view(np.uint8))
        text = pa.StringArray.from_buffers(1, offsets, pa.py_buffer(b"a"))
        assert Column(text).take(np.array([0, 0])).values.to_pylist() == ["a", "a"]
        assert "pandas" not in sys.modules
    """
    subprocess.run([sys.executable, "-c", textwrap.dedent(program)], check=True)
