"""Proofs of the SQL that is printed for a predicate over the clock.

`functions` is the meaning of Spark's functions, and `translate` reads SQL by these meanings, of numbers or terms of z3.
`lemmas` are the proofs, `whole` evaluates what is printed row by row, `page` is the table of docs/proofs.md.
"""
