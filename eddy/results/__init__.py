"""Results: what a push returns, and until when it reads the engine.

`Result`, `RecentResults`, outputs (plain, signed, grouped), and withdrawals.

May import: values, query, intake, store, tracks, router, difference, aggregate.
"""
