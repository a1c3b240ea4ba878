"""Predicates over `mz_now()`: their bounds, their monotonicity, and the instants at which they can change.

Takes the WHERE of a SELECT as a tree; gives comparisons, half-open intervals of instants and conditions. A new meaning
of predicates is a visitor of `logic.PredicateVisitor`.
May import `sql` and `clock`.
"""
