"""`.ci/audit.py` says what was audited, and never that all is well where nothing was looked up."""

from __future__ import annotations

import importlib.util
import json
from pathlib import Path

import pytest

SOURCE = Path(__file__).parents[1] / ".ci" / "audit.py"
GONE = {"name": "a", "skip_reason": "Dependency not found on PyPI and could not be audited: a (1)"}
FAULTY = {"name": "b", "version": "2", "vulns": [{"id": "PYSEC-1", "fix_versions": ["3", "4"]}]}
WELL = {"name": "c", "version": "1", "vulns": []}


@pytest.fixture(scope="module")
def audit():
    spec = importlib.util.spec_from_file_location("audit", SOURCE)
    made = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(made)
    return made


@pytest.mark.parametrize(
    ("found", "lines"),
    [
        ([WELL, WELL], ["2 packages were audited"]),
        ([WELL, GONE], ["1 packages were audited, 1 are not in its database"]),
        ([FAULTY, WELL], ["b 2: PYSEC-1, fixed in 3, 4", "2 packages were audited"]),
        (
            [GONE, GONE, {"name": "eddy", "skip_reason": "distribution marked as editable"}],
            [
                "nothing was audited: of 3 packages pip-audit says: "
                "Dependency not found on PyPI and could not be audited"
            ],
        ),
        ([], ["nothing was audited: no packages"]),
    ],
)
def test_what_was_audited_is_told(audit, found, lines):
    assert audit.told(found) == lines


@pytest.mark.parametrize(
    ("answer", "status", "said"),
    [
        (json.dumps({"dependencies": [FAULTY]}), 1, "PYSEC-1"),
        (json.dumps({"dependencies": [WELL]}), 0, "1 packages were audited"),
        (json.dumps({"dependencies": [GONE]}), 0, "nothing was audited"),
        ("", 0, "nothing was audited: cannot connect"),
    ],
)
def test_only_a_known_fault_fails(audit, monkeypatch, capsys, answer, status, said):
    """A service that cannot be reached is told of, and passes."""
    done = audit.subprocess.CompletedProcess([], 1, answer, "cannot connect\n")
    monkeypatch.setattr(audit.subprocess, "run", lambda *_, **__: done)
    assert audit.main() == status
    assert said in capsys.readouterr().out
