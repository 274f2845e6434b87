"""Migration: a plan change under way, pumped batch by batch, and the record of it.

`Migrations`, `Change` (what a technique is offered), its record, plans as black boxes, and how one plan takes over from
another while both run: tracks are made here, and their roles set.

May import: values, query, plan, intake, store, tracks, router, results.
"""
