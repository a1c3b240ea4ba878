"""Errors quote what the author wrote, whatever the rules have made of it by then."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping

import pytest

from dbt.adapters.sparktemporal.engine.given_types import GivenTypes
from dbt.adapters.sparktemporal.engine.warehouse import Warehouse
from dbt.adapters.sparktemporal.errors import Refusal
from dbt.adapters.sparktemporal.run.analyze import understand
from dbt.adapters.sparktemporal.temporal.rewrite.clock_functions import put_mz_now, puts_of
from dbt.adapters.sparktemporal.temporal.sql.names.parsed_model import ParsedModel
from dbt.adapters.sparktemporal.temporal.sql.spark.errors import SparkError
from dbt.adapters.sparktemporal.temporal.sql.text.dialect import expression, fragment
from support.cases import CASES
from support.instants import T0

#: items of a SELECT list that print otherwise than they are written here
ITEMS = (
    "x::date",
    "cast( cast(x as decimal(10,2)) as Int )",
    "id != 1 and not (k is null)",
    "interval 30 days",
    "interval '1' day + interval 2 hours 30 minutes",
    "timestamp '2030-01-01'",
    "case when k == 'a' then x -- a comment\n end",
    "if(id!=1, ts, current_timestamp())",
    "current_date( )",
    "extract(year from ts)",
    "x in ( 1,2 ) or x not between 1 and 2",
    "exists (select 1 from u where u.k=t.k)",
    "Sum(v) filter(where v > 0)",
    "rank() over(partition by k order by ts desc)",
    "f( 'a)' )",
    "t.x.y[ 0 ]",
)


def squeezed(text: str) -> str:
    """A text without white space and case, as it is compared here."""
    return re.sub(r"\s+", "", text).lower()


def parsed(sql: str) -> ParsedModel:
    return ParsedModel.of(put_mz_now(sql)[0], puts_of(sql))


@pytest.mark.parametrize("item", ITEMS)
def test_a_part_of_a_model(item: str) -> None:
    sql = f"with a as (select 1 as k)\nselect {item} as a, {item} from t as t join a on ({item})"
    tree = parsed(sql).copied()
    for node in (tree.selects[0].this, tree.selects[1], tree.args["joins"][0].args["on"].this):
        assert fragment(node.copy()) == " ".join(item.split())


def test_a_query_without_its_predicates() -> None:
    """A query that was changed is quoted as it was, and what stands beside it is not."""
    tree = parsed("with a as (select id, x::int as x from t where mz_now()<ts group by id, x) select * from a").copied()
    inner = tree.ctes[0].this
    assert fragment(tree.ctes[0]) == "a as (select id, x::int as x from t where mz_now()<ts group by id, x)"
    inner.set("where", None)
    assert fragment(inner) == "select id, x::int as x from t where mz_now()<ts group by id, x"


def test_what_nobody_wrote() -> None:
    tree = parsed("select a, b, c from t").copied()
    both = expression("x::int + 1")
    assert fragment(both) == "CAST(x AS INT) + 1"
    assert fragment(both.left.replace(tree.selects[0]).parent) == "a + 1"
    assert fragment(tree.selects[0].eq(tree.selects[2])) == "a = c"


# -- the generator --

#: changes of accepted texts, most of which are refused
CHANGES: Mapping[str, Callable[[str], str]] = {
    "a random bound": lambda sql: sql.replace("mz_now()", "(mz_now()+rand())"),
    "a word": lambda sql: re.sub(r"\bts\b", "'noon'", sql),
    "no alias": lambda sql: re.sub("select ", "select if(id!=1,mz_now(),null), ", sql, count=1, flags=re.IGNORECASE),
    "arguments": lambda sql: sql.replace("mz_now()", "mz_now(1 , 2)"),
    "months and hours": lambda sql: sql.replace("mz_now()", "year(mz_now() - interval 1 month + interval '2' hour)"),
    "another clock": lambda sql: sql.replace("mz_now()", "(current_timestamp( ) - interval 2 weeks + rand())"),
}
#: the words of a refusal around its quote
AROUND = (
    r"column (.*?)(?: twice| void)?",
    r"(.*) beside mz_now\(\), and more around it",
    r"(.*) beside a value of type \w+",
    r"(.*), which leads a row to before .*",
    r"(.*) at \d{4}-\d\d-\d\d .*",
)
#: the codes of refusals that quote no part of a model: the parser's place in the text, a name that is not given, and
#: what `explain` is asked, a query about a part
OTHER = {"ST303", "ST902", "ST904"}
#: quotes of what a rule has made: a branch of a CASE alone
MADE = (r"CASE WHEN \(k = 'a'\) THEN INTERVAL '1' MONTH END beside .*",)


def texts() -> Iterator[tuple[str, dict[str, dict[str, str]]]]:
    """The conformance texts over relations with a schema, with their columns; each also below CTEs."""
    for case in CASES["cases"]:
        tables = {name: of["columns"] for name, of in {"t": case, "u": case.get("u")}.items() if of}
        sql = re.sub(r"\b(FROM|JOIN) ([tu])\b(?=\s+(?:AS\b|[abx]\b))", r"\1 s.\2", case["sql"])
        sql = re.sub(r"\b(FROM|JOIN) ([tu])\b", r"\1 s.\2 AS \2", sql)
        yield sql, {f"s.{name}": columns for name, columns in tables.items()}


def refusal(sql: str, types: dict[str, dict[str, str]]) -> Refusal | None:
    settings = {"spark.sql.session.timeZone": "UTC", "spark.sql.ansi.enabled": "false"}
    try:
        understand(Warehouse(GivenTypes(types, T0)), sql, settings, "4.1.0", T0, aggregates="groups")
    except Refusal as refused:
        return refused
    except SparkError:
        pass
    return None


@pytest.mark.parametrize("change", CHANGES)
@pytest.mark.quick(2)
def test_refused_texts_are_quoted(change: str) -> None:
    refused = 0
    for text, types in texts():
        for sql in (CHANGES[change](text), f"with w as ({CHANGES[change](text)}) select * from w"):
            error = refusal(sql, types)
            if error is None or error.code in OTHER or any(re.fullmatch(made, error.found) for made in MADE):
                continue
            refused += 1
            found = next((m[1] for around in AROUND if (m := re.fullmatch(around, error.found))), error.found)
            assert squeezed(found.removesuffix("...")) in squeezed(sql), f"{sql}\n{error}"
    assert refused > 10
