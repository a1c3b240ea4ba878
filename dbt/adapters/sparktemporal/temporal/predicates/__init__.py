"""Predicates over `mz_now()`: their bounds, their monotonicity, and the instants at which they can change.

Takes the WHERE of a SELECT as a tree; gives comparisons, half-open intervals of instants and conditions.
May import `sql` and `clock`.
"""
