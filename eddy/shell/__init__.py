"""The shell, `eddy sql`: streams that have names, and statements over them, from a terminal, a file or a pipe.

Its own statements are few; a SELECT is a query as everywhere, and is run by `eddy.run`.

May import: query, inspect, engine, sources, sinks, running, values, connect.
"""
