"""The verdict over some models: whether all is fine, what is to do, and which model comes first."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import IntEnum

from ..plurals import quantity
from .status import NOT_RUN, UNREADABLE, Condition
from .times import ago, length

#: a model is near its expiration in the last fifth of its time, as for the warning of a run
_SHARE = 5
#: a model lags if its last run is older than so many times the age of the latest run of any model, plus a day (s)
_DAY, _LAGS = 86_400, 10


class Urgency(IntEnum):
    """How soon somebody must act on a model; the most urgent value is the first."""

    UNREADABLE = 0
    EXPIRED = 1
    NOT_RUN = 2
    SOON = 3
    FINE = 4


@dataclass(frozen=True)
class ToDo:
    """A task for people, about one model."""

    model: str
    why: str
    #: "" where no one command helps
    command: str


@dataclass(frozen=True)
class Verdict:
    """The answer to the question whether all is fine."""

    #: one line
    text: str
    to_do: Sequence[ToDo]


def urgency(seen: Condition) -> Urgency:
    """How soon somebody must act on a model. A model near its expiration is FINE if a restart comes first."""
    if seen.facts["state"] == UNREADABLE:
        return Urgency.UNREADABLE
    if seen.state is None:
        return Urgency.NOT_RUN
    left = seen.facts.get("seconds_to_expiration")
    if left is None:
        return Urgency.FINE
    if left < 0:
        return Urgency.EXPIRED
    until = seen.state.expires
    assert until is not None
    is_near = _SHARE * left * 1000 < until - seen.state.started_at
    return Urgency.SOON if is_near and not 0 <= seen.facts["seconds_to_restart"] < left else Urgency.FINE


def by_urgency(every: Sequence[Condition]) -> list[Condition]:
    """The models, the most urgent first, then by the nearness of their expirations."""

    def key(seen: Condition) -> tuple[Urgency, float, str]:
        return urgency(seen), seen.facts.get("seconds_to_expiration", float("inf")), seen.target.model

    return sorted(every, key=key)


def of(every: Sequence[Condition]) -> Verdict:
    """The verdict over some models, one at least."""
    answering = [one for one in every if urgency(one) >= Urgency.SOON]
    to_do = [found for one in by_urgency(every) if (found := _to_do(one))]
    words = [f"{len(answering)} of {len(every)} {'answers' if len(every) == 1 else 'answer'}"]
    left = [one.facts["seconds_to_expiration"] for one in answering if "seconds_to_expiration" in one.facts]
    if answering:
        words.append(f"nearest expiration in {length(min(left))}" if left else "none expires")
    runs = sorted((one.facts["seconds_since_last_run"], one.target.model) for one in every if "last_run" in one.facts)
    if runs:
        words.append(f"last run {ago(runs[0][0])}")
        if runs[-1][0] > max(runs[0][0], 0) * _LAGS + _DAY:
            words.append(f"{runs[-1][1]} last ran {ago(runs[-1][0])}")
    words.append(f"{quantity(len(to_do), 'thing')} to do" if to_do else "nothing to do")
    return Verdict(", ".join(words), to_do)


def _to_do(seen: Condition) -> ToDo | None:
    model = seen.target.model
    run = f"dbt run -s {model}"
    match urgency(seen):
        case Urgency.UNREADABLE:
            return ToDo(model, UNREADABLE, "")
        case Urgency.EXPIRED:
            return ToDo(model, "has expired: reads raise until the next run", run)
        case Urgency.NOT_RUN:
            return ToDo(model, NOT_RUN, run)
        case Urgency.SOON:
            assert seen.state is not None
            rebuilds = seen.state.restart or seen.facts["seconds_to_restart"] < 0
            why = f"expires in {length(seen.facts['seconds_to_expiration'])}"
            return ToDo(model, why, run if rebuilds else f"dbt run --full-refresh -s {model}")
    return None
