"""A wheel carries the macros where dbt looks for them; an editable install reads them from the checkout.

The page of a package index has no folder beside it: links of README.md into the repository become links to its address,
as soon as `[project.urls]` of pyproject.toml has a `Repository`.
"""

import re
from pathlib import Path

from hatchling.builders.hooks.plugin.interface import BuildHookInterface
from hatchling.metadata.plugin.interface import MetadataHookInterface

#: what stands before a path of the repository in README.md: of a picture, or of a link
_RELATIVE = re.compile(r'(?P<before>!\[[^\]]*\]\(|\b(?:src|srcset)="|\]\()(?![a-z]+:|#|/)(?P<path>[^)"\s]+)')


def with_address(text, address, tag):
    """A text whose relative links and pictures lead into the repository at `address`, as of a tag.

    >>> with_address("[a](docs/a.md#b) [c](https://c) ![d](docs/d.svg) <img src='x'>", "https://h/o/n", "v1.0.0")
    "[a](https://h/o/n/blob/v1.0.0/docs/a.md#b) [c](https://c) ![d](https://h/o/n/raw/v1.0.0/docs/d.svg) <img src='x'>"
    """

    def absolute(found):
        kind = "blob" if found["before"] == "](" else "raw"
        return f"{found['before']}{address.rstrip('/')}/{kind}/{tag}/{found['path']}"

    return _RELATIVE.sub(absolute, text)


class MacrosHook(BuildHookInterface):
    def initialize(self, version, build_data):
        if version == "standard":
            for name in ("dbt_project.yml", "profile_template.yml", "macros", "materializations"):
                build_data["force_include"][name] = f"dbt/include/sparktemporal/{name}"


class ReadmeHook(MetadataHookInterface):
    def update(self, metadata):
        text = Path(self.root, "README.md").read_text(encoding="utf-8")
        address = metadata.get("urls", {}).get("Repository")
        if address is not None:
            text = with_address(text, address, f"v{metadata['version']}")
        metadata["readme"] = {"content-type": "text/markdown", "text": text}
