"""Inspection: statistics, explanations, and why rows gave a result or none.

Collecting statistics, `explain`, `why_not`, and the history of events that it needs.

May import: query, plan, intake, store, tracks, router, feedback.
"""
