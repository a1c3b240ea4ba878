"""Types that are known without Spark: checked without Spark, and by Spark."""

import random

#: of the relation shop.orders
ORDERS = {"id": "bigint", "customer": "int", "amount": "decimal(10,2)", "ts": "timestamp", "k": "string"}
#: expression over these columns -> Spark's type in any session
KNOWN = {
    "id": "bigint", "ts + interval 1 day": "timestamp", "ts - interval '1' month": "timestamp", "count(*)": "bigint",
    "sum(customer)": "bigint", "sum(amount)": "decimal(20,2)", "avg(amount)": "decimal(14,6)", "avg(id)": "double",
    "max(ts)": "timestamp", "id > 1": "boolean", "not k = 'a'": "boolean", "cast(k as date)": "date",
    "upper(k)": "string", "date_trunc('DAY', ts)": "timestamp", "-7": "int", "3000000000": "bigint",
    "1.50": "decimal(3,2)", "'a'": "string", "1e3": "double", "interval 1 month": "interval month",
    "interval 2 weeks": "interval day", "interval '1-2' year to month": "interval year to month",
    "interval 3 hours": "interval hour", "interval '1 02' day to hour": "interval day to hour",
    "ts - ts": "interval day to second", "coalesce(customer, 0)": "int", "id / 2": "double", "null": "void",
    "amount + 1": "decimal(11,2)", "amount * 2": "decimal(12,2)", "amount / customer": "decimal(21,13)",
    "id div 2": "bigint", "date(ts) - 7": "date", "date(ts) + interval 36 hour": "timestamp",
    "date(ts) - interval 1 month": "date", "date(ts) - date(ts)": "interval day",
    "interval 1 day + interval 2 hours": "interval day to hour", "3 * interval '1' day": "interval day to second",
    "case when k = 'a' then interval 7 days else interval 3 hours end": "interval day to hour",
    "if(k = 'a', ts, date(ts))": "timestamp", "dateadd(DAY, 7, ts)": "timestamp", "dateadd(ts, 7)": "date",
    "datediff(HOUR, ts, ts)": "bigint", "datediff(ts, ts)": "int", "unix_timestamp(ts) - 3600": "bigint",
    "year(ts) * 100 + month(ts)": "int", "date_format(ts, 'yyyy-MM')": "string",
    "extract(SECOND FROM ts)": "decimal(8,6)",
    "make_interval(0, 0, 0, customer)": "interval", "make_dt_interval(7)": "interval day to second",
    "from_utc_timestamp(ts, k)": "timestamp", "months_between(ts, ts)": "double", "floor(amount)": "decimal(9,0)",
    "sum(if(k = 'a', amount, 0))": "decimal(22,2)", "count(*) filter (where k = 'a')": "bigint",
    "rank() over (order by id)": "int", "window(ts, '10 minutes').end": "timestamp", "1L": "bigint",
    "1.5BD": "decimal(2,1)", "1e3BD": "decimal(4,0)", "-1.5e-3BD": "decimal(4,4)", "00BD": "decimal(1,0)",
    "-2147483648": "int", "-(2147483648)": "bigint", "-9223372036854775808": "bigint", "- -1": "int",
    "-9223372036854775809": "decimal(19,0)", "amount + -2147483648": "decimal(13,2)", "amount + 1L": "decimal(11,2)",
    "amount * (-1)": "decimal(12,2)", "amount * -(1)": "decimal(21,2)", "amount * -1Y": "decimal(14,2)",
    "case when k = 'refund' then amount * -1 else amount end": "decimal(12,2)", "-1S / amount": "decimal(14,11)",
    "collect_list(id)": "array<bigint>",
    "collect_list(id)[0]": "bigint", "make_date(2024, customer, 1)": "date", "cast(k as char(3))": "string",
    "nullif(id, 3)": "bigint", "lag(k, 1) over (order by id)": "string", "window(ts, '1 hour').start": "timestamp",
    "greatest(amount, id)": "decimal(22,2)", "customer % 2": "int", "concat(k, 'x')": "string",
    "-null": "double", "abs(null)": "double", "sum(interval 2 hours)": "interval hour",
    "avg(interval 2 hours)": "interval day to second", "sum(interval 1 month)": "interval month",
    "sum(distinct customer)": "bigint", "(select max(ts) from shop.orders)": "timestamp",
}  # fmt: skip
#: those of sessions without ANSI, and of its defaults: a run asks Spark
BY_SESSION = {
    "-k": "double", "-'1'": "double", "coalesce(k, 1)": "string", "k + id": "double", "k || id": "string",
    "case k when 'a' then 1 else '2' end": "string", "floor(k)": "bigint", "sum(k)": "double",
    "cast(1 as float) + id": "float", "amount * amount * amount * amount": "decimal(38,6)", "concat(k, id)": "string",
    "to_timestamp(k)": "timestamp", "upper(coalesce(k, 1))": "string",
}  # fmt: skip
#: of which only Spark knows the type
UNKNOWN = (
    "interval 1 month 2 days",
    "coalesce(k, id > 1)",
    "named_struct('a', id)",
    "my_function(id)",
    "round(amount, 1)",
)

_LITERALS = ("7", "2L", "1.5", "1f", "'x'", "null", "true", "interval 2 hours")
_OF_TWO = (
    "{a} + {b}", "{a} - {b}", "{a} * {b}", "coalesce({a}, {b})", "if(id > 1, {a}, {b})", "{a} < {b}", "-({a})",
    "nullif({a}, {b})", "case k when 'a' then {a} when 'b' then {b} end", "greatest({a}, {b})", "concat({a}, {b})",
    "upper({a})", "{a} + interval 1 day", "date_add({a}, 2)", "cast({a} as decimal(9, 2))", "cast({a} as smallint)",
    "unix_millis({a})", "date_trunc('DAY', {a})", "{a} is null and {b} is null", "window({a}, '1 hour')", "year({a})",
    "ifnull({a}, null)", "{a} / {b}", "{a} % {b}",
)  # fmt: skip
_AGGREGATES = (
    "sum({a})", "avg({a})", "min({a})", "count({a})", "bool_and({a})", "max({a}) filter (where id > 1)", "{a}"
)  # fmt: skip


def composed(rng: random.Random, depth: int = 2) -> str:
    """An expression over ORDERS, which Spark may refuse."""
    if depth == 0 or rng.random() < 0.15:
        return rng.choice([*ORDERS, *_LITERALS, "cast(ts as date)"])
    return f"({rng.choice(_OF_TWO).format(a=composed(rng, depth - 1), b=composed(rng, depth - 1))})"


def aggregated(rng: random.Random) -> str:
    return rng.choice(_AGGREGATES).format(a=composed(rng))
