"""The pure part: SQL text and facts in, SQL text and decisions out.

Standard library and sqlglot only; never dbt, never a connection.
"""
