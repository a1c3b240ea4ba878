"""The exceptions for which a rule leaves a part of a model as it is."""

from __future__ import annotations

from ...errors import Refusal
from ..sql.spark.errors import SparkError


class Stays(Exception):
    """A part of a model stays as it is: its rewritten form is not known to mean the same."""


#: the exceptions that a rule catches. An error that the written text has too is raised by a later step
STAYS = (Stays, Refusal, SparkError)
