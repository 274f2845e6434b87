"""The router: runs batches along the itineraries of the plan, and replays them to fill holes.

`Router`, and its parts: beginning a batch, running a program, filling holes, reading results; bounded drawing of them,
the memory budget, the sequence of a batch in kernels, and what may stand in a router's place.

May import: log, plan, intake, store, tracks, feedback.
"""
