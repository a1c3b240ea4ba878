"""The facts about Spark's functions, in one table with a row for each, and the units of time.

Takes a name and a number of arguments, or a call in a tree; gives a `row.Function`.
May import nothing of the package.
"""
