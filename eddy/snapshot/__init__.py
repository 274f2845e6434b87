"""Snapshots: the live rows and the plan in one file, and back.

`save` and `load`, the format of the file, the query as plain values.

May import: everything above but threads.
"""
