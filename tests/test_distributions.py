"""Tails that are too heavy for a mean square, by Hill's index."""
import numpy as np
import pytest

from uqcal._chance.distributions import has_heavy_tails


@pytest.mark.parametrize("index, heavy", [(1.3, True), (1.6, False)])
def test_heavy_tails_are_told_by_the_largest_alone(index, heavy):
    "Quantiles of a power law. Mutations: the threshold moved; the index turned; all values judged instead of the largest k."
    size = np.arange(0.5, 1000)**(-1 / index)
    assert has_heavy_tails(size, 100) is heavy
    assert has_heavy_tails(np.r_[np.full(5000, 1e-3), size], 100) is heavy and has_heavy_tails(np.r_[0.0, size[:101]], 100) is heavy
    assert not has_heavy_tails(np.ones(50), 5) and not has_heavy_tails(np.r_[np.zeros(50), 1.0, 1e9], 5)
