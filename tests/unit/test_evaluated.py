"""A WHERE over the clock that a read evaluates over all rows: what is told, in the words of the model."""

from __future__ import annotations

import pytest

from dbt.adapters.sparktemporal.temporal.rewrite.split import split

COLUMNS = [("item", "string"), ("put_at", "timestamp"), ("id", "int"), ("bought_at", "timestamp")]
WINDOW = "b.put_at > mz_now() - interval 45 minutes"
BESIDE = "left join p on p.item = b.item and p.bought_at <= mz_now()"
INSIDE = "not exists (select 1 from p where p.item = b.item and p.bought_at <= mz_now())"


@pytest.mark.parametrize(
    ("sql", "why"),
    [
        (f"select b.item from b {BESIDE} where {WINDOW} and p.id is null", "the clock is in the ON of an outer join"),
        (f"select b.item from b where {WINDOW} and {INSIDE}", "a query inside of its SELECT has the clock too"),
        (f"with b as (select * from b as x where {WINDOW.replace('b.', 'x.')}) select b.item from b {BESIDE}", ""),
        (f"with c as (select * from b where {WINDOW}) select item from c as b where {INSIDE}", ""),
        ("select count(*) filter (where mz_now() < put_at) as n from b", ""),
        ("select item from b group by item having mz_now() < max(put_at)", ""),
    ],
)
def test_a_window_that_is_not_stored(sql: str, why: str) -> None:
    told = split(sql, lambda query: COLUMNS)
    assert len(told.warnings) == bool(why), told.warnings
    if why:
        assert why in told.warnings[0] and "b.put_at > mz_now() - INTERVAL '45' MINUTES" in told.warnings[0]
        assert "No window limits what is stored" in told.warnings[0] and "The window in a CTE" in told.warnings[0]
    assert not [line for line in (*told.notes, *told.warnings) if "mz_core" in line]
