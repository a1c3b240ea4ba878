"""A model -> cores, whose rows are stored, and a residual, which a read evaluates over the stored rows.

Takes the tree of a model; gives `Core`s and a residual. May import `predicates` and what is below.
"""
