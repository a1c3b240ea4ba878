"""Names of Spark functions that decide where a query may be cut."""

from __future__ import annotations

from sqlglot import exp

#: what a function gives besides what follows from its arguments
CLOCK, CHANCE, PLACE, CODE, FILES, SESSION = "a clock", "chance", "place", "other code", "files", "the session"
#: the functions of Spark that are known to give such a thing
FICKLE: dict[str, frozenset[str]] = {
    # and unix_timestamp() without arguments
    CLOCK: frozenset(
        ["current_timestamp", "current_date", "current_time", "localtimestamp", "now", "curdate", "getdate"]
    ),
    CHANCE: frozenset(["rand", "randn", "random", "randstr", "uniform", "uuid", "shuffle", "aes_encrypt"]),
    # where a row happens to lie, or how Spark cut the work
    PLACE: frozenset(
        [
            "monotonically_increasing_id",
            "spark_partition_id",
            "input_file_block_start",
            "input_file_block_length",
            "input_file_name",
        ]
    ),
    # any method of Java, or what a worker has logged
    CODE: frozenset(["reflect", "java_method", "try_reflect", "python_worker_logs"]),
    # descriptors, read when a query is analyzed
    FILES: frozenset(["from_protobuf", "to_protobuf"]),
    # the same for all of a run; asked for where they are named
    SESSION: frozenset(
        ["current_user", "user", "session_user", "current_catalog", "current_database", "current_schema", "version"]
    ),
}
_NONDETERMINISTIC = FICKLE[CHANCE] | FICKLE[PLACE] | FICKLE[CODE] | {"current_time"}

#: Spark's aggregate functions (functions.Aggregate in its documentation)
AGGREGATES = frozenset(
    [
        "any",
        "any_value",
        "approx_count_distinct",
        "approx_percentile",
        "approx_top_k",
        "approx_top_k_accumulate",
        "approx_top_k_combine",
        "array_agg",
        "avg",
        "bit_and",
        "bit_or",
        "bit_xor",
        "bitmap_and_agg",
        "bitmap_construct_agg",
        "bitmap_or_agg",
        "bool_and",
        "bool_or",
        "collect_list",
        "collect_set",
        "corr",
        "count",
        "count_if",
        "count_min_sketch",
        "covar_pop",
        "covar_samp",
        "every",
        "first",
        "first_value",
        "grouping",
        "grouping_id",
        "histogram_numeric",
        "kll_merge_agg_bigint",
        "kll_merge_agg_double",
        "kll_merge_agg_float",
        "hll_sketch_agg",
        "hll_union_agg",
        "kll_sketch_agg_bigint",
        "kll_sketch_agg_double",
        "kll_sketch_agg_float",
        "kurtosis",
        "last",
        "last_value",
        "listagg",
        "max",
        "max_by",
        "mean",
        "median",
        "min",
        "min_by",
        "mode",
        "percentile",
        "percentile_approx",
        "percentile_cont",
        "percentile_disc",
        "regr_avgx",
        "regr_avgy",
        "regr_count",
        "regr_intercept",
        "regr_r2",
        "regr_slope",
        "regr_sxx",
        "regr_sxy",
        "regr_syy",
        "schema_of_variant_agg",
        "skewness",
        "some",
        "std",
        "stddev",
        "stddev_pop",
        "stddev_samp",
        "string_agg",
        "sum",
        "theta_intersection_agg",
        "theta_sketch_agg",
        "theta_union_agg",
        "try_avg",
        "try_sum",
        "var_pop",
        "var_samp",
        "variance",
    ]
)


#: their first argument is the word for a unit, no column
_WITH_UNITS = frozenset(["date_add", "date_diff", "dateadd", "datediff", "timestampadd", "timestampdiff"])


def starts_with_unit(node: exp.Expr | None) -> bool:
    """Whether the first argument of a call is a word such as DAY, which looks like a column."""
    return isinstance(node, exp.Anonymous) and node.name.lower() in _WITH_UNITS and len(node.expressions) == 3


def is_aggregate_call(node: exp.Expr) -> bool:
    if isinstance(node, exp.Anonymous):
        return node.name.lower() in AGGREGATES
    return isinstance(node, (exp.AggFunc, exp.Any))


def makes_sessions(node: exp.Expr) -> bool:
    """Whether it has a session_window, whose value over groups is of all rows that are near each other."""
    return any(call.name.lower() == "session_window" for call in node.find_all(exp.Anonymous))


def makes_several_rows(node: exp.Expr) -> exp.Expr | None:
    """The first part that makes more than one row of a row: windows that slide."""
    return next(
        (c for c in node.find_all(exp.Anonymous) if c.name.lower() == "window" and len(c.expressions) > 2), None
    )


def nondeterministic(query: exp.Expr) -> exp.Expr | None:
    """The first part of a query that gives another answer over the same rows."""
    for node in query.walk():
        if isinstance(node, exp.TableSample):
            return node.parent or node
        if isinstance(node, exp.Func):
            name = node.name if isinstance(node, exp.Anonymous) else node.sql_name()
            if name.lower() in _NONDETERMINISTIC and not _is_told_all(node):
                return node
    return None


def _is_told_all(node: exp.Func) -> bool:
    """Whether an encryption is one that makes up nothing: it is given its vector, or needs none."""
    given = node.expressions if isinstance(node, exp.Anonymous) and node.name.lower() == "aes_encrypt" else []
    return len(given) > 4 or (len(given) > 2 and given[2].name.upper() == "ECB")
