"""A wheel carries the macros where dbt looks for them; an editable install reads them from the checkout."""

from hatchling.builders.hooks.plugin.interface import BuildHookInterface


class MacrosHook(BuildHookInterface):
    def initialize(self, version, build_data):
        if version == "standard":
            for name in ("dbt_project.yml", "profile_template.yml", "macros", "materializations"):
                build_data["force_include"][name] = f"dbt/include/sparktemporal/{name}"
