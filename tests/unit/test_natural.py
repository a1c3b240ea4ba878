# ruff: noqa: E501  # one predicate a line
"""Predicates as people write them: what becomes of each by its text alone, without types and zones."""

from __future__ import annotations

import pytest
from sqlglot import exp

from dbt.adapters.sparktemporal.temporal.predicates.monotonicity import Unlistable
from dbt.adapters.sparktemporal.temporal.rewrite.split import split

COLUMNS = [
    "a",
    "hi",
    "d",
    "ntz",
    "ms",
    "k",
    "iv",
    "ds",
    "ym",
    "ts_text",
    "part",
    "hr",
    "ymd",
    "y",
    "m",
    "dd",
    "arr",
    "times",
    "id",
]
#: {n} is the clock. One a line: stored with its exact instants
WINDOWS = """
date_format(a, 'yyyy-MM') = date_format({n}, 'yyyy-MM')
date_format(a, 'yyyy-MM-dd') = date_format({n}, 'yyyy-MM-dd')
date_format(a, 'yyyyMMdd') >= date_format({n} - interval 7 days, 'yyyyMMdd')
date_format(a, 'yyyy-MM-dd HH') = date_format({n}, 'yyyy-MM-dd HH')
date_format(a, 'yyyy') = date_format({n}, 'yyyy')
ds >= date_format({n} - interval 7 days, 'yyyy-MM-dd')
ds >= date_format(date_sub(cast({n} as date), 7), 'yyyy-MM-dd')
ds between date_format({n} - interval 7 days, 'yyyy-MM-dd') and date_format({n}, 'yyyy-MM-dd')
ds = cast(cast({n} as date) as string)
ds >= cast(date_sub({n}, 7) as string)
ds >= string(cast({n} as date) - interval 7 days)
ts_text >= cast({n} - interval 1 hour as string)
ym = date_format({n}, 'yyyyMM')
ym = substr(cast(cast({n} as date) as string), 1, 7)
ym = left(string(cast({n} as date)), 7)
ds = replace(cast(cast({n} as date) as string), '-', '')
ds >= regexp_replace(cast(date_sub({n}, 3) as string), '-', '')
ymd = date_format({n}, 'yyyyMMdd')
ymd >= cast(date_format({n} - interval 7 days, 'yyyyMMdd') as int)
ymd >= int(date_format(date_sub({n}, 7), 'yyyyMMdd'))
ymd = year({n}) * 10000 + month({n}) * 100 + day({n})
year(a) * 100 + month(a) = year({n}) * 100 + month({n})
year(a) * 12 + month(a) >= year({n}) * 12 + month({n}) - 3
year(a) * 10 + quarter(a) = year({n}) * 10 + quarter({n})
concat(year(a), lpad(month(a), 2, '0')) = concat(year({n}), lpad(month({n}), 2, '0'))
date_format(a, 'yyyy') || '-' || date_format(a, 'MM') = date_format({n}, 'yyyy') || '-' || date_format({n}, 'MM')
concat(year(a), '-Q', quarter(a)) = concat(year({n}), '-Q', quarter({n}))
part >= concat('dt=', date_format({n} - interval 2 days, 'yyyy-MM-dd'), '/hr=', date_format({n} - interval 2 days, 'HH'))
(ds, hr) >= (date_format({n}, 'yyyy-MM-dd'), date_format({n}, 'HH'))
(year(a), month(a)) = (year({n}), month({n}))
struct(year(a), month(a)) = struct(year({n}), month({n}))
year(a) = year({n}) and month(a) = month({n})
y = year({n}) and m = month({n}) and dd = day({n})
y = year({n}) and quarter(a) = quarter({n})
ds = date_format({n}, 'yyyy-MM-dd') and hr = date_format({n}, 'HH')
d = cast({n} as date) and hour(a) = hour({n})
date_trunc('day', a) = date_trunc('day', {n}) and hour(a) = hour({n})
extract(yearofweek from a) = extract(yearofweek from {n}) and weekofyear(a) = weekofyear({n})
a >= make_date(year({n}), 1, 1)
a >= make_date(year({n}), month({n}), 1)
a >= make_date(year({n}) - 1, 1, 1) and a < make_date(year({n}), 1, 1)
a >= make_timestamp(year({n}), 1, 1, 0, 0, 0)
a >= to_date(concat(year({n}), '-01-01'))
a >= cast(date_format({n}, 'yyyy-MM-01') as date)
a >= to_date(date_format({n}, 'yyyy-MM-01'))
a >= to_date(date_format({n}, 'yyyyMM'), 'yyyyMM')
a >= to_timestamp(date_format({n}, 'yyyy-MM-dd'), 'yyyy-MM-dd')
d >= date_format({n} - interval 7 days, 'yyyy-MM-dd')
a >= date_format({n}, 'yyyy-MM-dd 00:00:00')
case when month(a) >= 7 then year(a) + 1 else year(a) end = case when month({n}) >= 7 then year({n}) + 1 else year({n}) end
year(a) + if(month(a) >= 10, 1, 0) = year({n}) + if(month({n}) >= 10, 1, 0)
year(add_months(a, 6)) = year(add_months({n}, 6))
a > from_unixtime(unix_timestamp({n}) - 3600)
from_unixtime(ms div 1000, 'yyyy-MM-dd') = from_unixtime(unix_timestamp({n}), 'yyyy-MM-dd')
ts_text > from_unixtime(unix_timestamp({n}) - 3600)
to_date(from_utc_timestamp(a, 'America/New_York')) = to_date(from_utc_timestamp({n}, 'America/New_York'))
cast(from_utc_timestamp(a, 'Europe/Berlin') as date) >= date_sub(from_utc_timestamp({n}, 'Europe/Berlin'), 7)
date_trunc('hour', from_utc_timestamp(a, 'America/New_York')) = date_trunc('hour', from_utc_timestamp({n}, 'America/New_York'))
date_trunc('month', from_utc_timestamp(a, 'America/New_York')) = date_trunc('month', from_utc_timestamp({n}, 'America/New_York'))
from_utc_timestamp(a, 'America/New_York') >= from_utc_timestamp({n}, 'America/New_York') - interval 1 day
a >= to_utc_timestamp(date_trunc('day', from_utc_timestamp({n}, 'America/New_York')), 'America/New_York')
a >= to_utc_timestamp({n}, 'America/New_York') - interval 1 day
cast(convert_timezone('UTC', 'America/New_York', cast(a as timestamp_ntz)) as date) = cast(convert_timezone('UTC', 'America/New_York', cast({n} as timestamp_ntz)) as date)
to_date(convert_timezone('America/New_York', cast({n} as timestamp_ntz))) = d
date_format(from_utc_timestamp({n}, 'America/New_York'), 'yyyy-MM-dd') = ds
months_between({n}, a) < 3
months_between({n}, a) <= k
floor(months_between({n}, a)) = 0
months_between(cast({n} as date), d) >= 1
timestampdiff(hour, a, {n}) < 24
timestampdiff(day, a, {n}) <= 7
timestampdiff(month, a, {n}) < 3
datediff(hour, a, {n}) < 24
datediff({n}, a) <= 7
abs(datediff({n}, a)) <= 1
abs(unix_timestamp({n}) - unix_timestamp(a)) < 3600
(unix_timestamp({n}) - unix_timestamp(a)) / 3600 < 24
floor((unix_timestamp({n}) - unix_timestamp(a)) / 86400) < 7
round((unix_timestamp({n}) - unix_timestamp(a)) / 3600) < 7
round((unix_timestamp({n}) - unix_timestamp(a)) / 3600, 2) < 7.5
(cast({n} as bigint) - cast(a as bigint)) / 60 < 16
int((unix_timestamp({n}) - unix_timestamp(a)) / 60) < 16
cast((unix_millis({n}) - ms) / 60000 as int) < 16
cast(({n} - ms) / 60000 as int) between 0 and 16
bigint((unix_timestamp({n}) - unix_timestamp(a)) / 3600) < 16
cast(round((unix_timestamp({n}) - unix_timestamp(a)) / 3600) as int) = k
cast(months_between({n}, a) as int) < 2
int((cast({n} as double) - cast(a as double)) / 60) < 16
cast({n} as long) - cast(a as long) < 900
(cast({n} as double) - cast(a as double)) / 60.0 < 16
{n} - make_interval(0, 0, 0, 7) <= a
{n} - make_interval(0, 0, 0, k) <= a
a + make_interval(0, 0, 0, k) > {n}
{n} - make_dt_interval(k) <= a
{n} - k * interval 1 day <= a
{n} - a < iv
{n} - a between interval 0 hours and iv
a + iv > {n}
nvl(hi, {n} + interval 1 day) > {n}
coalesce(hi, {n}) >= {n}
coalesce(hi, {n}) - a < interval 1 hour
coalesce(hi, timestamp '2999-01-01') > {n}
ifnull(hi, {n}) > a + interval 1 hour
case when hi is null then {n} else hi end - a < interval 1 hour
if(hi is null, {n}, hi) > a + interval 1 day
datediff(coalesce(hi, {n}), a) < 30
greatest(a, {n} - interval 7 days) = a
least(hi, {n}) - a > interval 1 hour
greatest(a, hi) >= {n} - interval 7 days
{n} between a and coalesce(hi, {n})
a >= greatest({n} - interval 7 days, timestamp '2024-03-01')
(k = 1 or exists(arr, x -> x = 1)) and {n} < a + interval 1 day
array_max(times) > {n}
exists(times, x -> x > {n})
k = 1 or exists(times, x -> x > {n})
exists(times, x -> x >= {n} - interval 7 hours)
exists(periods, p -> p.lo <= {n} and {n} < p.hi)
not exists(times, x -> x > {n} and x < a)
forall(times, x -> {n} < x)
size(filter(times, x -> x > {n})) > 0
size(filter(times, x -> x between {n} - interval 1 hour and {n})) >= 3
array_max(filter(times, x -> x > {n})) < a
quarter(a) = quarter({n}) and year(a) = year({n})
last_day(a) = last_day({n})
trunc(a, 'MM') = trunc(add_months({n}, -1), 'MM')
date_format(a, 'yyyy-MM') = date_format(add_months({n}, -1), 'yyyy-MM')
date_format(a, 'yyyy-MM') = date_format({n} - interval 1 month, 'yyyy-MM')
a >= {n} - interval 7 days
a >= {n} - interval 1 month
"""
#: a part is stored with its instants, and a read filters the rest
RESTS = """
year(a) = year({n}) and weekofyear(a) = weekofyear({n})
hour({n}) = hour(a) and {n} < a + interval 1 day
day({n}) = 1 and a >= {n} - interval 1 month
"""
#: all rows are stored: these come again and again, or wrap around, or the elements that they compare are not known
WHOLES = """
date_format(a, 'MM-yyyy') = date_format({n}, 'MM-yyyy')
cast(floor((unix_timestamp({n}) - unix_timestamp(a)) / 60) as int) < 16
try_cast((unix_millis({n}) - ms) / 60000 as int) < 16
cast((unix_millis({n}) - ms) / 60000 as smallint) < 16
cast({n} as int) - k < 16
unix_timestamp({n}) * 1000 - ms < 60000
nvl2(hi, hi, {n}) > a + interval 1 day
exists(times, x -> x = {n} - interval 7 days)
exists(times, x -> hour(x) = hour({n}))
size(filter(times, x -> case when {n} < a then x > {n} end)) = 1
aggregate(times, 0, (n, x) -> n + if(x > {n}, 1, 0)) > 2
dayofweek({n}) = dayofweek(a)
weekofyear(a) = weekofyear({n})
"""


