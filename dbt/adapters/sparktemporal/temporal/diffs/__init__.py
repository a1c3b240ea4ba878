"""Diffs: the SQL that writes chains, the state that names the chains, the views that read the chains.

Takes cores with their types; gives statements and a `State`. May import `rewrite` and what is below.
"""
