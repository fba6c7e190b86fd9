"""uqcal beside its peers: what both have, on the same inputs, in one process and one run.

    python benchmarks/side_by_side.py             measures, then writes side_by_side.csv, side_by_side.png and README.md beside this file
    python benchmarks/side_by_side.py --quick     up to 10,000 points, and writes nothing
    python benchmarks/side_by_side.py --only CRPS the same rows alone, at all sizes, and writes nothing
    python benchmarks/side_by_side.py --write     writes figure and README.md again from the stored table

The peers are installed into .cache/peers/env once. A row is measured from a thousand to ten million points, or to `--largest`, CPU time of one thread, the
shortest of several calls after one that is not counted; it ends at the size after which either side would take more than 20 s, or `--limit`. What
the first call costs, with kernels to compile and with kernels kept, is measured in processes of their own. Memory is what the process's peak
rises by during a call. Results are compared at every size; a difference beyond rounding must have a reason, or the run fails.
"""
import argparse
import contextlib
import ctypes
import gc
import io
import json
import os
import platform
import subprocess
import sys
import tempfile
import time
import venv
import warnings
from collections.abc import Callable
from functools import cache
from importlib.metadata import version
from pathlib import Path
from types import SimpleNamespace
from typing import Any, NamedTuple

import limits
import numpy as np
import pandas as pd
from sklearn.base import BaseEstimator, ClassifierMixin, RegressorMixin

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent
STORED, RUN, FIGURE = HERE / "side_by_side.csv", HERE / "side_by_side.json", HERE / "side_by_side.png"
PEERS = {"MAPIE": "mapie", "uncertainty-toolbox": "uncertainty-toolbox", "netcal": "netcal", "relplot": "relplot", "scoringrules": "scoringrules", "crepes": "crepes",
         "river": "river", "scikit-learn": "scikit-learn", "model-diagnostics": "model-diagnostics", "properscoring": "properscoring", "torchmetrics": "torchmetrics", "scipy": "scipy", "statsmodels": "statsmodels"}
OURS = ["numba", "numpy", "pandas", "matplotlib", "joblib", "pooch", "tqdm", "typer", "Jinja2"]
SIZES, LIMIT, ROUNDING, LEVEL = (10**3, 10**4, 10**5, 10**6, 10**7), 20.0, 1e-8, 0.9
CLASSES, TEN = SIZES[:4], "ten classes: 10,000,000 rows need gigabytes"
TWENTY = "twenty members: 10,000,000 rows need gigabytes"
ONE_THREAD = dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "POLARS_MAX_THREADS"), "1")
KINDS = ["intervals and sets", "scores", "probabilities", "errors and uncertainties", "recalibration", "streams"]

JITTER = "MAPIE multiplies each score by 1 plus 1e-8 of noise before it sorts, which lets close scores change places; uqcal leaves scores as they are and reads equal ones together."
DIFFERS = {
    ("cumulative differences", "MAPIE"): JITTER,
    ("Kolmogorov–Smirnov test", "MAPIE"): JITTER,
    ("Kuiper's test", "MAPIE"): JITTER,
    ("ENCE, 20 bins", "netcal"): "netcal's bins are of equal width in u, uqcal's hold equally many points.",
    ("BCa interval of ⟨Z²⟩, 5,000 resamples", "scipy"): "The limits rest on random draws, which are others.",
    ("isotonic probabilities", "scikit-learn"): "uqcal adds half a counter-example at each end, so that no probability becomes 0 or 1.",
    ("one factor for all uncertainties", "uncertainty-toolbox"): "uqcal's factor makes ⟨Z²⟩ one, the toolbox's makes its own error of calibration least.",
    ("rank correlation of |E| and u", "torchmetrics"): "torchmetrics computes in single precision.",
    ("Platt scaling", "netcal"): "netcal's search stops at a tolerance of its own.",
    ("beta scaling", "netcal"): "netcal's search stops at a tolerance of its own.",
    ("conformal intervals, by group", "crepes"): "crepes takes (1 − 0.9)(m + 1) of m points in floating point, which falls short of a whole number: it then takes the next larger score.",
}
FEW = "uqcal looks for missing, infinite and impossible values first; the peer does not, and the rest is a pass or two."
COPIES = "uqcal looks whether values are missing or infinite and whether rows are copies of others, counts the rows inside, and rounds bounds to fourteen digits: a pass each."
BEHIND = {
    ("coverage", "MAPIE"): "Both make a few passes over three columns; uqcal's look for crossed bounds too.",
    ("mean width", "MAPIE"): "The peer takes the absolute width of bounds that are crossed, uqcal refuses them: one more pass beside the subtraction.",
    ("coverage by width, 10 groups", "MAPIE"): "Both sort the widths; uqcal's groups never part widths that differ by rounding alone, and it looks for crossed bounds.",
    ("conformal intervals, per uncertainty", "crepes"): COPIES,
    ("conformal intervals, by group", "crepes"): "uqcal's groups have names, which are read and looked up as Python's text; here crepes gets whole numbers. " + COPIES,
    ("conformal intervals of one width", "MAPIE"): COPIES,
    ("conformal bounds", "MAPIE"): COPIES,
    ("CRPS, Student", "scoringrules"): FEW,
    ("interval score", "scoringrules"): FEW,
    ("Brier score", "model-diagnostics"): "uqcal gives the score of each point, the peer the mean alone; and uqcal looks whether outcomes are 0 or 1.",
    ("ECE, 10 bins", "relplot"): "The peer adds up differences by one division for each point; uqcal's bins may have any edges, count points and outcomes apart, and are checked.",
    ("length scale", "MAPIE"): FEW,
    ("ENCE, 20 bins", "netcal"): "uqcal sorts by u, for bins that hold equally many points; bins of equal width need no sort.",
}
NO_ROW = """Nothing of uqcal's does the same as relplot's smoothed calibration error, MAPIE's worst-slab coverage, uncertainty-toolbox's miscalibration area and sharpness, river's detectors of drift.
Most of uqcal has no counterpart there either: tests of consistency and their references, limits of what was not seen, graphs of two groups, recalibrations that are
chosen and judged on held-out rows, streams with late outcomes. The scripts beside this one measure those against plain loops."""



