"""What a refusal says is true: its quote is a part of the predicate as written, and its reason holds of that part.

The predicates are drawn, and then columns in them are exchanged for columns of other types, so many are refused.
"""

from __future__ import annotations

import random
import re
from collections import Counter
from collections.abc import Iterator

import pytest
from sqlglot import exp
from sqlglot.errors import SqlglotError

from dbt.adapters.sparktemporal.engine.given_types import GivenTypes
from dbt.adapters.sparktemporal.engine.warehouse import Warehouse
from dbt.adapters.sparktemporal.errors import Refusal
from dbt.adapters.sparktemporal.run.analyze import understand
from dbt.adapters.sparktemporal.temporal.rewrite.clock_functions import put_mz_now
from dbt.adapters.sparktemporal.temporal.sql.spark.errors import SparkError
from dbt.adapters.sparktemporal.temporal.sql.text.dialect import expression, render
from support.instants import T0
from support.predicates import Grammar, Natural

INSTANTS, NUMBERS = ("a", "e", "d", "ntz"), ("ms", "dec", "k")
COLUMNS = {
    "id": "int", "a": "timestamp", "e": "timestamp", "d": "date", "ntz": "timestamp_ntz", "ms": "bigint",
    "dec": "decimal(20,3)", "k": "int", "b": "boolean", "iv": "interval day to second", "s": "string", "f": "double",
}  # fmt: skip
#: what a column becomes, beside those of its own kind
OTHERS = ("null", "f", "s", "b", "iv", *INSTANTS, *NUMBERS)
#: the words of a refusal around its quote
AROUND = (
    r"(.*) beside mz_now\(\), and more around it",
    r"(.*) beside a value of type \w+",
    r"(.*), which leads a row to before .*",
)


def refusal(predicate: str) -> Refusal | None:
    settings = {"spark.sql.session.timeZone": "UTC", "spark.sql.ansi.enabled": "false"}
    sql = f"select id from s.t as t where {predicate}"
    try:
        understand(Warehouse(GivenTypes({"s.t": COLUMNS}, T0)), sql, settings, "4.1.0", T0)
    except Refusal as refused:
        return refused
    except SparkError:
        pass
    return None


def quoted(refused: Refusal) -> str:
    return next((m[1] for around in AROUND if (m := re.fullmatch(around, refused.found))), refused.found)


def is_part(quote: str, predicate: str) -> bool:
    """Whether a quote reads as a part of the predicate, with the NOT that belongs to the part, or as NOT of a part."""
    try:
        read = expression(quote)
    except (Refusal, SqlglotError):
        return False
    wanted = [render(read), *([render(read.this.unnest())] if isinstance(read, exp.Not) else [])]
    parts = [n for n in expression(put_mz_now(predicate)[0]).walk() if not _is_negated(n)]
    return any(render(node) in wanted for node in parts)


def _is_negated(node: exp.Expr) -> bool:
    """Whether a node is what the NOT of `a NOT IN (b)` negates, which nobody wrote by itself."""
    return isinstance(node, (exp.In, exp.Between)) and isinstance(node.parent, exp.Not)


def exchanged(rng: random.Random, predicate: str) -> str:
    """A predicate with one or two columns exchanged."""
    places = [m.span() for m in re.finditer(rf"\b({'|'.join((*INSTANTS, *NUMBERS))})\b(?![('])", predicate)]
    for start, end in sorted(rng.sample(places, min(len(places), rng.choice([1, 2]))), reverse=True):
        predicate = predicate[:start] + rng.choice(OTHERS) + predicate[end:]
    return predicate


def predicates(rng: random.Random, grammar: type[Grammar]) -> Iterator[str]:
    drawn = grammar(rng, fixed_zone=True)
    while True:
        text = drawn.predicate(rng.randrange(3)).format(n="mz_now()", m="mz_now()")
        if "mz_now()" in text:
            yield exchanged(rng, text)


