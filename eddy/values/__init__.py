"""Values: the types of columns, and columns of values, whatever they came as.

Types and `Column`, conversion from Python, numpy, pandas, polars and Arrow and back, exact arithmetic with NULL, the
pool of strings, points and lengths of time. Knows nothing of queries.

May import: errors.
"""
