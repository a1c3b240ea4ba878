"""The state of a model: everything the next run and a read need, as one line of JSON in the text of `<model>__live`.

Small by design (chains, instants, the split model); the rows are in the chains.
"""

from __future__ import annotations

import hashlib
import json
from dataclasses import asdict, dataclass, replace

from ..errors import TemporalError
from .core import PLACEHOLDER
from .dialect import quote
from .schedule import Refreshes

FORMAT = 1
MARK = "mz_state:"

#: between the name of a table and the instant after which it counts
AFTER = ">"

#: Derby keeps a view's text in a LONG VARCHAR of 32,700 characters
VIEW_TEXT_LIMIT = 30_000


@dataclass(frozen=True)
class Chain:
    """A table one run wrote. Times are ms, None when it holds none; `negative` counts rows with mz_diff < 0.

    open: intervals without an end; None where there are no intervals.
    bucketed: it is partitioned by mz_bucket. parts: of updates, the first buckets and how many rows each has, as far
    as that decides how a read goes about it. after: only its updates after this instant count, those before are in
    another chain; first: the bucket in which they begin.
    """

    table: str
    rows: int
    negative: int
    min_from: int | None
    max_from: int | None
    min_until: int | None
    max_until: int | None
    bucketed: bool = False
    parts: tuple[tuple[int, int], ...] = ()
    open: int | None = None
    after: int | None = None
    first: int | None = None

    def source(self, schema: str) -> str:
        """What counts of it, to stand in a FROM. schema: as SQL names it."""
        table = f"{schema}.{quote(self.table)}"
        if self.after is None:
            return table
        from_bucket = f" AND mz_bucket >= {self.first}L" if self.first is not None else ""
        return f"(SELECT * FROM {table} WHERE mz_timestamp > {self.after}L{from_bucket})"

    @property
    def identity(self) -> str:
        """Equal for equal rows."""
        return self.table if self.after is None else f"{self.table}{AFTER}{self.after}"


@dataclass(frozen=True)
class CoreState:
    """columns: of the rows, or the keys of the groups with their `sums`. kept: why it is stored so, in words."""

    name: str
    columns: tuple[tuple[str, str], ...]
    chains: tuple[Chain, ...]
    sums: tuple[tuple[str, str], ...] | None = None
    kept: str = ""

    @property
    def placeholder(self) -> str:
        return PLACEHOLDER + self.name


@dataclass(frozen=True)
class State:
    """One commit of a model.

    schema: quoted, as SQL names it. run: the id of the run that committed.
    since, frontier, started_at, expiration: ms; reads are answered from since to expiration (None: for ever).
    offset: ms from started_at to the expiration. core_hash: of all that decides what the chains hold.
    residual: SQL over the placeholders. written: the model's SQL as compiled; kinds: of its mz_now() calls in order.
    inputs: relation -> its state when the run read it. read_by: a hash of the plan and the views that read them.
    watermark: the table of the files they had, "" for none. statistics: the table of what is known of these files;
    measured: a hash of what it knows; measuring: how long the last collection took (ms). retired: tables no longer
    named, and when.
    project: the dbt project that ran it, so that one project never drops what another made.
    refreshes: the instants its content is of, None for every one. restart: the next run is to rebuild it.
    dropped: about how many updates the expiration left out since the last restart. gap: how much later than it was due
    a restart came at most (ms).
    """

    model: str
    schema: str
    run: str
    since: int
    frontier: int
    started_at: int
    offset: int | None
    expiration: int | None
    core_hash: str
    residual: str
    columns: tuple[tuple[str, str], ...]
    cores: tuple[CoreState, ...]
    written: str
    kinds: tuple[str, ...]
    inputs: dict[str, str]
    settings: dict[str, str]
    retired: tuple[tuple[str, int], ...] = ()
    sampled: bool = False
    project: str = ""
    read_by: str = ""
    watermark: str = ""
    statistics: str = ""
    measured: str = ""
    measuring: int = 0
    refreshes: Refreshes | None = None
    restart: bool = False
    dropped: int = 0
    gap: int = 0

    @property
    def tables(self) -> tuple[str, ...]:
        """All that it names, so that nothing of it is dropped."""
        return (*(c.table for c in self.chains), *filter(None, (self.watermark, self.statistics)))

    @property
    def chains(self) -> tuple[Chain, ...]:
        return tuple(c for core in self.cores for c in core.chains)

    def advanced(self, **changes: object) -> State:
        return replace(self, **changes)  # type: ignore[arg-type]


def embed(state: State, body: str) -> str:
    """State and the query of the view -> the text to commit."""
    payload = {"format": FORMAT, **asdict(state)}
    payload["check"] = _check(payload, body)
    line = json.dumps(payload, separators=(",", ":"), ensure_ascii=True)
    # `/*` and `*/` are Spark's to nest and to end comments, `${` would be substituted
    line = line.replace("*", "\\u002a").replace("$", "\\u0024")
    head, _, tail = body.partition("SELECT")
    text = f"{head}SELECT /* {MARK} {line} */{tail}"
    if len(text) > VIEW_TEXT_LIMIT:
        raise TemporalError(
            f"found: a view text of {len(text):,} characters for {state.model}__live\n"
            f"why: a metastore keeps {VIEW_TEXT_LIMIT:,} at most, and a longer one would be lost\n"
            f"instead: move static parts of the model (long CASEs, CTEs, column lists) into an upstream model"
        )
    return text


def extract(text: str, model: str) -> State:
    """The text of a live view -> the state in it, or an error when it is not as a run left it."""
    _, found, rest = text.partition(f"/* {MARK} ")
    line, closed, tail = rest.partition(" */")
    head = text.partition(f" /* {MARK} ")[0]
    try:
        if not (found and closed):
            raise ValueError("no state in it")
        payload = json.loads(line)
        check = payload.pop("check")
        if payload["format"] != FORMAT:
            raise ValueError(f"its format is {payload['format']}, this version reads {FORMAT}")
        if check != _check(payload, head + tail):
            raise ValueError("it was edited by hand: its checksum does not match")
        return _state(payload)
    except (ValueError, KeyError, TypeError) as error:
        raise TemporalError(
            f"found: {model}__live, whose state cannot be used ({error})\n"
            f"why: what is stored for {model} is not known without it, so nothing is read, changed or dropped\n"
            f"instead: dbt run --full-refresh -s {model}"
        ) from None


def _check(payload: dict, body: str) -> str:
    plain = {k: v for k, v in payload.items() if k != "check"}
    text = json.dumps(plain, sort_keys=True) + "".join(body.split())
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def _state(payload: dict) -> State:
    values = {k: v for k, v in payload.items() if k != "format"}
    values["columns"] = tuple((n, t) for n, t in values["columns"])
    values["cores"] = tuple(
        CoreState(
            c["name"],
            tuple((n, t) for n, t in c["columns"]),
            tuple(Chain(**{**k, "parts": tuple((at, n) for at, n in k["parts"])}) for k in c["chains"]),
            None if c["sums"] is None else tuple((n, t) for n, t in c["sums"]),
            c["kept"],
        )
        for c in values["cores"]
    )
    if values.get("refreshes"):
        values["refreshes"] = Refreshes(**values["refreshes"])
    values["kinds"] = tuple(values["kinds"])
    values["retired"] = tuple((t, at) for t, at in values["retired"])
    return State(**values)
