"""The contracts with dbt: the configs of a model, and the response of a run in run_results.json."""

from __future__ import annotations

from dataclasses import dataclass, field, fields, make_dataclass
from typing import Any

from dbt.adapters.contracts.connection import AdapterResponse
from dbt.adapters.spark.impl import SparkConfig

from .config import TemporalConfig

#: the configs that dbt accepts, with the types that users write. `config.TemporalConfig` reads their values
SparkTemporalConfig: type[SparkConfig] = make_dataclass(
    "SparkTemporalConfig",
    [
        (config.name, config.metadata["kind"].written | None, None)
        for config in fields(TemporalConfig)
        if config.name not in SparkConfig.__dataclass_fields__
    ],
    bases=(SparkConfig,),
)


@dataclass
class TemporalResponse(AdapterResponse):
    """The `adapter_response` of a temporal_view, made by `run.report`. docs/reference/run-results.md shows this text.

    action: what the run did: `hydrated`, `advanced`, `unchanged`, `restarted`, `waiting` or `checked`
        ([the words](../semantics.md#what-a-run-says-it-did))
    reason: the reason of the action, in words
    as_of: the instant of the run (ms)
    expiration: the instant after which reads raise (ms); with `refresh_every`, from the next refresh on
    expiration_reason: the reason why there is no expiration, in words
    seconds_to_expiration: from the instant of the run to the expiration
    inputs: how each input was read, in words
    input_reads: how each input was read, as data: an object for each input with `relation`, `tracking` (how the run
        noticed changes of the input), `read` (`unchanged`, `full`, or the new part), `reason`, `rows` (rows read),
        `files` and `bytes` (of the whole input), `files_read` and `bytes_read` (Spark was asked to read so many, and
        may skip more). A number that is not known is null
    files_considered: the number of files, summed over the inputs whose files are known
    files_read: the number of these files that Spark was asked to read
    files_left_out: the number of these files that Spark was not asked to read
    bytes_considered: the size of the files, summed over the inputs whose files are known
    bytes_read: the size of the files that Spark was asked to read
    bytes_left_out: the size of the files that Spark was not asked to read
    pushdown: the comparisons sent to Spark, and the files left out
    rows_in: rows of the inputs before pushdown: all rows, or the new rows where only new rows are read
    rows_written: new rows of the chains: intervals, and updates of groups where aggregates are kept. An interval is an
        insertion and, where the row leaves, its retraction
    rows_rewritten: rows of small chains that were written again together with the new rows
    bytes_written: the size of the chains that the run wrote, before any merge. Known for Iceberg, and for Parquet in
        `spark_catalog` where no column is named `_metadata`
    updates_beyond_expiration: updates that are not stored, because they are after the expiration
    rows_late: rows that came when their window was over, and so are not in the view. New rows under a plain window are
        counted, with `store_late` also other rows ([late rows](../changes.md#late-rows))
    chains_before: the number of chains before the run
    chains: the number of chains after the run
    aggregates: how aggregates are kept, and why
    milliseconds: the length of the run, with its wait for the lock and with an attempt that was begun again
    statements: the number of statements that the run sent, queries included
    phases: the length of each phase of the run (ms)
    """

    action: str = ""
    reason: str = ""
    as_of: int = 0
    expiration: int | None = None
    expiration_reason: str = ""
    seconds_to_expiration: float | None = None
    inputs: list[str] = field(default_factory=list)
    input_reads: list[dict[str, Any]] = field(default_factory=list)
    files_considered: int | None = 0
    files_read: int | None = 0
    files_left_out: int | None = 0
    bytes_considered: int | None = 0
    bytes_read: int | None = 0
    bytes_left_out: int | None = 0
    pushdown: list[str] = field(default_factory=list)
    rows_in: int = 0
    rows_written: int = 0
    rows_rewritten: int = 0
    bytes_written: int | None = None
    updates_beyond_expiration: int | None = None
    rows_late: int | None = None
    chains_before: int = 0
    chains: int | None = None
    aggregates: list[str] = field(default_factory=list)
    milliseconds: int = 0
    statements: int = 0
    phases: dict[str, int] = field(default_factory=dict)
