"""Decisions: which plan to run (routing), how to get there (migration), what not to work for (feedback).

A policy sees STAIRs and frozen statistics; it moves no tuples itself. Policies are plain classes, passed as instances.
"""

from __future__ import annotations

from policies.feedback import Feedback, NoFeedback
from policies.migration import Jisc, Migration
from policies.routing import Fixed, Routing

__all__ = ["Feedback", "Fixed", "Jisc", "Migration", "NoFeedback", "Routing"]
