"""The output of a model over time: its changes, and its rows at many instants at once.

Takes a `State` and instants; gives queries over the chains. Pure. May import `temporal/`.
"""
