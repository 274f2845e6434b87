"""Attachments: outer, semi, anti and as-of joins, applied to the composites of the core as they come and go.

The core, inner joins, is planned and run as ever. What it gives, signed and in the order of events, goes through one
`Stage` for each attachment, and comes out as results.

May import: values, query, store, intake, router, aggregate, results.
"""
