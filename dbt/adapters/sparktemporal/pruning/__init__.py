"""Leaving files and partitions out, with the statements that measure and audit them.

Takes cores, inputs and the range of the clock; gives narrowed cores and tables of statistics.
May import `inputs/` and what is below.
"""
