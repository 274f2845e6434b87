"""Steering: the routing policy is asked when it is due, sees a view, and its decisions are kept.

`Steering`, `Watch` and the view, index sampling, the log of decisions.

May import: query, plan, store, tracks.
"""
