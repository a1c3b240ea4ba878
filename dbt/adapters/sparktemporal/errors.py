"""Errors that a user sees. Nothing here knows dbt: the adapter turns them into dbt's own errors."""

from __future__ import annotations


class TemporalError(Exception):
    """Something that stops a run. The message says what was found, why, and what to do."""


class Refusal(TemporalError):
    """A model, config or request that cannot be made right, so it is not answered at all.

    found: the fragment as the user wrote it.
    why: why it cannot be.
    instead: what to write or do instead.
    """

    def __init__(self, found: str, why: str, instead: str) -> None:
        self.found, self.why, self.instead = found, why, instead
        super().__init__(f"found: {found}\nwhy: {why}\ninstead: {instead}")
