"""Names that Spark has itself, so that a run need not ask Spark about them.

`NAMES`: the functions of Spark 3.5 without a row in the registry. `WORDS`: words before a parenthesis, no functions.
`YOUNGER`: functions with a row that Spark 3.5 does not have. There people may have made a function of that name, so a
run that calls a function of a later version asks Spark about it: one statement.
"""

from __future__ import annotations

#: `SHOW SYSTEM FUNCTIONS` of Spark 3.5, without operators
_NAMES = """
    acos acosh aes_decrypt aggregate and array array_append array_compact array_contains array_distinct
    array_except array_insert array_intersect array_join array_max array_min array_position array_prepend
    array_remove array_repeat array_size array_sort array_union arrays_overlap arrays_zip ascii asin asinh
    assert_true atan atan2 atanh base64 between bin binary bit_count bit_get bit_length bitmap_bit_position
    bitmap_bucket_number bitmap_count boolean bround cardinality case cast cbrt char char_length character_length
    chr contains conv cos cosh cot crc32 csc cume_dist current_timezone date_from_unix_date
    dayofweek decimal decode degrees dense_rank div e element_at elt encode endswith equal_null exists exp expm1
    factorial filter find_in_set flatten float forall format_number format_string from_csv from_json get
    get_json_object getbit hash hex hll_sketch_estimate hll_union hypot if ilike in initcap instr isnan
    isnotnull isnull json_array_length json_object_keys lag lcase lead len length levenshtein like ln locate log
    log10 log1p log2 luhn_check make_timestamp_ntz map map_concat
    map_contains_key map_entries map_filter map_from_arrays map_from_entries map_keys map_values map_zip_with mask
    md5 mod named_struct nanvl negative not nth_value ntile nvl2 octet_length or overlay parse_url
    percent_rank pi pmod position positive pow power printf radians raise_error range rank reduce regexp
    regexp_count regexp_extract regexp_extract_all regexp_instr regexp_like regexp_substr repeat right rint rlike
    row_number rpad schema_of_csv schema_of_json sec sentences sequence sha sha1 sha2 shiftleft shiftright
    shiftrightunsigned sign signum sin sinh size slice smallint sort_array soundex space split split_part
    sql_keywords sqrt startswith str_to_map string substring_index tan tanh tinyint to_binary to_char to_csv to_json
    to_number to_varchar transform transform_keys transform_values translate try_add try_aes_decrypt try_divide
    try_element_at try_multiply try_subtract try_to_binary try_to_number try_to_timestamp typeof ucase unbase64
    unhex url_decode url_encode weekday when width_bucket window_time xpath xpath_boolean xpath_double xpath_float
    xpath_int xpath_long xpath_number xpath_short xpath_string xxhash64 zip_with
"""

#: functions of which facts are known and that Spark 3.5 does not have
_YOUNGER = """
    approx_top_k approx_top_k_accumulate approx_top_k_combine bitmap_and_agg collect_union current_path
    current_time from_protobuf kll_merge_agg_bigint kll_merge_agg_double kll_merge_agg_float
    kll_sketch_agg_bigint kll_sketch_agg_double kll_sketch_agg_float listagg localtime measure percentile_cont
    percentile_disc python_worker_logs randstr schema_of_variant_agg session_user string_agg
    theta_intersection_agg theta_sketch_agg theta_union_agg timestamp_ntz to_protobuf try_reflect
    tuple_intersection_agg_double tuple_intersection_agg_integer tuple_sketch_agg_double
    tuple_sketch_agg_integer tuple_union_agg_double tuple_union_agg_integer uniform vector_avg vector_sum
"""

#: words that stand before a parenthesis and are no functions
_WORDS = """
    all as by cross cube else except exclude from group having interval intersect into is join lateral limit
    minus numeric on outer over partition pivot qualify rollup select sets sort table tablesample then try_cast
    union unpivot using values varchar char where with within
"""

NAMES = frozenset(_NAMES.split())
YOUNGER = frozenset(_YOUNGER.split())
WORDS = frozenset(_WORDS.split())
