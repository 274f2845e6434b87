"""Feedback policies: which rows not to work for, because no consumer can use what would come of them.

`base` has the contract.

May import: the modules of `policies` that are in no room.
"""

from __future__ import annotations

from policies.feedback.base import Feedback
from policies.feedback.doe import Doe
from policies.feedback.mns import Mns
from policies.feedback.none import NoFeedback

__all__ = ["Doe", "Feedback", "Mns", "NoFeedback"]
