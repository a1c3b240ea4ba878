"""Whether the inputs of a model get rows as the wall clock goes on, by their `meta` in dbt's graph."""

from __future__ import annotations

from dataclasses import replace

from ..config import TemporalConfig
from ..errors import Refusal
from ..temporal.clock.expiration import UNKNOWN, WALL_CLOCK, Dependence, Scheduled
from ..temporal.clock.instants import parse_instant
from .lineage import EPHEMERAL, TEMPORAL, VIEW, Lineage, Node, materialized, relations

_FOLLOWS = {"wall_clock": WALL_CLOCK, "none": UNKNOWN, "unknown": UNKNOWN}
_KEYS = ("sealed", "sealed_until", "time_dependence")


def dependences(lineage: Lineage) -> list[Dependence]:
    """The sources, seeds and tables that a model reads, directly or through views, ephemeral models and temporal_views.

    Each has the schedules (`refresh_every`) of the temporal_views between the model and itself. Raises Refusal for a
    wrong `meta`.
    """
    found: set[Dependence] = set()
    seen: set[tuple[str, tuple[Scheduled, ...]]] = set()
    queue: list[tuple[str, Node, tuple[Scheduled, ...]]] = [(*one, ()) for one in lineage.reads().items()]
    while queue:
        name, node, through = queue.pop()
        if (name, through) in seen:
            continue
        seen.add((name, through))
        if materialized(node) in (VIEW, EPHEMERAL, TEMPORAL) and node["resource_type"] == "model":
            schedule = _schedule(node)
            through = (schedule, *through) if schedule else through
            queue += [(*one, through) for one in lineage.reads(node).items()]
        else:
            found.add(replace(_of(node), through=through))
    return sorted(found, key=lambda d: (d.name, str(d.through)))


def _schedule(node: Node) -> Scheduled | None:
    config = node.get("config", {})
    if materialized(node) != TEMPORAL or not config.get("refresh_every"):
        return None
    parsed = TemporalConfig.parse(node["name"], config)
    if parsed.refresh_every is None:
        return None
    names = tuple(relation.key for _, relation in relations(node))
    return Scheduled(names, parsed.refresh_every, parsed.refresh_at)


def _of(node: Node) -> Dependence:
    meta = {**(node.get("meta") or {}), **(node.get("config", {}).get("meta") or {})}
    given = {key: meta.get(key) for key in _KEYS}
    name = ".".join(filter(None, [node.get("source_name"), node["name"]]))
    if given["sealed"] not in (None, True, False):
        raise Refusal(
            "ST109", f"meta.sealed: {given['sealed']!r} of {name}", "this is neither true nor false", "sealed: true"
        )
    follows = _FOLLOWS.get(str(given["time_dependence"] or "wall_clock"))
    if follows is None:
        raise Refusal(
            "ST119",
            f"meta.time_dependence: {given['time_dependence']!r} of {name}",
            "the key tells whether rows come as the wall clock goes on",
            "time_dependence: none for replays and generated load, or wall_clock, which is the default",
        )
    until = None if given["sealed_until"] is None else parse_instant(given["sealed_until"], f"{name} meta.sealed_until")
    return Dependence(name, follows, bool(given["sealed"]), until)
