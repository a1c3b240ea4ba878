"""Runs in the hour that local time repeats, and beside it, where both sides of a comparison are made of fields.

The oracle is Spark's own evaluation, as in test_predicates. The rows and the instants are those around the change.
"""

from __future__ import annotations

from datetime import datetime

import pytest

from support.predicates import judge
from support.project import Project

#: a zone, and an instant (UTC) at which its local time goes back
BACK = {
    "Pacific/Chatham": "2026-04-04 14:00:00",
    "America/New_York": "2026-11-01 06:00:00",
    "Australia/Lord_Howe": "2026-04-04 15:00:00",
}
#: by two hours, and on days that follow the moon
MORE = {"Africa/Casablanca": "2026-02-15 02:00:00", "Antarctica/Troll": "2026-10-25 01:00:00"}
#: what is made of fields of an instant, and follows it
DAY = "(year({t}) * 100 + month({t})) * 100 + day({t})"
FORMS = [
    f"({DAY}) * cast(100 as bigint) + hour({{t}})",
    f"({DAY}) * 100L + extract(hour from {{t}})",
    f"(({DAY}) * 100L + hour({{t}})) * 100 + minute({{t}})",
    "(year({t}) * 1000 + dayofyear({t})) * 24 + hour({t})",
    "((year({t}) * 1000L + dayofyear({t})) * 24 + hour({t})) * 60 + minute({t})",
    DAY,
    "cast(date_format({t}, 'yyyyMMddHH') as bigint)",
    "date_format({t}, 'yyyy-MM-dd HH:mm')",
    "concat(date_format({t}, 'yyyyMMdd'), date_format({t}, 'HH'))",
    "cast({t} as string)",
    "date_trunc('HOUR', {t})",
    "date_trunc('MINUTE', {t} - interval 1 day)",
    "cast({t} - interval 1 day as string)",
    "(year({t}) * cast(100 as bigint) + month({t})) * (50 + 50) + day({t})",
]  # fmt: skip
SHAPES = ["{f} >= {c}", "{f} < {c} and {t} <= {n}"]


@pytest.mark.landing
@pytest.mark.first(1)
@pytest.mark.usefixtures("small_plans")
@pytest.mark.parametrize(
    ("zone", "back"), [*BACK.items(), *(pytest.param(*one, marks=pytest.mark.deep) for one in MORE.items())]
)
def test_a_run_in_the_hour_that_is_repeated(project: Project, zone: str, back: str) -> None:
    change = int(datetime.fromisoformat(f"{back}+00:00").timestamp()) * 1_000
    minutes = [*range(-130, 131, 10), *range(-35, 36, 5), -1_440, 1_440]
    instants = ", ".join(f"{change + m * 60_000 + ms}L" for m in sorted({*minutes}) for ms in (-1, 0, 1))
    columns = ", ".join(f"{form.format(t='ts')} AS f{i}" for i, form in enumerate(FORMS))
    rows = ", ".join(f"{change + m * 60_000 + ms}L" for m in sorted({*minutes}) for ms in (0, 30_001))
    source = (
        f"SELECT id, ts, {columns}, array({instants}) AS instants\n"
        f"FROM (SELECT id, timestamp_millis(i) AS ts FROM (SELECT posexplode(array({rows})) AS (id, i)))"
    )
    texts = [
        shape.format(f=f"f{i}", c=form.format(t="{n}"), t="ts", n="{n}")
        for i, form in enumerate(FORMS)
        for shape in SHAPES
    ]
    for minute in (-35, 15):
        accepted, _ = judge(project, zone, texts, change + minute * 60_000, source)
        # a clock moved by a day is searched in cells of a quarter of an hour there, and needs too many: refused
        refused = [text for text in texts if zone == "Pacific/Chatham" and "interval 1 day" in text]
        assert accepted == len(texts) - len(refused)
