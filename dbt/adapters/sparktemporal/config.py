"""The configs of a temporal_view, each declared once as a field of `TemporalConfig`.

`TemporalConfig.parse`, dbt's class of configs (`contracts`) and docs/reference/configs.md follow from these fields.
"""

from __future__ import annotations

import difflib
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, fields
from typing import Any

from . import config_kinds as kinds
from . import other_configs
from .errors import Refusal, TemporalError
from .temporal.clock.instants import format_duration
from .temporal.clock.schedule import Refreshes, Restarts, TimeOfWeek

#: how long a run waits for another run (ms), without a config
PATIENCE = 10_000


def _config(kind: kinds.Kind, words: str, default: Any = None) -> Any:
    """One config. words: its meaning in docs/reference/configs.md. default: None for the default of the kind."""
    return field(default=kind.default if default is None else default, metadata={"kind": kind, "words": words})


@dataclass(frozen=True)
class TemporalConfig:
    """The configs of one model. Lengths of time are in ms; None is off."""

    expiration: int | None = _config(
        kinds.LENGTH,
        "updates later than this after the last restart are not stored, and the view *raises* after it "
        "until the next `dbt run`. Set it once for the project, a few times as long as the time between "
        "rebuilds. A run in the last fifth before the expiration warns ([page](../expiration.md))",
    )
    restart_every: int | None = _config(
        kinds.LENGTH,
        "the first run after that time rebuilds the model, which renews the expiration",
    )
    restart_at: TimeOfWeek | None = _config(
        kinds.TIME_OF_WEEK,
        '`"Sunday 03:00 Europe/Berlin"`: the restart is due at the last such time before `restart_every` has passed',
    )
    refresh_every: int | None = _config(
        kinds.LENGTH,
        "readers see the content of the last refresh ([refreshes](../expiration.md#refreshes)); without "
        "it, of every instant",
    )
    refresh_at: int | None = _config(
        kinds.INSTANT,
        "an instant from which refreshes are counted; without it they are counted from the first run",
    )
    retain_history: int | None = _config(
        kinds.LENGTH,
        "how far back `temporal_as_of` reads at least, also over restarts ([what was before "
        "one](../expiration.md#before-a-restart)). Without it, best effort: as far back as the stored "
        "diffs allow, and not beyond the last restart, which a run [may choose](../semantics.md#the-way-of-a-run)",
    )
    diffs_retention: int = _config(
        kinds.WAIT,
        "how long tables that no commit names any more stay, for readers that began before",
        default=3_600_000,
    )
    lock_timeout: int = _config(
        kinds.WAIT,
        "how long a run waits for another run of the same model; `temporal_restart` and "
        '`temporal_consolidate` wait likewise. `"0"`: no waiting',
        default=PATIENCE,
    )
    change_capture: str = _config(
        kinds.one_of("auto", "full", "append"),
        "`full`: runs read their inputs in full, whatever the inputs did. `auto`: runs read no more than "
        "they must. `append`: see `append_column`",
    )
    append_column: str | None = _config(
        kinds.NAME,
        "with `change_capture: append`: the column in whose order the rows of an input come. Runs compute "
        "with the rows after the latest row that they have seen, and notice when these were not all "
        "([append-only inputs](../semantics.md#append-only-inputs))",
    )
    lookback: int | None = _config(
        kinds.LOOKBACK,
        "with `append_column`: how much earlier than the latest row other rows may still come",
    )
    file_format: str = _config(
        kinds.one_of("parquet", "orc", "delta", "iceberg"),
        "the format of the diffs; `orc` is accepted and not tested. Parquet is written with delta "
        "encodings (data pages of version 2)",
    )
    aggregates: str = _config(
        kinds.one_of("auto", "groups", "rows"),
        "the form in which an aggregation is kept that can be kept in both. `auto`: the data decides when "
        "the model is first built, and at a `--full-refresh` ([aggregates](../semantics.md#aggregates))",
    )
    pushdown: str = _config(
        kinds.one_of("sargable", "statistics", "off", written=str | bool),
        "`sargable`: a run asks Spark only for rows whose window is not over, by comparisons of single "
        "columns with constants. `statistics`: a run also asks only for the files that can hold such "
        "rows, by statistics that it keeps of the files. `off`: a run asks for all rows "
        "([page](../pushdown.md))",
    )
    pushdown_required: bool | tuple[str, ...] = _config(
        kinds.TABLES,
        "a run that would read such a table whole fails before it reads; `true` is for all tables",
    )
    pushdown_collect: bool = _config(
        kinds.FLAG,
        "whether statistics of files are collected, apart from whether they are used. Without it, they "
        "are with `pushdown: statistics`",
    )
    pushdown_columns: tuple[str, ...] = _config(
        kinds.COLUMNS,
        "columns whose statistics are kept before those of other columns. Statistics of time columns are always kept",
    )
    pushdown_audit: float = _config(
        kinds.SHARE,
        "the share of the skipped files that a run reads nevertheless, to verify the skipping",
        default=0.01,
    )
    full_read: str = _config(
        kinds.one_of("allow", "warn", "error"),
        "what a run does that would read all of an input, because it cannot tell what changed: nothing, a "
        "warning of dbt, or a failure before anything is written. First runs, restarts and "
        "`--full-refresh` read all by their nature. With `warn` or `error` a run chooses no restart",
    )
    full_store: str = _config(
        kinds.one_of("warn", "error", "allow"),
        "what the first run of a model, and the first one after its text changed, does where all rows of an input "
        "are kept, and read by each read, because no comparison of the clock bounds them: a warning of dbt, a failure "
        "before anything is written, or nothing "
        "([what is kept whole](../semantics.md#what-is-kept-whole))",
    )
    store_late: bool = _config(
        kinds.FLAG,
        "`true`: rows that come when their window is over are kept in `<model>__late`, with the run and "
        "the window that they missed ([late rows](../changes.md#late-rows))",
    )
    at_function: bool = _config(
        kinds.FLAG,
        "`true`: a SQL table function `<model>__at(instant)` reads the model at any instant, for tools "
        "that know no dbt ([outside of dbt](../changes.md#outside-of-dbt); Spark 4, `spark_catalog`)",
    )

    @property
    def restarts(self) -> Restarts:
        every = "" if self.restart_every is None else f"restart_every {format_duration(self.restart_every)}"
        at = f", {self.restart_at}" if self.restart_at else ""
        return Restarts(self.restart_every, self.restart_at, every + at)

    def refreshes(self, before: Refreshes | None, as_of: int) -> Refreshes | None:
        """The schedule of refreshes; None without refresh_every. `before` stays while the configs agree with it.

        before: the schedule of the last run. as_of: the instant of this run (ms). A new schedule without refresh_at
        counts its refreshes from this instant.
        """
        if self.refresh_every is None:
            return None
        if before is not None and before.every == self.refresh_every and self.refresh_at in (None, before.anchor):
            return before
        return Refreshes(self.refresh_every, as_of if self.refresh_at is None else self.refresh_at)

    @staticmethod
    def parse(model: str, config: Mapping[str, Any]) -> TemporalConfig:
        """The configs of one model -> TemporalConfig. Raises one error that lists every mistake."""
        read, mistakes = _read(config)
        told = [*mistakes.values(), *other_configs.refusals(config)]
        for names, look in _TOGETHER:
            refusal = None if mistakes.keys() & set(names) else look(read, config)
            told += [refusal] if refusal else []
        if told:
            listed = "\n".join(map(str, told))
            raise TemporalError(f"the configuration of temporal_view {model} cannot be used\n{listed}")
        return read


