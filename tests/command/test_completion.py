"""Tab completion: what the script makes a real bash complete."""

from __future__ import annotations

import os
import subprocess

import pytest

from eddy.cli import main
from eddy.command.app import COMMANDS

# COMP_WORDS as bash splits a line, with = a word of its own; then the function that is registered for the command.
ASK = r"""
source "$1"; shift
COMP_WORDS=("$@"); COMP_CWORD=$((${#COMP_WORDS[@]} - 1)); COMP_LINE="$*"; COMP_POINT=${#COMP_LINE}
function=$(complete -p eddy | sed 's/.*-F \([^ ]*\) .*/\1/')
$function
printf '%s\n' "${COMPREPLY[@]}"
complete -p eddy >&2
"""


@pytest.fixture
def script(tmp_path, capfd):
    path = tmp_path / "eddy.bash"
    assert main(["--install-completion", "--shell", "bash", "--output", str(path)]) == 0
    assert capfd.readouterr().out == f"written to {path}\n"
    return path


def completed(script, *words):
    done = subprocess.run(
        ["bash", "--norc", "-c", ASK, "ask", script, *words], capture_output=True, text=True, check=True
    )
    assert "-o bashdefault -o default" in done.stderr  # names of files, where there is nothing else
    return done.stdout.split()


@pytest.mark.parametrize(
    "words, wanted",
    [
        (["eddy", "ru"], ["run"]),
        (["eddy", "rep"], ["replay", "report"]),
        (["eddy", "run", "query.sql", "--la"], ["--late", "--latency", "--lateness"]),
        (["eddy", "replay", "--sp"], ["--speed"]),
        (["eddy", "run", "query.sql", "clicks=cl"], []),
    ],
)
def test_bash_completes_commands_and_options(words, wanted, script):
    """And leaves what is a file to bash."""
    assert sorted(completed(script, *words)) == wanted


def test_every_command_is_there(script):
    """Those that an error names, too."""
    assert set(COMMANDS) <= set(completed(script, "eddy", ""))


@pytest.mark.parametrize("shell", ["zsh", "fish"])
def test_other_shells_get_a_script_of_their_own(shell, tmp_path, capfd):
    """Which names every command."""
    path = tmp_path / "script"
    assert main(["--install-completion", "--shell", shell, "--output", str(path)]) == 0
    assert all(name in path.read_text() for name in COMMANDS)


def test_it_is_installed_for_the_user(tmp_path, monkeypatch, capfd):
    """Where bash looks for it, and once in what it reads when it starts."""
    monkeypatch.setenv("HOME", str(tmp_path))
    for _ in range(2):
        assert main(["--install-completion", "--shell", "bash"]) == 0
    path = tmp_path / ".local/share/bash-completion/completions/eddy"
    assert path.is_file() and str(path) in capfd.readouterr().out
    assert (tmp_path / ".bashrc").read_text().count(str(path)) >= 1
    started = subprocess.run(
        ["bash", "--rcfile", tmp_path / ".bashrc", "-i", "-c", "complete -p eddy"],
        capture_output=True,
        text=True,
        env={**os.environ, "HOME": str(tmp_path)},
    )
    assert "-F _eddy eddy" in started.stdout


@pytest.mark.parametrize("shell, told", [("csh", "no completion for csh: use bash, zsh, fish")])
def test_a_shell_that_is_not_known(shell, told, capfd):
    """The exit status is 2."""
    with pytest.raises(SystemExit) as stop:
        main(["--install-completion", "--shell", shell])
    assert stop.value.code == 2 and told in capfd.readouterr().err
