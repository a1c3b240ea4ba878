"""Models as data engineers write them: what they answer, what is kept of them, and what a run reads for that."""

from __future__ import annotations

import re
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
import yaml

from support.domains import DOMAINS, Domain, differences
from support.project import Result

ROOT = Path(__file__).parents[3]


@pytest.mark.first(1)
@pytest.mark.parametrize(("name", "runs"), [(DOMAINS[0], 2), *((name, 3) for name in DOMAINS)])
@pytest.mark.landing
@pytest.mark.own_catalog
def test_realistic(name: str, runs: int, tmp_path: Path, small_plans: Any) -> None:
    """The first run and one after each change; at eight instants each; then dbt's own test of some models.

    A landing tries one domain, without its second change.
    """
    domain = Domain(name, tmp_path / "project", small_plans)
    domain.create()
    wrong: list[str] = []
    found: dict[str, dict[str, Any]] = {model: {} for model in domain.accepted}
    for number in range(runs):
        if number:
            domain.change(number - 1)
        result = domain.run(number)
        wrong += [f"run {number}: {one}" for one in unexpected(domain, result)]
        ran = [model for model in domain.accepted if str(result.of(model).status) == "success"]
        for model in ran:
            observe(domain, model, number, result, found[model])
        with ThreadPoolExecutor(2) as pool:
            for answers in pool.map(lambda model: compared(domain, model), ran):
                wrong += [f"run {number}: {one}" for one in answers]
    wrong += [
        f"{model} keeps or reads other things than expected:\n{as_yaml({model: found[model]})}"
        for model in domain.accepted
        if found[model] != expected(domain.models[model], list(found[model]), runs)
    ]
    if any(expected.get("matched") for expected in domain.models.values()):
        tested = domain.project.dbt("test", now=domain.clock[runs - 1], check=False)
        wrong += [f"{r.node.name}: {r.status}" for r in tested.results if str(r.status) != "pass"]
    assert not wrong, "\n" + "\n".join(wrong)
    domain.project.drop()


def unexpected(domain: Domain, result: Result) -> list[str]:
    """What should have been accepted and was not, or the other way round."""
    wrong = []
    for model, expected in domain.models.items():
        outcome = result.of(model)
        message = " ".join(str(outcome.message).split())
        if ("refused" in expected) != (str(outcome.status) == "error"):
            wrong.append(f"{model}: {outcome.status}, {outcome.message}")
        elif "refused" in expected and not (expected["refused"] in message and "instead: " in message):
            wrong.append(f"{model}: refused in other words: {outcome.message}")
    return wrong


def observe(domain: Domain, model: str, number: int, result: Result, found: dict[str, Any]) -> None:
    """What a run kept of a model and read for it, as case.yaml writes it."""
    if not number:
        found["kept"] = domain.kept(model)
        found["at_read"] = domain.at_read(model, result) or None
        found["inputs"] = {}
        return
    for table, way in domain.inputs(model, result).items():
        found["inputs"].setdefault(table, []).append(way)


def compared(domain: Domain, model: str) -> list[str]:
    instants = domain.instants(model)
    return [f"{model} {one}" for one in differences(domain.view(model, instants), domain.oracle(model, instants))]


def expected(model: dict[str, Any], keys: list[str], runs: int) -> dict[str, Any]:
    """What case.yaml says of a model, and of its inputs only the ways of so many runs."""
    said = {key: model.get(key) for key in keys}
    if said.get("inputs"):
        said["inputs"] = {table: ways[: runs - 1] for table, ways in said["inputs"].items()}
    return said


def as_yaml(found: dict[str, Any]) -> str:
    return yaml.safe_dump(found, sort_keys=False, width=200, allow_unicode=True)


REFUSED = [
    (name, model, expected)
    for name in DOMAINS
    for model, expected in yaml.safe_load((Path(__file__).parent / name / "case.yaml").read_text())["models"].items()
    if "refused" in expected
]


@pytest.mark.parametrize(("name", "model", "expected"), REFUSED, ids=lambda v: v if isinstance(v, str) else "")
def test_a_refusal_is_explained(name: str, model: str, expected: dict[str, str]) -> None:
    """The page of the docs has the heading, and below it the words."""
    page, _, anchor = expected["page"].partition("#")
    sections = re.split(r"^#+ +(.*)$", (ROOT / page).read_text(), flags=re.MULTILINE)
    below = {
        re.sub(r"[^\w -]", "", h).lower().replace(" ", "-"): text for h, text in zip(sections[1::2], sections[2::2])
    }
    assert anchor in below, f"{model}: {page} has no heading {anchor}"
    assert expected["says"] in " ".join(below[anchor].split()), f"{model}: {expected['page']} does not say so"
