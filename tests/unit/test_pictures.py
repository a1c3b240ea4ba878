"""The pictures of the documentation are what their scripts write."""

from __future__ import annotations

import importlib
import re
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest

IMAGES = Path(__file__).parents[2] / "docs" / "images"
REPOSITORY = IMAGES.parents[1]
PACKAGE = REPOSITORY / "dbt" / "adapters" / "sparktemporal"


def drawn_by(name: str, monkeypatch: pytest.MonkeyPatch) -> Any:
    """A script of docs/images, whose picture is as the script draws it."""
    monkeypatch.syspath_prepend(IMAGES)
    script = importlib.import_module(name)
    drawn = (IMAGES / f"{name}.svg").read_text()
    assert drawn == script.picture(), f"python docs/images/{name}.py"
    ElementTree.fromstring(drawn)
    return script


def test_the_window(monkeypatch: pytest.MonkeyPatch) -> None:
    window = drawn_by("window", monkeypatch)
    assert [(first, ids) for first, _, ids in window.answers()][:3] == [(0, ()), (2, (1,)), (9, (1, 2))]
    assert window.answers()[-1][2] == ()


def test_the_paths(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each station names files that are there. The tables of docs/architecture.md have the stations in this order."""
    paths = drawn_by("paths", monkeypatch)
    page = (IMAGES.parent / "architecture.md").read_text()
    for title, stations in (("model", paths.PATH_OF_A_MODEL), ("run", paths.PATH_OF_A_RUN)):
        section = page.partition(f"## The path of a {title}\n")[2].partition("\n## ")[0]
        rows = [line.split("|")[1].strip() for line in section.splitlines() if line.startswith("| ")]
        assert rows[1:] == [one.name for one in stations]
        for module in (name for one in stations for name in one.modules):
            beside = (PACKAGE / module, PACKAGE / f"{module}.py", REPOSITORY / module)
            assert any(file.exists() for file in beside), module


def test_the_expiration(monkeypatch: pytest.MonkeyPatch) -> None:
    expiration = drawn_by("expiration", monkeypatch)
    assert [last for _, last, *_ in expiration.READS][:-1] == [at for at, _ in expiration.MARKS.values()][1:]


def test_the_chains(monkeypatch: pytest.MonkeyPatch) -> None:
    """What is read is the sum of the rows that are drawn."""
    chains = drawn_by("chains", monkeypatch)
    assert [chains.answer(at) for at in (5, chains.READ, 65, 75)] == [["id 1", "id 2"], ["id 1", "id 3"], ["id 3"], []]


def test_the_commit(monkeypatch: pytest.MonkeyPatch) -> None:
    """One statement is the commit, between the two that take and drop the lock."""
    commit = drawn_by("commit", monkeypatch)
    assert [at for at, step in enumerate(commit.STEPS) if step.is_sql] == [
        commit.LOCKED, commit.COMMITTED, commit.UNLOCKED,
    ]  # fmt: skip
    assert commit.LOCKED < commit.COMMITTED < commit.UNLOCKED


@pytest.mark.parametrize("name", ["chains", "commit"])
def test_words_can_be_read_on_a_phone(name: str) -> None:
    """At 360 pixels no text is smaller than 9 of them, and none leaves the picture."""
    picture = ElementTree.parse(IMAGES / f"{name}.svg").getroot()
    _, _, width, height = map(float, picture.attrib["viewBox"].split())
    texts = picture.findall("{http://www.w3.org/2000/svg}text")
    assert texts
    for text in texts:
        size = float(text.attrib["font-size"])
        assert size * 360 / width >= 9, text.text
        if "transform" in text.attrib:  # from the bottom to the top
            continue
        wide = 0.6 * size * len(text.text or "")
        before = {"start": 0.0, "middle": wide / 2, "end": wide}[text.attrib["text-anchor"]]
        first = float(text.attrib["x"]) - before
        assert first >= 0 and first + wide <= width and float(text.attrib["y"]) <= height, text.text


def size(file: Path) -> bytes:
    """Width and height of a PNG, as its header has them."""
    head = file.read_bytes()[:24]
    assert head[1:4] == b"PNG"
    return head[16:]


@pytest.mark.parametrize("page", ["README.md", "docs/benchmarks.md", "docs/alternatives.md"])
def test_plots_have_a_dark_form(page: str) -> None:
    """A page that shows a plot shows its twin to readers of dark pages."""
    text = (REPOSITORY / page).read_text()
    assert not re.search(r"!\[[^\]]*\]\([^)]*\.png", text)
    shown = re.findall(r'dark\)" srcset="([^"]+)">\n  <img src="([^"]+)" alt="[^"]+">', text)
    assert shown
    for dark, light in shown:
        assert dark == light.replace(".png", "-dark.png")
        twins = [(REPOSITORY / page).parent / name for name in (dark, light)]
        assert size(twins[0]) == size(twins[1]), f"python benchmarks/dark.py {light}"


def test_each_plot_is_shown() -> None:
    pages = "".join(page.read_text() for page in (REPOSITORY / "README.md", *IMAGES.parent.rglob("*.md")))
    assert {file.name for file in IMAGES.glob("*.png")} == set(re.findall(r"images/(\w[\w-]*\.png)", pages))


def test_the_twin_of_a_plot_is_its_recoloured_form(monkeypatch: pytest.MonkeyPatch) -> None:
    numpy = pytest.importorskip("numpy")
    image = pytest.importorskip("PIL.Image")
    monkeypatch.syspath_prepend(REPOSITORY / "benchmarks")
    dark = importlib.import_module("dark")
    white, black, blue = [[[255, 255, 255]]], [[[0, 0, 0]]], [[[31, 119, 180]]]
    assert dark.recoloured(numpy.array(white)).tolist() == [[dark.PAPER.tolist()]]
    assert dark.recoloured(numpy.array(black)).tolist() == [[dark.INK.tolist()]]
    red, green, bright = dark.recoloured(numpy.array(blue))[0][0].tolist()
    assert red < green < bright
    for file in IMAGES.glob("*[!k].png"):
        drawn = numpy.asarray(image.open(file.with_stem(f"{file.stem}-dark")).convert("RGB"))
        plain = image.open(file).convert("RGBA")
        paper = image.new("RGBA", plain.size, "white")
        paper.alpha_composite(plain)
        wanted = dark.recoloured(numpy.asarray(paper.convert("RGB")))
        assert abs(wanted.astype(int) - drawn).max() <= 1, f"python benchmarks/dark.py {file}"


def test_the_patterns(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each model of the page has its picture."""
    monkeypatch.syspath_prepend(IMAGES)
    patterns = importlib.import_module("patterns")
    drawn = {file.stem: file.read_text() for file in (IMAGES / "patterns").glob("*.svg")}
    assert drawn == {name: patterns.picture(name) for name in patterns.PATTERNS}, "python docs/images/patterns.py"
    for picture in drawn.values():
        ElementTree.fromstring(picture)
    page = (IMAGES.parent / "howto" / "patterns.md").read_text()
    assert re.findall(r"-- models/(\w+)\.sql", page) == list(patterns.PATTERNS)
    assert re.findall(r"\(\.\./images/patterns/(\w+)\.svg\)", page) == list(patterns.PATTERNS)
    assert [line.name for line in patterns.PATTERNS["hops"] if line.is_shown] == ["from 0", "from 10", "from 20"]
