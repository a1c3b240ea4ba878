"""Functions of which nothing is known but that Spark 4.1 has them itself, so that nobody has to ask what they are.

A name that a later version adds is missing here. A run that calls such a function asks Spark about it: one statement.
"""

from __future__ import annotations

#: `SHOW SYSTEM FUNCTIONS`, without operators
_NAMES = """
    abs acos acosh aes_decrypt aggregate and approx_top_k_estimate array array_append array_compact
    array_contains array_distinct array_except array_insert array_intersect array_join array_max array_min
    array_position array_prepend array_remove array_repeat array_size array_sort array_union arrays_overlap
    arrays_zip ascii asin asinh assert_true atan atan2 atanh base64 between bin binary bit_count bit_get
    bit_length bitmap_bit_position bitmap_bucket_number bitmap_count boolean bround cardinality case cast cbrt
    char char_length character_length chr collate collation collations contains conv convert_timezone cos cosh
    cot crc32 csc cume_dist current_timezone date_format date_from_unix_date day dayname dayofmonth dayofweek
    dayofyear decimal decode degrees dense_rank div e element_at elt encode endswith equal_null exists exp expm1
    factorial filter find_in_set flatten float forall format_number format_string from_avro from_csv from_json
    from_unixtime from_xml get get_json_object getbit hash hex hll_sketch_estimate hll_union hour hypot if ilike
    in initcap instr int is_valid_utf8 is_variant_null isnan isnotnull isnull json_array_length json_object_keys
    kll_sketch_get_n_bigint kll_sketch_get_n_double kll_sketch_get_n_float kll_sketch_get_quantile_bigint
    kll_sketch_get_quantile_double kll_sketch_get_quantile_float kll_sketch_get_rank_bigint
    kll_sketch_get_rank_double kll_sketch_get_rank_float kll_sketch_merge_bigint kll_sketch_merge_double
    kll_sketch_merge_float kll_sketch_to_string_bigint kll_sketch_to_string_double kll_sketch_to_string_float
    lag lcase lead left len length levenshtein like ln locate log log10 log1p log2 lpad luhn_check make_date
    make_dt_interval make_interval make_time make_timestamp make_timestamp_ltz make_timestamp_ntz
    make_valid_utf8 make_ym_interval map map_concat map_contains_key map_entries map_filter map_from_arrays
    map_from_entries map_keys map_values map_zip_with mask md5 minute mod month monthname months_between
    named_struct nanvl negative not nth_value ntile nullifzero nvl2 octet_length or overlay parse_json parse_url
    percent_rank pi pmod position positive pow power printf quarter quote radians raise_error range rank reduce
    regexp regexp_count regexp_extract regexp_extract_all regexp_instr regexp_like regexp_replace regexp_substr
    repeat right rint rlike round row_number rpad schema_of_avro schema_of_csv schema_of_json schema_of_variant
    schema_of_xml sec second sentences sequence sha sha1 sha2 shiftleft shiftright shiftrightunsigned sign
    signum sin sinh size slice smallint sort_array soundex space split split_part sql_keywords sqrt st_asbinary
    st_geogfromwkb st_geomfromwkb st_setsrid st_srid startswith str_to_map string struct substring_index tan
    tanh theta_difference theta_intersection theta_sketch_estimate theta_union time time_diff time_trunc tinyint
    to_avro to_binary to_char to_csv to_json to_number to_time to_varchar to_variant_object to_xml transform
    transform_keys transform_values translate try_add try_aes_decrypt try_divide try_element_at
    try_make_interval try_make_timestamp try_make_timestamp_ltz try_make_timestamp_ntz try_mod try_multiply
    try_parse_json try_parse_url try_subtract try_to_binary try_to_date try_to_number try_to_time
    try_to_timestamp try_url_decode try_validate_utf8 try_variant_get typeof ucase unbase64 unhex url_decode
    url_encode validate_utf8 variant_explode variant_explode_outer variant_get weekday weekofyear when
    width_bucket window_time xpath xpath_boolean xpath_double xpath_float xpath_int xpath_long xpath_number
    xpath_short xpath_string xxhash64 zeroifnull zip_with
"""

#: words that stand before a parenthesis and are no functions
_WORDS = """
    all as by cross cube else except exclude from group having interval intersect into is join lateral limit
    minus numeric on outer over partition pivot qualify rollup select sets sort table tablesample then try_cast
    union unpivot using values varchar char where with within
"""

NAMES = frozenset(_NAMES.split())
WORDS = frozenset(_WORDS.split())
