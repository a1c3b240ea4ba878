"""Functions whose value is not decided by their arguments alone."""

from __future__ import annotations

from .row import CHANCE, CLOCK, CODE, FILES, PLACE, SESSION, Function

_INSTANT, _LOCAL, _DATE = "mz_now()", "CAST(mz_now() AS TIMESTAMP_NTZ)", "CAST(mz_now() AS DATE)"

# fmt: off
ROWS = (
    Function("current_timestamp", depends_on=CLOCK, clock=_INSTANT, bare=True),
    Function("now", depends_on=CLOCK, clock=_INSTANT),
    # a function of engines other than Spark
    Function("getdate", depends_on=CLOCK, clock=_INSTANT),
    Function("localtimestamp", depends_on=CLOCK, clock=_LOCAL, bare=True),
    Function("current_date", depends_on=CLOCK, clock=_DATE, bare=True),
    Function("curdate", depends_on=CLOCK, clock=_DATE),
    Function("unix_timestamp", 0, depends_on=CLOCK, clock="unix_seconds(mz_now())"),
    Function("current_time", depends_on=CLOCK, bare=True),
    Function("localtime", depends_on=CLOCK, bare=True),

    *(
        Function(name, depends_on=CHANCE)
        for name in ("rand", "randn", "random", "randstr", "uniform", "uuid", "shuffle")
    ),
    # Spark makes up an initialization vector, unless the fifth argument gives one or the mode has none
    Function("aes_encrypt", depends_on=CHANCE, unless="ECB"),
    Function("aes_encrypt", 5),
    Function("aes_encrypt", 6),

    # where a row happens to lie, or how Spark cut the work
    *(
        Function(name, depends_on=PLACE)
        for name in ("monotonically_increasing_id", "spark_partition_id", "input_file_block_start",
                     "input_file_block_length", "input_file_name")
    ),

    # any method of Java, or what a worker has logged
    *(Function(name, depends_on=CODE) for name in ("reflect", "java_method", "try_reflect", "python_worker_logs")),

    # descriptors, read when a query is analyzed
    Function("from_protobuf", depends_on=FILES),
    Function("to_protobuf", depends_on=FILES),

    # constant within a run. A run asks Spark for the values that a query names. (`user` alone is more often a column)
    Function("user", depends_on=SESSION),
    Function("version", depends_on=SESSION),
    *(
        Function(name, depends_on=SESSION, bare=True)
        for name in ("current_user", "session_user", "current_catalog", "current_database", "current_schema",
                     "current_path")
    ),
)
# fmt: on
