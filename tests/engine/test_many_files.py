"""Inputs of many files: what lists them has few tasks, however large they are."""

from __future__ import annotations

from pathlib import Path

from pyspark.sql import SparkSession

from dbt.adapters.sparktemporal.inputs.observing import file_lists

#: more files than a listing has tasks, each of the size of a whole task
FILES, SIZE = 100, 128 << 20


def test_large_files_are_listed_by_few_tasks(spark: SparkSession, tmp_path: Path) -> None:
    for n in range(FILES):
        with (tmp_path / f"part-{n}.parquet").open("wb") as file:
            file.truncate(SIZE)  # a file without content, which is not opened
    listed = spark.sql(file_lists.in_directory(f"file:{tmp_path}"))
    assert listed._jdf.rdd().getNumPartitions() <= file_lists._TASKS < FILES
    found = {(row.file, row.size, row.modified, row.place) for row in listed.collect()}
    assert found == {(f.name, SIZE, f.stat().st_mtime_ns // 1_000_000, "") for f in tmp_path.iterdir()}


def test_lists_of_files_are_compared_by_one_task(spark: SparkSession, tmp_path: Path) -> None:
    """The 64 tasks of a list would else write 64 × 200 blocks for the tasks that group 10,000 names."""
    place = tmp_path / "t"
    spark.range(9).selectExpr("id", "id % 3 AS p").write.partitionBy("p").parquet(str(place))
    for listing in (
        file_lists.in_directory(f"file:{place}"),
        file_lists.by_rows(f"parquet.`{place}`", ["p"], "parquet"),
    ):
        for sql in (file_lists.comparing(listing, listing), file_lists.summarizing(listing)):
            plan = spark.sql(sql)._jdf.queryExecution().executedPlan().toString()
            assert "Exchange SinglePartition" in plan and "hashpartitioning" not in plan, plan
