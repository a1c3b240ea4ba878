"""Lemmas about the SQL that is printed for a predicate: docs/proofs.md says what each of them means.

A step takes each so many lemmas, years or zones of all of them; the full ranges are deep.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from dataclasses import replace

import pytest

from dbt.adapters.sparktemporal.run import searches
from dbt.adapters.sparktemporal.temporal.clock.zones import Change
from dbt.adapters.sparktemporal.temporal.diffs import crossings_sql, spans
from dbt.adapters.sparktemporal.temporal.predicates import bounds
from dbt.adapters.sparktemporal.temporal.predicates.grid import Grid
from support.proofs import calendar, lemmas, page, whole
from support.proofs.lemmas import DAYS, FIELDS, GENERAL, LEMMAS, OPERATORS, PLAIN, SOLVED, Rises, Wrong
from support.proofs.translate import Translation
from support.proofs.values import Unproved, V

CALLS = (*LEMMAS, *OPERATORS)
OF_DAYS = [one for one in (*CALLS, *FIELDS) if one.how == DAYS]
#: leaps of a day, of half an hour, of a few seconds, dates that come twice, changes for a month of the moon
ZONES = ["Europe/Berlin", "Pacific/Apia", "Australia/Lord_Howe", "Africa/Monrovia", "America/Juneau",
         "Africa/Casablanca", "America/St_Johns", "Asia/Manila"]  # fmt: skip


@pytest.mark.first(1)
@pytest.mark.parametrize("step", [4, 1])
def test_windows(step: int) -> None:
    texts = [*lemmas.forms(PLAIN), *lemmas.moved_forms()]
    for text in texts[::step]:
        lemmas.prove_window(text)


@pytest.mark.first(1)
@pytest.mark.parametrize("step", [7, 1])
def test_points(step: int) -> None:
    for text in [*lemmas.forms(GENERAL)][::step]:
        lemmas.prove_points(text)


@pytest.mark.first(1)
@pytest.mark.parametrize("points", [4, 6])
def test_spans(points: int) -> None:
    assert lemmas.prove_spans(points) >= 3 * 4 ** (points - 1)


@pytest.mark.parametrize("rises", [True, False])
def test_the_search(rises: bool) -> None:
    lemmas.prove_search("unix_micros({n}) = ms" if rises else "-unix_micros({n}) = ms", rises=rises)


@pytest.mark.parametrize(("call", "zone", "cell", "shift"), [
    ("to_date({n})", "UTC", 86_400_000, 0), ("to_date({n})", "+05:30", 86_400_000, 19_800_000),
])  # fmt: skip
def test_the_search_by_cells(call: str, zone: str, cell: int, shift: int) -> None:
    """In its place stands any function that is constant within the cells."""
    lemmas.prove_search(f"unix_date({call}) <= k", cell, shift, zone)


def test_functions_that_rise() -> None:
    for one in CALLS:
        if one.how == SOLVED:
            lemmas.prove_rises(one)
    lemmas.prove_even()


def test_functions_of_the_calendar() -> None:
    assert sum(lemmas.prove_by_days(one, step=200) for one in OF_DAYS) > 100_000


@pytest.mark.deep
@pytest.mark.parametrize("one", OF_DAYS, ids=lambda one: f"{one.call} of {one.kind}")
def test_functions_of_each_day(one: Rises) -> None:
    assert lemmas.prove_by_days(one) >= calendar.CYCLE


def test_the_calendar_repeats() -> None:
    """So the days of 400 years are all days."""
    for day in range(-200_000, 200_000, 997):
        year, month, of_month = calendar.civil(day)
        assert calendar.civil(day + calendar.CYCLE) == (year + 400, month, of_month)
        assert calendar.days_of(year, month, of_month) == day


@pytest.mark.first(1)
@pytest.mark.parametrize(("step", "rows"), [(300, 2), (1, 12)])
def test_the_whole(step: int, rows: int) -> None:
    predicates, comparisons = whole.check_functions(step, rows)
    assert predicates > 3 and comparisons > 10 * predicates


@pytest.mark.parametrize("zone", ZONES)
def test_the_order_of_local_time(zone: str) -> None:
    assert whole.check_order(zone)


@pytest.mark.parametrize(("zone", "texts"), [("Europe/Berlin", whole.ZONED[::7]), ("Pacific/Apia", whole.ZONED[6:8])])
def test_a_change_of_a_zone(zone: str, texts: tuple[str, ...]) -> None:
    changes = [change for change in calendar.rules(zone).changes if change.at < 1_800_000_000]
    accepted, comparisons = whole.check_change(zone, changes[-1], texts)
    assert accepted and comparisons > 30 * accepted


@pytest.mark.deep
@pytest.mark.parametrize("part", range(20))
def test_each_change_of_each_zone(part: int) -> None:
    changes = 0
    for number, zone in enumerate(whole.zones()[part::20]):
        changes += whole.check_order(zone)
        known = calendar.rules(zone).changes
        for at, change in enumerate(known[:: max(len(known) // 3, 1)]):
            whole.check_change(zone, change, whole.ZONED[(number + at) % 4 :: 4])
    assert changes > 100


# -- nothing is silently unproved --


def test_each_function_has_a_lemma() -> None:
    assert [(row.name, row.arguments) for row in lemmas.claimed() if not (row.is_even or page.lemmas_of(row))] == []


@pytest.mark.parametrize(
    "sql", ["f(a)", "a -> 1", "a LIKE 'x'", "CAST(a AS BINARY)", "date_format(a, 'EEE')", "extract(DOW FROM a)"]
)
def test_what_has_no_meaning_is_an_error(sql: str) -> None:
    with pytest.raises(Unproved):
        Translation().expression(sql)({"a": V("timestamp", 0)})


def test_the_page_is_of_these_lemmas() -> None:
    assert page.PAGE.read_text() == page.written(), "PYTHONPATH=tests python -m support.proofs.page"


# -- a proof that could not fail would prove nothing: each mistake in the product is found --


def edges(edit):
    """The edges of operands with a mistake in them."""
    return {kind: lambda e, made=made: edit(made(e)) for kind, made in bounds._EDGES.items()}


MISTAKES = {
    "an end that is a millisecond late": (lambda e: {**e, "ceil": f"{e['ceil']} + 1"}, "{n} < a"),
    "a beginning that is a millisecond early": (lambda e: {**e, "after": e["after"].replace(" + 1", "")}, "{n} > a"),
    "floor for ceil": (lambda e: {**e, "ceil": e["ceil"].replace("ceil", "floor")}, "{m} >= dec"),
    "a fraction of a millisecond that is forgotten": (
        lambda e: {**e, "ceil": e["ceil"].partition(" + CAST(pmod")[0]}, "{n} >= a",
    ),
    "an end that wraps around": (lambda e: {**e, "after": e["after"].replace("try_add(", "(").replace(", 1L", " + 1L")},
                                 "{m} <= ms"),
    "NULL for the first instant": (
        lambda e: {name: text.replace("IF(`mz_b0` IS NULL, NULL, ", "coalesce(").replace("BD)) AS", "BD), 0BD) AS")
                   for name, text in e.items()},
        "({m} < dec or dec is null)",
    ),
}  # fmt: skip


@pytest.mark.parametrize("mistake", MISTAKES)
def test_a_wrong_bound_is_found(mistake: str, monkeypatch: pytest.MonkeyPatch) -> None:
    edit, text = MISTAKES[mistake]
    lemmas.prove_window(text)
    monkeypatch.setattr(bounds, "_EDGES", edges(edit))
    with pytest.raises(Wrong):
        lemmas.prove_window(text)


def test_a_point_that_is_left_out_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(spans, "edges_of", lambda column, kind: bounds.edges_of(column, kind)[:1])
    with pytest.raises(Wrong, match="the points"):
        lemmas.prove_points("{n} <> a")


@pytest.mark.parametrize(("right", "wrong"), [
    ("b.hi - b.lo <= 1L", "b.hi - b.lo <= 2L"), ("b -> {begins('b.hi')}", "b -> {begins('b.lo')}"),
    ("'hi', b.hi) ELSE", "'hi', b.hi - 1L) ELSE"), ("CASE {tried}ELSE", "CASE {tried}WHEN true THEN s.lo + 5L ELSE"),
])  # fmt: skip
def test_a_wrong_search_is_found(right: str, wrong: str, monkeypatch: pytest.MonkeyPatch) -> None:
    source, scope = inspect.getsource(crossings_sql), dict(vars(crossings_sql))
    assert right in source
    exec(source.replace(right, wrong), scope)
    monkeypatch.setattr(crossings_sql._Search, "_first", scope["_Search"]._first)
    with pytest.raises(Wrong):
        lemmas.prove_search("unix_micros({n}) = ms")


def test_a_change_of_a_zone_that_is_forgotten_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    """An offset before the change that is an hour less: the hour that comes twice does not come twice."""
    repeats = Change.repeats
    monkeypatch.setattr(
        Change, "repeats", lambda self, unit: repeats(Change(self.at, self.before - 3_600, self.after), unit)
    )
    with pytest.raises(Wrong):
        whole.check_order("Europe/Berlin")


@pytest.mark.parametrize(("search", "edit", "text"), [
    ("near", lambda grid: replace(grid, shift=grid.shift + 1), "{n} - interval 1 day <= a"),
    ("near", lambda grid: replace(grid, reach=grid.cell, calm=()), "{n} - interval 1 day <= a"),
    ("rising", lambda grid: replace(grid, shift=grid.shift + 1), "date_trunc('HOUR', {n}) = date_trunc('HOUR', a)"),
], ids=["cells a millisecond off", "cells that are left out", "steps a millisecond off"])  # fmt: skip
def test_a_mistake_at_a_change_of_a_zone_is_found(
    search: str, edit: Callable[[Grid], Grid], text: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    spring = next(change for change in calendar.rules("Europe/Berlin").changes if change.at == 1_774_746_000)
    whole.check_change("Europe/Berlin", spring, [text] * 2, rows=7)
    made = getattr(searches, search)
    monkeypatch.setattr(searches, search, lambda *given: edit(made(*given)))
    with pytest.raises(Wrong):
        whole.check_change("Europe/Berlin", spring, [text] * 2, rows=7)


def test_a_wrong_order_of_days_is_found() -> None:
    with pytest.raises(Wrong):
        lemmas.prove_by_days(Rises("f", 1, "month(x)", "date", DAYS), 100)
    with pytest.raises(Wrong):
        lemmas.prove_rises(Rises("f", 1, "unix_millis(x) * 1000000", "timestamp", SOLVED))
