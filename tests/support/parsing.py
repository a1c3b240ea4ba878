"""The work of dbt that is the same for each project of a test is done once in a process.

| done once | otherwise |
|---|---|
| the syntax of a Jinja template | the 545 macros of dbt, dbt-spark and the adapter, for each project |
| the macros of these packages in the manifest, with what they depend on | half of the parse of a small project |
| the name of the module that declares a flag of dbt's | a walk over the sources of all frames, twice an invocation |
"""

from __future__ import annotations

from typing import Any

import pytest
from dbt.adapters.factory import get_adapter_package_names
from dbt.contracts.graph.nodes import Macro
from dbt.parser.manifest import ManifestLoader
from dbt_common.behavior_flags import BehaviorFlagRendered
from jinja2 import Environment, nodes

_PARSERS = ("MacroParser", "GenericTestParser")


def parse_once(patch: pytest.MonkeyPatch) -> None:
    """Until the patch is undone."""
    _templates(patch)
    _macros(patch)
    patch.setattr(BehaviorFlagRendered, "_default_source", staticmethod(lambda: "dbt.adapters.base.impl"))


def _templates(patch: pytest.MonkeyPatch) -> None:
    parse, known = Environment.parse, {}

    def once(self: Environment, source: str, name: str | None = None, filename: str | None = None) -> nodes.Template:
        key = (type(self), frozenset(self.extensions), source)
        if key not in known:
            known[key] = parse(self, source, name, filename)
        return known[key]

    patch.setattr(Environment, "parse", once)


def _macros(patch: pytest.MonkeyPatch) -> None:
    """A project with macros of its own is parsed whole: the packages' macros may depend on them."""
    parse = ManifestLoader.load_and_parse_macros
    known: dict[tuple[str, ...], list[Macro]] = {}

    def once(self: ManifestLoader, files: dict[str, dict[str, list[str]]]) -> None:
        names = tuple(sorted(get_adapter_package_names(self.root_project.credentials.type)))
        whole = all(files.get(name, {}).get("MacroParser") for name in names if name in self.all_projects)
        others: dict[str, Any] = {name: found for name, found in files.items() if name not in names}
        if not whole or any(found.get(parser) for found in others.values() for parser in _PARSERS):
            parse(self, files)
            return
        if names not in known:
            parse(self, files)
            known[names] = [macro for macro in self.manifest.macros.values() if macro.package_name in names]
            return
        for macro in known[names]:
            self.manifest.add_macro(self.manifest.files[macro.file_id], macro)
        parse(self, others)

    patch.setattr(ManifestLoader, "load_and_parse_macros", once)
