"""The types of calls of Spark's functions: a fixed type, or a rule over the types of the arguments."""

from __future__ import annotations

from enum import Enum

from .registry import known

#: an interval of months, days and microseconds; of days and shorter; of years and months
CALENDAR, DAYS, MONTHS = "interval", "interval day to second", "interval year to month"


class Rule(Enum):
    """How the types of the arguments decide the type of a call."""

    FIRST = "that of the first argument"
    ABSOLUTE = "that of the number"
    COMMON = "one type for all arguments"
    COMMON_OF_REST = "one type for all arguments but the first"
    ROUNDED = "a whole number"
    NEAREST = "that of the number, unless it is a DECIMAL"
    SUM = "that of a sum"
    MEAN = "that of a mean"
    TEXTS = "a text, of texts"
    INSTANT = "that of the instant which is moved"
    LIST = "an array"
    ARRAY = "an array of one type for all arguments"
    ELEMENT = "that of the elements of an array"
    PART = "a part of a time, which the first argument names"
    WINDOW = "a window of time"


_RULES = {
    Rule.FIRST: """
        min max min_by max_by first first_value last last_value any_value lag lead nth_value nullif bit_and bit_or
        bit_xor mode filter
    """,
    Rule.ABSOLUTE: "abs negative positive",
    Rule.COMMON: "coalesce nvl ifnull greatest least",
    Rule.COMMON_OF_REST: "nvl2",
    Rule.ROUNDED: "ceil ceiling floor",
    Rule.NEAREST: "round",
    Rule.SUM: "sum try_sum",
    Rule.MEAN: "avg mean try_avg",
    Rule.TEXTS: "concat lpad rpad left right substr reverse",
    Rule.INSTANT: "timestampadd dateadd date_add",
    Rule.LIST: "collect_list collect_set array_agg",
    Rule.ARRAY: "array",
    Rule.ELEMENT: "array_max array_min",
    Rule.PART: "date_part datepart",
    Rule.WINDOW: "window session_window",
}
_TYPES = {
    "tinyint": "bit_get getbit grouping tinyint",
    "smallint": "smallint",
    "int": """
        ascii bit_count bit_length cardinality char_length character_length day dayofmonth dayofweek dayofyear
        dense_rank find_in_set hash hour instr int json_array_length len length levenshtein locate minute month ntile
        octet_length position quarter rank regexp_count regexp_instr row_number second size weekday weekofyear year
    """,
    "bigint": """
        approx_count_distinct count count_if crc32 factorial grouping_id monotonically_increasing_id regr_count
        to_unix_timestamp unix_timestamp width_bucket xxhash64
    """,
    "float": "float",
    "double": """
        acos acosh asin asinh atan atan2 atanh cbrt corr cos cosh cot covar_pop covar_samp cume_dist degrees e exp
        expm1 hypot kurtosis ln log log10 log1p log2 months_between percent_rank pi pow power radians rint sign signum
        sin sinh skewness sqrt std stddev stddev_pop stddev_samp tan tanh var_pop var_samp variance
    """,
    "decimal(10,0)": "decimal",
    "boolean": """
        array_contains arrays_overlap bool_and bool_or boolean contains endswith equal_null every exists forall ilike
        isnan isnotnull isnull like luhn_check regexp regexp_like rlike some startswith
    """,
    "date": "curdate current_date date_from_unix_date make_date to_date",
    "timestamp": "current_timestamp make_timestamp_ltz now to_timestamp to_timestamp_ltz",
    "timestamp_ntz": "convert_timezone localtimestamp make_timestamp_ntz to_timestamp_ntz",
    CALENDAR: "make_interval",
    DAYS: "make_dt_interval",
    MONTHS: "make_ym_interval",
    "string": """
        array_join base64 btrim char chr concat_ws conv current_catalog current_database current_schema
        current_timezone current_user date_format format_number format_string from_unixtime get_json_object
        hex initcap lcase lower ltrim mask md5 parse_url printf regexp_extract regexp_replace regexp_substr
        repeat replace rtrim sha sha1 sha2 soundex space split_part string substring_index to_char to_csv to_json
        to_varchar translate typeof ucase upper url_decode url_encode user uuid version
    """,
    "array<string>": "split",
    "binary": "binary",
}
_BY_NAME: dict[str, str | Rule] = {
    **{name: rule for rule, names in _RULES.items() for name in names.split()},
    **{name: kind for kind, names in _TYPES.items() for name in names.split()},
}
#: names of functions with a type or a rule here. Every version of Spark has these functions: where Spark has none of a
#: name, people may have made a function of that name, with another type
TYPED = frozenset(_BY_NAME)


def rule_of(name: str, arguments: int) -> str | Rule | None:
    """The type of a call, or the rule that gives the type; None where only Spark knows.

    >>> rule_of("Date_Add", 2), rule_of("date_add", 3), rule_of("year", 1), rule_of("my_function", 1)
    ('date', <Rule.INSTANT: 'that of the instant which is moved'>, 'int', None)
    """
    row = known(name, arguments)
    return row.type if row.type and not row.units else _BY_NAME.get(row.name)
