"""Views below a model: plain views, temporal views, and plain views between temporal views.

Takes the text of a model; gives the text with what the views read in their place.
May import `graph/` and what is below.
"""
