"""Threads: rows dealt out to shards, each with a router of its own.

`Crew` (shards in the place of a router), who gets which row, the helpers and their kernels, plan changes of all shards.

May import: values, query, plan, intake, store, tracks, router, results, migration, inspect, partition, fast.
"""
