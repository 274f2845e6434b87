"""Inspection: statistics, explanations, and why rows gave a result or none.

Collecting statistics, `explain`, `why_not`, and the history of events that it needs; what a STAIR holds.

May import: values, query, plan, intake, reorder, store, feedback, router, results.
"""
