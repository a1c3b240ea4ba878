"""The meanings of Spark's functions on which the proofs rest (`support.proofs`), compared with Spark at samples."""

from __future__ import annotations

import json
import re
from datetime import datetime, timedelta
from decimal import Decimal
from typing import Any

import pytest

from support.proofs import calendar
from support.proofs.functions import FUNCTIONS
from support.proofs.lemmas import FIELDS, LEMMAS, OPERATORS
from support.proofs.translate import Translation
from support.proofs.values import V, scale_of
from support.proofs.whole import ZONED

INSTANTS = (
    "1600-02-29 23:59:59.999999", "1883-11-18 17:00:00", "1969-12-31 23:59:59.5", "1970-01-01 00:00:00.000001",
    "2023-02-28 12:00:00", "2023-12-31 23:59:59.999", "2024-01-31 00:00:00", "2024-02-29 23:59:59.999999",
    "2024-03-10 07:00:00", "2024-03-31 00:59:59.999", "2024-03-31 01:00:00", "2024-10-27 00:30:00",
    "2024-10-27 01:30:00", "2011-12-30 10:00:00", "2024-11-03 04:30:00.000001", "2098-06-30 23:59:59",
)  # fmt: skip
#: what the lemmas have no call of
MORE = """
pmod(unix_micros(x), 1000)
try_add(CAST(9223372036854775806 AS BIGINT) + k, 1L)
try_cast(dec AS BIGINT)
try_cast(IF(dec IS NULL, NULL, greatest(ceil(dec), -9223372036854775808BD)) AS BIGINT)
shiftright(k - 5L, 1)
get(array(k, 7), 1)
get(array(k, 7), 5)
size(array(k, 7))
array_sort(array_distinct(array(3L, 1L, NULL, 3L, bigint(k))))[1]
flatten(array(array(k), array(7)))[1]
concat(array(k), array(7))[1]
array_union(array(1, 2), array(2, 3))[2]
transform(sequence(1, 4), i -> i * k)[3]
filter(array(3, 5, 7), (v, i) -> v > 3 AND i < 2)[0]
exists(array(3, 5), v -> v = 5)
aggregate(sequence(1, 5), named_struct('lo', 0L), (q, i) -> named_struct('lo', q.lo + i), q -> q.lo)
named_struct('f', k).f
x < y
x <= CAST(y AS DATE)
x >= CAST(y AS TIMESTAMP_NTZ)
CAST(x AS DATE) = CAST(y AS TIMESTAMP_NTZ)
k <=> NULL
x IS DISTINCT FROM y
x IN (y, NULL)
x NOT IN (y)
x BETWEEN y AND x
NOT (x < y AND b)
(x < y OR b) IS NOT TRUE
CASE WHEN b THEN x < y ELSE NULL END
CASE k WHEN 1 THEN 5 WHEN -25 THEN 6 END
coalesce(b, x < y)
greatest(NULL, k, 1L)
least(x, NULL)
dec > k
dec + k
-dec
k DIV 7
k % 7
2147483647 + k
9223372036854775807L - k
CAST(dec AS BIGINT)
CAST(dec AS INT)
k / 7
CAST(k / 7 AS INT)
ceil(k / 7)
floor(k / 7)
x - interval '1 02:30' day to minute
x + interval 1 month
x - interval -13 month
x + make_interval(0, 1, 0, 2, 3, 4, 5)
x - make_dt_interval(2, 25)
x + interval 36 hours
CAST(x AS DATE) + interval 1 month
CAST(x AS DATE) - interval 36 hours
CAST(x AS DATE) - CAST(y AS DATE)
CAST(x AS TIMESTAMP_NTZ) + interval 1 day
CAST(x AS TIMESTAMP_NTZ) - interval 2 month
k * interval 1 day
timestamp '2024-03-31 02:30:00' - x
timestamp '2024-10-27 02:30:00 Europe/Berlin' < x
CAST('2024-02-30' AS DATE)
CAST('2024-3-9' AS TIMESTAMP)
CAST('zzz' AS TIMESTAMP)
int('12')
double(k)
date(x)
timestamp(CAST(x AS DATE))
replace('a-b', '-', '')
current_timezone()
round(k / 7, 1)
date_trunc('FORTNIGHT', x)
from_unixtime(unix_timestamp(x))
convert_timezone('Australia/Lord_Howe', 'America/St_Johns', CAST(x AS TIMESTAMP_NTZ))
to_date(s, 'yyyyMM')
abs(k)
'a' || k
""".strip().splitlines()

#: kind -> SQL of what is compared
SHOWN = {"timestamp": "unix_micros({})", "date": "unix_date({})", "boolean": "CAST({} AS INT)", "struct": "to_json({})",
         "decimal": "CAST({} AS STRING)"}  # fmt: skip
