"""The meaning of Spark's texts: plans, errors, settings, functions of users, equality of values.

Takes texts of Spark; gives facts. May import `temporal/sql/text/` and what is below.
"""
