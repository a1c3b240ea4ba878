"""The second storey, over time: what reads say beyond "now". Changes, feeds, other instants, forecasts, replays.

Takes names of models and instants; gives queries over what runs have stored. May import `run/` and what is below.
"""
