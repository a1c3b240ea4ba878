"""Turn errors of a catalog or a storage about missing rights of the user into a Refusal."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from ..engine.model_relations import ModelRelations
from ..errors import Refusal, without_trace
from ..temporal.sql.spark.errors import Cause, SparkError, spark_words


@contextmanager
def in_words(target: ModelRelations) -> Iterator[None]:
    """Raise Refusal in place of an error of Spark that says that a right is missing for the statements of a run."""
    try:
        yield
    except SparkError as error:
        error.expect(Cause.DENIED)
        raise Refusal(
            "ST522",
            spark_words(without_trace(str(error))),
            f"a run of {target.model} creates, replaces and drops tables and views in {target.schema}, "
            "and the user of this connection may not",
            f"the right to do so in {target.schema} for this user, or a run as another one; reads need SELECT alone",
        ) from None
