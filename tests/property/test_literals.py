"""Texts of every form of Spark's lexer, drawn at random: Python knows the value that Spark reads, in each setting.

Spark is asked for the values of many texts in one SELECT. What a tree prints has the same value.
"""

from __future__ import annotations

import random

import pytest
from sqlglot import exp

from dbt.adapters.sparktemporal.temporal.sql.text import literals
from dbt.adapters.sparktemporal.temporal.sql.text.dialect import expression, render
from support.project import Project
from support.seeds import a_seed

#: within any text; the quotes of the text itself are added
PIECES = (
    *("a", "Z", " ", "é", "日", "😀", "$", "${", "{", "%", "_", ";", "--", "/*", "*/", "`", "mz_now()", "#1", "0"),
    *(r"\\", r"\'", r"\"", r"\n", r"\t", r"\r", r"\b", r"\0", r"\Z", r"\%", r"\_", r"\q", r"\$", r"\/"),
    *(r"\u0041", r"\u00e9", r"\U0001F600", r"\101", r"\061", r"\177", r"\u004", r"\x41", r"\08"),
)
RAW = tuple(piece for piece in PIECES if not piece.startswith("\\")) + ("\\", r"\d", r"\u0041", r"\\")
BETWEEN = ("", " ", "\n", " /* it's */ ", " -- it's\n")
SIDE_BY_SIDE = "spark.sql.legacy.consecutiveStringLiterals.enabled"


def text(rng: random.Random) -> str:
    """One text in quotes."""
    quote = rng.choice("''\"")
    other = "'" if quote == '"' else '"'
    if rng.random() < 0.2:
        inside = "".join(rng.choice((*RAW, other, other * 2)) for _ in range(rng.randrange(5)))
        return f"{rng.choice('rR')}{quote}{inside}{quote}"
    inside = "".join(rng.choice((*PIECES, other, other * 2, quote * 2, quote * 2)) for _ in range(rng.randrange(5)))
    return f"{quote}{inside}{quote}"


def literal(rng: random.Random) -> str:
    """One text, or several side by side."""
    found = text(rng)
    while rng.random() < 0.3:
        found += rng.choice(BETWEEN) + text(rng)
    return found


def values(project: Project, texts: list[str]) -> list[str]:
    selected = ",\n".join(f"{one}\n AS c{i}" for i, one in enumerate(texts))
    return [str(value) for value in project.rows(f"SELECT {selected}")[0]]


@pytest.mark.parametrize("number", range(8))
@pytest.mark.quick(1)
def test_values_of_texts(project: Project, number: int) -> None:
    rng = random.Random(a_seed() * 100 + number)
    written = [literal(rng) for _ in range(150)]
    version = project.spark.version
    read = [literals.as_read(one, {}, version) for one in written]
    trees = [expression(one) for one in read]
    assert [one for one, tree in zip(written, trees) if not isinstance(tree, exp.Literal)] == []
    expected = values(project, written)
    wrong = [(w, t.name, v) for w, t, v in zip(written, trees, expected) if t.name != v]
    assert wrong == []
    assert values(project, [render(tree) for tree in trees]) == expected
    if version < "4":
        return
    project.spark.conf.set(SIDE_BY_SIDE, "true")
    try:
        expected = values(project, written)
        read = [literals.as_read(one, {SIDE_BY_SIDE: "true"}, version) for one in written]
        assert values(project, read) == expected
    finally:
        project.spark.conf.unset(SIDE_BY_SIDE)
    # the text that a state keeps means the same in a session without the setting
    assert values(project, read) == expected
    assert [expression(one).name for one in read] == expected
