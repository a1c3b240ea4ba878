"""Errors about missing rights, as catalogs, metastores and storages word them."""

from __future__ import annotations

import pytest

from dbt.adapters.sparktemporal.engine.model_relations import ModelRelations
from dbt.adapters.sparktemporal.errors import Refusal, TemporalError
from dbt.adapters.sparktemporal.run import rights
from dbt.adapters.sparktemporal.temporal.sql.spark.errors import SparkError

TARGET = ModelRelations("`s`", "m")
#: an error -> how its shortened words begin
DENIED = {
    'org.apache.hadoop.security.AccessControlException: Permission denied: user=bob, access=WRITE, inode="/w":a:b:'
    "drwxr-xr-x\n\tat org.apache.hadoop.hdfs.A.b(A.java:1)": "Permission denied: user=bob",
    "org.apache.kyuubi.plugin.spark.authz.AccessControlException: Permission denied: user [bob] does not have [create] "
    "privilege on [s/m__lock]": "Permission denied: user [bob] does not have [create] privilege",
    "Runtime Error\n  An error occurred while calling o1.sql.\n: org.apache.iceberg.exceptions.ForbiddenException: "
    "Forbidden: Principal 'bob' is not authorized for op CREATE_TABLE_DIRECT": "Forbidden: Principal 'bob'",
    "[INSUFFICIENT_PERMISSIONS] Insufficient privileges: User does not have permission CREATE on database `s`.":
        "[INSUFFICIENT_PERMISSIONS]",
    "PERMISSION_DENIED: User does not have CREATE TABLE on Schema 'main.s'.": "PERMISSION_DENIED: User",
    "User: arn:aws:iam::1:user/bob is not authorized to perform: glue:CreateTable (Service: AWSGlue; Status Code: 400; "
    "Error Code: AccessDeniedException)": "User: arn:aws",
    "MetaException(message:file:/warehouse/s.db/m__lock is not a directory or unable to create one)": "MetaException",
}  # fmt: skip


@pytest.mark.parametrize("message", DENIED)
def test_words_of_a_missing_right(message: str) -> None:
    with pytest.raises(Refusal) as found, rights.in_words(TARGET):
        raise SparkError(message)
    what, why, instead = str(found.value).splitlines()
    assert what.startswith(f"ST522 found: {DENIED[message]}") and "\tat" not in what
    assert why == (
        "why: a run of m creates, replaces and drops tables and views in `s`, and the user of this connection may not"
    )
    assert instead.startswith("instead: the right to do so in `s`")


@pytest.mark.parametrize("error", [SparkError("[DIVIDE_BY_ZERO] Division by zero."), TemporalError("not authorized")])
def test_other_errors_stay(error: Exception) -> None:
    with pytest.raises(type(error)) as found, rights.in_words(TARGET):
        raise error
    assert found.value is error
