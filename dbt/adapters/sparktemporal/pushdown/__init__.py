"""Predicates with which Spark skips files and partitions. Pure as `temporal/`: no dbt, no connection.

Takes a window and the range that the clock can take; gives predicates over columns, and over statistics of files.
May import `temporal/`.
"""
