"""Why JISC's figures come out otherwise here: what measurements have shown."""

from __future__ import annotations

SAME_KERNELS = (
    "Parallel Track runs on the same kernels here, and shares the rows with the old plan. It takes about "
    "twice what an engine takes that changes nothing (the rows named *no change*), with 5 joins as with 100: its "
    "second plan has as many steps as the first. So no more than that factor is to be gained, whoever the rival is."
)
STEMS_FAST = (
    "SteMs run in batches on the same kernels here and store no composites, where a pipeline writes, links and drops "
    "one for each join and row that finds a partner. With few joins that costs more than SteMs' probes; with 50 and "
    "100 it costs less. What CACQ pays for in the paper, tuple by tuple, is routing: in batches of one event SteMs are "
    "behind with 20 joins too (Figure 9)."
)
NEW_PLAN = (
    "Other orderings are another plan here: with 20 joins it takes 7 ms to make the 420 steps of one, and the first "
    "batch takes 8 ms more, as long as 30,000 events; CACQ's tuples are routed otherwise, at no cost."
)
PARTLY = (
    "A change takes 1 ms with 20 joins, and what the next transition finds half filled is dropped: until a state is "
    "complete, batches take the long way through the engine, and with a transition every eighth of a window they "
    "always do. The rows named *no change* tell what that costs."
)
MADE_IN_PYTHON = (
    "With 1,000 rows it is half a millisecond, most of it what a plan change takes in Python, and Moving State is "
    "hardly slower. With 100,000 it is nearly twice that, where an ordinary batch, too, takes a third longer; what the "
    "rest is was not found out."
)
