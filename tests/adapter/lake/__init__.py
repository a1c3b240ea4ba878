"""The classes that need MERGE, UPDATE and DELETE, over Delta Lake: `make test-lake`."""

#: dbt-spark decides by the config, not by the table, what a format can do
ON_DELTA = {kind: {"+file_format": "delta"} for kind in ("models", "seeds", "snapshots")}
