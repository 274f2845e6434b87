"""Rows that come out of order: they wait in a buffer until the watermark has passed them, and leave it sorted.

`Disorder` (what an engine allows), `Watermarks` (how far time is known to be complete), `Runs` (the rows of a stream
that wait) and `ReorderBuffer`, which stands before the intake. Whatever is wrong with a batch is found here, before
anything has changed: an `Offer` is what would become of the buffer, and is accepted when the engine has taken its rows.

May import: values, query, intake.
"""
