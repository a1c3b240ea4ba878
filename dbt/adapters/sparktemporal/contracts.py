"""What dbt takes and keeps: the configs of a model, and what a run leaves in run_results.json."""

from __future__ import annotations

from dataclasses import dataclass, field, fields, make_dataclass
from typing import Any

from dbt.adapters.contracts.connection import AdapterResponse
from dbt.adapters.spark.impl import SparkConfig

from .config import TemporalConfig

#: the configs that dbt knows of, as they are written; `config.TemporalConfig` reads those of a temporal_view
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
    """`adapter_response` of a temporal_view: see `run.report`. docs/reference/run-results.md is made of this text.

    action: what the run did: `hydrated`, `advanced`, `unchanged`, `restarted`, `waiting` or `checked`
        ([the words](../semantics.md#what-a-run-says-it-did))
    reason: why, in words
    as_of: the instant of the run (ms)
    expiration: the instant after which reads raise (ms)
    expiration_reason: why there is no expiration, in words
    seconds_to_expiration: from the instant of the run to the expiration
    inputs: how each input was read, in words
    input_reads: the same as data, an object for each input: `relation`, `tracking` (by what the run learnt what the
        input did), `read` (`unchanged`, `full`, or what is new of it), `reason`, `rows` that were read; `files` and
        `bytes` that it has, `files_read` and `bytes_read` that Spark was asked to read of them, which may skip more;
        null where nothing tells
    files_considered: files of the inputs, where they are known
    files_read: those that Spark was asked to read
    files_left_out: the others
    bytes_considered: the size of the files of the inputs, where it is known
    bytes_read: the size of those that Spark was asked to read
    bytes_left_out: the size of the others
    pushdown: the comparisons sent to Spark, and the files left out
    rows_in: rows of the inputs before pushdown: all rows, or the new rows where only new rows are read
    rows_written: stored intervals: one stands for an insertion and, if there is one, its retraction
    rows_rewritten: rows of small chains that were written again together with the new ones
    bytes_written: the size of the chains that the run wrote, a later merge not counted; of Parquet and Iceberg
    updates_beyond_expiration: updates of the rows read that are after the expiration, and so are not stored
    rows_late: rows that came when their window was over, and so are not in the view: of new rows under a plain window;
        with `store_late` also of others ([late rows](../changes.md#late-rows))
    chains_before: the number of chains before the run
    chains: the number of chains after it
    aggregates: how aggregates are kept, and why
    milliseconds: the length of the run
    statements: how many statements the run sent, those that ask included
    phases: ms of each phase of the run
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
