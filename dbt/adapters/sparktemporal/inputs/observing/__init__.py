"""The state of each input, as of one moment.

Takes the relations of a plan; gives their files, versions or checksums. May import `graph/` and what is below.
"""
