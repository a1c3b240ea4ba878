"""Incremental view maintenance: queries over what came and went in the inputs of a core.

Takes a core and the changes of its inputs; gives queries over the changes alone. May import `diffs` and what is below.
"""
