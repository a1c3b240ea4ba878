"""Views below a model: plain views, temporal views, and plain views between temporal views.

Takes the text of a model; gives the text with the queries of the views in place of their names.
May import `graph/` and what is below.
"""
