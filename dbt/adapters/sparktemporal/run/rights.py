"""Errors of a catalog or a storage about what the user of the connection may not do, in words."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager

from ..engine.model_relations import ModelRelations
from ..errors import Refusal, TemporalError, without_trace
from ..temporal.sql.spark_errors import spark_words

#: how catalogs, metastores and file systems say so
_DENIED = re.compile(
    r"ForbiddenException|Forbidden:|NotAuthorized|not authorized|AccessControlException|AccessDenied|access denied"
    r"|permission[_ ]denied|INSUFFICIENT_P|insufficient privileges|does not have (?:\S+ ){0,3}(?:privilege|permission)"
    r"|unable to create one",
    re.IGNORECASE,
)


def is_denied(error: BaseException) -> bool:
    """Whether an error says that a right is missing.

    >>> is_denied(Exception("Malformed request")), is_denied(Exception("Permission denied: user=a, access=WRITE"))
    (False, True)
    """
    return bool(_DENIED.search(str(error)))


@contextmanager
def in_words(target: ModelRelations) -> Iterator[None]:
    """Raise Refusal in place of an error of Spark that says that a right is missing for the statements of a run."""
    try:
        yield
    except TemporalError:
        raise
    except Exception as error:  # dbt's error or Spark's own: the text tells which
        if not is_denied(error):
            raise
        raise Refusal(
            spark_words(without_trace(str(error))),
            f"a run of {target.model} creates, replaces and drops tables and views in {target.schema}, "
            "and the user of this connection may not",
            f"the right to do so in {target.schema} for this user, or a run as another one; reads need SELECT alone",
        ) from None
