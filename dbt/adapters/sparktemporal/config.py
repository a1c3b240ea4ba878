"""The configs of a temporal_view, parsed once, with all mistakes reported together."""

from __future__ import annotations

import difflib
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from .errors import Refusal, TemporalError
from .temporal.clock import format_duration, parse_duration

_DURATIONS = ("expiration", "restart_every", "retain_history", "diffs_retention")
_CAPTURES = ("auto", "full")
_AGGREGATES = ("auto", "groups", "rows")
_FORMATS = ("parquet", "orc", "delta", "iceberg")

#: named by the design, not carried out yet: refused, so that nobody relies on them
_NOT_YET = (
    "restart_at", "refresh_every", "refresh_at", "append_column", "lookback", "pushdown", "pushdown_columns",
    "pushdown_required", "max_staleness",
)  # fmt: skip
#: dbt itself fills these in
_DBT_DEFAULTS = {"lookback": 1}
_NAMES = (*_DURATIONS, "change_capture", "aggregates", *_NOT_YET)


@dataclass(frozen=True)
class TemporalConfig:
    """Lengths of time in ms; None is off.

    change_capture: `full` reads the inputs whatever they did, `auto` no more than it must.
    aggregates: what to keep where groups or rows could be: `auto` looks at the data.
    """

    expiration: int | None = None
    restart_every: int | None = None
    retain_history: int | None = None
    diffs_retention: int = 3_600_000
    change_capture: str = "auto"
    file_format: str = "parquet"
    aggregates: str = "auto"

    @staticmethod
    def parse(model: str, config: Mapping[str, Any]) -> TemporalConfig:
        """The configs of one model -> TemporalConfig, or one error that lists every mistake."""
        mistakes: list[str] = []
        lengths: dict[str, int | None] = {}
        for name in _DURATIONS:
            try:
                lengths[name] = parse_duration(config.get(name), name)
            except Refusal as refusal:
                mistakes.append(str(refusal))
        for name in _NOT_YET:
            if config.get(name) not in (None, False, _DBT_DEFAULTS.get(name)):
                mistakes.append(
                    str(Refusal(f"{name}: {config[name]!r}", "this version does not carry it out", f"no {name}"))
                )
        capture = config.get("change_capture") or "auto"
        if capture not in _CAPTURES:
            known = ", ".join(_CAPTURES)
            mistakes.append(str(Refusal(f"change_capture: {capture!r}", "no such way is known", f"one of {known}")))
        file_format = config.get("file_format") or "parquet"
        if file_format not in _FORMATS:
            known = ", ".join(_FORMATS)
            mistakes.append(
                str(Refusal(f"file_format: {file_format!r}", "diffs are not kept in this format", f"one of {known}"))
            )
        aggregates = config.get("aggregates") or "auto"
        if aggregates not in _AGGREGATES:
            known = ", ".join(_AGGREGATES)
            mistakes.append(str(Refusal(f"aggregates: {aggregates!r}", "no such way is known", f"one of {known}")))
        for name in config:
            close = difflib.get_close_matches(name, _NAMES, n=1, cutoff=0.85)
            if close and name not in _NAMES:
                mistakes.append(str(Refusal(f"{name}: {config[name]!r}", "there is no such config", close[0])))
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
        return TemporalConfig(
            expiration=lengths["expiration"],
            restart_every=lengths["restart_every"],
            retain_history=lengths["retain_history"],
            diffs_retention=retention,
            change_capture=capture,
            file_format=file_format,
            aggregates=aggregates,
        )