def _read(config: Mapping[str, Any]) -> tuple[TemporalConfig, dict[str, Refusal]]:
    """(the configs, name -> mistake). Each config is read by itself. A mistaken config has its default."""
    given: dict[str, Any] = {}
    mistakes: dict[str, Refusal] = {}
    names = [of.name for of in fields(TemporalConfig)]
    for of in fields(TemporalConfig):
        if config.get(of.name) is not None:
            try:
                given[of.name] = of.metadata["kind"].read(of.name, config[of.name])
            except Refusal as refusal:
                mistakes[of.name] = refusal
    for name in config:
        close = difflib.get_close_matches(name, names, n=1, cutoff=0.85)
        if close and name not in names:
            mistakes[name] = Refusal("ST101", f"{name}: {config[name]!r}", "there is no such config", close[0])
    given.setdefault("pushdown_collect", given.get("pushdown") == "statistics")
    return TemporalConfig(**given), mistakes


# -- configs that depend on each other: (the configs as read, the configs as written) -> their mistake --


def _append(read: TemporalConfig, written: Mapping[str, Any]) -> Refusal | None:
    is_append = read.change_capture == "append"
    if is_append == (read.append_column is not None) and (is_append or not read.lookback):
        return None
    lookback = read.lookback and written["lookback"]
    found = {"change_capture": read.change_capture, "append_column": read.append_column, "lookback": lookback}
    return Refusal(
        "ST102",
        ", ".join(f"{name}: {value!r}" for name, value in found.items() if value is not None),
        "change_capture: append follows a table by a column in whose order its rows come",
        'change_capture: append with append_column: <column>, and lookback: "1 hour" where rows come late',
    )


