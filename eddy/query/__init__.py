"""Queries: streams with windows, predicates, and the columns of a result; in Python and in SQL.

`Query` and `Stream`, windows, `sql`, expressions and their types, key classes, residuals (the predicates that are no
equality), set differences and aggregates as they are declared. A query is checked when it is made, and never changes.

May import: values.
"""
