"""Aggregates: groups of signed rows, and the changelog of what is computed of them.

`Groups`, accumulators (COUNT, SUM, AVG), values in order (MIN, MAX, MEDIAN), aggregates of the user's
own, and their kernels.

May import: values, query.
"""
