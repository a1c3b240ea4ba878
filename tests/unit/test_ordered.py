"""Which values made of the fields of an instant order like the instant."""

from __future__ import annotations

import pytest

from dbt.adapters.sparktemporal.temporal.predicates.ordered import ordered
from dbt.adapters.sparktemporal.temporal.sql.text.dialect import expression, render

DAY, HOUR, SECOND = 86_400, 3_600, 1
#: an expression over x -> its type and the shortest time in which it stays
RISING = {
    "year(x) * 100 + month(x)": ("number", DAY),
    "year(x) * 12 + month(x)": ("number", DAY),
    "year(x) * 1000 + dayofyear(x)": ("number", DAY),
    "extract(yearofweek from x) * 100 + weekofyear(x)": ("number", DAY),
    "int(date_format(x, 'yyyyMMdd'))": ("number", DAY),
    "bigint(date_format(x, 'yyyyMMddHH'))": ("number", HOUR),
    "cast(year(x) as bigint) * 1000000 + month(x) * 10000 + day(x) * 100 + hour(x)": ("number", HOUR),
    "case when month(x) >= 7 then year(x) + 1 else year(x) end": ("number", DAY),
    "year(x) + if(month(x) > 9, 1, 0)": ("number", DAY),
    "date_format(x, 'yyyy-MM-dd')": ("text", DAY),
    "date_format(x, 'yyyy-MM-dd HH:mm:ss')": ("text", SECOND),
    "date_format(x, 'yyyy-MM-dd HH:mm:ss.SSS')": ("text", 0),
    "date_format(x, \"yyyy-'Q'q\")": ("text", DAY),
    "date_format(x, 'yyyy') || '-' || date_format(x, 'MM')": ("text", DAY),
    "concat(year(x), lpad(month(x), 2, '0'))": ("text", DAY),
    "concat('FY', year(x) + if(month(x) > 6, 1, 0), case when month(x) between 7 and 12 then 'H1' else 'H2' end)": (
        "text", DAY),
    "concat('dt=', date(x), '/hr=', date_format(x, 'HH'))": ("text", HOUR),
    "string(x)": ("text", 0),
    "date_format(x, 'yyyyMMddHHmmssSSSSSS')": ("text", 0),
    "concat(year(x), substr(left(date_format(x, 'MM'), 0), 1, 2))": ("text", DAY),
    "year(x) * 10 + floor((month(x) - 1) / 3)": ("number", DAY),
    "(year(x) * 12 + month(x)) / 3": ("number", DAY),
    "year(x) * 4 + int((month(x) - 1) / 3)": ("number", DAY),
    "substr(string(date(x)), 1, 7)": ("text", DAY),
    "left(x, 10)": ("text", DAY),
    "regexp_replace(date(x), '[^0-9]', '')": ("text", DAY),
    "from_unixtime(unix_timestamp(x), 'yyyy-MM-dd')": ("text", DAY),
    "make_date(year(x), quarter(x) * 3 - 2, 1)": ("date", DAY),
    "make_date(year(x), month(x), day(x))": ("date", DAY),
    "make_date(year(x) - 1, 7, 1)": ("date", DAY),
    "to_date(date_format(x, 'yyyyMM'), 'yyyyMM')": ("date", DAY),
    "make_timestamp(year(x), month(x), day(x), hour(x), 0, 0)": ("timestamp", HOUR),
    "(year(x), month(x))": ("several", DAY),
    "struct(date(x), hour(x))": ("several", HOUR),
    "(date_trunc('MONTH', x), day(x))": ("several", DAY),
}  # fmt: skip
#: what falls, wraps around, is no day in some years, or is of two instants
OTHERS = [
    "month(x)", "year(x) * 10 + month(x)", "concat(year(x), month(x))", "date_format(x, 'dd-MM-yyyy')",
    "date_format(x, 'yyyy-MM-dd hh')", "date_format(x, 'yy-MM')", "date_format(x, 'yyyy-M')", "(year(x), day(x))",
    "(month(x), year(x))", "year(x) * 100 + hour(x)", "year(x) * 10000 + month(x) * 100 + hour(x)",
    "extract(yearofweek from x) * 100 + month(x)", "(year(x), weekofyear(x))",
    "year(x) * 1000000 + month(x) * 10000 + day(x) * 100 + hour(x)", "int(date_format(x, 'yyyyMMddHH'))",
    "make_date(year(x), month(x), 31)", "make_date(year(x), 2, 29)", "make_date(year(x) + 1, month(x), day(x))",
    "cast(date_format(x, 'yyyy-MM-30') as date)", "to_date(date_format(x, 'yyyyMMdd'))",
    "case when year(x) > 2024 then 1 else 0 end", "case when month(x) >= 7 then year(x) else year(x) + 1 end",
    "year(x) * 100 + month(x - interval 1 day)", "concat(string(x), 'a')", "substr(date(x), 1, 6)", "lpad(x, 20, '0')",
    "concat(year(x), 'x', cast(null as string))", "-(year(x) * 100 + month(x))",
    # a cast cuts a fraction; sums of fractions are rounded; the text of a DOUBLE is not its digits
    "year(x) * 100 + month(x) - 3 * cast((month(x) - 1) / 3 as bigint)",
    "case when month(x) = 1 then 1 / 10 + 2 / 10 else 3 / 10 end",
    "year(x) + floor(month(x) / 10 + 7 / 10 + 2 / 10) - year(x)", "(year(x) / 1000000000000000000, month(x))",
    "cast(cast(date_format(x, 'yyyyMMdd') as double) as string)",
    "concat((year(x) - 1001) / 7998, date_format(x, 'MMdd'))",
    "concat(year(x) / 1, 'a')", "int(date_format(x, 'SSSSSS')) - int(date_format(x, 'SSS')) + year(x)",
    # Spark casts the values of a CASE to one type
    "concat(case when month(x) <= 12 then year(x) else year(x) / 2 end, '-', date_format(x, 'MM'))",
    "case when month(x) > 6 then date(x) else date_trunc('DAY', x) end",
    # a date has no hours, and the last day of a month is not the day
    "(date(make_timestamp(year(x), month(x), day(x), hour(x), 0, 0)), minute(x))",
    "(last_day(make_date(year(x), month(x), day(x))), hour(x))",
    # texts of more than ten characters
    "concat(year(x), case when month(x) < 7 then '2' else '1' end, "
    "case when month(x) < 7 then 'aaaaaaaaaaaaaaa' else 'bbbbbbbbbbbbbbb' end)",
    # `||` binds like `+`: a sum
    "year(x) || month(x) + 10",
    # functions of users; empty texts
    "integer(year(x))", "text(year(x))", "year(x) + int(left(date_format(x, 'yyyy'), 0))",
    "replace(date_format(x, '-'), '-')", "lpad(date_format(x, ''), 2, '0')",
]  # fmt: skip


