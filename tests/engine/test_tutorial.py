"""docs/tutorial.md, as it stands: its files are written, its commands run, and what it shows is printed."""

from __future__ import annotations

from support.listings import follow
from support.project import Project


def test_the_tutorial(project: Project) -> None:
    try:
        assert follow(project, "tutorial.md") > 8
    finally:
        project.drop_schema("tutorial")
