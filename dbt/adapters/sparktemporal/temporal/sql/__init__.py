"""Spark SQL as text and trees. The rest of `temporal/` imports from here, and nothing here imports from there."""
