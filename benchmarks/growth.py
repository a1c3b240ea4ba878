"""A year of runs at a billion rows a day and more, by the product's own rules for chains and buckets, without Spark.

    python benchmarks/growth.py                     a few seconds
    python benchmarks/growth.py --days 30 --keys 1000

Rows come evenly over the day and leave 30 days later. Each run takes what came since the last one. The rules decide
which chains a run writes again, of which it splits off what is due, and which it drops (`chains.chains_to_rewrite`,
`chains.chains_to_merge`, `compaction.to_split`, `chains.is_over`, `buckets`). What is counted: rows written for each
row that came, chains, buckets and files, the files and rows that a read opens, statements, the longest text of the
view.
"""

from __future__ import annotations

import argparse
import math
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import NamedTuple

from dbt.adapters.sparktemporal.temporal.diffs import buckets, chains, compaction, groups_sql, longest_view, view_sql
from dbt.adapters.sparktemporal.temporal.diffs.state import Chain, CoreState

MINUTE, HOUR, DAY = 60_000, 3_600_000, 86_400_000
WINDOW = 30 * DAY
#: of a file, as Spark's REBALANCE writes it (64 MB) at 16 bytes a row
ROWS_OF_A_FILE = 4_000_000
#: a file is sorted by time, and Parquet skips its pages
ROWS_OF_A_PAGE = 20_000
COLUMNS = 20
#: so many reads of a year are counted at most, spread evenly
READS = 1_000


@dataclass(frozen=True)
class Stored:
    """A chain: rows (or updates) whose ends are spread evenly from `first` to `last` (ms), and groups at its base."""

    chain: Chain
    first: int
    last: int
    base: int = 0

    @property
    def future(self) -> int:
        return self.chain.rows - self.base


class Totals(NamedTuple):
    """What a year came to."""

    came: float
    written: float
    statements: float
    most_chains: int
    most_buckets: int
    most_files: int
    most_opened: int
    rows_read: float


