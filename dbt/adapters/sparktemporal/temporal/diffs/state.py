"""The state of a model: everything the next run and a read need, as one line of JSON in the text of `<model>__live`.

Small by design (chains, instants, the split model); the rows are in the chains. A metastore limits the text of a view,
so the state of a model of many columns or of a long query is packed, or in a table of one row that the view names:

| form | in the comment | beside it |
|---|---|---|
| INLINE | all fields, readable | |
| PACKED | model, run, project; all fields compressed | |
| TABLE | model, run, project; the name of the table | the table, `<model>__state_<run>` |

In each form the comment holds a checksum over all fields and the query of the view.
"""

from __future__ import annotations

import base64
import hashlib
import json
import re
import zlib
from collections.abc import Callable
from dataclasses import asdict, dataclass, replace
from enum import Enum
from typing import Any

from ...errors import ForeignRelation, TemporalError
from ..clock.schedule import Refreshes
from ..rewrite.core import PLACEHOLDER
from ..sql.dialect import quote
from ..sql.identifiers import Identifier

FORMAT = 1
MARK = "mz_state:"
#: fields that have another name in the JSON
_KEYS = {"manifest": "watermark", "max_restart_delay": "gap"}
#: how the state in a text begins: with its format and its model, in every format
_OF_MODEL = re.compile(rf'/\* {MARK} {{"format":[0-9]+,"model":("(?:[^"\\]|\\.)*")')

#: between the name of a table and the instant after which it counts
AFTER = ">"

#: a Hive metastore in Derby keeps 32,700 characters of a view's text
VIEW_TEXT_LIMIT = 30_000


class Form(Enum):
    """How the text of a view holds the state."""

    INLINE, PACKED, TABLE = "inline", "packed", "table"


@dataclass(frozen=True)
class Chain:
    """A table one run wrote. Times are ms, None when it holds none; `negative` counts rows with mz_diff < 0.

    open: intervals without an end; None where there are no intervals.
    bucketed: it is partitioned by mz_bucket. parts: of updates, the first buckets and how many rows each has, as far
    as that decides how a read goes about it. after: only its updates after this instant count, those before are in
    another chain; first: the bucket in which they begin; held: how many rows its table has then.
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
    held: int | None = None

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
    manifest: the table of the files they had, "" for none. statistics: the table of what is known of these files;
    measured: a hash of what it knows; measuring: how long the last collection took (ms). retired: tables no longer
    named, and when.
    project: the dbt project that ran it, so that one project never drops what another made.
    refreshes: the instants its content is of, None for every one. restart: the next run is to rebuild it.
    dropped: about how many updates the expiration left out since the last restart. max_restart_delay: how much
    later than it was due a restart came at most (ms). state_table: the table that holds this state, "" where the view
    itself does.
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
    manifest: str = ""
    statistics: str = ""
    measured: str = ""
    measuring: int = 0
    refreshes: Refreshes | None = None
    restart: bool = False
    dropped: int = 0
    max_restart_delay: int = 0
    state_table: str = ""

    @property
    def tables(self) -> tuple[str, ...]:
        """All that it names, so that nothing of it is dropped."""
        return (*(c.table for c in self.chains), *filter(None, (self.manifest, self.statistics, self.state_table)))

    @property
    def is_plain(self) -> bool:
        """Whether the model is the rows of its one core, and nothing is made of them when they are read."""
        return len(self.cores) == 1 and self.residual == f"SELECT * FROM {self.cores[0].placeholder}"

    @property
    def chains(self) -> tuple[Chain, ...]:
        return tuple(c for core in self.cores for c in core.chains)

    def advanced(self, **changes: object) -> State:
        return replace(self, **changes)  # type: ignore[arg-type]  # of several types


def embed(state: State, body: str, form: Form = Form.INLINE) -> str:
    """State and the query of the view -> the text to commit."""
    payload = _payload(state)
    check = _check(payload, body)
    head, _, tail = body.partition("SELECT")
    if form is not Form.INLINE:
        payload = {"format": FORMAT, "model": state.model, "run": state.run, "project": state.project}
        payload |= {"packed": packed(state)} if form is Form.PACKED else {"in_table": state.state_table}
    payload["check"] = check
    line = json.dumps(payload, separators=(",", ":"), ensure_ascii=True)
    # `/*` and `*/` are Spark's to nest and to end comments, `${` would be substituted
    line = line.replace("*", "\\u002a").replace("$", "\\u0024")
    return f"{head}SELECT /* {MARK} {line} */{tail}"


def is_commit(text: str, model: str) -> bool:
    """Whether the text of a view is one that a run of a model committed, whether its state can be read or not.

    A copy of it under another name is no commit of the model of that name.
    """
    found = _OF_MODEL.search(text)
    return found is not None and Identifier(json.loads(found.group(1))) == Identifier(model)


def packed(state: State) -> str:
    """All fields of a state, in letters, digits and `+/=`."""
    plain = json.dumps(_payload(state), separators=(",", ":"))
    return base64.b64encode(zlib.compress(plain.encode(), 9)).decode()


def extract(text: str, model: str, load: Callable[[str], str] | None = None) -> State:
    """The text of a live view -> the state in it, or an error when it is not as a run left it.

    load: the name of a table of the model's schema -> the packed state in it; a ValueError says why there is none.
    """
    if not is_commit(text, model):
        raise ForeignRelation(f"{model}__live", model)
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
        payload = _unpacked(payload, load)
        if check != _check(payload, head + tail):
            raise ValueError("it was edited by hand: its checksum does not match")
        return _state(payload)
    except (ValueError, KeyError, TypeError) as error:
        raise TemporalError(
            f"found: {model}__live, whose state cannot be used ({error})\n"
            f"why: what is stored for {model} is not known without it, so nothing is read, changed or dropped\n"
            f"instead: dbt run --full-refresh -s {model}"
        ) from None


def _unpacked(payload: dict[str, Any], load: Callable[[str], str] | None) -> dict[str, Any]:
    """The fields a comment holds -> all fields of the state."""
    if "in_table" in payload:
        table = payload["in_table"]
        if load is None:
            raise ValueError(f"it is in the table {table}")
        payload = {"packed": load(table)}
    if "packed" not in payload:
        return payload
    try:
        return dict(json.loads(zlib.decompress(base64.b64decode(payload["packed"], validate=True))))
    except (ValueError, zlib.error) as error:
        raise ValueError(f"what is packed cannot be read: {error}") from None


def _payload(state: State) -> dict[str, Any]:
    return {"format": FORMAT, **{_KEYS.get(name, name): value for name, value in asdict(state).items()}}


def _check(payload: dict[str, Any], body: str) -> str:
    plain = {k: v for k, v in payload.items() if k != "check"}
    text = json.dumps(plain, sort_keys=True) + "".join(body.split())
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def _state(payload: dict[str, Any]) -> State:
    fields = {key: name for name, key in _KEYS.items()}
    values = {fields.get(k, k): v for k, v in payload.items() if k != "format"}
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
