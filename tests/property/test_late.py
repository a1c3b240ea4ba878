"""Rows that come late, over random histories: exactly those that no instant from their run on shows."""

from __future__ import annotations

import random
from collections import Counter

import pytest

from support.instants import T0
from support.project import Project
from support.seeds import a_seed

SECOND = 1000
Row = tuple[int, int, int | None]


@pytest.mark.landing
@pytest.mark.parametrize("capture", ["auto", "full"])
def test_late_rows(project: Project, capture: str) -> None:
    """New rows, and rows that go or change their window, over seven runs."""
    rng = random.Random(a_seed())
    project.sql("CREATE TABLE {s}.t (id INT, lo TIMESTAMP, hi TIMESTAMP)")
    sql = f"select id, lo from {project.schema}.t where mz_now() >= lo and mz_now() < hi"
    project.model("m", sql, store_late=True, change_capture=capture)
    rows: list[Row] = []
    wanted: Counter[tuple[int, int, int, int | None]] = Counter()
    now = before = T0
    for run in range(7):
        now += rng.choice([1, 700, SECOND, 5 * SECOND]) if run else 0
        new = [row(rng, now) for _ in range(rng.choice([0, 1, 3, 5]))]
        replaced = run > 0 and rng.random() < 0.3
        gone = Counter(rng.sample(rows, min(2, len(rows)))) if replaced else Counter()
        left = list((Counter(rows) - gone).elements())
        write(project, [*left, *new] if replaced else new, "OVERWRITE" if replaced else "INTO")
        project.run(now=now)
        seen_in_full = replaced or capture == "full"
        for number, lo, hi in new if run else ():
            is_over = hi is not None and lo < hi <= now
            if is_over and (hi > before or not seen_in_full):
                wanted[now, number, max(lo, before) if seen_in_full else lo, hi] += 1
        rows, before = [*left, *new], now
        name = project.render("{{ temporal_late(ref('m')) }}")
        found = Counter(map(tuple, project.rows(f"SELECT mz_as_of, id, mz_from, mz_until FROM {name}")))
        assert found == wanted, run


def row(rng: random.Random, now: int) -> Row:
    lo = now + rng.randrange(-9, 3) * SECOND // 2
    return rng.randrange(4), lo, None if rng.random() < 0.2 else lo + rng.choice([-1, 0, 1, 500, SECOND, 4 * SECOND])


def write(project: Project, rows: list[Row], how: str) -> None:
    items = ", ".join(f"({number}, {lo}L, {'NULL' if hi is None else f'{hi}L'})" for number, lo, hi in rows)
    values = f"VALUES {items} AS v(id, lo, hi)" if rows else "(SELECT 1 AS id, 0L AS lo, 0L AS hi WHERE false)"
    project.sql(f"INSERT {how} {{s}}.t SELECT id, timestamp_millis(lo), timestamp_millis(hi) FROM {values}")
