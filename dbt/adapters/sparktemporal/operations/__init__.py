"""Operations outside of a run: reads at an instant, status, explanations, consolidation, leftovers.

Takes names of models; gives SQL, reports, or a commit of its own. May import `run/` and what is below.
"""
