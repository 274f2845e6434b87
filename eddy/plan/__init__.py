"""Plans: which streams meet in which order, and what that means for the rows of each stream.

Plans as text and as trees or orderings, pins, the compiler from a plan to a routing table, and which part of the
composites a plan makes that shares the work with another. No STAIR is touched here.

May import: values, query.
"""
