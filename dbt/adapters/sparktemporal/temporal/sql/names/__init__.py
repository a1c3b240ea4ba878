"""Names in a query: which relation and which column each of them means, without a question to Spark where possible.

Takes trees; gives scopes, columns, and trees in which each name means one thing.
May import `temporal/sql/spark/` and what is below.
"""
