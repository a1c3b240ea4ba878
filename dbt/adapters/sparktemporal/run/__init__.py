"""The lifecycle of one run: observe, decide, write, commit, tidy up.

Takes the SQL and the config of a model; gives the statements of each phase and a report.
May import `pruning/` and what is below.
"""
