"""The engine: `Eddy`, its doors, and what happens to a push.

`Eddy`, who may come in, a push batch by batch, the choice of the fast path, options, cells of a partitioning.

May import: everything above.
"""
