"""The configs of a temporal_view, parsed once, with all mistakes reported together."""

from __future__ import annotations

import difflib
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from .errors import Refusal, TemporalError
from .temporal.clock.instants import format_duration, parse_duration, parse_instant
from .temporal.clock.schedule import Refreshes, Restarts, TimeOfWeek

#: how long a run waits for another run (ms), without a config
PATIENCE = 10_000
_DURATIONS = ("expiration", "restart_every", "retain_history", "diffs_retention", "refresh_every", "lock_timeout")
_CAPTURES = ("auto", "full", "append")
_AGGREGATES = ("auto", "groups", "rows")
_PUSHDOWN = ("sargable", "statistics", "off")
_FULL_READS = ("allow", "warn", "error")
_FORMATS = ("parquet", "orc", "delta", "iceberg")

#: planned configs, refused so that nobody relies on them
_NOT_YET = ("max_staleness",)
#: the values that dbt itself fills in, for its microbatches
_NO_LOOKBACK = (None, 1)
_OTHERS = (
    "restart_at",
    "refresh_at",
    "change_capture",
    "append_column",
    "lookback",
    "aggregates",
    "pushdown",
    "pushdown_required",
    "pushdown_collect",
    "pushdown_columns",
    "pushdown_audit",
    "full_read",
    "store_late",
    "at_function",
)
_NAMES = (*_DURATIONS, *_OTHERS, *_NOT_YET)


