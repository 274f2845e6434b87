"""`eddy demo`: flights joined by Spark, or made-up streams that drift, live.

Uses the library as a user does.

May import: everything above.
"""
