"""Incremental view maintenance: delta queries over the changes of a core's inputs.

Takes a core and the changes of its inputs; gives queries over the changes alone. May import `diffs` and what is below.
"""
