"""`eddy.run`: a query over sources, from their first row to their last, into a sink.

The loop between them, rows that are bad, checkpoints, what a run tells of itself.

May import: log, values, query, reorder, results, snapshot, engine, several, spark, sources, sinks, monitoring, page,
and what lies in no room.
"""