ROWS = [
    (x, INSTANTS[(n * 5 + 3) % len(INSTANTS)], ("1", "-25", "30", "NULL")[n % 4], ("true", "false", "NULL")[n % 3])
    for n, x in enumerate(INSTANTS)
]
#: columns besides x, y, k and b
COLUMNS = {
    "a": "x", "d": "CAST(x AS DATE)", "ntz": "CAST(x AS TIMESTAMP_NTZ)", "iv": "make_dt_interval(k, 5)",
    "ms": "unix_millis(x)", "dec": "k + 0.501BD", "s": "'202402'",
}  # fmt: skip
#: kind of x in a lemma -> the column that is put in its place
PLACES = {"date": "d", "bigint": "bigint(k)", "decimal:3": "dec", "timestamp_ntz": "ntz"}


def expressions() -> list[str]:
    """Each call of the lemmas, what follows local time, and the rest of the meanings."""
    calls = [
        re.sub(r"\bx\b", PLACES.get(one.kind, "x"), one.call).replace("{y}", "y")
        for one in (*LEMMAS, *FIELDS, *OPERATORS)
    ]
    zoned = [text.replace("{zone}", "America/St_Johns").replace("{n}", "y") for text in ZONED]
    return list(dict.fromkeys([*calls, *zoned, *MORE]))


def ours(value: V) -> Any:
    """A value of the translator, as `theirs` has it."""
    if value.null:
        return None
    if value.kind == "struct":
        return [part.x for part in value.x.values()]
    if value.kind.startswith("decimal"):
        return Decimal(value.x).scaleb(-scale_of(value.kind))
    return int(value.x) if value.kind == "boolean" else _digits(value.x) if value.kind == "double" else value.x


def theirs(value: Any, kind: str) -> Any:
    """A value of Spark, by `SHOWN`. Lengths and local times are whole µs."""
    if isinstance(value, datetime):
        value -= datetime(1970, 1, 1)
    if isinstance(value, timedelta):
        return value // timedelta(microseconds=1)
    if isinstance(value, float):
        return _digits(value)
    if value is not None and kind == "struct":
        return [*json.loads(value).values()]
    return Decimal(value) if value is not None and kind.startswith("decimal") else value


def _digits(value: float) -> float:
    """A DOUBLE without its last digits."""
    return float(f"{value:.12g}")


@pytest.mark.own_catalog
@pytest.mark.first(2)
@pytest.mark.parametrize("zone", ["UTC", "Europe/Berlin", "America/St_Johns", "Australia/Lord_Howe", "Pacific/Apia"])
def test_meanings_are_those_of_spark(zone: str, spark: Any) -> None:
    spark.conf.set("spark.sql.session.timeZone", zone)
    given = Translation(calendar.rules(zone))
    samples, rows = [], []
    for x, y, k, b in ROWS:
        row = {
            "x": f"timestamp '{x}Z'",
            "y": f"timestamp '{y}Z'",
            "k": f"CAST({k} AS INT)",
            "b": f"CAST({b} AS BOOLEAN)",
        }
        samples.append(f"({', '.join(row.values())})")
        values = {name: given.expression(sql)({}) for name, sql in row.items()}
        rows.append(values | {name: given.expression(sql)(values) for name, sql in COLUMNS.items()})
    columns = ", ".join(f"{sql} AS {name}" for name, sql in COLUMNS.items())
    samples_sql = f"SELECT *, {columns} FROM VALUES {', '.join(samples)} AS v(x, y, k, b)"
    wanted = []
    for call in expressions():
        values = [given.expression(call)(row) for row in rows]
        kind = next(iter({value.kind for value in values} - {"void"}), "void")
        is_shown = kind != "struct" or all(part.kind == "int" for part in values[0].x.values())
        wanted += [(call, kind, values)] if is_shown else []  # the parts of others are compared by themselves
    items = ", ".join(SHOWN.get(kind.partition(":")[0], "{}").format(call) for call, kind, _ in wanted)
    found = zip(*spark.sql(f"SELECT {items} FROM ({samples_sql})").collect())
    wrong = {
        call: f"{ours(value)}, and Spark has {theirs(value_of_spark, kind)} for {row}"
        for (call, kind, values), of_spark in zip(wanted, found)
        for row, value, value_of_spark in zip(ROWS, values, of_spark)
        if ours(value) != theirs(value_of_spark, kind)
    }
    assert wrong == {} and len(wanted) > 300


def test_each_meaning_is_compared() -> None:
    """Of a function that is in no sample, nothing would be known."""
    said = " ".join(expressions()).lower()
    unsaid = {name for name in FUNCTIONS if not re.search(rf"\b{name}\(|cast\(.* as {name}\)", said)}
    assert unsaid == {"raise_error"}
