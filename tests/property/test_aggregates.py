"""Random aggregations and joins over random histories: what is kept per group or per row, against Spark's own answer.

A history is three states of one table. Each run's diffs are a view over the one before, as the chains of a model are;
what is read at an instant is compared, value and type, with the query as written and the instant put in.
"""

from __future__ import annotations

import pytest

from support.aggregates import OF_INDEX_0, clock_above, conditional_aggregation, drive, protected
from support.partners import joined
from support.project import Project
from support.seeds import SAMPLE, a_seed

pytestmark = pytest.mark.usefixtures("small_plans")


@pytest.mark.landing
@pytest.mark.parametrize("count", [2, 3])
def test_random_aggregations(project: Project, count: int) -> None:
    kept = drive(project, count, SAMPLE if count == 3 else a_seed())
    assert count < 3 or min(kept["groups"], kept["rows"]) > 0, kept


@pytest.mark.landing
def test_random_conditional_aggregates(project: Project) -> None:
    kept = drive(project, 4, a_seed(), make=conditional_aggregation)
    assert kept["groups"] > 2, kept


@pytest.mark.landing
def test_random_branches_that_are_kept_from_errors(project: Project) -> None:
    drive(project, 4, a_seed(), make=protected, always=OF_INDEX_0)


@pytest.mark.landing
def test_random_values_of_the_clock(project: Project) -> None:
    kept = drive(project, 8, a_seed(), make=clock_above)
    assert kept["whole"] < 4, kept


@pytest.mark.landing
def test_random_joins_with_a_window(project: Project) -> None:
    kept = drive(project, 6, a_seed(), make=joined)
    assert kept["at_read"] < 3, kept


@pytest.mark.landing
def test_random_aggregations_in_ansi_mode(project: Project) -> None:
    project.spark.conf.set("spark.sql.ansi.enabled", "true")
    drive(project, 2, a_seed())


@pytest.mark.deep
@pytest.mark.parametrize("part", range(20))
def test_a_thousand_aggregations(project: Project, part: int) -> None:
    project.spark.conf.set("spark.sql.ansi.enabled", str(part % 3 == 0).lower())
    drive(project, 55, a_seed() + part)
    drive(project, 20, a_seed() + part, make=conditional_aggregation)
    drive(project, 10, a_seed() + part, make=protected, always=OF_INDEX_0)
    drive(project, 20, a_seed() + part, make=joined)
    drive(project, 20, a_seed() + part, make=clock_above)
