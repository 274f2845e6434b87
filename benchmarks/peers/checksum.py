"""A checksum of the rows of a table that does not depend on their order."""

from __future__ import annotations

import zlib

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

Words = npt.NDArray[np.uint64]


def checksum(table: pa.Table) -> str:
    """The sum of the hashes of all rows modulo 2^64; columns count by position, not by name."""
    rows = np.zeros(table.num_rows, np.uint64)
    for column in table.columns:
        rows = _mixed(rows * np.uint64(0x9E3779B97F4A7C15) + _words(column))
    return f"{int(rows.sum(dtype=np.uint64)):016x}"


def _words(column: pa.ChunkedArray) -> Words:
    """The values as 64-bit words: integers as they are, texts by their CRC."""
    if column.null_count:
        raise ValueError("a result has a NULL, and no workload has any")
    if pa.types.is_integer(column.type):
        return pc.cast(column, pa.int64()).to_numpy().astype(np.int64, copy=False).view(np.uint64)
    coded = pa.chunked_array([column.cast(pa.string()).combine_chunks()]).dictionary_encode()
    coded = coded.unify_dictionaries().combine_chunks()
    if isinstance(coded, pa.ChunkedArray):
        coded = coded.chunk(0) if coded.num_chunks else pa.array([], pa.string()).dictionary_encode()
    values = [zlib.crc32(text.encode()) for text in coded.dictionary.to_pylist()]
    return np.array(values, np.uint64)[coded.indices.to_numpy()] if values else np.zeros(0, np.uint64)


def _mixed(words: Words) -> Words:
    """The finaliser of SplitMix64."""
    words = (words ^ (words >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    words = (words ^ (words >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return words ^ (words >> np.uint64(31))
