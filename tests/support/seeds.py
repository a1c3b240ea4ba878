"""The seeds of property tests: the same on each landing, fresh ones in deep runs."""

from __future__ import annotations

import os
import random

#: the variable that chooses: a number repeats a run, `random` draws a fresh number for each test
VARIABLE = "TEST_SEED"
#: the seed of a sample whose coverage a test asserts, whatever the variable says
SAMPLE = 1
#: without the variable: another sample than SAMPLE, so that both are tried
SAME = "2"


def fresh() -> bool:
    """Whether the run looks for what is not known yet (`make test-deep`), at the price that chance may fail it."""
    return os.environ.get(VARIABLE) == "random"


def a_seed() -> int:
    """-> the seed of a test, printed so that a failure of a fresh one can be repeated."""
    seed = random.SystemRandom().randrange(10**6) if fresh() else int(os.environ.get(VARIABLE, SAME))
    print(f"{VARIABLE}={seed}")
    return seed
