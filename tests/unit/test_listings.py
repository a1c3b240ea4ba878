"""Listings of docs/ that no test runs are at least what they say they are: Python, YAML, JSON."""

from __future__ import annotations

import ast
import json

import pytest
import yaml

from support.listings import DOCS, Listing, listings

READ = {"python": ast.parse, "yaml": yaml.safe_load, "json": json.loads}
PAGES = [str(page.relative_to(DOCS)) for page in sorted(DOCS.rglob("*.md"))]
FOUND = {f"{page}:{one.line}": one for page in PAGES for one in listings(page) if one.language in READ}


@pytest.mark.parametrize("listing", FOUND.values(), ids=list(FOUND))
def test_a_listing_can_be_read(listing: Listing) -> None:
    READ[listing.language](listing.text)


def test_a_file_is_named_by_its_title_or_its_first_line() -> None:
    named = {one.file for one in listings("tutorial.md") if one.file}
    assert {"seeds/orders.csv", "dbt_project.yml", "models/open_orders.sql"} <= named
