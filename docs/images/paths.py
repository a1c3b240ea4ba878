"""The picture of a model's path and a run's path, in docs/architecture.md: `python docs/images/paths.py` writes it.

Stations of the two paths that stand at one height are the same relation: what a run writes there, a model becomes.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from xml.sax.saxutils import escape

from window import STYLE, svg

HERE = Path(__file__).parent
WIDTH, HEIGHT = 960, 668
TOP, PITCH = 96, 56
#: of a path: the x of its line and of its texts
MODEL, RUN = 34, 494
INSIDE, GAP = 24, 9


@dataclass(frozen=True)
class Station:
    """at: its place from the top. modules: below dbt/adapters/sparktemporal, or a file of the repository."""

    at: int
    name: str
    said: str
    modules: tuple[str, ...]


PATH_OF_A_MODEL = (
    Station(0, "text", "SQL, as dbt compiled it", ("materializations/temporal_view.sql",)),
    Station(1, "tree", "parsed; Spark's plans are compared", ("temporal/sql/text/dialect", "temporal/sql/spark/plans")),
    Station(2, "cores + residual", "rows to store, and the rest", ("temporal/rewrite/split", "temporal/predicates")),
    Station(4, "chains", "each row, with its two instants", ("temporal/diffs/stores",)),
    Station(7, "commit view", "reads all chains; holds the state", ("temporal/diffs/view_sql",)),
    Station(8, "reader", "<model>, at the instant of a query", ("run/published_view",)),
)
PATH_OF_A_RUN = (
    Station(0, "observe", "the last commit, model, inputs", ("run/plan_run", "run/analyze")),
    Station(1, "refuse", "what would not be right", ("run/refused", "errors")),
    Station(2, "decide", "build, go on, restart or wait", ("temporal/decision",)),
    Station(3, "plan", "nothing new: the run ends here", ("run/plan", "inputs/changing/capture")),
    Station(4, "write chains", "one CTAS for each core", ("run/write_chains", "run/chain_rows")),
    Station(5, "look again", "did an input move meanwhile?", ("run/write_chains", "inputs/changing/conflicts")),
    Station(6, "merge", "few chains, for quick reads", ("run/merging",)),
    Station(7, "commit", "one statement, all or nothing", ("run/publishing", "run/commit")),
    Station(8, "publish", "the views that people read", ("run/publishing", "run/published_view")),
    Station(9, "tidy up", "tables that nobody names", ("run/publishing", "run/lock")),
)
#: spans of the path of a run: the first and last station, and what holds there
SPANS = ((0, 3, "nothing is written"), (4, 9, "under the lock: run/phases"))
#: from a station back to another one, and why
BACK = (5, 4)
MORE_STYLE = """
  .line { stroke: #9aa5b5; stroke-width: 3; } .stop { fill: #ffffff; stroke: #5b6576; stroke-width: 3; }
  .goal { fill: #c2691c; stroke: #c2691c; } .arrow { fill: none; stroke: #5b6576; stroke-width: 1.6; }
  .head { fill: #5b6576; } .span { stroke: #c3cad5; stroke-width: 2; fill: none; }
  @media (prefers-color-scheme: dark) {
    .line { stroke: #56617a; } .stop { fill: #161a21; stroke: #98a2b3; }
    .goal { fill: #e59a52; stroke: #e59a52; } .arrow { stroke: #98a2b3; }
    .head { fill: #98a2b3; } .span { stroke: #3a4351; }
  }
"""


def y(at: float) -> float:
    return TOP + at * PITCH


def path(left: int, stations: tuple[Station, ...]) -> Iterator[str]:
    yield f'<line class="line" x1="{left}" x2="{left}" y1="{y(0)}" y2="{y(stations[-1].at)}"/>'
    for one in stations:
        x, goal = left + INSIDE, " goal" if one.name in ("commit", "commit view") else ""
        yield f'<circle class="stop{goal}" cx="{left}" cy="{y(one.at)}" r="7"/>'
        yield (
            f'<text x="{x}" y="{y(one.at) + 6}"><tspan class="{"nowink" if goal else "ink"}" font-size="17" '
            f'font-weight="600">{one.name}</tspan>'
            f'<tspan class="soft" font-size="15" dx="{GAP}">{escape(one.said)}</tspan></text>'
        )
        modules = ", ".join(one.modules)
        yield f'<text class="soft code" x="{x}" y="{y(one.at) + 26}" font-size="13.5">{modules}</text>'


def body() -> Iterator[str]:
    for left, title in ((MODEL, "The path of a model"), (RUN, "The path of a run")):
        yield f'<text class="ink" x="{left - 9}" y="44" font-size="20" font-weight="600">{title}</text>'
    for one in PATH_OF_A_MODEL:  # the same relation on both paths
        if one.at > 3:
            yield (
                f'<line class="axis" x1="{MODEL + 398}" x2="{RUN - 14}" y1="{y(one.at)}" y2="{y(one.at)}" '
                'stroke-width="2" stroke-dasharray="2 5"/>'
            )
    yield from path(MODEL, PATH_OF_A_MODEL)
    yield from path(RUN, PATH_OF_A_RUN)
    last, first = (y(at) for at in BACK)
    x = RUN - 7
    yield f'<path class="arrow" d="M{x - 2} {last} C{x - 30} {last - 6} {x - 30} {first + 18} {x - 5} {first + 8}"/>'
    yield f'<path class="head" d="M{x + 1} {first + 5} l-10 -1 l4 9 z"/>'
    for start, end, said in SPANS:
        top, bottom, x = y(start) - 9, y(end) + 27, WIDTH - 40
        yield f'<path class="span" d="M{x - 8} {top} H{x} V{bottom} H{x - 8}"/>'
        middle = (top + bottom) / 2
        yield (
            f'<text class="soft" font-size="15" text-anchor="middle" '
            f'transform="translate({x + 19} {middle}) rotate(-90)">{said}</text>'
        )


def picture() -> str:
    label = "Two paths, station by station. " + " ".join(
        f"{name}: {', '.join(one.name for one in stations)}."
        for name, stations in (("A model", PATH_OF_A_MODEL), ("A run", PATH_OF_A_RUN))
    )
    return svg(WIDTH, HEIGHT, label, STYLE + MORE_STYLE, body())


if __name__ == "__main__":
    (HERE / "paths.svg").write_text(picture())
