"""What a rule raises where a part of a model stays as it is."""

from __future__ import annotations

from ...errors import Refusal
from ..sql.spark.errors import SparkError


class Stays(Exception):
    """A part of a model stays as it is: its rewritten form is not known to mean the same."""


#: what makes a rule leave a part as it is. The model's own text raises its errors
STAYS = (Stays, Refusal, SparkError)
