"""SQL as text and as trees that print back, and the names that stand in it.

Takes SQL text; gives trees, and text again. May import `temporal/sql/functions/`, `errors` and `plurals`.
"""
