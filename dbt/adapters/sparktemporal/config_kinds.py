"""The kinds of configs. A kind has a type for dbt, a function that reads a value, and words for docs/reference."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from .errors import Refusal
from .temporal.clock.instants import format_duration, parse_duration, parse_instant
from .temporal.clock.schedule import TimeOfWeek


@dataclass(frozen=True)
class Kind:
    """A kind of config."""

    #: the type of the value in a config() or a yml, for dbt
    written: Any
    #: the possible values, in words
    values: str
    #: (name, the value as written, not None) -> the value for a run. Raises Refusal
    read: Callable[[str, Any], Any]
    default: Any = None
    #: a default -> the default in words
    shown: Callable[[Any], str] = lambda default: "none" if default is None else f"`{default}`"


def one_of(*words: str, written: Any = str) -> Kind:
    """A kind whose value is one of these words. The first word is the default."""

    def read(name: str, value: Any) -> str:
        # YAML reads a bare `off` as false
        word = "off" if value is False and "off" in words else str(value or words[0])
        if word not in words:
            raise Refusal("ST108", f"{name}: {value!r}", "this value is not known", f"one of {', '.join(words)}")
        return word

    return Kind(written, ", ".join(f"`{word}`" for word in words), read, words[0])


def _flag(name: str, value: Any) -> bool:
    if not isinstance(value, bool):
        raise Refusal("ST109", f"{name}: {value!r}", "this is neither true nor false", "true or false")
    return value


def _columns(name: str, value: Any) -> tuple[str, ...]:
    if value and not _is_list_of_names(value):
        raise Refusal("ST110", f"{name}: {value!r}", "this is no list of columns", "[created_at]")
    return tuple(value or ())


def _tables(name: str, value: Any) -> bool | tuple[str, ...]:
    if value and not isinstance(value, bool) and not _is_list_of_names(value):
        raise Refusal("ST111", f"{name}: {value!r}", "this is no list of tables", "true, or [events]")
    return tuple(value) if isinstance(value, list) else bool(value)


def _is_list_of_names(value: Any) -> bool:
    return isinstance(value, list) and all(isinstance(name, str) for name in value)


def _share(name: str, value: Any) -> float:
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not 0 <= value <= 1:
        raise Refusal("ST112", f"{name}: {value!r}", "this is no share of files", "a number from 0 to 1, such as 0.01")
    return float(value)


def _later(name: str, value: Any) -> int | None:
    """A lookback in ms; None for "0", and for 1, which dbt itself fills in for its microbatches."""
    return None if value == 1 else parse_duration(value, name)


def _as_length(default: int | None) -> str:
    return "off" if default is None else f"`{format_duration(default)}`"


def _as_flag(default: bool) -> str:
    return f"`{str(default).lower()}`"


#: a length of time (ms); None for "0"
LENGTH = Kind(str, "a length", lambda name, value: parse_duration(value, name), shown=_as_length)
#: a length of time (ms); 0 for "0"
WAIT = Kind(str, "a length", lambda name, value: parse_duration(value, name) or 0, shown=_as_length)
LOOKBACK = Kind(str | int, "a length", _later)
TIME_OF_WEEK = Kind(str, "a time of the week", lambda name, value: TimeOfWeek.parse(value, name))
#: an instant (ms since 1970)
INSTANT = Kind(str, "an instant", lambda name, value: parse_instant(value, name))
NAME = Kind(str, "a name", lambda name, value: value or None)
FLAG = Kind(bool, "`true`, `false`", _flag, False, _as_flag)
COLUMNS = Kind(list[str], "a list of names", _columns, (), lambda default: "none")
TABLES = Kind(bool | list[str], "`true`, `false`, or a list of names", _tables, False, _as_flag)
SHARE = Kind(float, "a number from 0 to 1", _share)
