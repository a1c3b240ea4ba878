"""The profile of docs/howto/lineage.md: this adapter to dbt, dbt-spark to a tool that reads the file itself."""

from __future__ import annotations

from typing import Any

import yaml
from dbt.config.renderer import ProfileRenderer
from jinja2 import Environment, Undefined

from support.listings import listings


class Kept(Undefined):
    """OpenLineage's wrapper keeps a name that it does not know as text."""

    def __str__(self) -> str:
        return f"{{{{ {self._undefined_name} }}}}"


def profile() -> dict[str, Any]:
    (listing,) = [one for one in listings("howto/lineage.md") if one.file == "profiles.yml"]
    return yaml.safe_load(listing.text)["my_project"]


def test_dbt_reads_this_adapter() -> None:
    dev = ProfileRenderer({}).render_data(profile())["outputs"]["dev"]
    assert (dev["type"], dev["method"]) == ("sparktemporal", "session")


def test_a_tool_reads_spark() -> None:
    dev = profile()["outputs"]["dev"]
    for environment in (Environment(), Environment(undefined=Kept)):
        read = {key: environment.from_string(value).render(env_var=str) for key, value in dev.items()}
        assert (read["type"], read["method"], read["schema"]) == ("spark", "thrift", "analytics")
