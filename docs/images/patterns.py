"""The pictures of docs/howto/patterns.md, one for each model: `python docs/images/patterns.py` writes them.

A line of a picture is a row or a group. Dots are events. A bar is a time in which the view shows the line. The clock
stands at NOW.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from xml.sax.saxutils import escape

from window import STYLE, svg

HERE = Path(__file__).parent / "patterns"
WIDTH, LEFT, RIGHT, TOP, ROW = 640, 92, 16, 34, 28
#: the end of the axis, the instant of the clock, both without a unit
END, NOW = 100, 60


@dataclass(frozen=True)
class Line:
    name: str
    #: instants of events
    dots: Sequence[float] = ()
    #: (first instant, last instant or None, what is in the bar) for each time in which the view shows the line
    bars: Sequence[tuple[float, float | None, str]] = ()
    #: the time that the line is about
    span: tuple[float, float] | None = None

    @property
    def is_shown(self) -> bool:
        return any(first <= NOW and (last is None or last > NOW) for first, last, _ in self.bars)


#: model -> its lines
PATTERNS: dict[str, tuple[Line, ...]] = {
    "recent": (
        Line("row 1", (10,), ((10, 40, ""),)),
        Line("row 2", (32,), ((32, 62, ""),)),
        Line("row 3", (50,), ((50, 80, ""),)),
    ),
    "valid_prices": (
        Line("price 10", (), ((5, 45, ""),)),
        Line("price 20", (), ((45, 82, ""),)),
        Line("price 30", (), ((25, None, ""),)),
    ),
    "trials_that_end": (
        Line("trial 1", (40,), ((28, 40, ""),)),
        Line("trial 2", (66,), ((54, 66, ""),)),
        Line("trial 3", (90,), ((78, 90, ""),)),
    ),
    "overdue": (
        Line("order 1", (10, 50), ((34, 50, "not shipped"),)),
        Line("order 2", (20,), ((44, None, "not shipped"),)),
        Line("order 3", (30, 42)),
    ),
    "present": (
        Line("u0", (10, 18, 48), ((10, 18, "1"), (18, 24, "2"), (24, 32, "1"), (48, 62, "1"))),
        Line("u1", (52, 57), ((52, 57, "1"), (57, 66, "2"), (66, 71, "1"))),
    ),
    "gone": (Line("u0", (5, 15), ((40, None, ""),)), Line("u1", (20, 50), ((75, None, ""),))),
    "too_many": (
        Line("u0", (20, 26, 32), ((32, 40, "3"),)),
        Line("u1", (44, 50, 54, 58), ((54, 58, "3"), (58, 64, "4"), (64, 70, "3"))),
    ),
    "kinds": (
        Line("u0, buy", (10, 22), ((10, 42, ""),)),
        Line("u0, look", (48,), ((48, 68, ""),)),
        Line("u1, look", (70,), ((70, 90, ""),)),
    ),
    "hours": (
        Line("hour 1", (4, 9, 15), ((25, None, "3"),), (0, 20)),
        Line("hour 2", (22, 30), ((45, None, "2"),), (20, 40)),
        Line("hour 3", (41,), ((65, None, "1"),), (40, 60)),
    ),
    "hops": (
        Line("from 0", (4, 16, 33), ((40, None, "3"),), (0, 40)),
        Line("from 10", (16, 33, 48), ((50, None, "3"),), (10, 50)),
        Line("from 20", (33, 48), ((60, None, "2"),), (20, 60)),
        Line("from 30", (33, 48, 66), ((70, None, "3"),), (30, 70)),
    ),
    "busiest": (
        Line("u0", (8, 12), ((8, 12, "1"), (12, 46, "2"), (46, 50, "1"))),
        Line("u1", (20, 28, 33), ((20, 28, "1"), (28, 33, "2"), (33, 58, "3"), (58, 66, "2"), (66, 71, "1"))),
        Line("u2", (40,), ((50, 78, "1"),)),
        Line("u3", (36, 44), ((36, 44, "1"), (44, 74, "2"), (74, 82, "1"))),
    ),
    "last_events": (
        Line("u0", (10, 32), ((10, 32, "look"), (32, 62, "buy"))),
        Line("u1", (45,), ((45, 75, "look"),)),
    ),
    "open_sessions": (
        Line("u0", (10, 22, 50), ((10, 22, ""), (22, 42, ""), (50, 70, ""))),
        Line("u1", (30,), ((30, 50, ""),)),
    ),
}


def x(instant: float) -> float:
    return round(LEFT + (WIDTH - LEFT - RIGHT) * instant / END, 1)


def picture(model: str) -> str:
    lines = PATTERNS[model]
    bottom = TOP + ROW * len(lines)
    shown = [line.name for line in lines if line.is_shown]
    label = f"{model}: lines over time. The clock stands where the view shows {', '.join(shown) or 'no row'}."
    return svg(WIDTH, bottom + 34, escape(label), f"{STYLE}  .in {{ fill: #ffffff; }}", body(lines, bottom))


def body(lines: Sequence[Line], bottom: int) -> Iterator[str]:
    for at, line in enumerate(lines):
        yield from drawn(line, TOP + at * ROW)
    yield f'<line class="axis" x1="{LEFT}" x2="{x(END)}" y1="{bottom + 4}" y2="{bottom + 4}"/>'
    yield f'<line class="now" x1="{x(NOW)}" x2="{x(NOW)}" y1="{TOP - 10}" y2="{bottom + 8}" stroke-width="2"/>'
    for y, size, said in (
        (TOP - 15, 12, "now"),
        (bottom + 24, 13, "; ".join(line.name for line in lines if line.is_shown)),
    ):
        place = f'x="{x(NOW)}" y="{y}" font-size="{size}" font-weight="600" text-anchor="middle"'
        yield f'<text class="nowink" {place}>{escape(said)}</text>'


def drawn(line: Line, y: float) -> Iterator[str]:
    yield f'<text class="soft" x="16" y="{y + 16}" font-size="13">{escape(line.name)}</text>'
    if line.span:
        first, last = line.span
        yield (
            f'<rect class="axis" x="{x(first)}" y="{y + 2}" width="{x(last) - x(first):.1f}" height="18" rx="3" '
            'fill="none" stroke-dasharray="3 3"/>'
        )
    for first, last, text in line.bars:
        ends = END if last is None else last
        is_now = first <= NOW and (last is None or last > NOW)
        wide = x(ends) - x(first) - (0 if last is None else 1)
        kind, place = "shown" if is_now else "bar", f'x="{x(first)}" y="{y + 2}"'
        yield f'<rect class="{kind}" {place} width="{wide:.1f}" height="18" rx="3"/>'
        if text:
            place = f'x="{x(first) + 6}" y="{y + 15}" font-size="11"'
            yield f'<text class="{"in" if is_now else "soft"}" {place}>{escape(text)}</text>'
    for instant in line.dots:
        yield f'<circle class="dot" cx="{x(instant)}" cy="{y + 11}" r="4"/>'


if __name__ == "__main__":
    HERE.mkdir(exist_ok=True)
    for name in PATTERNS:
        (HERE / f"{name}.svg").write_text(picture(name))
