"""The facts about Spark's functions, in one table with a row for each, and the units of time.

Takes a name and a number of arguments; gives a `row.Function`. Data only, no trees.
May import nothing of the package.
"""
