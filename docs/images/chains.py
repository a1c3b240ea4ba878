"""The picture of the chains of two runs and a read over them, in docs/architecture/chains.md.

`python docs/images/chains.py` writes it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from window import STYLE, svg, text

HERE = Path(__file__).parent
WIDTH, HEIGHT = 560, 328
LEFT, RIGHT, ROW = 84, 26, 34
#: minutes after 12:00
END, READ = 80, 30


@dataclass(frozen=True)
class Row:
    """One row of a chain. diff: +1, or -1 for a correction."""

    name: str
    enters: int
    leaves: int
    diff: int = 1


#: run -> what it tells a read, and the rows of its chain
CHAINS = {
    "run 1, at 12:00": ("alone, it is read by a filter", (Row("id 1", 0, 60), Row("id 2", 0, 60))),
    "run 2, at 12:10": ("id 2 was deleted: a correction", (Row("id 2", 10, 60, -1), Row("id 3", 10, 70))),
}
MORE_STYLE = """
  .back { fill: none; stroke: #2867b2; stroke-width: 2; } .in { fill: #ffffff; }
  @media (prefers-color-scheme: dark) { .back { stroke: #6ea8ee; } .in { fill: #161a21; } }
"""


def answer(at: int) -> list[str]:
    """The rows that a read adds up at an instant."""
    found: Counter[str] = Counter()
    for _, rows in CHAINS.values():
        for row in rows:
            if row.enters <= at < row.leaves:
                found[row.name] += row.diff
    return sorted(found.elements())


def x(minute: float) -> float:
    return round(LEFT + (WIDTH - LEFT - RIGHT) * minute / END, 1)


def body() -> Iterator[str]:
    y = 30
    for run, (said, rows) in CHAINS.items():
        yield text(run, 16, y, "ink", 16, bold=True)
        yield text(said, x(READ + 3), y, "soft", 16)
        for at, row in enumerate(rows):
            yield from drawn(row, y + 14 + at * ROW)
        y += 14 + ROW * len(rows) + 32
    bottom = y - 26
    yield f'<line class="axis" x1="{LEFT}" x2="{x(END)}" y1="{bottom}" y2="{bottom}"/>'
    for minute in (0, 60):
        yield text(clock(minute), x(minute), bottom + 21, "soft", 15, "middle")
    yield f'<line class="now" x1="{x(READ)}" x2="{x(READ)}" y1="38" y2="{bottom + 6}" stroke-width="2.5"/>'
    yield text(f"t = {clock(READ)}", x(READ), bottom + 22, "nowink", 16, "middle", bold=True)
    yield text("mz_from <= t < mz_until, added up:", 16, bottom + 58, "ink code", 16)
    yield text(", ".join(answer(READ)), x(58), bottom + 58, "nowink", 17, bold=True)
    yield text("Above these rows the residual runs, the rest of the query.", 16, bottom + 84, "soft", 15)


def drawn(row: Row, y: float) -> Iterator[str]:
    kind, ink, sign = ("shown", "in", "+1") if row.diff > 0 else ("back", "ink", "\u22121")
    wide = x(row.leaves) - x(row.enters)
    yield text(row.name, 16, y + 18, "soft", 16)
    yield f'<rect class="{kind}" x="{x(row.enters)}" y="{y}" width="{wide:.1f}" height="24" rx="4"/>'
    yield text(sign, x(row.enters) + 8, y + 18, ink, 16)


def clock(minute: int) -> str:
    return f"{12 + minute // 60}:{minute % 60:02}"


def picture() -> str:
    label = f"The chains of two runs over time. A read at {clock(READ)} adds up {', '.join(answer(READ))}."
    return svg(WIDTH, HEIGHT, label, STYLE + MORE_STYLE, body())


if __name__ == "__main__":
    (HERE / "chains.svg").write_text(picture())
