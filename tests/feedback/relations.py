"""Queries with static relations."""

from __future__ import annotations

import eddy


def of(columns, **options):
    """A stream of int64 columns."""
    return eddy.Stream(dict.fromkeys(columns.split(), "int64"), **options)


def tuples(result):
    return [tuple(row) for row in result.rows.tolist()]
