"""How kernels are compiled: once, at import, into Numba's cache on disk."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numba as nb


def _fingerprint() -> tuple[str, int]:
    """One value for the sources of all kernels of this package, in place of Numba's stamp of one file.

    Kernels inline each other across files. Numba looks at the file of the cached function only, so after a change
    in another file it would go on with a kernel that hashes or lays out records in the old way.
    """
    digest = hashlib.sha256()
    for path in sorted(Path(__file__).parent.glob("*.py")):
        digest.update(path.read_bytes())
    return digest.hexdigest(), 0


FINGERPRINT = _fingerprint()


def kernel(signature: Any) -> Callable[[Callable[..., Any]], Any]:
    """Compile a function for exactly one signature, without the interpreter lock, cached on disk."""

    def compiled(function: Callable[..., Any]) -> Any:
        dispatcher = nb.njit(nogil=True, boundscheck=False)(function)
        dispatcher.enable_caching()
        dispatcher._cache._cache_file._source_stamp = FINGERPRINT
        dispatcher.compile(signature)
        dispatcher.disable_compile()
        return dispatcher

    return compiled


part = nb.njit(inline="always", boundscheck=False)
"""For a piece that several kernels share: it becomes part of each."""
