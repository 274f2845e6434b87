"""Intake: a push becomes rows in one arrival order, checked, typed, filtered and keyed; windows become low-water rows.

`Intake.admit`, `Arrivals`, merging by time, `LowWater`, and what travels with rows where an engine has only some of
them. Whatever is wrong with a batch is found here, before anything has changed.

May import: values, query.
"""
