"""The read of a model in the SQL of DuckDB: the chains as files or tables, and the residual over the rows of them.

Takes a `State` and where its chains are; gives a query. Pure. May import `temporal/`.
"""
