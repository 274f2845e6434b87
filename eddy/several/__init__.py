"""Several queries in one engine: what they share, and which results are whose.

Queries that join the same streams by the same predicates, under the same windows, have one *core*: one plan, one set
of STAIRs. Their filters are looked up together (CACQ's grouped filters), each stored row knows the set of queries that
want it (CACQ's lineage), and a result belongs to the queries that want all of its rows.

`Feed` (streams, their rows and strings, stored once), `Core`, `GroupedFilters`, `Sets`, `Lineage`, `WantedRows`,
`Share` (the results of a batch by query), `Group` (a core and its queries), `SharedEddy` (the doors).

May import: everything above.
"""
