"""A run as JSON that browsers read: numbers that are none, such as infinity, are null."""

from __future__ import annotations

import json
import math
from typing import Any


def as_json(value: Any, ascii: bool = False) -> str:
    """The text of it; what JSON does not know is told as a text."""
    return json.dumps(_finite(value), ensure_ascii=ascii, default=str, allow_nan=False)


def _finite(value: Any) -> Any:
    if isinstance(value, dict):
        return {name: _finite(one) for name, one in value.items()}
    if isinstance(value, (list, tuple)):
        return [_finite(one) for one in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value
