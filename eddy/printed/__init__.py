"""The papers' algorithms as they are printed: one tuple at a time, in plain Python, and unsound on purpose.

What the papers print loses, repeats or invents results here and there; `policies` has the versions that do not. A
reader who wants to see what a printed rule costs runs it here (`AsPrinted`), beside the engine, which knows what is
right. For nothing else: nothing in the library uses this room.

May import: query, plan, intake, engine.
"""

from eddy.printed.as_printed import Account, AsPrinted

__all__ = ["Account", "AsPrinted"]