def described(_: exp.Query) -> list[tuple[str, str]]:
    return [(name, "int") for name in COLUMNS]


def kind(text: str) -> str:
    sql = f"select id from t where {text.replace('{n}', 'mz_now()')}"
    found = split(sql, described)
    if any("all rows" in note for note in found.notes):
        return "whole"
    return "rest" if found.notes else "window"


@pytest.mark.parametrize(("texts", "wanted"), [(WINDOWS, "window"), (RESTS, "rest"), (WHOLES, "whole")])
def test_what_becomes_of_natural_predicates(texts: str, wanted: str) -> None:
    lines = texts.strip().splitlines()
    assert {text: kind(text) for text in lines} == dict.fromkeys(lines, wanted)


def test_nearly_all_are_windows() -> None:
    windows, rests, wholes = (len(texts.strip().splitlines()) for texts in (WINDOWS, RESTS, WHOLES))
    print(f"{windows} windows, {rests} with a rest, {wholes} whole")
    assert windows / (windows + rests + wholes) > 0.85


def test_what_a_zone_breaks_is_the_rest() -> None:
    """Only the zone tells that the changes cannot be listed: the part beside it is still stored with its instants."""
    sql = "select id from t where mz_now() < hi and months_between(mz_now(), a) < 3"
    why = Unlistable("ST324", "months_between(mz_now(), a)", "it goes back", "another one")
    assert not split(sql, described).notes
    found = split(sql, described, unlisted={sql.rindex("mz_now"): why})
    (note,) = found.notes
    assert "over the rows in the window: months_between(mz_now(), a) < 3" in note and all(
        core.is_bounded for core in found.cores
    )
