"""The third storey, to look at and to reach: status, explanations, reports, consolidation, leftovers, other engines.

Takes names of models; gives SQL, reports, or a commit of its own. May import `over_time/` and what is below.
"""
