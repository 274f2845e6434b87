"""The command line: what it prints, and its exit status."""

from __future__ import annotations

import configparser
import subprocess
import sys
from pathlib import Path

import pytest

from eddy import EddyError
from eddy.cli import main

ROOT = Path(__file__).parents[2]


def test_the_version_is_that_of_the_distribution(capsys):
    """`eddy --version` says what `setup.cfg` says."""
    setup = configparser.ConfigParser()
    setup.read(ROOT / "setup.cfg")
    with pytest.raises(SystemExit) as stop:
        main(["--version"])
    assert stop.value.code == 0
    assert capsys.readouterr().out == f"eddy {setup['metadata']['version']}\n"


def test_help_names_the_commands_and_their_options(capsys):
    """A newcomer finds the demo, and how to make it longer or other."""
    for arguments, words in (
        (["--help"], ("demo", "--version")),
        (["demo", "--help"], ("--synthetic", "--seconds", "--seed", "--partitions")),
    ):
        with pytest.raises(SystemExit) as stop:
            main(arguments)
        assert stop.value.code == 0
        said = capsys.readouterr().out
        assert all(word in said for word in words)


@pytest.mark.parametrize(
    "arguments, said",
    [
        ([], "COMMAND"),
        (["dmeo"], "dmeo"),
        (["demo", "--seconds", "0"], "above 0"),
        (["demo", "--seconds", "nan"], "above 0"),
        (["demo", "--seconds", "soon"], "soon"),
        (["demo", "--seed", "-1"], "0 or more"),
        (["demo", "--seconds", "3"], "add --synthetic"),
        (["demo", "--partitions", "0"], "from 1 to 256"),
        (["demo", "--synthetic", "--partitions", "2"], "runs without it"),
    ],
)
def test_wrong_use_is_refused_with_a_reason(arguments, said, capsys):
    """The exit status is 2, and the message names what was wrong."""
    with pytest.raises(SystemExit) as stop:
        main(arguments)
    assert stop.value.code == 2
    assert said in capsys.readouterr().err


def test_an_error_of_the_library_is_one_line(monkeypatch, capsys):
    """No traceback for what the user can mend."""

    def fail(seconds, seed):
        raise EddyError("no such thing; do this instead")

    monkeypatch.setattr("eddy.demo.synthetic.demo", fail)
    assert main(["demo", "--synthetic"]) == 2
    assert capsys.readouterr().err == "eddy: no such thing; do this instead\n"


def test_a_reader_that_leaves_is_no_error():
    """`eddy demo --synthetic | head -1` ends quietly."""
    command = [
        sys.executable,
        "-c",
        "from eddy.cli import main; raise SystemExit(main())",
        "demo",
        "--synthetic",
        "--seconds",
        "60",  # it is cut short long before
    ]
    with subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        assert b"phase 1" in process.stdout.readline()
        process.stdout.close()
        assert process.stderr.read() == b""
        assert process.wait(timeout=200) == 141
