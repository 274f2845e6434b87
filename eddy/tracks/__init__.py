"""Tracks: a plan bound to STAIRs and rings, as a program that one kernel runs.

`Binder`, `Program`, `Track` and its `Role` (what it sees and makes), `Tracks` (those that run, and how to change them),
`Prober` (taking a step), `Moment` (which rows are live), steps without an equality.

May import: values, query, plan, store.
"""
