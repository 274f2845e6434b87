"""Can what is released be installed? Builds an sdist and a wheel, installs the wheel with all that it requires into an
empty environment, and runs there, beside no sources, `eddy doctor` and the first example of the README.

`python .ci/install.py [--keep FOLDER]`: both files are left in that folder. It takes a minute or two: packages are
fetched, and the example waits for its kernels to be compiled.
"""

from __future__ import annotations

import argparse
import os
import re
import subprocess
import sys
import tempfile
import time
import venv
from pathlib import Path

ROOT = Path(__file__).parents[1]
EXAMPLE = re.compile(r"^```python\n(.*?)^```\n```text\n(.*?)^```$", re.MULTILINE | re.DOTALL)


def main(arguments: list[str]) -> int:
    """0 if the example prints what the README says."""
    parser = argparse.ArgumentParser(".ci/install.py", description=__doc__)
    parser.add_argument("--keep", type=Path, help="where to leave the sdist and the wheel")
    given = parser.parse_args(arguments)
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary)
        built = (given.keep or folder / "dist").resolve()
        timed("built", [sys.executable, "-m", "build", "--outdir", str(built), str(ROOT)], folder)
        venv.create(folder / "env", with_pip=True)
        programs = folder / "env" / "bin"
        wheel = max(built.glob("*.whl"), key=lambda path: path.stat().st_mtime)
        pip = [str(programs / "python"), "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
        timed(f"{wheel.name} and what it requires installed", [*pip, str(wheel)], folder)
        timed("eddy doctor passed", [str(programs / "eddy"), "doctor"], folder)
        code, printed = EXAMPLE.findall((ROOT / "README.md").read_text(encoding="utf-8"))[0]
        found = timed("the README's first example ran", [str(programs / "python"), "-c", code], folder)
        if found != printed:
            print(f"the README says\n{printed}and it printed\n{found}")
        return int(found != printed)


def timed(what: str, command: list[str], folder: Path) -> str:
    """What a command prints, run in an environment that knows no other Python; a line says how long it took."""
    environment = {name: value for name, value in os.environ.items() if not name.startswith("PYTHON")}
    began = time.perf_counter()
    done = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True)
    if done.returncode:
        raise SystemExit(f"{' '.join(command)} failed:\n{done.stdout[-4000:]}{done.stderr[-4000:]}")
    print(f"{what}: {time.perf_counter() - began:.0f} s", flush=True)
    return done.stdout


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
