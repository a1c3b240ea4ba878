"""Change data capture: the changes of each input since the last run.

Takes the plan of a model and the state of the last run; gives the way each core is read now. Writes nothing.
Its rooms, from the bottom up: `views`, `observing`, `changing`. May import `graph/` and what is below.
"""
