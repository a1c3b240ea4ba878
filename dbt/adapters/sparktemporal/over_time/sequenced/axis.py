"""Many given instants, and the place of another instant among them.

The place of an instant is the number of given instants before it. SQL computes the place:

| the given instants | the place |
|---|---|
| evenly spaced | by a division |
| on an even grid of few steps, such as the first days of months | by a division and a list of places |
| any others, not many | by counting |
"""

from __future__ import annotations

import math
from bisect import bisect_left
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

#: the most instants that are counted through for each row; the most steps of a list of places
_FEW, _LISTED = 200, 2_000


@dataclass(frozen=True)
class Axis:
    """Distinct instants (ms) in order. step: the greatest time (ms) that divides all distances between them."""

    instants: tuple[int, ...]
    step: int

    @staticmethod
    def of(instants: Iterable[int]) -> Axis | None:
        """The axis of some instants; None where SQL cannot compute places fast."""
        every = sorted(set(instants))
        axis = Axis(tuple(every), math.gcd(*(t - every[0] for t in every[1:])) or 1)
        return axis if axis.is_even or axis.steps < _LISTED or len(every) <= _FEW else None

    @property
    def first(self) -> int:
        return self.instants[0]

    @property
    def steps(self) -> int:
        return (self.instants[-1] - self.first) // self.step

    @property
    def is_even(self) -> bool:
        return len(self.instants) == self.steps + 1

    def place(self, instant: str) -> str:
        """SQL: how many of the instants are before an instant. A BIGINT."""
        if not self.is_even and self.steps >= _LISTED:
            return f"CAST(size(filter({self._list(self.instants)}, p -> p < {instant})) AS BIGINT)"
        number = self.steps + 1
        step = f"least({number}L, greatest(0L, ({instant} - {self.first}L + {self.step - 1}L) DIV {self.step}L))"
        if self.is_even:
            return step
        places = [bisect_left(self.instants, self.first + n * self.step) for n in range(number + 1)]
        return f"get({self._list(places)}, CAST({step} AS INT))"

    def instant(self, place: str) -> str:
        """SQL: the instant of a place."""
        if self.is_even:
            return f"{self.first}L + {place} * {self.step}L"
        return f"get({self._list(self.instants)}, CAST({place} AS INT))"

    def reached(self, instant: str) -> str:
        """SQL: the first of the instants at or after an instant; NULL after the last one, and for NULL."""
        found = self.instant(self.place(instant))
        return f"CASE WHEN {instant} <= {self.instants[-1]}L THEN {found} END"

    @staticmethod
    def _list(numbers: Sequence[int]) -> str:
        return f"array({', '.join(f'{n}L' for n in numbers)})"
