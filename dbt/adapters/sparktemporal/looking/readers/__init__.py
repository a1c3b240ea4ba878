"""The read of a model in the SQL of DuckDB: the chains as files or tables, and the residual over these chains.

A `State` and the places of its chains -> a query. Pure. May import `temporal/`.
"""
