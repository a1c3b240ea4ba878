"""A project that was written for dbt-spark: unchanged under this adapter, then with one temporal_view in it."""

from __future__ import annotations

import json
import shutil
import uuid
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

from support.project import Project

SHOP = Path(__file__).parent / "shop"
RELATIONS = ("customers", "orders", "stg_customers", "stg_orders", "customer_orders", "order_facts", "order_status")


class Shop(Project):
    """A copy of the project, under an adapter type."""

    has_artifacts = True

    def __init__(self, path: Path, spark: SparkSession, adapter: str) -> None:
        shutil.copytree(SHOP, path)
        self.path, self.spark, self.schema = path, spark, f"shop_{uuid.uuid4().hex[:10]}"
        self.connection = {"type": adapter, "method": "session", "host": "local", "schema": self.schema, "threads": 4}
        self.write("profiles.yml", json.dumps({"shop": {"target": "dev", "outputs": {"dev": self.connection}}}))

    def artifact(self, name: str) -> dict[str, Any]:
        return json.loads((self.path / "target" / name).read_text())


def live(shop: Shop) -> dict[str, Any]:
    """Two days in the life of the project: statuses of all that ran, contents, comments, the catalog."""
    ran = []
    for day in (1, 2):
        if day == 2:
            orders = shop.path / "seeds" / "orders.csv"
            text = orders.read_text().replace("shipped", "returned")
            orders.write_text(text + "6,3,2024-02-04 08:00:00,placed,77\n")
        result = shop.dbt("build")
        ran.append(sorted((r.node.name, str(r.status)) for r in result.results))
    shop.dbt("docs", "generate")
    catalog = shop.artifact("catalog.json")
    return {
        "ran": ran,
        "rows": {name: sorted(map(str, rows_of(shop, name))) for name in RELATIONS},
        "comments": {name: shop.rows(f"DESCRIBE TABLE {{s}}.{name}") for name in RELATIONS},
        "catalog": {k: {c: v["type"] for c, v in node["columns"].items()} for k, node in catalog["nodes"].items()},
        "listed": sorted(shop.dbt("list", "--resource-type", "model").value),
    }


def rows_of(shop: Shop, name: str) -> list[tuple]:
    columns = [c for c in shop.spark.table(f"{shop.schema}.{name}").columns if not c.startswith("dbt_")]
    return shop.rows(f"SELECT {', '.join(columns)} FROM {{s}}.{name}")


@pytest.fixture
def shops(tmp_path: Path, spark: SparkSession) -> Iterator[tuple[Shop, Shop]]:
    made = Shop(tmp_path / "spark", spark, "spark"), Shop(tmp_path / "sparktemporal", spark, "sparktemporal")
    yield made
    for shop in made:
        spark.sql(f"DROP DATABASE IF EXISTS {shop.schema} CASCADE")


def test_unchanged_then_with_a_temporal_view(shops: tuple[Shop, Shop]) -> None:
    plain, ours = shops
    expected, found = live(plain), live(ours)
    for part in expected:
        assert found[part] == expected[part], part
    assert len(expected["ran"][0]) >= 14 and len(expected["rows"]["order_status"]) == 7

    ours.write(
        "models/marts/open_orders.sql",
        """
        {{ config(materialized='temporal_view', expiration='20000 days') }}
        select o.order_id, c.name, o.ordered_at, o.amount
        from {{ ref('stg_orders') }} o join {{ ref('stg_customers') }} c on c.customer_id = o.customer_id
        where mz_now() >= o.ordered_at and mz_now() < o.ordered_at + interval 36 hours
        """,
    )
    tests = ["temporal_matches_source", "temporal_not_expired", "temporal_diffs_consistent"]
    columns = [{"name": "order_id", "description": "The order's number", "data_tests": ["unique"]}]
    model = {"name": "open_orders", "description": "Open", "columns": columns, "data_tests": tests}
    ours.write("models/open.yml", json.dumps({"version": 2, "models": [model]}))  # JSON is YAML
    now = "2024-02-02 12:00:00"
    result = ours.dbt("build", now=now)
    assert "hydrated" in result.of("open_orders").message
    at = ours.render(f"select order_id from {{{{ temporal_as_of(ref('open_orders'), '{now}') }}}}")
    assert sorted(ours.rows(at)) == [(1,), (2,), (3,)]
    assert "unchanged" in ours.dbt("build", now="2024-02-02 12:00:01").of("open_orders").message
    described = ours.rows("DESCRIBE TABLE {s}.open_orders")
    assert described[0][2] == "The order's number"
    chain = next(r[1] for r in ours.rows("SHOW TABLES IN {s}") if r[1].startswith("open_orders__diffs_"))
    assert ("Provider", "delta") in [r[:2] for r in ours.rows(f"DESCRIBE TABLE EXTENDED {{s}}.{chain}")]
