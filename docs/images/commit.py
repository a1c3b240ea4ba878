"""The picture of a commit, of its readers and of another run, in docs/architecture/commit-and-lock.md.

`python docs/images/commit.py` writes it.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from window import STYLE, svg, text

HERE = Path(__file__).parent
WIDTH, TOP, PITCH = 560, 74, 46
#: the x of the line of the run, of the bar of its readers, of the bar of another run
RUN, READERS, OTHER, BAR = 26, 416, 500, 32


@dataclass(frozen=True)
class Step:
    name: str
    said: str = ""
    is_sql: bool = False


STEPS = (
    Step("observe, refuse, decide, plan", "nothing new: it ends here, without a lock"),
    Step("CREATE TABLE <model>__lock", "only one run succeeds", is_sql=True),
    Step("write manifest, statistics, chains", "as tables that nothing names yet"),
    Step("look at the inputs again"),
    Step("merge chains", "as a table that nothing names yet"),
    Step("read the state: is it the one observed?"),
    Step("ALTER VIEW <model>__live", "the commit", is_sql=True),
    Step("read the state: is it the run's own?"),
    Step("thin view, <model>__diffs", "and drops of tables that were retired"),
    Step("DROP TABLE <model>__lock", is_sql=True),
)
LOCKED, COMMITTED, UNLOCKED = (
    next(at for at, step in enumerate(STEPS) if step.name.startswith(name)) for name in ("CREATE", "ALTER", "DROP")
)
HEIGHT = TOP + PITCH * len(STEPS) + 14
MORE_STYLE = """
  .line { stroke: #9aa5b5; stroke-width: 3; } .stop { fill: #ffffff; stroke: #5b6576; stroke-width: 3; }
  .goal { fill: #c2691c; stroke: #c2691c; } .in { fill: #ffffff; }
  @media (prefers-color-scheme: dark) {
    .line { stroke: #56617a; } .stop { fill: #161a21; stroke: #98a2b3; } .goal { fill: #e59a52; stroke: #e59a52; }
    .in { fill: #161a21; }
  }
"""


def y(step: float) -> float:
    return TOP + step * PITCH


def bar(left: float, first: float, last: float, said: str, kind: str, ink: str) -> Iterator[str]:
    """From one step to another, with words from its bottom to its top."""
    yield f'<rect class="{kind}" x="{left}" y="{first}" width="{BAR}" height="{last - first}" rx="4"/>'
    place = f"translate({left + BAR / 2 + 5} {(first + last) / 2}) rotate(-90)"
    yield f'<text class="{ink}" font-size="16" text-anchor="middle" transform="{place}">{said}</text>'


def body() -> Iterator[str]:
    yield text("a run", 16, 34, "ink", 17, bold=True)
    yield text("readers", READERS + BAR / 2, 34, "ink", 17, "middle", bold=True)
    yield text("a rival", OTHER + BAR / 2, 34, "ink", 17, "middle", bold=True)
    yield f'<line class="line" x1="{RUN}" x2="{RUN}" y1="{y(0)}" y2="{y(len(STEPS) - 1)}"/>'
    for at, step in enumerate(STEPS):
        stop, ink = ("stop goal", "nowink") if at == COMMITTED else ("stop", "ink")
        yield f'<circle class="{stop}" cx="{RUN}" cy="{y(at)}" r="7"/>'
        yield text(step.name, RUN + 20, y(at) + 5, f"{ink} code" if step.is_sql else ink, 16, bold=True)
        yield text(step.said, RUN + 20, y(at) + 24, "soft", 15)
    at = y(COMMITTED)
    yield f'<line class="now" x1="{RUN + 280}" x2="{READERS + BAR}" y1="{at}" y2="{at}" stroke-width="2"/>'
    yield from bar(READERS, y(0) - 9, at - 1, "see the old commit", "bar", "ink")
    yield from bar(READERS, at + 1, y(len(STEPS) - 1) + 9, "the new one", "shown", "in")
    yield from bar(OTHER, y(LOCKED), y(UNLOCKED) - 1, "waits, at most lock_timeout", "bar", "ink")
    yield text("runs", OTHER + BAR / 2, y(UNLOCKED) + 18, "soft", 15, "middle")


def picture() -> str:
    label = (
        f"The {len(STEPS)} steps of a run. Its readers see the old commit up to step {COMMITTED + 1}, ALTER VIEW, and "
        f"the new one from there on. Another run waits from step {LOCKED + 1} to step {UNLOCKED + 1}."
    )
    return svg(WIDTH, HEIGHT, label, STYLE + MORE_STYLE, body())


if __name__ == "__main__":
    (HERE / "commit.svg").write_text(picture())
