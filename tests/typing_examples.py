"""Calls as users write them, for type checkers; nothing here is run. A line marked `type: ignore` must be refused by each of them."""
from typing import Any, assert_type

import numpy as np
import pandas as pd
import uqcal
from sklearn.naive_bayes import GaussianNB
from uqcal.adapters.displays import MeanStdDisplay, ReliabilityDisplay
from uqcal.errors.validation import validate_errors
from uqcal.maps import ErrorMap, FactorScaling, PlattScaling
from uqcal.reports import Caution, Finding, Step
from uqcal.statements import Statement
from uqcal.streams import OnlinePlattScaling

error, uncertainty = np.array([0.1, -0.2, 0.3]), pd.Series([0.1, 0.2, 0.3])
outcomes, stated = [0, 1, 1], [0.2, 0.7, 0.9]
days = uqcal.load_demo()
assert_type(days, pd.DataFrame)

# The six verbs, and what their results hold.
report = uqcal.validate(days["temperature"], uqcal.MeanStd(days["temperature_mean"], days["temperature_std"]), by=days[["season"]], rng=1)
assert_type(report, uqcal.Report)
assert_type(report.verdict, str)
assert_type(report.conclusion, str)
assert_type(report.findings, tuple[Finding, ...])
assert_type(report.cautions, tuple[Caution, ...])
assert_type(report.findings[0].low, float | None)
assert_type(report.findings[0].status, str)
assert_type(report.numbers, dict[str, float])
assert_type(report["bias"], Finding)
assert_type(report.to_frame(), pd.DataFrame)
assert_type(report.to_json(), str)
if report.step is not None: assert_type(report.step, Step)
report.plot().set_title("mine")
report.to_html("report.html")

better = uqcal.recalibrate(error, uqcal.MeanStd(0, uncertainty), groups=["a", "a", "b"], tolerance=1.1)
assert_type(better.outcome, str)
assert_type(better.before, tuple[Finding, ...])
assert_type(better.apply(uqcal.MeanStd(0, [0.1])), Statement)
better.save("map.json")
again = uqcal.conformalize(error, uqcal.Intervals([0.0, 0.1, 0.2], [1.0, 1.1, 1.2], level=0.9), level=0.8)
assert_type(again.level, float | None)
stream = uqcal.monitor(outcomes, uqcal.Probabilities(stated))
assert_type(stream.alarms, tuple[Any, ...])
assert_type(uqcal.compare_models(error, {"one": uqcal.MeanStd(0, uncertainty), "two": uqcal.MeanStd(0, [1, 1, 1])}).conclusion, str)
uqcal.compare_groups(outcomes, stated, by=["a", "b", "a"], sample_weight=[1, 2, 1]).to_frame()
assert_type(uqcal.Quantiles([[0.1, 0.2]], levels=[0.1, 0.9]).pit([0.15]), np.ndarray)
uqcal.validate(error, uqcal.Samples(np.ones((3, 5))), in_time=True).headline.lower()

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

# Estimators, maps and displays say what they return.
online = OnlinePlattScaling(gamma=0.2)
forecasts = online.prequential(stated, outcomes)
assert_type(forecasts.size, int)
assert_type(uqcal.RecalibratedClassifier(GaussianNB(), cv=3).fit([[0.0], [1.0], [2.0]], outcomes, sample_weight=[1, 2, 3]), uqcal.RecalibratedClassifier)
assert_type(uqcal.RecalibratedClassifier(GaussianNB()).predict_proba([[0.0]]), np.ndarray)
assert_type(PlattScaling().fit(stated, outcomes, [1, 2, 1]), PlattScaling)
assert_type(PlattScaling().fit(stated, outcomes).sentence, str)
assert_type(ErrorMap(FactorScaling()).fit(uncertainty, error).transform(uncertainty), np.ndarray)
assert_type(ReliabilityDisplay.from_predictions(outcomes, stated, n_bins=5), ReliabilityDisplay)
MeanStdDisplay.from_predictions(error, [0, 0, 0], uncertainty).ax_.set_title("mine")

# What can't be right is seen before it runs.
validate_errors(error)  # type: ignore
validate_errors(error, uncertainty, 20)  # type: ignore
uqcal.metrics.ence(error, uncertainty, n_bins="20")  # type: ignore
uqcal.metrics.bca_interval("zms", error, uncertainty, seed=1)  # type: ignore
uqcal.tests.coverage_test([1.0, 2.0], [[0.0, 2.0], [1.0, 3.0]], 0.9, calibration=20)  # type: ignore
print(interval.verdict)  # type: ignore
print(uqcal.no_such_name)  # type: ignore
uqcal.validate(error, uqcal.MeanStd(0, uncertainty), 1.25)  # type: ignore
uqcal.validate(error, uqcal.MeanStd(0, uncertainty), tolerence=1.25)  # type: ignore
uqcal.validate(error, uqcal.MeanStd(0, uncertainty), tolerance="1.25")  # type: ignore
uqcal.Intervals([0.0], [1.0], levle=0.9)  # type: ignore
uqcal.monitor(error, uqcal.MeanStd(0, uncertainty), rng=1)  # type: ignore
uqcal.recalibrate(error, uqcal.MeanStd(0, uncertainty), sample_weight=[1, 2, 3])  # type: ignore
uqcal.conformalize(error, uqcal.MeanStd(0, uncertainty), level="90 %")  # type: ignore
uqcal.compare_models(error, {"one": uqcal.MeanStd(0, uncertainty)}, best="one")  # type: ignore
print(report.verdicts)  # type: ignore
print(report.verdict.value)  # type: ignore
print(report.findings.bias)  # type: ignore
print(report.findings[0].limits)  # type: ignore
print(report.step.sentence)  # type: ignore
print(report.gain)  # type: ignore
print(better.after["bias"])  # type: ignore
better.apply()  # type: ignore
better.plot(axes=None)  # type: ignore
print(stream.alarm)  # type: ignore
report.to_frame(1)  # type: ignore
uqcal.Quantiles([[0.1, 0.2]], levels="0.1")  # type: ignore
uqcal.RecalibratedClassifier()  # type: ignore
uqcal.RecalibratedClassifier(GaussianNB(), cv="five")  # type: ignore
PlattScaling().fit(stated, outcomes, weights=[1, 2, 1])  # type: ignore
ReliabilityDisplay.from_predictions(outcomes, stated, bins=5)  # type: ignore
