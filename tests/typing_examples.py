"""Calls as users write them, for a type checker; nothing here is run. A call marked `type: ignore` must be refused by the checker."""
import numpy as np
import pandas as pd
import uqcal
from typing import assert_type
from uqcal.errors.validation import validate_errors
from uqcal.streams import OnlinePlattScaling

error, uncertainty = np.array([0.1, -0.2, 0.3]), pd.Series([0.1, 0.2, 0.3])
outcomes, stated = [0, 1, 1], [0.2, 0.7, 0.9]

# Array-likes of all kinds come in, seeds and generators too.
assert_type(uqcal.metrics.zms(error, uncertainty), float)
assert_type(uqcal.metrics.ence([0.1, -0.2], (0.1, 0.2), n_bins=1), float)
validation = validate_errors(error, uncertainty, statistics=("zms", "cc"), rng=np.random.default_rng(1), n_jobs=2)
validation.to_frame()
validation.plot()
validation.plot(ax=None)
validate_errors(error, uncertainty, rng=7, progress=True)
interval = uqcal.metrics.bca_interval("zms", error, uncertainty, n_boot=100)
assert_type(interval.standard_error, float)
uqcal.metrics.bca_interval(lambda e, u: float(np.mean(e / u)), error, uncertainty)

coverage = uqcal.tests.coverage_test([1.0, 2.0], [[0.0, 2.0], [1.0, 3.0]], 0.9)
assert_type(coverage.pvalue, float)
levels = uqcal.tests.coverage_test([1.0, 2.0], [[[0.0, 0.5], [2.0, 1.5]], [[1.0, 1.5], [3.0, 2.5]]], [0.9, 0.5])
assert_type(levels[0].own_interval.low, float)
assert_type(uqcal.tests.feature_stratified_coverage([1.0, 2.0], [[0.0, 2.0], [1.0, 3.0]], ["a", "b"], 0.9, n_calibration=20).pvalue, float)
assert_type(uqcal.metrics.expected_calibration_error(outcomes, stated), float)
uqcal.groups.calibration_graph(outcomes, stated).plot()
uqcal.metrics.reliability_diagram(outcomes, stated).to_frame()

# Estimators say what they return.
online = OnlinePlattScaling(gamma=0.2)
forecasts = online.prequential(stated, outcomes)
assert_type(forecasts.size, int)

# What can't be right is seen before it runs.
validate_errors(error)  # type: ignore
validate_errors(error, uncertainty, 20)  # type: ignore
uqcal.metrics.ence(error, uncertainty, n_bins="20")  # type: ignore
uqcal.metrics.bca_interval("zms", error, uncertainty, seed=1)  # type: ignore
uqcal.tests.coverage_test([1.0, 2.0], [[0.0, 2.0], [1.0, 3.0]], 0.9, calibration=20)  # type: ignore
print(interval.verdict)  # type: ignore
print(uqcal.no_such_name)  # type: ignore
