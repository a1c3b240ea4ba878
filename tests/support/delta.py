"""Delta Lake, as dbt-spark sees it."""

#: dbt-spark decides by the config, not by the table, what a format can do
ON_DELTA = {kind: {"+file_format": "delta"} for kind in ("models", "seeds", "snapshots")}
