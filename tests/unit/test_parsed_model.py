"""The tree of a model: each name of a relation means one thing, wherever it stands."""

from __future__ import annotations

import pytest

from dbt.adapters.sparktemporal.temporal.sql.names.parsed_model import ParsedModel
from dbt.adapters.sparktemporal.temporal.sql.text.dialect import fragment, render

#: as written -> the tree; "" for the same
NAMED = {
    "SELECT s.t.id, s.t.* FROM s.t WHERE s.t.ts > mz_now()": "SELECT t.id, t.* FROM s.t WHERE t.ts > mz_now()",
    "SELECT c.s.t.id FROM c.s.t ORDER BY s.t.id": "SELECT t.id FROM c.s.t ORDER BY t.id",
    "SELECT S.T.id FROM s.t UNION ALL SELECT s.t.id FROM s.t": "SELECT T.id FROM s.t UNION ALL SELECT t.id FROM s.t",
    "SELECT s.t.id FROM s.t JOIN s.u ON s.t.k = s.u.k": "SELECT t.id FROM s.t JOIN s.u ON t.k = u.k",
    "SELECT s.t.id FROM s.t JOIN r.t ON s.t.id = r.t.id": "",
    "SELECT s.t.id FROM s.t, s.u AS s": "",
    "SELECT s.t.id FROM s.t AS x": "",
    "SELECT r.t.id FROM s.t": "",
    "SELECT (SELECT max(x) FROM s.u WHERE u.k = s.t.k) FROM s.t": "",
    "SELECT x.y.z FROM s.t": "",
}


@pytest.mark.parametrize("sql", NAMED)
def test_a_column_is_named_by_its_table_alone(sql: str) -> None:
    assert render(ParsedModel.of(sql).tree) == (NAMED[sql] or sql)


def test_messages_show_the_name_that_was_written() -> None:
    (item,) = ParsedModel.of("SELECT s.t.id FROM s.t").tree.selects
    assert (render(item), fragment(item)) == ("t.id", "s.t.id")
