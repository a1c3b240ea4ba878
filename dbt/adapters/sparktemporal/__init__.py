from pathlib import Path

from dbt.adapters.base.plugin import AdapterPlugin

from dbt.adapters.sparktemporal.connections import SparkTemporalCredentials
from dbt.adapters.sparktemporal.impl import SparkTemporalAdapter


def _package_path() -> str:
    """The folder of the macros: dbt/include/sparktemporal in a wheel, or the root of an editable checkout."""
    here = Path(__file__).resolve()
    installed = here.parents[2] / "include" / "sparktemporal"
    return str(installed if (installed / "dbt_project.yml").exists() else here.parents[3])


Plugin = AdapterPlugin(
    adapter=SparkTemporalAdapter,  # type: ignore[arg-type]  # dbt asks for a protocol that its own adapters do not fulfil
    credentials=SparkTemporalCredentials,
    include_path=_package_path(),
    project_name="dbt_sparktemporal",
    dependencies=["spark"],
)
