"""What is known of Spark's functions: a row each, in one table; and the units of time.

Takes a name and a number of arguments; gives a `row.Function`. Data only, no trees.
May import nothing of the package.
"""
