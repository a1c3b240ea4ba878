"""Delta Lake: what a session needs of it, and how dbt-spark sees it. The benchmark of alternatives uses the same."""

#: dbt-spark decides by the config, not by the table, what a format can do
ON_DELTA = {kind: {"+file_format": "delta"} for kind in ("models", "seeds", "snapshots")}

#: what Delta names and Spark brings: a second copy of these is only to download
_OF_SPARK = (
    "com.fasterxml.jackson.core", "com.fasterxml.jackson.datatype", "com.github.luben", "com.google.code.findbugs",
    "commons-logging", "commons-pool", "io.airlift", "javax.annotation", "org.apache.hadoop",
    "org.apache.logging.log4j", "org.apache.parquet", "org.locationtech.jts", "org.roaringbitmap", "org.slf4j",
    "org.xerial.snappy",
)  # fmt: skip
WITH_DELTA = {
    # built for the Spark of constraints.txt
    "spark.jars.packages": "io.delta:delta-spark_4.1_2.13:4.4.0",
    "spark.jars.excludes": ",".join(f"{group}:*" for group in _OF_SPARK),
    "spark.hadoop.fs.file.impl": "org.apache.hadoop.fs.LocalFileSystem",  # whole, as a Spark of one's own has it
    "spark.sql.extensions": "io.delta.sql.DeltaSparkSessionExtension",
    "spark.sql.catalog.spark_catalog": "org.apache.spark.sql.delta.catalog.DeltaCatalog",
    "spark.databricks.delta.snapshotPartitions": "2",  # of 50: the tables have few files
}
