"""Connections and credentials: dbt-spark's, under this adapter's type."""

from __future__ import annotations

from dataclasses import dataclass

from dbt.adapters.spark.connections import SparkConnectionManager, SparkCredentials


@dataclass
class SparkTemporalCredentials(SparkCredentials):
    @property
    def type(self) -> str:
        return "sparktemporal"


class SparkTemporalConnectionManager(SparkConnectionManager):
    TYPE = "sparktemporal"
