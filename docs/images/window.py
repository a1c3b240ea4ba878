"""The picture of a window that moves over rows, in README and on the site: `python docs/images/window.py` writes it.

The picture is an SVG that moves by CSS. Where motion is not wanted it stands still, with the clock at STILL.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path
from xml.sax.saxutils import escape

HERE = Path(__file__).parent
WIDTH, HEIGHT = 900, 346
LEFT, RIGHT, TOP, ROW = 96, 24, 74, 34
#: days from 1 March to the end of the axis
DAYS, WINDOW, STILL = 62, 30, 36
#: id, the day of its event
ROWS = ((1, 2), (2, 9), (3, 12), (4, 21), (5, 27))
TICKS = {0: "1 March", 14: "15 March", 31: "1 April", 45: "15 April", 61: "1 May"}
#: how long the clock takes to go over the axis (s)
SECONDS = 16

STYLE = """
  svg { font-family: system-ui, -apple-system, "Segoe UI", sans-serif; }
  .paper { fill: #ffffff; stroke: #d8dde5; } .ink { fill: #1c2330; } .soft { fill: #5b6576; }
  .axis { stroke: #c3cad5; } .code { font-family: ui-monospace, "SFMono-Regular", Menlo, monospace; }
  .bar { fill: #d5deea; } .dot { fill: #5b6576; } .now { stroke: #c2691c; } .nowink { fill: #c2691c; }
  .shown { fill: #2867b2; }
  @media (prefers-color-scheme: dark) {
    .paper { fill: #161a21; stroke: #2c3441; } .ink { fill: #e4e8ef; } .soft { fill: #98a2b3; }
    .axis { stroke: #3a4351; } .bar { fill: #2b3545; } .dot { fill: #98a2b3; }
    .now { stroke: #e59a52; } .nowink { fill: #e59a52; } .shown { fill: #6ea8ee; }
  }
"""


def x(day: float) -> float:
    return round(LEFT + (WIDTH - LEFT - RIGHT) * day / DAYS, 1)


def per_cent(day: float) -> str:
    return f"{100 * day / DAYS:.2f}%"


def shown(first: float, last: float, name: str) -> str:
    """Keyframes of what is to be seen while the clock is from one day to another."""
    before = f"0%, {per_cent(first - 0.01)} {{ opacity: 0; }} " if first > 0 else ""
    after = f" {per_cent(last + 0.01)}, 100% {{ opacity: 0; }}" if last < DAYS else ""
    return f"@keyframes {name} {{ {before}{per_cent(first)}, {per_cent(min(last, DAYS))} {{ opacity: 1; }}{after} }}"


def style() -> Iterator[str]:
    """The still picture, and the moving one where motion is wanted."""
    yield STYLE
    yield f"  .clock {{ transform: translateX({x(STILL) - LEFT}px); }}"
    for name, first, last in phases():
        yield f"  .{name} {{ opacity: {int(first <= STILL < last)}; }}"
    yield "  @media (prefers-reduced-motion: no-preference) {"
    yield f"    .clock, .moving {{ animation-duration: {SECONDS}s; animation-iteration-count: infinite; }}"
    yield "    .clock, .moving { animation-timing-function: linear; }"
    way = f"from {{ transform: translateX(0); }} to {{ transform: translateX({x(DAYS) - LEFT}px); }}"
    yield f"    @keyframes clock {{ {way} }}"
    yield "    .clock { animation-name: clock; }"
    for name, first, last in phases():
        yield f"    {shown(first, last, name)}"
        yield f"    .{name} {{ animation-name: {name}; animation-timing-function: step-end; }}"
    yield "  }"


def phases() -> Iterator[tuple[str, float, float]]:
    """What is to be seen, from which day to which: the bar of each row, and the answer between two changes."""
    for id_, day in ROWS:
        yield f"r{id_}", day, day + WINDOW
    for number, (first, last, _) in enumerate(answers()):
        yield f"a{number}", first, last


def answers() -> list[tuple[float, float, tuple[int, ...]]]:
    """From which day to which the view shows which rows."""
    edges = sorted({0, DAYS, *(d for _, d in ROWS), *(d + WINDOW for _, d in ROWS if d + WINDOW < DAYS)})
    inside = [tuple(i for i, d in ROWS if d <= first < d + WINDOW) for first in edges]
    return [(first, last, inside[at]) for at, (first, last) in enumerate(zip(edges, edges[1:]))]


def body() -> Iterator[str]:
    bottom = TOP + ROW * len(ROWS)
    yield '<text class="ink code" x="24" y="36" font-size="17">where mz_now() &lt;= event_ts + interval 30 days</text>'
    for day, name in TICKS.items():
        yield f'<line class="axis" x1="{x(day)}" x2="{x(day)}" y1="{TOP - 8}" y2="{bottom}" stroke-dasharray="2 4"/>'
        yield f'<text class="soft" x="{x(day)}" y="{bottom + 20}" font-size="13" text-anchor="middle">{name}</text>'
    for at, (id_, day) in enumerate(ROWS):
        y, end = TOP + at * ROW, day + WINDOW
        wide = x(min(end, DAYS)) - x(day)
        yield f'<text class="soft" x="24" y="{y + 17}" font-size="14">row {id_}</text>'
        yield f'<rect class="bar" x="{x(day)}" y="{y}" width="{wide:.1f}" height="22" rx="4"/>'
        yield f'<rect class="shown moving r{id_}" x="{x(day)}" y="{y}" width="{wide:.1f}" height="22" rx="4"/>'
        yield f'<text class="soft" x="{x(day) - 6}" y="{y + 16}" font-size="13" text-anchor="end">+1</text>'
        if end < DAYS:
            yield f'<text class="soft" x="{x(end) + 6}" y="{y + 16}" font-size="13">\u22121</text>'
    yield '<g class="clock">'
    yield f'<line class="now" x1="{LEFT}" x2="{LEFT}" y1="{TOP - 14}" y2="{bottom + 4}" stroke-width="2.5"/>'
    above = f'x="{LEFT}" y="{TOP - 19}" font-size="14" font-weight="600" text-anchor="middle"'
    yield f'<text class="nowink" {above}>now</text>'
    yield "</g>"
    y = bottom + 58
    yield f'<text class="ink code" x="24" y="{y}" font-size="15">select id from recent_events</text>'
    for number, (_, _, ids) in enumerate(answers()):
        text = ", ".join(map(str, ids)) or "no rows"
        yield f'<text class="nowink moving a{number}" x="330" y="{y}" font-size="17" font-weight="600">{text}</text>'
    yield (
        f'<text class="soft" x="24" y="{y + 25}" font-size="13">A run stores +1 and \u22121 once. '
        "The answer changes as the clock passes them: nothing runs.</text>"
    )


def svg(width: int, height: int, label: str, style: str, body: Iterable[str]) -> str:
    """A picture as a file. label: what a reader hears who does not see the picture."""
    lines = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" role="img" aria-label="{label}">',
        "<style>",
        style.strip("\n"),
        "</style>",
        f'<rect class="paper" x="0.5" y="0.5" width="{width - 1}" height="{height - 1}" rx="8"/>',
        *body,
        "</svg>",
    ]
    return "\n".join(lines) + "\n"


def text(words: str, x: float, y: float, kind: str, size: float, anchor: str = "start", bold: bool = False) -> str:
    """Words in a picture. kind: their classes, of STYLE."""
    weight = ' font-weight="600"' if bold else ""
    place = f'x="{x}" y="{y}" font-size="{size}" text-anchor="{anchor}"{weight}'
    return f'<text class="{kind}" {place}>{escape(words)}</text>'


def picture() -> str:
    label = "Five rows over time. Each is in the view for 30 days; a line, the clock, moves over them."
    return svg(WIDTH, HEIGHT, label, "\n".join(style()), body())


if __name__ == "__main__":
    (HERE / "window.svg").write_text(picture())
