"""The clock: instants in ms since 1970-01-01 UTC, lengths of time, zones, schedules and expirations.

Takes text of configs and facts of a zone; gives instants. May import `sql`.
"""