@pytest.mark.parametrize("text", RISING)
def test_it_orders_like_the_instant(text: str) -> None:
    found = ordered(expression(text.replace("(x", "(mz_now()").replace(" x)", " mz_now())").replace("x,", "mz_now(),")))
    assert found is not None and (found.type, found.step) == RISING[text]
    assert render(found.of) in ("mz_now()", "timestamp_seconds(unix_timestamp(mz_now()))")


@pytest.mark.parametrize("text", OTHERS)
def test_it_does_not(text: str) -> None:
    assert ordered(expression(text.replace("(x", "(mz_now()").replace(" x)", " mz_now())"))) is None


def test_texts_of_which_some_are_dates() -> None:
    partial = {
        "concat(extract(yearofweek from mz_now()), '-', lpad(weekofyear(mz_now()), 2, '0'))": {
            "date",
            "timestamp",
            "timestamp_ntz",
        }
    }
    partial |= {"date_format(mz_now(), 'yyyyMMddHH')": {"int"}, "date_format(mz_now(), 'yyyy-MM')": set()}
    for text, types in partial.items():
        found = ordered(expression(text))
        assert found is not None and found.partial == types, text
    for text in ("concat('-', year(mz_now()))", "concat(year(mz_now()), 'e', date_format(mz_now(), 'MM'))"):
        found = ordered(expression(text))
        assert found is not None and found.is_partial("int") and found.is_partial("decimal(10,2)")
