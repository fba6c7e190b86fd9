"""The logits of the classifier: the files that were published, as probabilities that sum to one."""

import os

import numpy as np
import pytest

from uqcal.sample.datasets import load_logits

with_data = pytest.mark.skipif("UQCAL_DATA_DIR" not in os.environ, reason="UQCAL_DATA_DIR names no folder with the data sets")


@with_data
@pytest.mark.parametrize(("part", "n"), [("validation", 5000), ("test", 10_000)])
def test_logits_become_probabilities(part, n):
    data = load_logits(part)
    assert len(data) == n and data.logits.shape == (n, 10) and set(data.label) == set(range(10)) and f"{n:,}" in data._repr_html_()
    p = data.probabilities(2.0)
    np.testing.assert_allclose(p.sum(axis=1), 1, rtol=1e-12)
    np.testing.assert_allclose(np.log(p[:, 1] / p[:, 0]), (data.logits[:, 1] - data.logits[:, 0]) / 2, rtol=1e-9, atol=1e-12)
    with pytest.raises(ValueError, match="read-only"): data.logits[0, 0] = 0
    with pytest.raises(ValueError, match="temperature"): data.probabilities(0)


def test_unknown_part_is_refused():
    with pytest.raises(ValueError, match="part must be one of"): load_logits("train")
