"""The pure part: SQL text and facts in, SQL text and decisions out.

Standard library and sqlglot only; never dbt, never a connection. Its rooms, from the bottom up: `sql`, `clock`,
`predicates`, `rewrite`, `diffs`, `ivm`; above them `decision`, what a run does.
"""
