"""What dbt's own graph says of a model: which node a name means, collisions of names, how inputs depend on time.

Takes dbt's manifest as plain data; gives names and errors. May import `engine/` and what is below.
"""
