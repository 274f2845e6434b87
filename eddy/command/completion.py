"""`eddy --install-completion`: cyclopts writes the script; bash gets names of files where that has nothing."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from cyclopts import completion

from eddy.command.app import Wrong, app
from eddy.sinks.disk import explained

SHELLS = ("bash", "zsh", "fish")


def install(shell: str | None, output: str | None) -> int:
    """Write the script, and have the shell read it."""
    if shell is None:
        try:
            shell = completion.detect_shell()
        except completion.ShellDetectionError as error:
            raise Wrong(f"which shell this is cannot be told: give --shell {', '.join(SHELLS)}") from error
    if shell not in SHELLS:
        raise Wrong(f"there is no completion for {shell}: use {', '.join(SHELLS)}")
    kind: Any = shell
    with explained(output or f"the completion of {shell}"):
        # the name of a shell, and nothing that one runs
        path = app.install_completion(  # nosec B604
            shell=kind, output=None if output is None else Path(output), add_to_startup=output is None
        )
        if shell == "bash":
            text = path.read_text()
            path.write_text(text.replace("complete -F ", "complete -o bashdefault -o default -F "))
    print(f"written to {path}" + ("" if output else "; it works in the next shell that you open"))
    return 0
