"""Predicates over `mz_now()`: bounds, monotonicity, and what is decided at which instant.

Takes the WHERE of a SELECT as a tree; gives comparisons, half-open intervals of instants and conditions.
May import `sql` and `clock`.
"""