@pytest.mark.parametrize(("grammar", "count"), [(Grammar, 25), (Natural, 2)])
def test_a_refusal_quotes_what_is_written(grammar: type[Grammar], count: int) -> None:
    drawn, codes = predicates(random.Random(46), grammar), Counter[str]()
    while sum(codes.values()) < count:
        text = next(drawn)
        refused = refusal(text)
        if refused is None or refused.code.startswith("ST9"):  # what GivenTypes is not told
            continue
        codes[refused.code] += 1
        quote = quoted(refused)
        assert quote.endswith("...") or is_part(quote, text), f"{text}\n{refused}"
        if refused.code == "ST319":
            both = [re.search(rf"\b({'|'.join(names)})\b", quote) for names in (INSTANTS, NUMBERS)]
            assert all(both), f"{text}\n{refused}"
    print(codes)


@pytest.mark.parametrize(
    "text", ["mz_now() not in (ms, a)", "mz_now() not between ms and a", "not (mz_now() in (ms, a)) or b"]
)
def test_a_quote_has_the_not(text: str) -> None:
    refused = refusal(text)
    assert refused is not None and refused.code == "ST319"
    assert refused.found == text.removeprefix("not (").removesuffix(") or b")


# -- months --


class Lengths:
    """Lengths as text, each with whether it may have months."""

    def __init__(self, rng: random.Random) -> None:
        self.rng = rng

    def __call__(self, depth: int = 2) -> tuple[str, bool]:
        rng = self.rng
        if depth and rng.random() < 0.5:
            (one, has), (other, too) = self(depth - 1), self(depth - 1)
            return rng.choice(
                [
                    (f"(k * {one})", has), (f"({one} * 3)", has), (f"({one} / 2)", has), (f"(-{one})", has),
                    (f"case when b then {one} end", has), (f"coalesce({one}, {other})", has or too),
                    (f"if(b, {one}, {other})", has or too),
                ]
            )  # fmt: skip
        part = [rng.choice(["0", "0", "0", "k", "2"]) for _ in range(6)]
        most = rng.randrange(7)
        return rng.choice(
            [
                (f"make_interval({', '.join(part[:most])})", any(p != "0" for p in part[:2][:most])),
                (f"make_interval(0, 0, {', '.join(part[:4])})", False),
                (f"make_ym_interval({part[0]}, {part[1]})", part[:2] != ["0", "0"]),
                (f"make_dt_interval({', '.join(part[:4])})", False),
                (f"interval {part[0].replace('k', '1')} months", part[0] != "0"),
                ("interval '0-0' year to month", False), ("interval '1-2' year to month", True),
                ("interval '1 02:30' day to minute", False), ("interval 25 hours", False),
            ]
        )  # fmt: skip


SIDES = (
    "date_trunc('HOUR', mz_now() - {0}) > a", "cast(mz_now() - {0} - {1} as date) = d", "mz_now() + {0} - {1} <= a",
    "date_trunc('DAY', mz_now() - {0}) - interval 1 day <= a", "months_between(mz_now() - {0}, a) > k",
    "datediff(mz_now() + {0}, a) < k", "greatest(mz_now() - {0} - {1}, a) <= e",
)  # fmt: skip


def test_months_are_said_of_what_may_have_months() -> None:
    rng, told, plain = random.Random(46), 0, 0
    lengths = Lengths(rng)
    for _ in range(150):
        drawn = dict(lengths() for _ in range(2))
        if len(drawn) < 2:
            continue
        text = rng.choice(SIDES).format(*drawn)
        refused = refusal(text)
        plain += refused is None and not any(drawn.values())
        if refused is not None and refused.code == "ST362":
            told += 1
            assert drawn.get(quoted(refused)), f"{text}\n{refused}"
    print(f"{told} are refused because of months, {plain} without months are accepted")
    assert told > 5 and plain > 15