class Row(NamedTuple):
    "What is measured: both calls take the inputs of one size and return what is compared."
    kind: str
    what: str
    peer: str
    ours: Callable[[Any], Any]
    theirs: Callable[[Any], Any]
    sizes: tuple = SIZES
    ends: str = ""  # why the row ends at its last size
    two: Callable[[Any], Any] | None = None  # the same call of uqcal on two threads


class Stated(RegressorMixin, BaseEstimator):
    "An estimator that hands on what a model states, a column or several, so that a peer works on columns."

    def __init__(self, columns=(0,)): self.columns = columns

    def fit(self, X, y=None): return self

    def __sklearn_is_fitted__(self): return True

    def predict(self, X): return X[:, self.columns[0]]


class Classes(ClassifierMixin, BaseEstimator):
    "The same for probabilities of classes."

    def fit(self, X, y=None): return self

    def __sklearn_is_fitted__(self): return True

    def predict_proba(self, X): return X

    def decision_function(self, X): return np.log(X)

    def predict(self, X): return X.argmax(axis=1)


@cache
def inputs(n):
    "One set of columns for all rows: intervals, errors, probabilities, classes."
    rng = np.random.default_rng(n)
    u = rng.lognormal(0, 0.5, n)
    y = u * rng.standard_normal(n)
    p = rng.uniform(size=n)
    held = SimpleNamespace(n=n, y=y, u=u, zero=np.zeros(n), low=-1.645 * u, up=1.645 * u, p=p, o=(rng.uniform(size=n) < p).astype(int))
    held.bounds, held.group = np.column_stack([held.low, held.up]), rng.integers(0, 10, n)
    held.name = np.array(list("abcdefghij"), dtype=object)[held.group]
    held.levels, held.scale = held.bounds[:, :, None], u * np.sqrt(4 / 6)
    if n in CLASSES:
        prob = rng.exponential(size=(n, 10))**3 + 1e-12
        prob /= prob.sum(axis=1, keepdims=True)
        held.members = u[:, None] * rng.standard_normal((n, 20))
        held.prob, held.label, held.sets = prob, (prob.cumsum(axis=1) < rng.uniform(size=(n, 1))).sum(axis=1).clip(0, 9), prob > 0.05
    return held


def rows():
    "Every row."
    yield from interval_rows()
    yield from score_rows()
    yield from probability_rows()
    yield from error_rows()
    yield from recalibrate_rows()
    yield from stream_rows()


