"""Spark SQL as text, trees and plans.

Takes SQL text and the plans that Spark prints; gives trees, scopes, names, and what a query calls and reads.
Its rooms, from the bottom up: `functions`, `text`, `spark`, `names`. May import nothing of the package but `errors` and
`plurals`.
"""
