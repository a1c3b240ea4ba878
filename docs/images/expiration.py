"""The picture of an expiration, in docs/expiration.md: `python docs/images/expiration.py` writes it."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from window import STYLE, svg

HERE = Path(__file__).parent
WIDTH, HEIGHT, AXIS = 900, 232, 74
#: name -> its place on the clock (x), and words below the name
MARKS = {"start": (60, ""), "frontier": (240, "the last run"), "next restart": (500, "due"), "expiration": (760, "")}
#: (first x, last x, the words, the class) of what a read does
READS = (
    (60, 240, "answers", "shown"), (240, 500, "answers by what is stored", "shown"),
    (500, 760, "still, if the restart is late", "shown"), (760, 880, "raises", "bar"),
)  # fmt: skip
#: (first x, last x, the words) of lengths that a config sets
LENGTHS = ((60, 500, "restart_every"), (60, 760, "expiration"))


def body() -> Iterator[str]:
    for name, (at, below) in MARKS.items():
        yield f'<text class="ink" x="{at}" y="28" font-size="14" font-weight="600" text-anchor="middle">{name}</text>'
        yield f'<text class="soft" x="{at}" y="45" font-size="12" text-anchor="middle">{below}</text>'
        yield f'<line class="axis" x1="{at}" x2="{at}" y1="52" y2="{HEIGHT - 40}" stroke-dasharray="2 4"/>'
    yield f'<text class="soft" x="{WIDTH - 14}" y="{AXIS - 18}" font-size="12" text-anchor="end">clock \u2192</text>'
    for first, last, words, kind in READS:
        ink = "in" if kind == "shown" else "ink"
        yield f'<rect class="{kind}" x="{first + 1}" y="{AXIS - 10}" width="{last - first - 2}" height="26" rx="4"/>'
        middle = f'x="{(first + last) / 2}" y="{AXIS + 7}" font-size="13" text-anchor="middle"'
        yield f'<text class="{ink}" {middle}>{words}</text>'
    for at, (first, last, words) in enumerate(LENGTHS):
        y = AXIS + 44 + 30 * at
        yield f'<line class="now" x1="{first}" x2="{last}" y1="{y}" y2="{y}" stroke-width="2"/>'
        for end in (first, last):
            yield f'<line class="now" x1="{end}" x2="{end}" y1="{y - 5}" y2="{y + 5}" stroke-width="2"/>'
        middle = f'x="{(first + last) / 2}" y="{y - 6}" font-size="13" text-anchor="middle"'
        yield f'<text class="nowink code" {middle}>{words}</text>'
    y = HEIGHT - 22
    yield f'<text class="soft" x="60" y="{y}" font-size="13">updates up to the expiration are stored</text>'
    yield f'<text class="soft" x="766" y="{y}" font-size="13">left out</text>'


def picture() -> str:
    label = "A view answers from its start to its expiration, and raises after it. A restart is due before."
    return svg(WIDTH, HEIGHT, label, f"{STYLE}  .in {{ fill: #ffffff; }}", body())


if __name__ == "__main__":
    (HERE / "expiration.svg").write_text(picture())
