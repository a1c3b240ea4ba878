"""Diffs: the SQL that makes them, the chains that keep them, the state that names these, the views that read them.

Takes cores with their types; gives statements and a `State`. May import `rewrite` and what is below.
"""
