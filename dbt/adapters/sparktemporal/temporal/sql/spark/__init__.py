"""What Spark prints and means: plans, errors, settings, functions of users, equality of values.

Takes what Spark prints; gives facts. May import `temporal/sql/text/` and what is below.
"""
