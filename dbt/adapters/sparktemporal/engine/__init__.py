"""The seam to Spark: statements in, rows out.

Takes a function that runs SQL; gives tables, views, plans, settings and marks of ownership as data.
May import `temporal/` and `pushdown/`.
"""
