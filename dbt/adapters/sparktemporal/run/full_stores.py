"""`full_store`: refuse a model, or warn, where nothing bounds the rows: all are kept, and read by each read."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from textwrap import shorten

from sqlglot import exp

from ..errors import Refusal
from ..plurals import quantity, size
from ..temporal.diffs.state import Chain, State
from ..temporal.rewrite.core import TypedCore
from ..temporal.rewrite.evaluated import Evaluated
from ..temporal.rewrite.model import Model
from ..temporal.sql.text.dialect import fragment, quote
from .plan import RunPlan
from .progress import Written

#: the most parts with the clock that are told, and the most characters of each
_PARTS, _LONG = 3, 160
#: clauses of a SELECT that has not all rows of its tables
_LESS = ("where", "group", "having", "distinct", "limit", "joins")
_INSTANTS = ("timestamp", "timestamp_ntz", "date")


@dataclass(frozen=True)
class Weight:
    """The rows that are kept of a core. bytes: of its chain or, before a run, of the inputs' files; None if unknown."""

    core: TypedCore
    rows: int
    bytes: int | None = None
    is_estimated: bool = False

    def __str__(self) -> str:
        about, held = "about " if self.is_estimated else "", "" if self.bytes is None else f", {size(self.bytes)}"
        kept = f"{self.core.name}: {about}{quantity(self.rows, 'row')}{held}"
        return f"all rows of {_what(self.core)} ({kept})"


def refuse(plan: RunPlan) -> None:
    """Raise Refusal where a core would be kept whole under `full_store: error`, before anything is written.

    A model that was built with this text goes on: no change of a config stops the runs of models that answer.
    """
    if plan.config.full_store == "error" and plan.model.whole and not plan.is_told:
        model = plan.target.model
        raise Refusal(
            "ST416",
            f"all rows of {listed(plan.model)} to be kept by {model}, whose full_store is error",
            why(plan.model),
            f"{instead(plan.model)}; or full_store: warn",
        )


def warning(plan: RunPlan, committed: State | None, written: Written) -> str:
    """The warning of the first run with this text of the model, under `full_store: warn`; "" for none."""
    if plan.config.full_store != "warn" or not plan.model.whole or plan.is_told or committed is None:
        return ""
    stored = {core.name: core.chains for core in committed.cores}
    kept = [_weight(core, stored[core.name], written) for core in plan.model.whole]
    return f"temporal_view {plan.target.model} keeps {what_is_kept(plan.model, kept)}"


def _weight(core: TypedCore, chains: Sequence[Chain], written: Written) -> Weight:
    """The weight of a core after a run. Bytes are known only of a chain that the run wrote."""
    is_new = tuple(chains) == (written.chains.get(core.name),)
    return Weight(core, sum(chain.rows for chain in chains), written.sizes.get(core.name) if is_new else None)


def what_is_kept(model: Model, kept: list[Weight]) -> str:
    """The text of the warning: the rows that are kept, the reason, and how to keep fewer."""
    return (
        f"{_listed([str(one) for one in kept])}, and each read goes through them: {why(model)}. "
        f"To keep less: {instead(model)}. To keep them without this line: full_store: allow"
    )


def planned(plan: RunPlan) -> Iterator[Weight]:
    """Before a run: the weight of each core that is kept whole, from its chains or else estimated from its inputs."""
    for core in plan.model.whole:
        if chains := plan.old_chains(core.name):
            yield Weight(core, sum(chain.rows for chain in chains))
            continue
        read = plan.capture.cores[core.name].read
        sizes = [plan.capture.sizes.get(name) for name in read]
        known = [one for one in sizes if one is not None]
        is_counted = all(name in plan.capture.counts for name in read)
        size_of_all = sum(known) if len(known) == len(sizes) else None
        yield Weight(core, sum(map(plan.capture.rows_about, read)), size_of_all, not is_counted)


def why(model: Model) -> str:
    """Why all rows are kept, with the parts of the model that a read evaluates over all rows."""
    parts = [f"{shorten(one.text, _LONG)} ({shorten(one.why, _LONG)})" for one in _over_all(model)]
    more = [f"{len(parts) - _PARTS} more"] if len(parts) > _PARTS else []
    evaluated = f". Evaluated at each read: {'; '.join([*parts[:_PARTS], *more])}" if parts else ""
    return f"no comparison of mz_now() bounds them{evaluated}"


def instead(model: Model) -> str:
    """SQL that would bound the kept rows: a condition of the model as a WHERE or HAVING, or else a window."""
    parts = _over_all(model)
    is_one = bool(parts) and all(one.takes == parts[0].takes for one in parts)
    if is_one and all(one.where for one in parts):
        wheres = [f"({one.where})" if len(parts) > 1 else one.where for one in parts]
        return f"`{parts[0].takes} {' or '.join(wheres)}`, where the other rows do not count"
    window = f"mz_now() < {_time_of(model)} + interval 7 days"
    if is_one and parts[0].takes in ("and", "where"):
        return f"a window in the same SELECT, such as `{parts[0].takes} {window}`"
    return f"a window in a CTE below, such as `select * from {next(iter(relations(model.whole)), '…')} where {window}`"


def _time_of(model: Model) -> str:
    """A time column of the kept rows, for a window; `ts` where there is none."""
    times = [name for core in model.whole for name, kind in core.columns if kind in _INSTANTS]
    named = next((name for name in times if not name.lower().startswith("mz_")), "ts")
    return named if named.isidentifier() else quote(named)


def listed(model: Model) -> str:
    """The relations whose rows are kept whole, in words."""
    return _listed(list(dict.fromkeys(map(_what, model.whole))))


def _what(core: TypedCore) -> str:
    """A core in words: its relations, if the core has all rows of the relations; else `a query over` the relations."""
    query = core.core.query
    names = _listed(relations([core]))
    is_all = isinstance(query, exp.Select) and names and not any(query.args.get(key) for key in _LESS)
    return names if is_all else f"a query over {names}" if names else "a query"


def relations(cores: list[TypedCore]) -> list[str]:
    """The relations that cores read, as the model names them."""
    tables = [table for core in cores for table in core.core.query.find_all(exp.Table)]
    ctes = {cte.alias.lower() for core in cores for cte in core.core.query.find_all(exp.CTE)}
    bare = [exp.Table(**{part: table.args.get(part) for part in ("this", "db", "catalog")}) for table in tables]
    return list(dict.fromkeys(fragment(one) for one in bare if one.db or one.name.lower() not in ctes))


def _over_all(model: Model) -> list[Evaluated]:
    return [one for one in model.evaluated if not one.windowed]


def _listed(words: list[str]) -> str:
    return " and ".join(filter(None, [", ".join(words[:-1]), *words[-1:]]))