def width(distance: int, fineness: int) -> int:
    """The width of a bucket (ms), by the formula that `buckets` writes as SQL. Spark confirms it in test_buckets."""
    return 1 << (max(distance // fineness, buckets.GRANULARITY).bit_length() - 1)


def edges(stored: Stored, since: int, fineness: int) -> Iterator[tuple[int, int]]:
    """(the beginning of a bucket, its end) of the buckets with ends of rows (ms)."""
    at = stored.first
    while at <= stored.last:
        wide = width(max(at - since, 0), fineness)
        end = at + -at % wide if at % wide else at + wide
        yield at, min(end, stored.last + 1)
        at = end


def within(stored: Stored, begin: int, end: int) -> int:
    """The number of rows that end from `begin` to `end` (ms)."""
    share = (end - begin) / max(stored.last + 1 - stored.first, 1)
    return round(stored.future * max(0.0, min(1.0, share)))


def files(rows: int) -> int:
    return math.ceil(rows / ROWS_OF_A_FILE)


class Year:
    """Runs of one model. keys: the number of groups, None for rows."""

    def __init__(self, rows_a_day: float, every: int, keys: int | None) -> None:
        self.new, self.every, self.keys = round(rows_a_day * every / DAY), every, keys
        self.stored: list[Stored] = []
        self.since, self.number = 0, 0
        self.came = self.written = self.statements = 0.0

    def cells(self, rows: int, instants: int) -> int:
        """Of how many updates `rows` rows are, which end at `instants` instants: one for each group and instant."""
        if self.keys is None:
            return rows
        there = float(self.keys) * max(instants, 1)
        return round(-there * math.expm1(-rows / there))

    def make(self, first: int, last: int, future: int, base: int, now: int) -> Stored:
        self.number += 1
        rows = future + base
        is_large = rows >= chains.LARGE_CHAIN
        begins = now if self.keys is not None else first
        chain = Chain(
            f"c{self.number}",
            rows,
            0,
            begins,
            last if self.keys is not None else now,
            last,
            is_large,
            edges_from=self.since if is_large else None,
            open=None if self.keys is not None else 0,
        )
        made = Stored(chain, first, last, base)
        if self.keys is not None and is_large:
            parts = [(now, base), *((at, within(made, at, end)) for at, end in edges(made, self.since, buckets.FINE))]
            made = replace(made, chain=replace(chain, parts=groups_sql.first_parts(parts)))
        self.written += rows
        return made

    def run(self, now: int) -> None:
        self.came += self.new
        self.statements += 14
        self.stored = sorted((one for one in self.stored if one.chain.rows), key=lambda one: -one.chain.rows)
        split = [] if self.keys is None else self.to_split(now)
        first, last = now - self.every + WINDOW + 1, now + WINDOW
        future = self.cells(self.new, self.every)
        base = 0 if self.keys is None else min(self.keys, self.cells(self.new, 1))
        new = future + base
        at_once = 0 if split else chains.chains_to_rewrite([one.chain.rows for one in self.stored], new)
        taken, self.stored = self.stored[len(self.stored) - at_once :], self.stored[: len(self.stored) - at_once]
        made = self.together([*taken], first, last, future, base, now)
        merged = chains.chains_to_merge([one.chain.rows for one in self.stored], made.chain.rows)
        if merged:
            self.statements += 4
            again = [*self.stored[len(self.stored) - merged :], made]
            self.stored = self.stored[: len(self.stored) - merged]
            if sum(one.chain.rows for one in again) >= chains.SMALL_CHAIN:
                self.since = now
            *again, new_one = map(self.advanced, again)
            made = self.together(again, new_one.first, new_one.last, new_one.future, new_one.base, now)
            self.stored.append(made)
        else:
            self.stored.append(made)
            if split:
                self.split_due(split, now)
        over = [one for one in self.stored if chains.is_over(one.chain, now)]
        self.stored = [one for one in self.stored if one not in over]

    def together(self, some: list[Stored], first: int, last: int, future: int, base: int, now: int) -> Stored:
        base += sum(one.base for one in some)
        base = base if self.keys is None else min(base, self.keys)
        first, last = min([first, *(one.first for one in some)]), max([last, *(one.last for one in some)])
        return self.make(first, last, future + sum(one.future for one in some), base, now)

    def advanced(self, one: Stored) -> Stored:
        """A chain without the rows that have ended at `since`; of updates these are in the base."""
        if one.last <= self.since:
            return replace(one, chain=replace(one.chain, rows=one.base), first=one.last, base=one.base)
        gone = within(one, one.first, max(one.first, self.since + 1))
        base = one.base if self.keys is None else min(self.keys, one.base + gone)
        rows = one.future - gone + base
        return replace(one, chain=replace(one.chain, rows=rows), first=max(one.first, self.since + 1), base=base)

    def to_split(self, now: int) -> list[Stored]:
        core = CoreState("c0", (("k", "bigint"),), tuple(one.chain for one in self.stored), (("s", "bigint"),))
        tables = {chain.table for chain in compaction.to_split(core, now)}
        return [one for one in self.stored if one.chain.table in tables]

    def split_due(self, some: list[Stored], now: int) -> None:
        """What is due of some chains becomes a chain of its own."""
        self.statements += 4
        self.since, base = now, 0
        for one in some:
            self.stored.remove(one)
            left = self.advanced(one)
            base += left.base
            if left.future:
                parts = [
                    (at, within(left, at, end)) for at, end in edges(left, one.chain.edges_from or 0, buckets.FINE)
                ]
                self.stored.append(replace(left, chain=compaction.without_due(one.chain, now, parts), base=0))
        assert self.keys is not None
        self.stored.append(self.make(now, now, 0, min(base, self.keys), now))

    # -- a read --

    def read(self, now: int) -> tuple[int, int, int, int]:
        """(the buckets that are there, the files that are there, those that a read opens, the rows of their pages)."""
        there = total = opened = rows = 0
        for one in self.stored:
            fineness = buckets.COARSE if self.keys is None else buckets.FINE
            since = one.chain.edges_from if one.chain.bucketed else None
            parts = [(one.first, one.last + 1)] if since is None else [*edges(one, since, fineness)]
            if one.base:
                parts.insert(0, (one.chain.min_from or 0, 0))
            for at, end in parts:
                count = within(one, at, end) if end else one.base
                there, total = there + 1, total + files(count)
                if since is not None and (at > now if self.keys is not None else end <= now):
                    continue
                opened += files(count)
                wanted = within(one, at, min(end, now + 1)) if self.keys is not None else within(one, max(at, now), end)
                wanted = wanted if end else count
                rows += min(count, wanted + (wanted < count) * files(count) * ROWS_OF_A_PAGE)
        return there, total, opened, rows


def year(rows_a_day: float, every: int, keys: int | None, days: int) -> Totals:
    runs, most, ratios = Year(rows_a_day, every, keys), [0, 0, 0, 0], []
    sampled = days * DAY // every // READS + 1
    for now in range(every, days * DAY + 1, every):
        runs.run(now)
        if now // every % sampled:
            most[0] = max(most[0], len(runs.stored))
            continue
        later = now + every - 1  # the last instant before the next run
        there, total, opened, rows = runs.read(later)
        most = [max(pair) for pair in zip(most, (len(runs.stored), there, total, opened))]
        if now > WINDOW:
            answer = rows_a_day * (WINDOW - every) / DAY if keys is None else keys + runs.cells(runs.new, every)
            ratios.append(rows / answer)
    number = days * DAY // every
    return Totals(runs.came, runs.written, runs.statements / number, *most, sum(ratios) / max(len(ratios), 1))


def longest_text() -> int:
    """The characters of the longest view of a model of COLUMNS columns, with an expiration."""
    from dbt.adapters.sparktemporal.temporal.rewrite.core import Core, TypedCore

    columns = tuple((f"column_{at:02}", "string") for at in range(COLUMNS))
    core = TypedCore(Core("c0", None, (), None), columns)
    state = longest_view.worst("m", "`s`", columns, [core], "SELECT * FROM mz_core_c0", 0, None)
    return len(view_sql.live_view(state))


def main(days: int, keys: int) -> None:
    print(f"{days} days of runs, a window of {WINDOW // DAY} days; by group: {keys:,} groups")
    print(f"the longest text of a view of {COLUMNS} columns: {longest_text():,} characters, whatever the rows")
    print("rows a day  run every  kept as  written/came  chains  buckets  files  opened  read/answer  statements")
    for rows_a_day in (1e9, 1e11):
        for every in (DAY, HOUR, 10 * MINUTE):
            for groups in (None, keys):
                found = year(rows_a_day, every, groups, days)
                print(
                    f"{rows_a_day:10.0e}  {every // MINUTE:5} min  {'rows' if groups is None else 'groups':7}  "
                    f"{found.written / found.came:12.2f}  {found.most_chains:6}  {found.most_buckets:7}  "
                    f"{found.most_files:5}  {found.most_opened:6}  {found.rows_read:11.2f}  {found.statements:10.1f}"
                )


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--days", type=int, default=365)
    parser.add_argument("--keys", type=int, default=1_000_000)
    given = parser.parse_args()
    main(given.days, given.keys)
