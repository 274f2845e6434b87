"""Set differences: a chain of them in the place of a router.

`Chain`, its store, its directory of keys and its kernels, which are compiled when an engine first needs them.

May import: query, plan, intake, store, tracks, feedback, router.
"""