def interval_rows():
    from crepes import ConformalClassifier, ConformalRegressor
    from mapie.classification import SplitConformalClassifier
    from mapie.metrics import classification as sets
    from mapie.metrics import regression as theirs
    from mapie.regression import ConformalizedQuantileRegressor, SplitConformalRegressor
    from uncertainty_toolbox.metrics_calibration import get_proportion_in_interval

    from uqcal.intervals import intervals as ours
    from uqcal.intervals import dependence
    from uqcal.intervals import stratified
    from uqcal.intervals.conformal import ConformalBounds, ConformalIntervals, ConformalSets
    kind = KINDS[0]
    yield Row(kind, "coverage", "MAPIE", lambda x: ours.regression_coverage_score(x.y, x.bounds), lambda x: theirs.regression_coverage_score(x.y, x.levels)[0])
    yield Row(kind, "coverage at 90 %, from uncertainties", "uncertainty-toolbox", lambda x: ours.regression_coverage_score(x.y, np.column_stack([-Z * x.u, Z * x.u])),
              lambda x: get_proportion_in_interval(x.zero, x.u, x.y, LEVEL))
    yield Row(kind, "mean width", "MAPIE", lambda x: ours.regression_mean_width_score(x.bounds), lambda x: theirs.regression_mean_width_score(x.levels)[0])
    yield Row(kind, "Winkler score", "MAPIE", lambda x: ours.regression_mwi_score(x.y, x.bounds, LEVEL), lambda x: theirs.regression_mwi_score(x.y, x.levels, LEVEL))
    yield Row(kind, "coverage-width criterion", "MAPIE", lambda x: ours.coverage_width_based(x.y, x.low, x.up, 1.0, LEVEL),
              lambda x: theirs.coverage_width_based(x.y, x.low, x.up, 1.0, LEVEL))
    yield Row(kind, "coverage by width, 10 groups", "MAPIE", lambda x: stratified.regression_ssc(x.y, x.bounds, 10), lambda x: theirs.regression_ssc(x.y, x.levels, 10)[0])
    yield Row(kind, "HSIC", "MAPIE", lambda x: dependence.hsic(x.y, x.bounds), lambda x: theirs.hsic(x.y, x.bounds)[0], sizes=(10**3, 3000),
              ends="MAPIE multiplies matrices of n × n: 10,000 points need gigabytes")
    yield Row(kind, "coverage of sets", "MAPIE", lambda x: ours.classification_coverage_score(x.label, x.sets), lambda x: sets.classification_coverage_score(x.label, x.sets)[0], sizes=CLASSES, ends=TEN)
    yield Row(kind, "mean size of sets", "MAPIE", lambda x: ours.classification_mean_width_score(x.sets), lambda x: sets.classification_mean_width_score(x.sets[:, :, None])[0], sizes=CLASSES, ends=TEN)
    yield Row(kind, "coverage by size of set", "MAPIE", lambda x: stratified.classification_ssc(x.label, x.sets, 3), lambda x: sets.classification_ssc(x.label, x.sets[:, :, None], 3)[0], sizes=CLASSES, ends=TEN)
    yield Row(kind, "conformal intervals, per uncertainty", "crepes", lambda x: ConformalIntervals(LEVEL).fit(x.u, x.y).predict(x.zero, x.u),
              lambda x: ConformalRegressor().fit(x.y, sigmas=x.u).predict_int(x.zero, sigmas=x.u, confidence=LEVEL))
    yield Row(kind, "conformal intervals, by group", "crepes", lambda x: ConformalIntervals(LEVEL, by="g").fit(x.u, x.y, {"g": x.name}).predict(x.zero, x.u, {"g": x.name}),
              lambda x: ConformalRegressor().fit(x.y, sigmas=x.u, bins=x.group).predict_int(x.zero, sigmas=x.u, bins=x.group, confidence=LEVEL))
    yield Row(kind, "conformal intervals of one width", "MAPIE", lambda x: ConformalIntervals(LEVEL).fit(x.zero + 1, x.y).predict(x.zero, x.zero + 1),
              lambda x: SplitConformalRegressor(Stated(), confidence_level=LEVEL, prefit=True).conformalize(x.zero[:, None], x.y).predict_interval(x.zero[:, None])[1][:, :, 0])
    yield Row(kind, "conformal bounds", "MAPIE", lambda x: ConformalBounds(LEVEL).fit(x.y, x.bounds).predict(x.bounds),
              lambda x: ConformalizedQuantileRegressor([Stated((0,)), Stated((1,)), Stated((0,))], confidence_level=LEVEL, prefit=True).conformalize(
                  x.bounds, x.y).predict_interval(x.bounds, symmetric_correction=True)[1][:, :, 0])
    yield Row(kind, "conformal sets", "MAPIE", lambda x: ConformalSets(LEVEL).fit(x.label, x.prob).predict(x.prob),
              lambda x: SplitConformalClassifier(fitted(x), confidence_level=LEVEL, prefit=True, conformity_score="lac").conformalize(x.prob, x.label).predict_set(x.prob)[1][:, :, 0], sizes=CLASSES, ends=TEN)
    yield Row(kind, "conformal sets", "crepes", lambda x: ConformalSets(LEVEL).fit(x.label, x.prob).predict(x.prob),
              lambda x: ConformalClassifier().fit(1 - x.prob[np.arange(x.n), x.label]).predict_set(1 - x.prob, confidence=LEVEL, smoothing=False), sizes=CLASSES, ends=TEN)


def fitted(x):
    "Stated probabilities as a classifier that was fitted."
    made = Classes()
    made.classes_ = np.arange(x.prob.shape[1])
    return made


Z = 1.6448536269514722


def score_rows():
    import properscoring
    import scoringrules as sr
    import torch
    from model_diagnostics.scoring import LogLoss, SquaredError, decompose
    from sklearn.metrics import brier_score_loss
    from sklearn.metrics import log_loss as their_log_loss
    from torchmetrics.functional.regression import continuous_ranked_probability_score
    from uncertainty_toolbox import metrics_scoring_rule as ut

    from uqcal.probabilities.differences import brier_decomposition
    from uqcal.comparison.scores import brier_score, crps, interval_score, log_score, negative_log_density
    from uqcal.predictive.predictive_scores import crps_of_samples
    kind = KINDS[1]

    def torchs(x): return continuous_ranked_probability_score(torch.from_numpy(x.members), torch.from_numpy(x.y)).item()
    yield Row(kind, "CRPS", "scoringrules", lambda x: crps(x.y, x.u), lambda x: sr.crps_normal(x.y, x.zero, x.u))
    yield Row(kind, "CRPS", "properscoring", lambda x: crps(x.y, x.u), lambda x: properscoring.crps_gaussian(x.y, x.zero, x.u))
    yield Row(kind, "CRPS of 20 members", "scoringrules", lambda x: crps_of_samples(x.y, x.members), lambda x: sr.crps_ensemble(x.y, x.members), sizes=CLASSES, ends=TWENTY)
    yield Row(kind, "CRPS of 20 members", "properscoring", lambda x: crps_of_samples(x.y, x.members), lambda x: properscoring.crps_ensemble(x.y, x.members), sizes=CLASSES, ends=TWENTY)
    yield Row(kind, "CRPS of 20 members", "torchmetrics", lambda x: crps_of_samples(x.y, x.members).mean(), torchs, sizes=CLASSES, ends=TWENTY)
    yield Row(kind, "CRPS, mean", "uncertainty-toolbox", lambda x: crps(x.y, x.u).mean(), lambda x: ut.crps_gaussian(x.zero, x.u, x.y))
    yield Row(kind, "CRPS, Student", "scoringrules", lambda x: crps(x.y, x.u, dof=6.0), lambda x: sr.crps_t(x.y, 6.0, 0.0, x.scale))
    yield Row(kind, "log score", "scoringrules", lambda x: negative_log_density(x.y, x.u), lambda x: sr.logs_normal(x.y, x.zero, x.u))
    yield Row(kind, "log score, mean", "uncertainty-toolbox", lambda x: negative_log_density(x.y, x.u).mean(), lambda x: ut.nll_gaussian(x.zero, x.u, x.y))
    yield Row(kind, "log score, Student", "scoringrules", lambda x: negative_log_density(x.y, x.u, dof=6.0), lambda x: sr.logs_t(x.y, 6.0, 0.0, x.scale))
    yield Row(kind, "interval score", "scoringrules", lambda x: interval_score(x.y, x.low, x.up, LEVEL), lambda x: sr.interval_score(x.y, x.low, x.up, 1 - LEVEL))
    yield Row(kind, "interval score, mean, from uncertainties", "uncertainty-toolbox", lambda x: interval_score(x.y, -Z * x.u, Z * x.u, LEVEL).mean(),
              lambda x: ut.interval_score(x.zero, x.u, x.y, start_p=LEVEL, end_p=LEVEL, resolution=1))
    yield Row(kind, "Brier score", "scikit-learn", lambda x: brier_score(x.o, x.p).mean(), lambda x: brier_score_loss(x.o, x.p))
    yield Row(kind, "Brier score", "scoringrules", lambda x: brier_score(x.o, x.p), lambda x: sr.brier_score(x.o, x.p))
    yield Row(kind, "Brier score", "properscoring", lambda x: brier_score(x.o, x.p), lambda x: properscoring.brier_score(x.o, x.p))
    yield Row(kind, "Brier score", "model-diagnostics", lambda x: brier_score(x.o, x.p).mean(), lambda x: SquaredError()(x.o, x.p))
    yield Row(kind, "log loss", "scikit-learn", lambda x: log_score(x.o, x.p).mean(), lambda x: their_log_loss(x.o, x.p))
    yield Row(kind, "log loss", "model-diagnostics", lambda x: log_score(x.o, x.p).mean(), lambda x: LogLoss()(x.o, x.p))

    def parts(found): return [found.miscalibration, found.discrimination, found.uncertainty]
    yield Row(kind, "Brier score in three parts", "model-diagnostics", lambda x: parts(brier_decomposition(x.o, x.p)),
              lambda x: decompose(x.o, x.p, scoring_function=SquaredError()).select("miscalibration", "discrimination", "uncertainty").row(0))


