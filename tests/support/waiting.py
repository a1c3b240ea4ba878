"""Pauses that take no time."""

from __future__ import annotations

from typing import Any


class FakeTime:
    """Pauses take no time. later: what is to happen after so many seconds of them."""

    def __init__(self) -> None:
        self.now = 0.0
        self.pauses: list[float] = []
        self._due: list[tuple[float, Any]] = []

    def later(self, seconds: float, act: Any) -> None:
        self._due.append((self.now + seconds, act))

    def sleep(self, seconds: float) -> None:
        self.now += seconds
        self.pauses.append(seconds)
        due = [act for at, act in self._due if at <= self.now]
        self._due = [(at, act) for at, act in self._due if at > self.now]
        for act in due:
            act()
