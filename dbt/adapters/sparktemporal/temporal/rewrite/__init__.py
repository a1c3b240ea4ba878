"""A model becomes cores, whose rows are stored, and a residual, which the view evaluates over them.

Takes the tree of a model; gives `Core`s and a residual. May import `predicates` and what is below.
"""
