"""The geometry of the report's charts: numbers in, places in a drawing out. The template draws them."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

#: the size of a drawing, in units of the drawing
WIDTH, HEIGHT = 480, 150
#: the margins of the plot: left for the numbers, below for the hours
LEFT, RIGHT, TOP, BELOW = 46, 8, 10, 22
#: the lines for labels below the timeline: near labels do not overlap
_LINES = 3


@dataclass(frozen=True)
class Mark:
    """An instant on the timeline."""

    name: str
    #: the instant (ms)
    at: int
    #: the place (per cent)
    x: float
    #: the line of the label, from 0
    line: int = 0


@dataclass(frozen=True)
class Timeline:
    """The timeline of a model. Places are in per cent."""

    #: the first instant that can be read
    begin: float
    #: the end of the final updates
    frontier: float
    #: the last instant that is answered; the end of the drawing where the model answers for ever
    end: float
    marks: Sequence[Mark]

    @property
    def lines(self) -> int:
        """How many lines the labels take."""
        return max((mark.line for mark in self.marks), default=0) + 1


def timeline(instants: Mapping[str, int], now: int, final: tuple[int, int], until: int | None) -> Timeline:
    """The timeline of a model. instants: name -> ms. final: (since, frontier) in ms. until: the last answered ms."""
    every = [*instants.values(), now, *final] + ([] if until is None else [until])
    room = max(max(every) - min(every), 1) * 0.04
    first, last = min(every) - room, max(every) + room

    def x(at: float) -> float:
        return round(100 * (at - first) / (last - first), 2)

    marks: list[Mark] = []
    ends = [-100.0] * _LINES
    for name, at in sorted(instants.items(), key=lambda one: one[1]):
        line = next((n for n in range(_LINES) if x(at) - ends[n] > 14), _LINES - 1)
        ends[line] = x(at)
        marks.append(Mark(name, at, x(at), line))
    return Timeline(x(final[0]), x(final[1]), x(last if until is None else until), marks)


@dataclass(frozen=True)
class Bar:
    """A rectangle of a chart, with its tooltip."""

    x: float
    y: float
    width: float
    height: float
    kind: str
    text: str


@dataclass(frozen=True)
class Chart:
    """A chart of bars, or of a line."""

    #: (place, text)
    x_ticks: Sequence[tuple[float, str]]
    y_ticks: Sequence[tuple[float, str]]
    #: the place of the value 0
    zero: float
    bars: Sequence[Bar] = ()
    #: the line, as an SVG path
    path: str = ""
    #: (x, y, tooltip)
    dots: Sequence[tuple[float, float, str]] = field(default_factory=tuple)
    #: the value of a line that never changes, which can be told in words instead of drawn
    level: float | None = None


def steps(most: float) -> list[float]:
    """At most four round values from 0 to `most` and beyond, for the ticks of an axis.

    >>> steps(7), steps(130)
    ([0.0, 5.0, 10.0], [0.0, 50.0, 100.0, 150.0])
    """
    if most <= 0:
        return [0.0, 1.0]
    size = 10 ** math.floor(math.log10(most / 3)) if most >= 3 else 1
    step = next(size * factor for factor in (1, 2, 5, 10) if most / (size * factor) <= 3)
    return [float(step * n) for n in range(math.ceil(most / step) + 1)]


def bars(hours: Sequence[tuple[int, int]], texts: Sequence[str]) -> Chart:
    """A chart of the rows that enter (up) and leave (down) in each hour. texts: a tooltip for each hour."""
    up, down = max((a for a, _ in hours), default=0), max((b for _, b in hours), default=0)
    above, below = steps(up) if up else [0.0], steps(down) if down else [0.0]
    top, bottom = above[-1], -below[-1]
    if top == bottom:
        top = 1.0
    width = (WIDTH - LEFT - RIGHT) / max(len(hours), 1)

    def y(value: float) -> float:
        return round(TOP + (HEIGHT - TOP - BELOW) * (top - value) / (top - bottom), 2)

    found = []
    for at, ((came, went), text) in enumerate(zip(hours, texts)):
        gap = min(1.0, width / 8)
        x, wide = round(LEFT + at * width + gap, 2), round(width - 2 * gap, 2)
        if came:
            found.append(Bar(x, y(came), wide, round(y(0) - y(came), 2), "in", f"{text}: {came:,} enter"))
        if went:
            found.append(Bar(x, y(0), wide, round(y(-went) - y(0), 2), "out", f"{text}: {went:,} leave"))
    ticks = [(y(v), short(v)) for v in above] + [(y(-v), short(v)) for v in below[1:]]
    return Chart(_hours(len(hours), width), ticks, y(0), found)


def curve(values: Sequence[tuple[float, float]], hours: int, texts: Sequence[str]) -> Chart:
    """A chart of a value over some hours, as steps up or down. values: (hours from now, the value from then on)."""
    scale = steps(max((v for _, v in values), default=0))
    width = (WIDTH - LEFT - RIGHT) / max(hours, 1)

    def x(hour: float) -> float:
        return round(LEFT + hour * width, 2)

    def y(value: float) -> float:
        return round(TOP + (HEIGHT - TOP - BELOW) * (1 - value / scale[-1]), 2)

    path, dots = "", []
    for (hour, value), text in zip(values, texts):
        path += f"H{x(hour)}V{y(value)}" if path else f"M{x(hour)} {y(value)}"
        dots.append((x(hour), y(value), f"{text}: {value:,.0f}"))
    level = values[0][1] if len({value for _, value in values}) == 1 else None
    return Chart(_hours(hours, width), [(y(v), short(v)) for v in scale], y(0), (), path, dots, level)


def _hours(number: int, width: float) -> list[tuple[float, str]]:
    every = max(1, math.ceil(number / 6))
    hours = [hour for hour in range(0, number, every) if number - hour >= every / 2] + [number]
    return [(round(LEFT + hour * width, 2), f"+{hour} h" if hour else "now") for hour in hours]


def short(value: float) -> str:
    """The short label of a number on an axis.

    >>> short(1500), short(2_000_000), short(12)
    ('1.5k', '2M', '12')
    """
    for size, letter in ((1e9, "G"), (1e6, "M"), (1e3, "k")):
        if value >= size:
            return f"{value / size:g}{letter}"
    return f"{value:g}"