def probability_rows():
    from mapie.metrics import calibration as theirs
    from relplot.metrics import binnedECE
    from sklearn.calibration import calibration_curve

    from uqcal.probabilities import calibration_tests as tests
    from uqcal.probabilities import reliability as ours
    from uqcal.probabilities.walk import cumulative_differences, length_scale
    import torch
    from netcal import metrics
    from torchmetrics.functional.classification import binary_calibration_error
    kind = KINDS[2]

    def torchs(x): return binary_calibration_error(torch.from_numpy(x.p), torch.from_numpy(x.o), n_bins=10).item()
    yield Row(kind, "ECE, 50 bins", "MAPIE", lambda x: ours.expected_calibration_error(x.o, x.p, n_bins=50), lambda x: theirs.expected_calibration_error(x.o, x.p, 51, "uniform"))
    yield Row(kind, "ECE, 10 bins", "relplot", lambda x: ours.expected_calibration_error(x.o, x.p, n_bins=10), lambda x: binnedECE(x.p, x.o, 10))
    yield Row(kind, "ECE, 10 bins", "netcal", lambda x: ours.expected_calibration_error(x.o, x.p, n_bins=10), lambda x: metrics.ECE(10).measure(x.p, x.o))
    yield Row(kind, "ECE, 10 bins", "torchmetrics", lambda x: ours.expected_calibration_error(x.o, x.p, n_bins=10), torchs)
    yield Row(kind, "ECE of the top label", "MAPIE", lambda x: ours.top_label_ece(x.label, x.prob, n_bins=50), lambda x: theirs.top_label_ece(x.label, x.prob, num_bins=51, split_strategy="uniform"), sizes=CLASSES, ends=TEN)
    yield Row(kind, "ECE of each class", "MAPIE", lambda x: np.mean(ours.classwise_ece(x.label, x.prob, n_bins=50)),
              lambda x: theirs.expected_calibration_error(x.label, x.prob, 51, "uniform", classwise=True, class_labels=x.label), sizes=CLASSES, ends=TEN)
    yield Row(kind, "reliability diagram, 10 bins", "scikit-learn", lambda x: ours.reliability_diagram(x.o, x.p, n_bins=10).bins["mean_outcome"], lambda x: calibration_curve(x.o, x.p, n_bins=10)[0])
    yield Row(kind, "cumulative differences", "MAPIE", lambda x: cumulative_differences(x.o, x.p), lambda x: theirs.cumulative_differences(x.o, x.p))
    yield Row(kind, "length scale", "MAPIE", lambda x: length_scale(x.p), lambda x: theirs.length_scale(x.p))
    yield Row(kind, "Kolmogorov–Smirnov test", "MAPIE", lambda x: tests.kolmogorov_smirnov_test(x.o, x.p, method="asymptotic").pvalue, lambda x: theirs.kolmogorov_smirnov_p_value(x.o, x.p))
    yield Row(kind, "Kuiper's test", "MAPIE", lambda x: tests.kuiper_test(x.o, x.p, method="asymptotic").pvalue, lambda x: theirs.kuiper_p_value(x.o, x.p))
    yield Row(kind, "Spiegelhalter's test", "MAPIE", lambda x: tests.spiegelhalter_test(x.o, x.p, alternative="greater", method="asymptotic").pvalue,
              lambda x: theirs.spiegelhalter_p_value(x.o, x.p))


