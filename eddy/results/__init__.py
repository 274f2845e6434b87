"""Results: what a push returns, and until when it reads the engine.

`Result`, `Handout`, outputs (plain, signed, grouped), and withdrawals.

May import: query, store, router, aggregate.
"""
