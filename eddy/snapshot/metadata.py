"""What a user keeps beside a snapshot: it must come back as it was given."""

from __future__ import annotations

import json
from typing import Any

from eddy.errors import EddyError
from eddy.shown import shown


def check_metadata(metadata: Any) -> None:
    """EddyError unless JSON can hold it: texts, numbers, truth values, None, and lists and dicts of them."""
    try:
        json.dumps(metadata, allow_nan=False, ensure_ascii=False).encode()
        _check_keys(metadata)
    except (TypeError, ValueError, RecursionError) as error:
        raise EddyError(
            f"metadata is anything that JSON can hold, not {shown(metadata)} ({error}): give texts, numbers, True, "
            "False, None, and lists and dicts of them"
        ) from error


def _check_keys(value: Any) -> None:
    """Keys that are no texts would come back as such."""
    if isinstance(value, dict):
        for key in value:
            if not isinstance(key, str):
                raise TypeError(f"the key {shown(key)} is no text")
    if isinstance(value, (dict, list, tuple)):
        for one in value.values() if isinstance(value, dict) else value:
            _check_keys(one)