@dataclass(frozen=True)
class TemporalConfig:
    """The configs of one model. Lengths of time are in ms; None is off. docs/reference/configs.md is made of this text.

    expiration: updates later than this after the last restart are not stored, and the view *raises* after it until the
        next `dbt run`. Set it once for the project, a few times as long as the time between rebuilds. A run in the last
        fifth before the expiration warns ([page](../expiration.md))
    restart_every: the first run after that time rebuilds the model, which renews the expiration
    restart_at: `"Sunday 03:00 Europe/Berlin"`: the restart is due at the last such time before `restart_every` has
        passed
    refresh_every: readers see the content of the last refresh ([refreshes](../expiration.md#refreshes)); without it, of
        every instant
    refresh_at: an instant from which refreshes are counted; without it they are counted from the first run
    retain_history: how far back `temporal_as_of` reads at least, also over restarts ([what was before
        one](../expiration.md#before-a-restart)). Without it, best effort: as far back as the stored diffs allow, and
        not beyond the last restart
    diffs_retention: how long tables that no commit names any more stay, for readers that began before
    lock_timeout: how long a run waits for another run of the same model; `temporal_restart` and `temporal_consolidate`
        wait likewise. `"0"`: no waiting
    change_capture: `full`: runs read their inputs in full, whatever the inputs did. `auto`: runs read no more than they
        must. `append`: see `append_column`
    append_column: with `change_capture: append`: the column in whose order the rows of an input come. Runs compute with
        the rows after the latest row that they have seen, and notice when these were not all
        ([append-only inputs](../semantics.md#append-only-inputs))
    lookback: with `append_column`: how much earlier than the latest row other rows may still come
    file_format: the format of the diffs; `orc` is accepted and not tested. Parquet is written with delta encodings
        (data pages of version 2)
    aggregates: the form in which an aggregation is kept that can be kept in both. `auto`: the data decides when the
        model is first built, and at a `--full-refresh` ([aggregates](../semantics.md#aggregates))
    pushdown: `sargable`: a run asks Spark only for rows whose window is not over, by comparisons of single columns with
        constants. `statistics`: a run also asks only for the files that can hold such rows, by statistics that it keeps
        of the files. `off`: a run asks for all rows ([page](../pushdown.md))
    pushdown_required: a run that would read such a table whole fails before it reads; `true` is for all tables
    pushdown_collect: whether statistics of files are collected, apart from whether they are used. Without it, they are
        with `pushdown: statistics`
    pushdown_columns: columns whose statistics are kept before those of other columns. Statistics of time columns are
        always kept
    pushdown_audit: the share of the skipped files that a run reads nevertheless, to verify the skipping
    full_read: what a run does that would read all of an input, because it cannot tell what changed: nothing, a warning
        of dbt, or a failure before anything is written. First runs, restarts and `--full-refresh` read all by their
        nature
    store_late: `true`: rows that come when their window is over are kept in `<model>__late`, with the run and the
        window that they missed ([late rows](../changes.md#late-rows))
    at_function: `true`: a SQL table function `<model>__at(instant)` reads the model at any instant, for tools that know
        no dbt ([outside of dbt](../changes.md#outside-of-dbt); Spark 4, `spark_catalog`)
    """

    expiration: int | None = None
    restart_every: int | None = None
    restart_at: TimeOfWeek | None = None
    refresh_every: int | None = None
    refresh_at: int | None = None
    retain_history: int | None = None
    diffs_retention: int = 3_600_000
    lock_timeout: int = PATIENCE
    change_capture: str = "auto"
    append_column: str | None = None
    lookback: int | None = None
    file_format: str = "parquet"
    aggregates: str = "auto"
    pushdown: str = "sargable"
    pushdown_required: bool | tuple[str, ...] = False
    pushdown_collect: bool = False
    pushdown_columns: tuple[str, ...] = ()
    pushdown_audit: float = 0.01
    full_read: str = "allow"
    store_late: bool = False
    at_function: bool = False

    @property
    def restarts(self) -> Restarts:
        every = "" if self.restart_every is None else f"restart_every {format_duration(self.restart_every)}"
        at = f", {self.restart_at}" if self.restart_at else ""
        return Restarts(self.restart_every, self.restart_at, every + at)

    def refreshes(self, before: Refreshes | None, as_of: int) -> Refreshes | None:
        """The schedule of refreshes. Without refresh_at the old one goes on, or begins at the first run (ms)."""
        if self.refresh_every is None:
            return None
        if before is not None and before.every == self.refresh_every and self.refresh_at in (None, before.anchor):
            return before
        return Refreshes(self.refresh_every, as_of if self.refresh_at is None else self.refresh_at)

    @staticmethod
    def parse(model: str, config: Mapping[str, Any]) -> TemporalConfig:
        """The configs of one model -> TemporalConfig. Raises one error that lists every mistake."""
        mistakes: list[str] = []
        lengths: dict[str, int | None] = {}
        given = {name: config.get(name) for name in _DURATIONS}
        given["lookback"] = None if config.get("lookback") in _NO_LOOKBACK else config["lookback"]
        for name, value in given.items():
            try:
                lengths[name] = parse_duration(value, name)
            except Refusal as refusal:
                mistakes.append(str(refusal))
        for name in _NOT_YET:
            if config.get(name) not in (None, False):
                mistakes.append(
                    str(Refusal(f"{name}: {config[name]!r}", "this version does not carry it out", f"no {name}"))
                )
        capture = config.get("change_capture") or "auto"
        if capture not in _CAPTURES:
            known = ", ".join(_CAPTURES)
            mistakes.append(str(Refusal(f"change_capture: {capture!r}", "this value is not known", f"one of {known}")))
        column = config.get("append_column") or None
        if (capture == "append") != (column is not None) or lengths.get("lookback") and column is None:
            mistakes.append(_append(capture, column, given["lookback"]))
        file_format = config.get("file_format") or "parquet"
        if file_format not in _FORMATS:
            known = ", ".join(_FORMATS)
            mistakes.append(
                str(Refusal(f"file_format: {file_format!r}", "diffs are not stored in this format", f"one of {known}"))
            )
        aggregates = config.get("aggregates") or "auto"
        if aggregates not in _AGGREGATES:
            known = ", ".join(_AGGREGATES)
            mistakes.append(str(Refusal(f"aggregates: {aggregates!r}", "this value is not known", f"one of {known}")))
        pushdown = _word(config.get("pushdown"), "sargable")
        if pushdown not in _PUSHDOWN:
            known = ", ".join(_PUSHDOWN)
            mistakes.append(
                str(Refusal(f"pushdown: {config['pushdown']!r}", "this value is not known", f"one of {known}"))
            )
        required = config.get("pushdown_required") or False
        if not (isinstance(required, bool) or isinstance(required, list) and all(isinstance(n, str) for n in required)):
            mistakes.append(
                str(Refusal(f"pushdown_required: {required!r}", "this is no list of tables", "true, or [events]"))
            )
        elif required and pushdown == "off":
            mistakes.append(
                str(Refusal("pushdown_required with pushdown: off", "nothing is pushed down then", "one of the two"))
            )
        collect = config.get("pushdown_collect")
        if collect is None:
            collect = pushdown == "statistics"
        elif not isinstance(collect, bool):
            mistakes.append(
                str(Refusal(f"pushdown_collect: {collect!r}", "this is neither true nor false", "true or false"))
            )
        columns = config.get("pushdown_columns") or []
        if not (isinstance(columns, list) and all(isinstance(n, str) for n in columns)):
            mistakes.append(
                str(Refusal(f"pushdown_columns: {columns!r}", "this is no list of columns", "[created_at]"))
            )
        full_read = config.get("full_read") or "allow"
        if full_read not in _FULL_READS:
            known = ", ".join(_FULL_READS)
            mistakes.append(str(Refusal(f"full_read: {full_read!r}", "this value is not known", f"one of {known}")))
        elif full_read != "allow" and capture == "full":
            both = f"full_read: {full_read!r}, change_capture: 'full'"
            mistakes.append(str(Refusal(both, "every run of this model reads all of its inputs", "one of the two")))
        for name in ("store_late", "at_function"):
            if config.get(name) not in (None, True, False):
                mistakes.append(
                    str(Refusal(f"{name}: {config[name]!r}", "this is neither true nor false", "true or false"))
                )
        share = 0.01 if config.get("pushdown_audit") is None else config["pushdown_audit"]
        if isinstance(share, bool) or not isinstance(share, (int, float)) or not 0 <= share <= 1:
            mistakes.append(
                str(
                    Refusal(
                        f"pushdown_audit: {share!r}", "this is no share of files", "a number from 0 to 1, such as 0.01"
                    )
                )
            )
        for name in config:
            close = difflib.get_close_matches(name, _NAMES, n=1, cutoff=0.85)
            if close and name not in _NAMES:
                mistakes.append(str(Refusal(f"{name}: {config[name]!r}", "there is no such config", close[0])))
        times: dict[str, Any] = {}
        for name, parse, of in (
            ("restart_at", TimeOfWeek.parse, "restart_every"),
            ("refresh_at", parse_instant, "refresh_every"),
        ):
            if config.get(name) is None:
                continue
            try:
                times[name] = parse(config[name], name)
            except Refusal as refusal:
                mistakes.append(str(refusal))
            if lengths.get(of) is None:
                mistakes.append(
                    str(Refusal(f"{name}: {config[name]!r}", f"it has no meaning without {of}", f"{of} beside it"))
                )
        at, every = times.get("restart_at"), lengths.get("restart_every")
        if at is not None and every is not None and every < at.period:
            mistakes.append(
                str(
                    Refusal(
                        f"restart_at: {config['restart_at']!r}, restart_every: {config['restart_every']!r}",
                        f"that time comes every {format_duration(at.period)}",
                        f"a restart_every of {format_duration(at.period)} or more",
                    )
                )
            )
        offset, restart = lengths.get("expiration"), lengths.get("restart_every")
        if offset is not None and restart is not None and offset <= restart:
            mistakes.append(
                str(
                    Refusal(
                        f"expiration: {config['expiration']!r}, restart_every: {config['restart_every']!r}",
                        f"the view would raise {format_duration(offset)} after a restart, and the next one is due "
                        f"after {format_duration(restart)}, at the first run from then on",
                        "an expiration of more than restart_every and the time between two runs, such as three times "
                        "restart_every and a day",
                    )
                )
            )
        if mistakes:
            raise TemporalError(f"the configuration of temporal_view {model} cannot be used\n" + "\n".join(mistakes))
        retention = lengths["diffs_retention"]
        if retention is None:
            retention = 0 if config.get("diffs_retention") is not None else 3_600_000
        patience = lengths["lock_timeout"]
        if patience is None:
            patience = 0 if config.get("lock_timeout") is not None else PATIENCE
        return TemporalConfig(
            expiration=lengths["expiration"],
            restart_every=lengths["restart_every"],
            restart_at=times.get("restart_at"),
            refresh_every=lengths["refresh_every"],
            refresh_at=times.get("refresh_at"),
            retain_history=lengths["retain_history"],
            diffs_retention=retention,
            lock_timeout=patience,
            change_capture=capture,
            append_column=column,
            lookback=lengths["lookback"],
            file_format=file_format,
            aggregates=aggregates,
            pushdown=pushdown,
            pushdown_required=tuple(required) if isinstance(required, list) else bool(required),
            pushdown_collect=collect,
            pushdown_columns=tuple(columns),
            pushdown_audit=float(share),
            full_read=full_read,
            store_late=bool(config.get("store_late")),
            at_function=bool(config.get("at_function")),
        )


def _word(value: object, default: str) -> str:
    """YAML reads a bare `off` as false."""
    return default if value is None else "off" if value is False else str(value)


def _append(capture: str, column: str | None, lookback: object) -> str:
    found = {"change_capture": capture, "append_column": column, "lookback": lookback}
    return str(
        Refusal(
            ", ".join(f"{name}: {value!r}" for name, value in found.items() if value is not None),
            "change_capture: append follows a table by a column in whose order its rows come",
            'change_capture: append with append_column: <column>, and lookback: "1 hour" where rows come late',
        )
    )
