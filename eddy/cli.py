"""The command line: ``eddy run``, ``check``, ``doctor``, ``demo``, ``--version``, ``--help``."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence

from eddy.errors import EddyError


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command and return its exit status: 0 well, 1 not right, 2 wrong use or input, 130 Ctrl-C."""
    from eddy.command.app import main

    try:
        return main(arguments)
    except EddyError as error:
        from eddy.command.wording import told

        given = sys.argv[1:] if arguments is None else arguments
        print(f"eddy: {error if list(given[:1]) == ['sql'] else told(str(error))}", file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        return 130
    except BrokenPipeError:
        # The reader has seen enough, as in `eddy demo | head`. What is still buffered has nowhere to go.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 141