def error_rows():
    from scipy import stats

    from uqcal.statistics.bootstrap import bca_interval
    from uqcal.statistics.statistics import cc, ence
    import torch
    from netcal import metrics
    from torchmetrics.functional import spearman_corrcoef
    kind = KINDS[3]

    def resampled(x):
        return list(stats.bootstrap((x.y / x.u,), lambda z, axis: np.mean(z**2, axis=axis), n_resamples=5000, method="BCa", vectorized=True, batch=max(1, 10**7 // x.n), rng=1).confidence_interval)

    def ours(x, n_jobs=1):
        return [*bca_interval("zms", x.y, x.u, n_boot=5000, rng=1, n_jobs=n_jobs).confidence_interval]
    yield Row(kind, "rank correlation of |E| and u", "scipy", lambda x: cc(x.y, x.u), lambda x: stats.spearmanr(np.abs(x.y), x.u).statistic)
    yield Row(kind, "rank correlation of |E| and u", "torchmetrics", lambda x: cc(x.y, x.u), lambda x: spearman_corrcoef(torch.from_numpy(np.abs(x.y)), torch.from_numpy(x.u)).item())
    yield Row(kind, "ENCE, 20 bins", "netcal", lambda x: ence(x.y, x.u, n_bins=20), lambda x: metrics.ENCE(20).measure((x.zero, x.u**2), x.y).item())
    yield Row(kind, "BCa interval of ⟨Z²⟩, 5,000 resamples", "scipy", ours, resampled, two=lambda x: ours(x, 2))


def recalibrate_rows():
    import statsmodels.api as sm
    from netcal import scaling
    from sklearn.calibration import CalibratedClassifierCV
    from sklearn.frozen import FrozenEstimator
    from sklearn.isotonic import IsotonicRegression
    from sklearn.linear_model import LogisticRegression
    from uncertainty_toolbox.recalibration import optimize_recalibration_ratio

    from uqcal.probabilities.recalibration import BetaScaling, IsotonicCalibration, PlattScaling, TemperatureScaling
    from uqcal.corrections.scaling import FactorScaling, LogLinearScaling, _isotonic_blocks
    kind = KINDS[4]

    def columns(p, beta):
        return np.column_stack([np.log(p), np.log(1 - p)]) if beta else np.log(p / (1 - p))[:, None]

    def logistic(x, beta):
        return LogisticRegression(C=np.inf, tol=1e-10, solver="newton-cholesky").fit(columns(x.p, beta), x.o).predict_proba(columns(x.p, beta))[:, 1]

    def temperature(x):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return CalibratedClassifierCV(FrozenEstimator(fitted(x)), method="temperature").fit(x.prob, x.label).predict_proba(x.prob)

    def blocks(x):
        found = _isotonic_blocks(x.u, x.y**2)
        return np.repeat(found["variance"], found["count"])

    def regression(x):
        design = sm.add_constant(np.log(x.u))
        return x.u * np.sqrt(sm.GLM((x.y / x.u)**2, design, family=sm.families.Gamma(sm.families.links.Log())).fit(tol=1e-12).predict(design))
    yield Row(kind, "Platt scaling", "scikit-learn", lambda x: PlattScaling().fit(x.p, x.o).predict(x.p), lambda x: logistic(x, False))
    yield Row(kind, "Platt scaling", "netcal", lambda x: PlattScaling().fit(x.p, x.o).predict(x.p), lambda x: scaling.LogisticCalibration().fit(x.p, x.o).transform(x.p))
    yield Row(kind, "beta scaling", "netcal", lambda x: BetaScaling().fit(x.p, x.o).predict(x.p), lambda x: scaling.BetaCalibration().fit(x.p, x.o).transform(x.p))
    yield Row(kind, "beta scaling", "scikit-learn", lambda x: BetaScaling().fit(x.p, x.o).predict(x.p), lambda x: logistic(x, True))
    yield Row(kind, "isotonic probabilities", "scikit-learn", lambda x: IsotonicCalibration().fit(x.p, x.o).predict(x.p), lambda x: IsotonicRegression().fit(x.p, x.o).predict(x.p))
    yield Row(kind, "temperature, 10 classes", "scikit-learn", lambda x: TemperatureScaling().fit(x.prob, x.label).predict(x.prob), temperature, sizes=CLASSES, ends=TEN)
    yield Row(kind, "one factor for all uncertainties", "uncertainty-toolbox", lambda x: FactorScaling().fit(x.u, x.y).transform(x.u) / x.u,
              lambda x: np.full(x.n, optimize_recalibration_ratio(x.zero, x.u, x.y)))
    yield Row(kind, "rising curve of squared errors", "scikit-learn", blocks, lambda x: IsotonicRegression().fit(x.u, x.y**2).predict(np.sort(x.u)))
    yield Row(kind, "power of the uncertainty", "statsmodels", lambda x: LogLinearScaling().fit(x.u, x.y).transform(x.u), regression)


def stream_rows():
    from river import linear_model, optim

    from uqcal._chance.logistic import platt_features
    from uqcal.online.online import OnlineGradientDescent, OnlinePlattScaling

    def stepwise(x):
        steps = optim.schedulers.InverseScaling(0.1, power=0.5)
        model, out = linear_model.LogisticRegression(optim.SGD(steps), intercept_lr=optim.schedulers.InverseScaling(0.1, power=0.5)), np.empty(x.n)
        for t, (logit, outcome) in enumerate(zip(platt_features(x.p)[:, 0].tolist(), x.o.tolist())):
            out[t] = model.predict_proba_one({"z": logit})[True]
            model.learn_one({"z": logit}, outcome)
        return out
    yield Row(KINDS[5], "online logistic regression, gradient steps", "river",
              lambda x: OnlinePlattScaling(optimizer=OnlineGradientDescent((0.0, 0.0), step=0.1)).prequential(x.p, x.o), stepwise)


def difference(ours, theirs):
    "The largest difference, relative to the largest value of the peer."
    a, b = np.asarray(ours, float), np.asarray(theirs, float)
    if a.shape != b.shape: return np.inf
    return float(np.abs(a - b).max() / max(np.abs(b).max(), 1e-300))


def clocked(call, x):
    "CPU seconds of the shortest of some calls, the first not counted unless it takes a second; and what it returned."
    start = time.process_time()
    found = call(x)
    taken = [time.process_time() - start]
    while taken[0] < 1 and (len(taken) < 3 or len(taken) < 20 and sum(taken[1:]) < 0.15):
        gc.disable()
        start = time.process_time()
        call(x)
        taken.append(time.process_time() - start)
        gc.enable()
    return min(taken[1:] or taken), found


def peak(call, x):
    "Megabytes by which a call lifts the peak of this process; None where the system does not tell."
    try:
        gc.collect()
        ctypes.CDLL("libc.so.6").malloc_trim(0)
        Path("/proc/self/clear_refs").write_text("5")
    except OSError: return None

    def status(name): return int(next(line for line in Path("/proc/self/status").read_text().splitlines() if line.startswith(name)).split()[1]) / 1024
    before = status("VmRSS")
    call(x)
    return max(status("VmHWM") - before, 0.0)


def quiet(call, *args):
    "A call without what a peer prints or warns of."
    with warnings.catch_warnings(), contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()):
        warnings.simplefilter("ignore")
        return call(*args)


def measured_row(row, n):
    "One row at one size."
    x = inputs(n)
    mine, a = quiet(clocked, row.ours, x)
    peer, b = quiet(clocked, row.theirs, x)
    found = {"kind": row.kind, "what": row.what, "peer": row.peer, "n": n, "uqcal_seconds": mine, "peer_seconds": peer, "difference": difference(a, b)}
    del a, b
    if n == 10**6 or n == row.sizes[-1] < 10**6: found |= {"uqcal_megabytes": quiet(peak, row.ours, x), "peer_megabytes": quiet(peak, row.theirs, x)}
    if row.two:
        one, both = (min(wall(call, x) for _ in range(3)) for call in (row.ours, row.two))
        found["two_threads"] = one / both
    return found


def wall(call, x):
    start = time.perf_counter()
    call(x)
    return time.perf_counter() - start


def measured(only="", largest=SIZES[-1], limit=LIMIT, to=None):
    "Every row at every size, and why it ends where it does; the table is kept in a file."
    chosen, found, over, last, begun = [row for row in rows() if only in f"{row.what}, {row.peer}"], [], {}, {}, time.perf_counter()
    for n in sorted({n for row in chosen for n in row.sizes if n <= largest}):
        for row in chosen:
            key = row.what, row.peer
            if n not in row.sizes or key in over: continue
            if key not in last: quiet(row.ours, inputs(SIZES[0]))  # compiles
            found.append(measured_row(row, n))
            one = found[-1]
            name, took = max(("uqcal", one["uqcal_seconds"]), (row.peer, one["peer_seconds"]), key=lambda pair: pair[1])
            growth = max(10, took / last.get(key, took))  # from one size to the next, ten times larger
            last[key] = took
            if took * growth > limit and n < row.sizes[-1]: over[key] = f"{name} would take more than {limit:g} s"
            one["ends"] = over.get(key, row.ends if n == row.sizes[-1] else "")
            print(f"{time.perf_counter() - begun:6.0f} s  {row.what:42s} {row.peer:20s} {n:10,}  ratio {one['peer_seconds'] / one['uqcal_seconds']:8.2f}   uqcal {1e3 * one['uqcal_seconds']:10.3f} ms   "
                  f"difference {one['difference']:.0e}  {one['ends']}" + "  UNEXPLAINED" * (one["difference"] > ROUNDING and key not in DIFFERS), flush=True)
        inputs.cache_clear()
        if to: pd.DataFrame(found).to_csv(to, index=False)


def first_calls():
    "CPU seconds of the first call of each row in this process, and the versions of everything."
    found = []
    for row in rows():
        x = inputs(10**3)
        start = time.process_time()
        quiet(row.ours, x)
        found.append(time.process_time() - start)
    return {"seconds": found, "versions": {name: version(package) for name, package in (*PEERS.items(), ("numpy", "numpy"), ("numba", "numba"), ("uqcal", "uqcal"))
                                           if package != "uqcal"} | {"Python": platform.python_version()}}


def child(python, *arguments, **more):
    "This script in a process of its own, on one thread."
    done = subprocess.run([python, __file__, "--child", *arguments], env={**os.environ, **ONE_THREAD, "PYTHONPATH": str(ROOT), **more}, check=True, stdout=subprocess.PIPE if arguments[0] == "first" else None, text=True)
    return json.loads(done.stdout) if arguments[0] == "first" else None


def environment():
    "An interpreter that has all peers."
    folder = ROOT / ".cache" / "peers" / "env"
    python = folder / ("Scripts" if os.name == "nt" else "bin") / "python"
    if not (folder / "installed").exists():
        print("installing the peers", flush=True)
        venv.create(folder, with_pip=True, clear=True)
        pip = [str(python), "-m", "pip", "--quiet", "--disable-pip-version-check", "install"]
        subprocess.run([*pip, *PEERS.values(), *OURS], check=True)  # with torch, of some gigabytes, for two of them
        (folder / "installed").touch()
    return str(python)


def machine():
    "The processor, how many of its cores there are, and the memory."
    with contextlib.suppress(OSError, StopIteration, AttributeError):
        model = next(line for line in Path("/proc/cpuinfo").read_text().splitlines() if line.startswith("model name")).split(":")[1].strip()
        return f"{model}, {os.cpu_count()} cores, {os.sysconf('SC_PAGE_SIZE') * os.sysconf('SC_PHYS_PAGES') / 2**30:.0f} GB"
    return f"{platform.machine()}, {os.cpu_count()} cores"


def about(python, limit, largest):
    "What the run was made on and with, and what first calls cost, kernels compiled and kernels kept."
    with tempfile.TemporaryDirectory() as folder:
        cold, warm = (child(python, "first", NUMBA_CACHE_DIR=folder) for _ in range(2))
    return {"machine": machine(), "date": time.strftime("%B %Y"), "limit": limit, "largest": largest, "load": round(os.getloadavg()[0], 1), "versions": cold["versions"], "compiled": sum(cold["seconds"]) - sum(warm["seconds"]),
            "first": float(np.median(warm["seconds"])), "slowest_first": max(warm["seconds"])}


def stored():
    "The table of the run, with the ratio of each row and size: the peer's time over uqcal's; and what the run was made on."
    table = pd.read_csv(STORED)
    return table.assign(ratio=table["peer_seconds"] / table["uqcal_seconds"]), json.loads(RUN.read_text("utf-8"))


def two_digits(ratio):
    "A ratio as it is told: two digits, whole numbers from ten."
    return f"{float(f'{ratio:.2g}'):,.0f}" if ratio >= 9.95 else f"{ratio:.2g}"


def wide(table):
    "A row for each call and peer, a column for each size, and how much more memory the peer needs."
    rows = table[table["n"].isin(SIZES)].pivot(index=["kind", "what", "peer"], columns="n", values="ratio")
    rows = rows.reindex(pd.MultiIndex.from_frame(table[["kind", "what", "peer"]].drop_duplicates()))
    rows.columns = [f"{n:,}" for n in rows.columns]
    memory = table.dropna(subset=["uqcal_megabytes"]).set_index(["kind", "what", "peer"])
    return rows.assign(memory=(memory["peer_megabytes"] / memory["uqcal_megabytes"]).where(memory["uqcal_megabytes"] >= 1))


def behind(table):
    "Rows in which a peer is faster somewhere from 10,000 points on, the lowest ratio there, and why."
    slower = table[(table["n"] >= 10**4) & (table["ratio"] < 1)]
    lowest = slower.loc[slower.groupby(["what", "peer"], sort=False)["ratio"].idxmin(), ["what", "peer", "n", "ratio"]]
    return lowest.assign(why=[BEHIND.get(key, "") for key in zip(lowest["what"], lowest["peer"])]).reset_index(drop=True)


def differing(table):
    "Rows whose results differ beyond rounding, the largest difference, and why."
    far = table[table["difference"] > ROUNDING]
    largest = far.loc[far.groupby(["what", "peer"], sort=False)["difference"].idxmax(), ["what", "peer", "n", "difference"]]
    return largest.assign(why=[DIFFERS.get(key, "") for key in zip(largest["what"], largest["peer"])]).reset_index(drop=True)


def ended(table):
    "Rows that end before the largest size of the run, and why."
    last = table.loc[table.groupby(["what", "peer"], sort=False)["n"].idxmax()]
    return last.loc[last["ends"].notna() & (last["n"] < table["n"].max()), ["what", "peer", "n", "ratio", "ends"]].reset_index(drop=True)


def drawn(table):
    "The ratios against the number of points, a panel for each kind of call; returns the figure."
    import matplotlib.pyplot as plt
    from matplotlib.patheffects import withStroke
    figure, panels = plt.subplots(3, 2, figsize=(9.5, 11.5), sharex=True, sharey=True, layout="constrained")
    for kind, ax in zip(KINDS, panels.flat):
        lines = [(name, line.sort_values("n")) for name, line in table[table["kind"] == kind].groupby(["what", "peer"], sort=False)]
        named = sorted(lines, key=lambda pair: pair[1]["ratio"].iloc[-1])
        named = {pair[0] for pair in named[:2] + named[-2:]}
        ax.axhspan(1e-3, 1, color="0.93", lw=0)
        ax.axhline(1, color="0.3", lw=1)
        placed = []
        for name, line in sorted(lines, key=lambda pair: pair[1]["ratio"].iloc[-1]):
            is_ahead = line["ratio"].iloc[-1] >= 1
            colour = "#0072B2" if is_ahead else "#D55E00"
            ax.plot(line["n"], line["ratio"], color=colour, lw=1.4, ls="-" if is_ahead else "--", marker="o", ms=3)
            if name not in named: continue
            height = np.log10(line["ratio"].iloc[-1])
            height = max([height, *(one + 0.56 for one in placed)])
            placed.append(height)
            ax.annotate(f"{name[0]}\n{name[1]}", (line["n"].iloc[-1], line["ratio"].iloc[-1]), (3e7, 10**height), color=colour, fontsize=8, va="center",
                        arrowprops={"arrowstyle": "-", "color": "0.8", "lw": 0.6}, path_effects=[withStroke(linewidth=2.5, foreground="w")], zorder=5)
        ax.set(xscale="log", yscale="log", xlim=(7e2, 2e13), ylim=(0.03, 1e5), title=kind, xticks=SIZES)
    for ax in panels[-1]: ax.set_xlabel("points")
    for ax in panels[:, 0]: ax.set_ylabel("peer's time / uqcal's time")
    panels[0, 0].annotate("below 1 the peer is faster", (9e2, 0.035), color="0.35", fontsize=8)
    return figure


def listed(table):
    "The table as Markdown."
    rows = wide(table)
    lines = [["", "peer", *rows.columns[:-1], "memory"], ["---", "---", *["--:"] * len(rows.columns)]]
    for kind in KINDS:
        if kind not in rows.index.get_level_values("kind"): continue
        lines.append([f"**{kind}**", *[""] * (len(rows.columns) + 1)])
        lines += [[what, peer, *("" if np.isnan(one) else two_digits(one) for one in ratios)] for (what, peer), ratios in rows.loc[kind].iterrows()]
    return "\n".join("| " + " | ".join(line) + " |" for line in lines)


def limited():
    "The stored distances from the limit, as a table in markdown."
    lines = ["| call | points | bound | factor | allowed | why more |", "| --- | --: | --- | --: | --: | --- |"]
    return "\n".join(lines + [f"| {one.call} | {one.points:,} | {one.bound} | {one.ratio:.1f} | {one.allowed} | {one.why} |" for one in limits.stored().itertuples()])


def readme(table, run):
    "What README.md says."
    far = table[table["n"] >= 10**4]
    ahead = far.groupby(["what", "peer"])["ratio"].min() >= 1
    threads = table.dropna(subset=["two_threads"])
    parts = [f"""# uqcal beside its peers

Made by `python benchmarks/side_by_side.py` ({run["date"]}; {run["machine"]}; {", ".join(f"{name} {release}" for name, release in run["versions"].items())}).
`make bench` runs it, and the other scripts of this folder after it.

A number is the peer's CPU time over uqcal's, on the same inputs, in one process and one run, one thread each: 5 means that uqcal takes a fifth of the peer's
time, 0.5 that it takes twice as long. *Memory* is the peer's peak over uqcal's, at a million points or at the row's last size. In {int(ahead.sum())} of {ahead.size} rows that reach 10,000 points, uqcal is
ahead at every size from there on.

![Ratios of CPU times against the number of points](side_by_side.png)

{listed(table)}

Calls of uqcal include their checks: missing, infinite and impossible values are refused, with their place. What that costs is some 0.05 to 0.3 ms
a call, which decides rows at 1,000 points."""]
    if "compiled" in run: parts.append(f"""The first call of a process costs more: {run["first"]:.2g} s in the middle, {run["slowest_first"]:.1f} s at most, where kernels were compiled before.
Compiling all that these rows need takes {run["compiled"]:.0f} s, once for a machine.""")
    if len(threads): parts.append("One of these calls takes `n_jobs`, the BCa interval: on two threads it is " + ", ".join(
        f"{two_digits(one.two_threads)} times as fast at {one.n:,} points" for one in threads.itertuples()) + f", by the clock, on a machine whose load was {run['load']:g} when the run began.")
    parts.append("## Where a peer is faster\n\nFrom 10,000 points on; the lowest ratio of each row.\n\n" + "\n".join(
        f"- **{one.what}**, {one.peer}: {two_digits(one.ratio)} at {one.n:,}. {one.why}" for one in behind(table).itertuples()))
    parts.append("## Where results differ\n\nAll other results agree to a relative 1e-8 or better. The largest difference of each row, relative to the largest value:\n\n" + "\n".join(
        f"- **{one.what}**, {one.peer}: {one.difference:.0e} at {one.n:,}. {one.why}" for one in differing(table).itertuples()))
    parts.append("## Where a row ends\n\n" + f"This run goes up to {run['largest']:,} points. A row ends before at the size after which either side would take more than {run['limit']:g} s, or too much memory.\n\n" + "\n".join(
        f"- **{one.what}**, {one.peer}, at {one.n:,} points with a ratio of {two_digits(one.ratio)}: {one.ends}." for one in ended(table).itertuples()))
    parts.append("## How far from the limit\n\n`python benchmarks/limits.py --write` sets twelve calls beside the simplest loop that reads, sorts or draws as much, without checks and without statistics: "
                 "CPU time of one thread, the shortest of several runs.\n\n" + limited())
    parts.append("## What has no row\n\n" + NO_ROW)
    return "\n\n".join(parts) + "\n"


def write():
    "README.md and its figure, from the stored table."
    import matplotlib
    matplotlib.use("agg")
    table, run = stored()
    drawn(table).savefig(FIGURE, dpi=110, metadata={"Software": None})
    (HERE / "README.md").write_text(readme(table, run), "utf-8")
    missing = [(one.what, one.peer) for found in (behind(table), differing(table)) for one in found.itertuples() if not one.why]
    if missing: sys.exit(f"no reason is given for {missing}")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="up to 10,000 points; nothing is written")
    parser.add_argument("--only", default="", metavar="WORDS", help="rows whose name and peer hold these words; nothing is written")
    parser.add_argument("--limit", type=float, default=LIMIT, help=f"seconds that a call may take, {LIMIT:g} unless given")
    parser.add_argument("--largest", type=int, default=SIZES[-1], help=f"points at most, {SIZES[-1]:,} unless given")
    parser.add_argument("--write", action="store_true", help="write figure and README.md from the stored table, and measure nothing")
    parser.add_argument("--child", choices=("rows", "first"), help=argparse.SUPPRESS)
    parser.add_argument("--to", help=argparse.SUPPRESS)
    options = parser.parse_args()
    largest = 10**4 if options.quick else options.largest
    chosen = ["--limit", str(options.limit), "--only", options.only, "--largest", str(largest)]
    if options.child == "first": print(json.dumps(first_calls()))
    elif options.child == "rows": measured(options.only, largest, options.limit, options.to)
    elif options.write: write()
    elif options.quick or options.only: child(environment(), "rows", *chosen)
    else:
        python = environment()
        run = about(python, options.limit, options.largest)
        child(python, "rows", *chosen, "--to", str(STORED))
        RUN.write_text(json.dumps(run, ensure_ascii=False, indent=1) + "\n", "utf-8")
        write()


if __name__ == "__main__":
    main()
