"""Why some of HybMig's claims do not hold here, as far as measurements have shown it."""

from __future__ import annotations

NOT_SILENT_AS_LONG = (
    "the states that Moving State lacks take some 600,000 evaluations, and HybMig makes 15,000 to 30,000 in a "
    "second: if an evaluation took as long as makes 50 s of the first, HybMig would not keep up"
)
FEW_TO_CATCH_UP = (
    "in a silence of some seconds instead of 50 a few dozen rows have piled up, and these bring few of the "
    "results: most come to rows in the middle of the window"
)
EARLY = (
    "HybMig's new plan joins each new row with all old ones from the beginning on, while that of Parallel Track "
    "is empty and its old plan still has the rare rows of the first stream; later it is the other way round"
)
OWN_KEYS = (
    "what Moving State computes at the change is a small part of its work, 30 of 770 million evaluations at the "
    "default setting (`evaluations at the change`); the larger part is to join new rows with rows of the last "
    "stream from before the change, which are not rare, and HybMig's new plan does that, too"
)
BOTH_PLANS = (
    "HybMig holds states of both plans, and Moving State those of the new one only: where windows have few rows, "
    "with few streams or a bushy plan, the states that it computes are smaller than what the old plan still holds"
)
BYTES_TOO = f"{BOTH_PLANS}; why Parallel Track has up to 6 % less with right-deep plans was not found out"
SMALL_BATCHES = (
    "in the smaller settings a batch takes a quarter of a millisecond, most of it what a batch costs while two "
    "plans run, whatever they join"
)
ALL_COMPUTED = (
    "with time to spare the background computes all that Moving State does, and evaluates as much; at the lowest rate "
    "windows have so few rows that two plans side by side evaluate least"
)
TOP_JOIN = (
    "what is shared are the joins below the top one; the top join, which both versions make, has most of the "
    "evaluations"
)
FASTER = (
    "work grows with the fifth power of the rate or more, but so does that of HybMig and of Parallel Track: an "
    "evaluation that took as long as makes 50 s of Moving State's states at a rate of 1 would overload HybMig "
    "there"
)
