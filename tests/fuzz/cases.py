"""How many cases are drawn: a few hundred in each run, many where UQCAL_FUZZ says so or the slow tests run. A case is its number: the same number is the same case."""
import os

import pytest

SCALE = float(os.environ.get("UQCAL_FUZZ", "1"))  # a factor for all numbers of cases; 1 gives 10⁵ in the slow tests
BLOCK = 250


def blocks(few, many):
    "Ranges of case numbers, the first of which run always and the others with the slow tests."
    few, many = round(few * SCALE), round(many * SCALE)
    starts = [*range(0, few, BLOCK), *range(few, many, 4 * BLOCK)]
    return [pytest.param(range(start, stop), id=f"{start}-{stop - 1}", marks=[pytest.mark.slow] * (start >= few)) for start, stop in zip(starts, [*starts[1:], many])]
