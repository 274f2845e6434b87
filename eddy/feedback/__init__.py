"""Feedback (JIT): rows and composites that no consumer can use now wait, and come back when one can.

`Suspension`: the wait graph, blacklists, presence, suppressed pairs, judging and waking in the middle of a batch,
re-injection, what it costs and what it spares. Its kernels are compiled when an engine first asks for feedback.

May import: query, plan, intake, store, tracks.
"""
