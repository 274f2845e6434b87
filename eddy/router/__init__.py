"""The router: runs batches along the itineraries of the plan, and replays them to fill holes.

`Router`, and its parts: beginning a batch, running a program, filling holes, reading results; bounded drawing of them,
the memory budget, when kernels can do a batch alone, and what may stand in a router's place.

May import: plan, intake, store, tracks, feedback.
"""
