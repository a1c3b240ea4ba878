"""`full_read`: whether a run that must read all of an input, as its changes are not known, is silent, warns or fails.

First runs, restarts and full refreshes are excepted, because they read all of the inputs by their nature.
"""

from __future__ import annotations

from ..errors import Refusal
from .plan import RunPlan


def of(plan: RunPlan) -> dict[str, str]:
    """Input that a run reads in full although the run rebuilds nothing -> the reason."""
    return {} if plan.decision.rebuilds or plan.decision.writes_nothing else plan.capture.read_in_full


def refuse(plan: RunPlan) -> None:
    """Raise Refusal where a run would read an input in full under `full_read: error`, before anything is written."""
    found = of(plan) if plan.config.full_read == "error" else {}
    if found:
        model = plan.target.model
        raise Refusal(
            "ST415",
            f"all of {', '.join(found)} to be read by {model}, whose full_read is error",
            "; ".join(f"{name} cannot be read by what changed: {why}" for name, why in found.items()),
            f"dbt run --full-refresh -s {model}, which reads all once; or full_read: warn",
        )


def warning(plan: RunPlan) -> str:
    """The warning with `full_read: warn`; "" for none."""
    found = of(plan) if plan.config.full_read == "warn" else {}
    if not found:
        return ""
    listed = "; ".join(f"{name}: {why}" for name, why in found.items())
    return f"temporal_view {plan.target.model} read all of its inputs, not what changed. {listed}"
