"""The statements of dbt-tests-adapter, which are PostgreSQL's, for Spark."""

from __future__ import annotations

import re


def spark_statements(sql: str) -> list[str]:
    """PostgreSQL's text of set-up statements -> Spark's: one at a time, its types, its quotes, no database."""
    sql = re.sub(r"\btext\b", "string", sql, flags=re.IGNORECASE)
    sql = re.sub(r"timestamp without time zone", "timestamp", sql, flags=re.IGNORECASE)
    sql = re.sub(r'"(\w+)"', r"`\1`", sql)
    sql = sql.replace("{database}.", "").replace("None.", "")
    return [statement for statement in re.split(r";\s*(?:\n|$)", sql) if statement.strip()]