def _nothing_is_pushed_down(read: TemporalConfig, written: Mapping[str, Any]) -> Refusal | None:
    if not read.pushdown_required or read.pushdown != "off":
        return None
    return Refusal("ST103", "pushdown_required with pushdown: off", "nothing is pushed down then", "one of the two")


def _always_full(read: TemporalConfig, written: Mapping[str, Any]) -> Refusal | None:
    if read.full_read == "allow" or read.change_capture != "full":
        return None
    both = f"full_read: {written['full_read']!r}, change_capture: 'full'"
    return Refusal("ST104", both, "every run of this model reads all of its inputs", "one of the two")


def _needs(name: str, of: str) -> Callable[[TemporalConfig, Mapping[str, Any]], Refusal | None]:
    def look(read: TemporalConfig, written: Mapping[str, Any]) -> Refusal | None:
        if written.get(name) is None or getattr(read, of) is not None:
            return None
        return Refusal("ST105", f"{name}: {written[name]!r}", f"it has no meaning without {of}", f"{of} beside it")

    return look


def _more_often_than_it_comes(read: TemporalConfig, written: Mapping[str, Any]) -> Refusal | None:
    at, every = read.restart_at, read.restart_every
    if at is None or every is None or every >= at.period:
        return None
    return Refusal(
        "ST106",
        f"restart_at: {written['restart_at']!r}, restart_every: {written['restart_every']!r}",
        f"that time comes every {format_duration(at.period)}",
        f"a restart_every of {format_duration(at.period)} or more",
    )


def _expires_before_a_restart(read: TemporalConfig, written: Mapping[str, Any]) -> Refusal | None:
    offset, restart = read.expiration, read.restart_every
    if offset is None or restart is None or offset > restart:
        return None
    return Refusal(
        "ST107",
        f"expiration: {written['expiration']!r}, restart_every: {written['restart_every']!r}",
        f"the view would raise {format_duration(offset)} after a restart, and the next one is due "
        f"after {format_duration(restart)}, at the first run from then on",
        "an expiration of more than restart_every and the time between two runs, such as three times "
        "restart_every and a day",
    )


#: (names of configs, their check). The check is made where each of the named configs is right by itself
_TOGETHER = (
    (("change_capture", "append_column", "lookback"), _append),
    (("pushdown", "pushdown_required"), _nothing_is_pushed_down),
    (("full_read", "change_capture"), _always_full),
    (("restart_at", "restart_every"), _needs("restart_at", "restart_every")),
    (("refresh_at", "refresh_every"), _needs("refresh_at", "refresh_every")),
    (("restart_at", "restart_every"), _more_often_than_it_comes),
    (("expiration", "restart_every"), _expires_before_a_restart),
)
