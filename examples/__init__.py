"""Examples: each writes its rows into files, runs a query over them with `eddy.run`, and compares with DuckDB.

`python -m examples.ads FOLDER` does all of it in a folder; docs/examples.md has the command for each.
"""
