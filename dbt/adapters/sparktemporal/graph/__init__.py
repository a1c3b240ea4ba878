"""dbt's graph of a model: the node that a name means, collisions of names, and how inputs depend on time.

Takes dbt's manifest as plain data; gives names and errors. May import `engine/` and what is below.
"""
