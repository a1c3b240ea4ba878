"""Instants and lengths of time, in ms."""

#: 2024-03-01 12:00:00 UTC, a Friday: when most tests begin
T0 = 1_709_294_400_000
#: between two runs of a history
STEP = 10_000
HOUR = 3_600_000
DAY = 24 * HOUR
#: where the views' own clock, which is Spark's, is to be before the first run
Y2100 = 4_102_444_800_000
