"""The changes of each input since the last run, and how each core is brought up to date.

Takes the state of the last run and the state of now; gives the rows that each core reads. Writes nothing.
May import `inputs/observing/`, `inputs/views/` and what is below.
"""
