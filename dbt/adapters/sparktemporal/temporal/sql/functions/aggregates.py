"""Spark's aggregate functions, each with the part of a group's rows that decides the value (`row.Aggregate`)."""

from __future__ import annotations

from .row import Aggregate, Function

#: aggregates of the rows themselves: nothing smaller than the rows of a group tells their values
_OF_ROWS = """
    any_value approx_percentile approx_top_k approx_top_k_accumulate approx_top_k_combine array_agg bit_xor
    bitmap_and_agg bitmap_construct_agg bitmap_or_agg collect_list corr count_min_sketch covar_pop covar_samp
    first first_value histogram_numeric hll_sketch_agg hll_union_agg kll_merge_agg_bigint kll_merge_agg_double
    kll_merge_agg_float kll_sketch_agg_bigint kll_sketch_agg_double kll_sketch_agg_float kurtosis last
    last_value listagg measure median mode percentile percentile_approx percentile_cont percentile_disc
    regr_avgx regr_avgy regr_count regr_intercept regr_r2 regr_slope regr_sxx regr_sxy regr_syy
    schema_of_variant_agg skewness std stddev stddev_pop stddev_samp string_agg theta_intersection_agg
    theta_sketch_agg theta_union_agg try_avg try_sum tuple_intersection_agg_double
    tuple_intersection_agg_integer tuple_sketch_agg_double tuple_sketch_agg_integer tuple_union_agg_double
    tuple_union_agg_integer var_pop var_samp variance vector_avg vector_sum
"""

#: the aggregates among them whose value no order of the rows decides, not even in the last digits
_IN_ANY_ORDER = (
    "bit_xor", "bitmap_and_agg", "bitmap_construct_agg", "bitmap_or_agg", "count_min_sketch", "median", "percentile",
    "percentile_cont", "percentile_disc", "regr_count", "try_sum",
)  # fmt: skip

# fmt: off
ROWS = (
    Function("count", aggregate=Aggregate.COUNT),
    Function("count_if", aggregate=Aggregate.COUNT_IF),
    Function("sum", aggregate=Aggregate.SUM),
    Function("avg", aggregate=Aggregate.MEAN),
    Function("mean", aggregate=Aggregate.MEAN),
    Function("bool_or", aggregate=Aggregate.ANY),
    Function("some", aggregate=Aggregate.ANY),
    Function("any", parsed_as="Any", aggregate=Aggregate.ANY),
    Function("bool_and", aggregate=Aggregate.ALL),
    Function("every", aggregate=Aggregate.ALL),
    Function("min", aggregate=Aggregate.VALUES),
    Function("max", aggregate=Aggregate.VALUES),
    Function("min_by", aggregate=Aggregate.VALUES, by_order=True),
    Function("max_by", aggregate=Aggregate.VALUES, by_order=True),
    Function("bit_and", aggregate=Aggregate.VALUES),
    Function("bit_or", aggregate=Aggregate.VALUES),
    Function("collect_set", aggregate=Aggregate.VALUES, by_order=True),
    Function("collect_union", aggregate=Aggregate.VALUES, by_order=True),
    Function("approx_count_distinct", aggregate=Aggregate.VALUES),
    Function("grouping", aggregate=Aggregate.GROUPING),
    Function("grouping_id", aggregate=Aggregate.GROUPING),
    *(Function(name, aggregate=Aggregate.ROWS, by_order=name not in _IN_ANY_ORDER) for name in _OF_ROWS.split()),
)
# fmt: on
