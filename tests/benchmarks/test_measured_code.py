"""Which code a figure is about: its digest changes with what runs, and with nothing else."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from benchmarks.goals import ENGINE, NOT_OF_NUMBERS
from benchmarks.stamp import ROOT, code, digest

PUSHES = """
import sys
from pathlib import Path
from benchmarks.workloads import Workload
import eddy
import eddy.values

entered = set()
def note(frame, event, _):
    if event == "call" and frame.f_code.co_name != "<module>":
        entered.add(frame.f_code.co_filename)

work = Workload(streams=3, window=100, keys=50)
engine = eddy.Eddy(work.query(), plan=work.plan)
sys.setprofile(note)
for batch in work.batches(work.chunk(2_000), size=500):
    result = engine.push_all(batch)
    result.to_arrow(), result.rows
engine.migrate("A (B C)")
engine.push_all(next(iter(work.batches(work.chunk(500), size=500)))).to_pydict()
sys.setprofile(None)
values = Path(eddy.values.__file__).parent
print(*sorted(Path(name).stem for name in entered if Path(name).parent == values))
"""


def test_plain_numbers_pass_through_none_of_the_modules_that_are_left_out():
    """Pushes, results in three forms and a plan change call functions of `eddy/values`, but of none of these."""
    done = subprocess.run(
        [sys.executable, "-c", PUSHES], cwd=ROOT, capture_output=True, text=True, check=True
    )
    entered = done.stdout.split()
    assert "arrow" in entered
    assert not {*entered} & {*NOT_OF_NUMBERS}


def test_what_is_left_out_does_not_count(tmp_path, monkeypatch):
    """A change of a module behind a minus sign leaves the digest as it was; a change beside it does not."""
    import benchmarks.stamp as stamp

    for name in ("counted", "passed_over"):
        (tmp_path / "room").mkdir(exist_ok=True)
        (tmp_path / "room" / f"{name}.py").write_text("x = 1\n")
    monkeypatch.setattr(stamp, "ROOT", tmp_path)
    measures = ("room", "-room/passed_over.py")
    before = digest(measures)
    (tmp_path / "room" / "passed_over.py").write_text("x = 2\n")
    stamp._content.cache_clear()
    assert digest(measures) == before != digest(("room",))
    (tmp_path / "room" / "counted.py").write_text("x = 2\n")
    stamp._content.cache_clear()
    assert digest(measures) != before
    stamp._content.cache_clear()


def test_a_digest_is_the_same_in_every_version_of_python():
    """Fields that some versions list and others leave out are not in it."""
    source = b"class A:\n    def f(self, *, x=None):\n        return [], x\n"
    text = code(source).decode()
    assert "type_params" not in text and "type_comment" not in text and "[]" not in text
    assert code(source) == code(source.replace(b"return [], x", b"return [], x  # a comment"))
    assert code(source) != code(source.replace(b"return []", b"return [1]"))


def test_every_module_that_is_left_out_is_there():
    """Else the digest would refuse to be made."""
    assert all((Path(ROOT) / "eddy" / "values" / f"{name}.py").is_file() for name in NOT_OF_NUMBERS)
    assert digest(ENGINE)
