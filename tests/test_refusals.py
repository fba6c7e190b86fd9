"""One table over all public functions: what is no input of the stated kind is refused by name, any container gives the same result, nothing is changed.

A row names a function or a method, "+" and a word where it has two rows, and the world that its arguments come from. The world gives each array argument a small valid value and a
kind; the kind decides which inputs are hostile. `"probabilities -scalar"` is a kind whose fault "scalar" is allowed there."""
import copy
import dataclasses
import functools
import importlib
import inspect
import pkgutil
import re
import warnings
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
import polars as pl
import pytest
from published import diffusion
from sklearn.base import BaseEstimator, clone
from sklearn.linear_model import LogisticRegression

import uqcal
from uqcal._chance.brownian import kuiper_null
from uqcal.online.calibeating import FosterForecaster, Hedging, OneAgainstAll, TopLabel, Tracking, hobs, hops, tobs, tops
from uqcal.intervals.conformal import ConformalBounds, ConformalIntervals, ConformalSets
from uqcal.online.error_monitor import UncertaintyMonitor
from uqcal.online.interval_streams import AdaptiveConformal, AggregatedAdaptive, OnlineBounds, OnlineIntervals, QuantileTracker
from uqcal.online.quantile_tracking import OnlineMembers, OnlineQuantiles
from uqcal.predictive.forecast_monitor import ForecastMonitor
from uqcal.online.mixture import OnlineMixture
from uqcal.comparison.model_comparison import compare_scores
from uqcal.online.class_monitor import ClassMonitor
from uqcal.online.monitor import CalibrationMonitor, RestartingForecaster
from uqcal.online.online import AggregatingForecaster, Aioli, OnlineBetaScaling, OnlineGradientDescent, OnlineNewtonStep, OnlinePlattScaling
from uqcal.corrections.probability_recalibration import PlattByGroup, recalibrate_probabilities
from uqcal.online.online_scaling import OnlineScaling
from uqcal.probabilities.recalibration import BetaScaling, HistogramBinning, IsotonicCalibration, PeriodicRefit, PlattScaling, TemperatureScaling
from uqcal._sample.sample import Sample
from scipy import stats

from uqcal import statements
from uqcal.corrections.class_recalibration import ClassScaling, ClassScalingByGroup
from uqcal.corrections.scaling import AsStated, FactorScaling, GammaScaling, GroupScaling, IsotonicScaling, LinearShift, LogLinearScaling, ErrorMap, StepShift
from uqcal.adapters.streams import RecalibratedClassifier

# --- worlds: valid arguments, exact in float32, and their kinds -----------------------------------------------------------------------

N = 24
DRAWN = np.random.default_rng(4)
E = DRAWN.integers(-24, 25, N) / 16
U, X = (1 + DRAWN.permutation(N)) / 16, DRAWN.permutation(N) - 4.0
P = (3 + DRAWN.permutation(N)) / 32
Y = (DRAWN.integers(0, 32, N) / 32 < P).astype(float)
W = DRAWN.integers(1, 5, N) / 4
LABEL = np.arange(N) % 3 * 1.0
CLASSES = np.array([[4, 2, 2], [2, 5, 1], [1, 1, 6], [3, 4, 1], [2, 2, 4], [5, 0, 3]])[DRAWN.integers(0, 6, N)] / 8
BOUNDS = np.column_stack([E - U, E + U[::-1] / 2])
SETS = CLASSES >= 0.25
FEATURES = np.column_stack([X / 8, np.ones(N)])
MISSING = ("NaN", "None inside", "NA inside", "masked", "NA", "null", "all NaN")
WEIGHTS = ("weights -None", W)
WORLDS = {
    "errors": {"error": ("numbers", E), "uncertainty": ("positive", U), "by": ("column -None", X)},
    "binary": {"y_true": ("outcomes", Y), "y_prob": ("probabilities", P), "sample_weight": WEIGHTS, "uniforms": (f"probabilities -None -{' -'.join(MISSING)}", P[::-1])},
    "classes": {"y_true": ("labels", LABEL), "y_prob": ("rows", CLASSES), "sample_weight": WEIGHTS},
    "intervals": {"y_true": ("numbers", E + U / 4), "y_intervals": ("intervals", BOUNDS), "sample_weight": WEIGHTS,
                  "y_pred_low": ("numbers -minus infinite", BOUNDS[:, 0]), "y_pred_up": ("numbers -infinite", BOUNDS[:, 1]), "by": ("column", X)},
    "sets": {"y_true": ("labels", LABEL), "y_pred_set": ("sets", SETS), "sample_weight": WEIGHTS, "by": ("column", X)},
    "steps": {"features": ("features", FEATURES), "y_true": ("outcomes", Y), "y": ("outcomes", Y), "y_prob": ("probabilities", P),
              "against": ("numbers -shorter -longer", np.array([1.0, 0.5]))},
    "cases": {"X": ("free", FEATURES), "y": ("classes", Y)},
    "two rates": {"y_true_a": ("outcomes", Y), "y_true_b": ("outcomes", Y[::-1]), "sample_weight_a": WEIGHTS, "sample_weight_b": WEIGHTS},
    "two": {"y_true_a": ("numbers -booleans", Y), "score_a": ("numbers", P), "y_true_b": ("numbers -booleans", Y[::-1]), "score_b": ("numbers", P[::-1]),
            "sample_weight_a": WEIGHTS, "sample_weight_b": WEIGHTS},
    "groups": {"y_true": ("numbers -booleans", Y), "score": ("numbers", P), "member": ("members", X > 6), "sample_weight": WEIGHTS},
    "single": {},
}

# --- options: their kinds, and values that keep a valid call small -------------------------------------------------------------------

NOT_STATED = object()
OPTIONS = {
    "n_bins": ("count", 3), "num_bins": ("count", 2), "n_boot": ("count", 25), "run_length": ("count", 1000), "n_mc": ("count -one", 25), "n_resamples": ("count", 25), "n_points": ("count", 6),
    "min_bin_size": ("count", 2), "fit_above": ("count -zero", 1), "n": ("count", 40), "size": ("count -None", 2), "n_calibration": ("count -None", 40), "n_folds": ("count", 4),
    "confidence": ("fraction", NOT_STATED), "local_tolerance": ("fraction", NOT_STATED), "coverage": ("fraction", 0.8), "confidence_level": ("fraction", 0.8), "level": ("fraction", 0.8), "alpha": ("fraction", NOT_STATED),
    "bin_width": ("fraction -one", 0.25), "dof": ("size", 6.0), "eta": ("real", 2.0), "radius": ("size", 3.0),
    "rng": ("seed", 1), "n_jobs": ("jobs", NOT_STATED),
    **dict.fromkeys(["statistic", "metric", "alternative", "interval", "norm", "average", "ties", "reference", "method"], ("choice", NOT_STATED)),
    **dict.fromkeys(["strategy", "distribution"], ("choice", NOT_STATED)), "distributions": ("choices", NOT_STATED), "statistics": ("choices", ("zms", "ence")),
    "names": ("choices", ("zms", "ence")), "kernel_sizes": ("pair", (1.0, 2.0)), "progress": ("flag", NOT_STATED), "conclusions": ("flag", NOT_STATED),
    "classes": ("array -shorter -None", np.arange(3.0)), "x": ("several", np.array([0.5, 1.0])), "q": ("several, probabilities", np.array([0.25, 0.5])), "z": ("numbers", E), "pvalues": ("probabilities", P),
    "name": ("text", NOT_STATED), "remedy": ("text", NOT_STATED), "groups": ("free", NOT_STATED), "tolerance": ("free", NOT_STATED),
    **dict.fromkeys(["cluster", "groups_a", "groups_b", "replicate_weights", "replicate_factor"], ("free", NOT_STATED)),
    "pos_label": ("label", NOT_STATED),
}
NO_COUNT = {"zero": 0, "negative": -1, "fraction": 2.5, "whole float": 2.0, "True": True, "text": "5", "NaN": np.nan, "None": None, "list": [5, "x"]}
NO_FRACTION = {"zero": 0, "one": 1, "negative": -0.5, "percent": 95, "NaN": np.nan, "infinite": np.inf, "True": True, "text": "0.9", "None": None, "list": [0.5, "x"]}
NO_REAL = {"NaN": np.nan, "infinite": np.inf, "text": "2", "None": None, "list": ["x", 2], "complex": 1j}
NO_OPTION = {
    "count": NO_COUNT,
    "fraction": NO_FRACTION,
    "real": NO_REAL,
    "size": NO_REAL | {"zero": 0, "negative": -1.0},
    "counts": {"zero": (0, 2), "negative": (-1, 2), "fraction": (2.5, 3), "text": "5", "None": None, "empty": ()},
    "seed": {"negative": -1, "fraction": 1.5, "RandomState": np.random.RandomState(1), "text": "x", "True": True},
    "jobs": {"zero": 0},  # what joblib refuses
    "choice": {"unknown": "nonsense", "empty": "", "number": 3, "None": None, "list": ["x"]},
    "choices": {"unknown": ("nonsense", "zms"), "number": 3, "None": None, "empty": (), "numbers": (3, 4)},
    "pair": {"scalar": 1.0, "three": (1, 1, 1), "zero": (1, 0), "negative": (-1, 1), "NaN": (np.nan, 1), "text": "11"},
    "label": {"unknown": "nonsense", "list": [0, 1], "array": np.array([1]), "pair": (0, 1), "NaN": np.nan},
    "flag": {},
    "text": {},
    "free": {},
}

# --- hostile arrays ------------------------------------------------------------------------------------------------------------------

ONE_VALUE = {
    "NaN": np.nan, "infinite": np.inf, "minus infinite": -np.inf, "huge": 1e300, "None inside": None, "NA inside": pd.NA, "text inside": "b", "complex inside": 1j,
    "date inside": np.datetime64("2024-01-01"),
}
MORE_VALUES = {
    "positive": {"zero": 0.0, "negative": -0.5},
    "outcomes": {"two": 2.0, "half": 0.5, "minus one": -1.0},
    "probabilities": {"negative": -0.125, "above": 1.125},
    "weights": {"negative": -0.5},
    "labels": {"fraction": 0.5, "minus one": -1.0, "too large": 3.0},
}
ALLOWED = {"outcomes": ("booleans",), "intervals": ("minus infinite",), "feature": (), "column": ("booleans", "text"), "members": ("booleans",), "classes": ("booleans", "text", "huge", "fraction", "scalar")}


STRUCTURE = ("scalar", "None", "empty", "2-D", "column", "frame", "dictionary", "set", "one text")


def put(values, wrong):
    "The values with one of them, not the first, replaced."
    array = np.array(values, dtype=float if isinstance(wrong, float) else object)
    array.flat[min(2, array.size - 1)] = wrong
    return array if array.dtype == float else array.tolist()


def hostile_vector(values, kind):
    "What is no vector of this kind, by the name of its fault."
    n = len(values)
    faults = {name: put(values, wrong) for name, wrong in (ONE_VALUE | MORE_VALUES.get(kind, {})).items()}
    if kind in ("outcomes", "members"): faults["masked booleans"] = np.ma.masked_array(np.asarray(values) == 1, np.arange(n) == 2)
    faults |= {"masked": np.ma.masked_array(values, np.arange(n) == min(2, n - 1)), "NA": pd.array([*np.asarray(values)[1:].tolist(), pd.NA], dtype="Float64")}
    faults |= {"null": pl.Series([None, *np.asarray(values, float)[1:].tolist()]), "all NaN": np.full(n, np.nan)}
    faults |= {"text": [f"{value}" for value in values], "one text": "0.5", "dates": np.full(n, np.datetime64("2024-01-01")), "complex": np.asarray(values) * 1j}
    faults |= {"booleans": np.arange(n) % 2 == 0, "scalar": 0.5, "None": None, "empty": [], "dictionary": {"x": 1.0}, "set": {0.5, 0.25}}
    faults |= {"2-D": np.stack([values, values]), "column": np.reshape(values, (-1, 1)), "frame": pd.DataFrame({"x": values}), "ragged": [[0.5], [0.5, 0.25]]}
    faults |= {"shorter": values[1:], "longer": np.concatenate([values, values[:1]])}
    if kind == "weights": faults["zeros"] = np.zeros(n)
    return faults


def hostile_matrix(values, kind):
    "What is no matrix of this kind, by the name of its fault."
    n = len(values)
    faults = {name: put(values, wrong) for name, wrong in ONE_VALUE.items()}
    faults |= {"masked": np.ma.masked_array(values, np.arange(np.size(values)).reshape(np.shape(values)) == 2), "text": np.asarray(values).astype(str)}
    faults |= {"complex": np.asarray(values) * 1j, "scalar": 0.5, "None": None, "empty": np.empty((0, values.shape[1])), "no columns": np.empty((n, 0))}
    faults |= {"dictionary": {"x": 1.0}, "one text": "0.5", "4-D": values[:, :, None, None], "ragged": [[0.5], [0.5, 0.25]], "dates": np.full(values.shape, np.datetime64("2024-01-01"))}
    faults |= {"shorter": values[1:], "longer": np.concatenate([values, values[:1]])}
    if kind != "features": faults["1-D"] = values[:, 0]
    if kind != "sets": faults["booleans"] = np.asarray(values) > 0.25
    if kind == "rows": faults |= {"sums": values / 2, "negative": values + np.array([-1, 1, 0]), "above": 2 * values}
    if kind == "sets": faults |= {"probabilities": np.where(values, 0.75, 0.25), "twos": 2 * values}
    if kind == "intervals": faults |= {"no values": np.where(np.arange(n)[:, None] == 2, np.inf, values), "crossed": values[:, ::-1], "three columns": values[:, [0, 1, 1]], "transposed": values.T}
    return faults


def faults_of(kind, value):
    "Hostile inputs in place of this value, without those that the kind allows."
    kind, *allowed = kind.split(" -")
    if kind in NO_OPTION: faults = NO_OPTION[kind]
    elif kind == "array": faults = {name: fault for name, fault in hostile_vector(value, kind).items() if name in STRUCTURE}
    elif kind == "masks": faults = {"masked": hostile_vector(value, kind)["masked"]}
    elif kind == "stream": faults = {name: fault for name, fault in hostile_vector(value, kind).items() if name in ("shorter", "longer")}
    elif kind == "table":
        faults = {fault: {"x": wrong} for fault, wrong in faults_of("column", value["x"]).items()} | {"number": 3, "array": np.column_stack([X, X]), "one text": "x"}
    elif kind.startswith("several"):
        faults = {name: put(value, wrong) for name, wrong in (ONE_VALUE | MORE_VALUES.get(kind[9:], {})).items() if name not in ("infinite", "minus infinite", "huge")}
        faults |= {"None": None, "one text": "0.5", "NaN": np.nan, "complex": 1j * value, "booleans": value > 0.5, "dictionary": {"x": 1.0}}
    else: faults = (hostile_matrix if kind in ("rows", "intervals", "sets", "features") else hostile_vector)(value, kind)
    return {name: fault for name, fault in faults.items() if name not in (*allowed, *ALLOWED.get(kind, ()))}


# --- the table -----------------------------------------------------------------------------------------------------------------------

class Row(NamedTuple):
    world: str
    given: dict = {}  # arguments that differ from the world's and the options'
    kinds: dict = {}  # kinds that differ
    call: Any = None  # what is called in place of the function: a function of the same arguments
    of: Any = None  # for a method: makes the object
    nan: bool = False  # whether NaN marks what a table or a list of groups leaves open
    aliases: dict = {}  # arguments that messages call by another name


def rows(module, names, *values, **keywords):
    "The same row for several functions of a module."
    return {f"{module}.{name}": Row(*values, **keywords) for name in names.split()}


def fitted(estimator):
    "An estimator that has learnt a few outcomes."
    return (estimator.fit if hasattr(estimator, "fit") else estimator.partial_fit)(P, Y)


def optimizer(made):
    made.prequential(FEATURES, Y)
    return made


def through(estimator_class, run):
    "A class as a function of its parameters: made and run, since estimators check parameters when they first meet data."
    def call(**parameters): return run(estimator_class(**parameters))
    call.__signature__ = inspect.signature(estimator_class)
    return call


def asked(model, given):
    model.forecast(given, list(range(N)))
    return model


def stated(forecaster):
    "With a forecast for each point whose outcome is still out."
    forecaster.forecast(P, key=list(range(N)))
    return forecaster


def restarting(): return RestartingForecaster(OnlinePlattScaling())


def compared_errors(error, uncertainty, dof=np.inf, groups=None, confidence=0.95, n_boot=25, rng=1):
    return compare_scores(None, {"a": (error, uncertainty), "b": (uncertainty, uncertainty)}, dof=dof, groups=groups, confidence=confidence, n_boot=n_boot, rng=rng)


def compared_intervals(y_true, y_pred_low, y_pred_up, level):
    return compare_scores(y_true, {"a": (y_pred_low, y_pred_up), "b": (y_pred_low, y_pred_up)}, score="interval", level=level, n_boot=25, rng=1)


def compared_outcomes(y_true, y_prob): return compare_scores(y_true, {"a": y_prob, "b": y_true}, score="brier", n_boot=25, rng=1)


LATE = {"mixture.OnlineMixture": OnlineMixture, "recalibration.PeriodicRefit": lambda: PeriodicRefit(PlattScaling(), every=5, warmup=5), "online.OnlinePlattScaling": OnlinePlattScaling,
        "online.OnlineBetaScaling": OnlineBetaScaling, "calibeating.Tracking": Tracking, "calibeating.Hedging": lambda: Hedging(rng=1), "tickets.OnlineForecaster": Tracking, "monitor.RestartingForecaster": restarting}
SAMPLE = Sample(E, U)
KINDS = np.array(["a", "b", "c"])[np.arange(N) % 3]
SCALINGS = [AsStated(), FactorScaling(), LogLinearScaling(), IsotonicScaling(3), GammaScaling(1), LinearShift(), StepShift(), ErrorMap(FactorScaling("student"), [LinearShift()])]
NUMBERED, FREE_CLASSES = {"classes": None}, {"classes": "free"}  # classes that are numbers from 0, as where nothing names them

STATED = {"MeanStd": lambda: statements.MeanStd(E, U), "Intervals": lambda: statements.Intervals(BOUNDS, level=0.8),
          "LabelSets": lambda: statements.LabelSets(SETS, level=0.8), "Probabilities": lambda: statements.Probabilities(P),
          "Quantiles": lambda: statements.Quantiles(BOUNDS, [0.1, 0.9]), "Samples": lambda: statements.Samples(BOUNDS),
          "Distribution": lambda: statements.Distribution(stats.norm(E, U))}
OBSERVED = {"LabelSets": ("labels", LABEL), "Probabilities": ("outcomes", Y)}
TABLE = {
    # statements
    **rows("statements", "MeanStd", "single", given={"mean": E, "std": U}, kinds={"mean": "numbers -scalar -frame", "std": "positive -scalar -frame", "variance": "free"}),
    **rows("statements", "Intervals", "single", given={"lower": BOUNDS[:, 0], "upper": BOUNDS[:, 1], "level": 0.8},
           kinds={"lower": "numbers -None -2-D -column -frame -minus infinite -infinite", "upper": "numbers -None -infinite -minus infinite", "level": "fraction", "n_calibration": "count -None"}),
    **rows("statements", "LabelSets", "single", given={"sets": SETS, "level": 0.8, "classes": None}, kinds={"sets": "free", "level": "fraction", "classes": "free"}),
    **rows("statements", "Probabilities", "single", given={"prob": P, "classes": None}, kinds={"prob": "probabilities -column -2-D -frame", "classes": "free", "pos_label": "free"}),
    **rows("statements", "Quantiles", "single", given={"values": BOUNDS, "levels": [0.1, 0.9]}, kinds={"values": "free", "levels": "free", "sort_quantiles": "flag"}),
    **rows("statements", "Samples", "single", given={"values": BOUNDS}, kinds={"values": "free"}),
    **rows("statements", "MeanStd.pit MeanStd.crps", "single", given={"y_true": E}, kinds={"y_true": "numbers -frame", "dist": "choice"}, of=lambda: statements.MeanStd(E, U)),
    **rows("statements", "Quantiles.pit Quantiles.crps", "single", nan=True, given={"y_true": E}, kinds={"y_true": "numbers -frame", "weights": "choice"}, of=lambda: statements.Quantiles(BOUNDS, [0.1, 0.9])),
    **rows("statements", "Samples.pit Samples.crps", "single", given={"y_true": E}, kinds={"y_true": "numbers -frame", "fair": "flag"}, of=lambda: statements.Samples(BOUNDS)),
    **rows("statements", "Distribution.pit Distribution.crps", "single", given={"y_true": E}, kinds={"y_true": "numbers -frame"}, of=lambda: statements.Distribution(stats.norm(E, U))),
    **rows("predictive_scores", "crps_of_samples", "single", given={"y_true": E, "values": BOUNDS}, kinds={"y_true": "numbers", "values": "free", "fair": "flag"}),
    **rows("predictive_scores", "crps_of_quantiles pinball_loss weighted_interval_score", "single", given={"y_true": E, "values": BOUNDS, "levels": [0.1, 0.9]},
           kinds={"y_true": "numbers", "values": "free", "levels": "free", "weights": "choice"}),
    **rows("statements", "crps_of_distribution", "single", given={"y_true": E, "dist": stats.norm(E, U)}, kinds={"y_true": "numbers -frame", "dist": "free", "accuracy": "fraction"}),
    **rows("forecast_comparison", "compare_forecasts", "single", nan=True, given={"y_true": E, "models": {"a": statements.Samples(BOUNDS), "b": statements.Samples(2 * BOUNDS)}},
           kinds={"y_true": "numbers -frame", "models": "free", "groups": "free", "in_time": "flag", "margin": "size -None"}),
    **rows("statements", "Distribution.cdf", "single", given={"y": E}, kinds={"y": "numbers"}, of=STATED["Distribution"]),
    **{f"statements.{kind}.take": Row("single", given={"rows": np.arange(4)}, kinds={"rows": "array"}, of=made) for kind, made in STATED.items()},
    **{f"statements.{kind}.read_observed": Row("single", given={"y_true": OBSERVED.get(kind, ("", E))[1]},
                                               kinds={"y_true": OBSERVED.get(kind, ("numbers", E))[0] + " -frame"}, of=made) for kind, made in STATED.items()},
    # inputs, resampling, distributions
    **rows("inputs", "check_errors", "errors"), **rows("outcomes", "check_binary check_weighted", "binary"), **rows("outcomes", "check_multiclass", "classes"), **rows("outcomes", "check_class_probabilities", "classes"),
    **rows("outcomes", "check_multiclass+numbers", "classes", given=NUMBERED, kinds=FREE_CLASSES),
    **rows("outcomes", "check_probabilities", "binary"), **rows("outcomes", "check_outcomes", "binary"),
    **rows("inputs", "check_column", "errors", given={"n": N}, kinds={"n": "free", "by": "feature -None"}),
    **rows("inputs", "read_groups", "single", given={"n": N, "values": E, "name": "values"}, kinds={"n": "free", "values": "array"}),
    **rows("outcomes", "check_weights", "binary", given={"n": N}, kinds={"n": "free", "sample_weight": "weights -None"}),
    **rows("outcomes", "check_labels", "classes", given={"n": N, "n_classes": 3}, kinds={"n": "free", "n_classes": "free", "other": "free"}),
    **rows("outcomes", "place_labels", "classes", given={"n_classes": 3}, kinds={"n_classes": "free", "y_true": "labels -shorter -longer"}),
    **rows("outcomes", "check_labels+numbers", "classes", given=NUMBERED | {"n": N, "n_classes": 3}, kinds=FREE_CLASSES | {"n": "free", "n_classes": "free", "other": "free"}),
    **rows("outcomes", "read_responses", "single", given={"values": E, "name": "values"}, kinds={"values": "numbers -booleans"}),
    **rows("inputs", "read_vector", "single", given={"values": E, "name": "values"}, kinds={"values": "numbers", "positive": "flag"}),
    **rows("inputs", "plain_array", "single", given={"values": E, "name": "values", "expected": "numbers"}, kinds={"values": "masks", "expected": "text"}),
    **rows("inputs", "read_labels", "single", given={"n": N, "values": E, "name": "values"}, kinds={"n": "free", "values": "array"}),
    **rows("inputs", "read_array", "single", given={"values": E, "name": "values"}, kinds={"values": "array"}),
    **rows("resampling", "holm", "single"),
    **rows("resampling", "joint_pvalues", "single", given={"weights": U}, kinds={"weights": "positive", "level": "free"}),
    **rows("distributions", "simulate_errors", "errors"), **rows("distributions", "fit_inverse_gamma", "errors"),
    **rows("distributions", "fit_student fit_fisher_dof", "single"), **rows("distributions", "simulate_calibrated", "single"),
    **rows("sample", "Sample.along", "errors", of=lambda: SAMPLE),
    **rows("sample", "Sample.keep RegressionErrors.keep", "single", given={"rows": np.arange(4)}, kinds={"rows": "array"}, of=lambda: SAMPLE),
    **rows("sample", "Sample.with_error", "errors", of=lambda: SAMPLE),
    **rows("sample", "Sample.with_groups", "single", given={"groups": np.arange(N) // 3}, kinds={"groups": "array -None"}, of=lambda: SAMPLE),
    **rows("sample", "RegressionErrors.with_groups", "single", given={"groups": np.arange(2040) // 5}, kinds={"groups": "array -None"}, of=lambda: diffusion()),
    **rows("sample", "RegressionErrors.with_error", "errors", given={"error": np.arange(2040) % 7 / 4}, of=lambda: diffusion()),

    # errors and uncertainties
    **rows("statistics", "zms nll nll_reference rce cc", "errors"),
    **rows("statistics", "scaled_error_correlation ence zmse conditional_calibration", "errors", kinds={"by": "feature -None"}),
    **rows("statistics", "skewness_gm kurtosis_cs", "single", given={"x": E}, kinds={"x": "numbers"}),
    **rows("bootstrap", "bca_interval", "errors", given={"statistic": "ence"}, kinds={"by": "feature -None"}),
    **rows("bootstrap", "bca_intervals", "errors", kinds={"by": "feature -None"}, aliases={"names": "statistic"}),
    **rows("references", "simulated_reference", "errors", given={"statistic": "zmse"}, kinds={"by": "feature -None"}),
    **rows("consistency", "consistency_test link_test", "errors"), **rows("repeats", "find_repeats", "errors", nan=True),
    **{f"{row}+groups": Row("errors", given={"groups": np.arange(N) // 3} | given, kinds={"groups": "array -None"} | kinds) for row, given, kinds in (
        ("consistency.consistency_test", {}, {}), ("consistency.link_test", {}, {}), ("confidence_curves.confidence_curve", {"distribution": "empirical"}, {"distribution": "free"}),
        ("bootstrap.bca_interval", {"statistic": "ence"}, {"by": "feature -None"}), ("bootstrap.bca_intervals", {"names": ("zms", "ence")}, {"by": "feature -None", "names": "free"}),
        ("bin_scaling.extrapolate", {"n_bins": (2, 3, 4, 6)}, {"n_bins": "counts"}))},
    **rows("bias", "bias_test", "errors", kinds={"groups": "free"}),
    **rows("bias", "bias_test+groups", "errors", given={"groups": np.arange(N) % 12}, kinds={"groups": "array -None"}),
    **rows("factors", "average_test", "errors", kinds={"groups": "free", "n_bins": "count -None"}),
    **rows("stretches", "factors_along valid_bins", "errors", kinds={"groups": "free", "n_bins": "count -None"}),
    **rows("factors", "average_test+groups", "errors", given={"groups": np.arange(N) % 12}, kinds={"groups": "array -None"}),
    **rows("stretches", "factors_along+groups", "errors", given={"groups": np.arange(N) % 12}, kinds={"groups": "array -None"}),
    **rows("conclusions", "draw_conclusions", "errors", given={"by": {"x": X}}, kinds={"by": "table -None"}),
    **rows("validation", "validate_errors", "errors", nan=True, given={"observed": E, "by": {"x": X}}, kinds={"by": "table -None", "statistics": "choices -empty", "distribution": "choice -None", "observed": "feature -None"}, aliases={"statistics": "statistic", "distributions": "distribution"}),
    **rows("bin_scaling", "extrapolate", "errors", given={"n_bins": (2, 3, 4, 6)}, kinds={"n_bins": "counts"}),
    **rows("bin_scaling", "bin_scaling_reference", "errors", given={"statistic": "ence", "n": N}, kinds={"uncertainty": "positive -None"}),
    **rows("confidence_curves", "confidence_curve", "errors"),
    **rows("causes", "find_causes", "errors", kinds={"least": "choice", "groups": "array -None", "observed": "feature -None"}, given={"groups": np.arange(N) // 2, "observed": E}),

    # intervals and sets
    **rows("intervals", "regression_mean_width_score regression_coverage_score regression_mwi_score coverage_width_based", "intervals"),
    **rows("stratified", "regression_ssc regression_ssc_score", "intervals"),
    **rows("dependence", "hsic", "intervals"),
    **rows("intervals", "coverage_test", "intervals", given=NUMBERED,
           kinds=FREE_CLASSES | {"y_intervals": "intervals -booleans", "num_bins": "count -None"}),
    **rows("dependence", "hsic_test", "intervals", given=NUMBERED,
           kinds=FREE_CLASSES | {"y_intervals": "intervals -booleans", "num_bins": "count -None"}),
    **rows("stratified", "size_stratified_coverage feature_stratified_coverage", "intervals", given=NUMBERED,
           kinds=FREE_CLASSES | {"y_intervals": "intervals -booleans", "num_bins": "count -None"}),
    **rows("intervals", "classification_mean_width_score classification_coverage_score", "sets", kinds={"num_bins": "count -None"}),
    **rows("stratified", "classification_ssc_score", "sets", kinds={"num_bins": "count -None"}),
    **rows("stratified", "classification_ssc", "sets", nan=True, kinds={"num_bins": "count -None"}),

    **rows("intervals", "classification_coverage_score+numbers", "sets", given=NUMBERED, kinds=FREE_CLASSES),
    **rows("intervals", "coverage_test+sets", "sets", given={"y_intervals": SETS},
           kinds={"y_intervals": "sets", "num_bins": "count -None"}),
    **rows("stratified", "size_stratified_coverage+sets feature_stratified_coverage+sets", "sets", given={"y_intervals": SETS},
           kinds={"y_intervals": "sets", "num_bins": "count -None"}),


    # intervals and sets from scores
    **rows("conformal", "conformal_threshold", "single", given={"scores": E, "level": 0.5}, kinds={"scores": "numbers", "level": "fraction"}),
    **rows("conformal", "conformal_threshold+groups", "single", given={"scores": E, "level": 0.5, "groups": np.arange(N) // 3},
           kinds={"scores": "numbers", "level": "fraction", "groups": "array -None"}),
    **rows("conformal", "ConformalIntervals.fit", "errors", of=lambda: ConformalIntervals(0.5), given={"by": {"x": X}}, kinds={"by": "table -None"}),
    **rows("conformal", "ConformalIntervals.fit+groups", "errors", of=lambda: ConformalIntervals(0.5), given={"groups": np.arange(N) // 3, "by": None}, kinds={"groups": "array -None", "by": "free"}),
    **rows("conformal", "ConformalIntervals.predict", "errors", of=lambda: ConformalIntervals(0.5, scaling=FactorScaling(), rng=1).fit(U, E), given={"prediction": E, "by": None},
           kinds={"prediction": "numbers", "by": "free"}),
    **rows("conformal", "ConformalBounds.fit", "intervals", of=lambda: ConformalBounds(0.5), given={"by": {"x": X}}, kinds={"by": "table -None"}),
    **rows("conformal", "ConformalBounds.fit+groups", "intervals", of=lambda: ConformalBounds(0.5), given={"groups": np.arange(N) // 3, "by": None},
           kinds={"groups": "array -None", "by": "free"}),
    **rows("conformal", "ConformalBounds.predict", "intervals", of=lambda: ConformalBounds(0.5).fit(E, BOUNDS), given={"by": {"x": X}}, kinds={"by": "table -None"}),
    **rows("conformal", "ConformalSets.fit", "classes", of=lambda: ConformalSets(0.5), given={"by": {"x": X}}, kinds={"by": "table -None"}),
    **rows("conformal", "ConformalSets.fit+groups", "classes", of=lambda: ConformalSets(0.5), given=NUMBERED | {"groups": np.arange(N) // 3, "by": None},
           kinds=FREE_CLASSES | {"groups": "array -None", "by": "free"}),
    **rows("conformal", "ConformalSets.predict", "classes", of=lambda: ConformalSets(0.5).fit(LABEL, CLASSES), given={"by": {"x": X}}, kinds={"by": "table -None"}),

    # intervals on a stream
    **{f"interval_streams.{make.__name__}.{method}": Row("single", of=make, given={"scores": U}, kinds={"scores": "weights -zeros" + " -scalar" * (method == "update")})
       for make in (QuantileTracker, AdaptiveConformal, AggregatedAdaptive) for method in ("prequential", "update")},
    **rows("interval_streams", "OnlineIntervals.prequential", "errors", of=OnlineIntervals), **rows("interval_streams", "OnlineBounds.prequential", "intervals", of=OnlineBounds),
    **rows("interval_streams", "OnlineIntervals.partial_fit", "errors", of=OnlineIntervals, kinds={"uncertainty": "positive -scalar", "error": "numbers -scalar"}),
    **rows("interval_streams", "OnlineIntervals.predict", "errors", of=OnlineIntervals, kinds={"uncertainty": "positive -scalar"}),
    **rows("interval_streams", "OnlineBounds.partial_fit OnlineBounds.predict", "intervals", of=OnlineBounds),
    **rows("interval_streams", "OnlineIntervals.forecast", "errors", of=OnlineIntervals, given={"key": list(range(N))}, kinds={"key": "free", "uncertainty": "positive -scalar"}),
    **rows("interval_streams", "OnlineIntervals.outcome", "errors", of=lambda: asked(OnlineIntervals(), U), given={"key": list(range(N))}, kinds={"key": "free", "error": "numbers"}),
    **rows("interval_streams", "OnlineBounds.forecast", "intervals", of=OnlineBounds, given={"key": list(range(N))}, kinds={"key": "free"}),
    **rows("interval_streams", "OnlineBounds.outcome", "intervals", of=lambda: asked(OnlineBounds(), BOUNDS), given={"key": list(range(N))}, kinds={"key": "free"}),

    # quantiles and forecasts on a stream
    **{f"quantile_tracking.{made}.{method}": Row("single", of=of if method != "outcome" else (lambda of=of: asked(of(), BOUNDS)), given={"y_true": E, "quantiles": BOUNDS, "key": list(range(N))},
                                                 kinds={"y_true": "numbers" + " -scalar" * (method == "partial_fit"), "quantiles": "free", "key": "free"})
       for made, of in (("OnlineQuantiles", lambda: OnlineQuantiles((0.1, 0.9))), ("OnlineMembers", lambda: OnlineMembers(2)))
       for method in ("prequential", "partial_fit", "predict", "forecast", "outcome")},
    **{f"forecast_monitor.ForecastMonitor.{method}": Row("single", of=ForecastMonitor, given={"y_true": E, "statement": statements.Quantiles(BOUNDS, [0.1, 0.9])},
                                                         kinds={"y_true": "numbers -frame", "statement": "free"}) for method in ("prequential", "partial_fit", "until_alarm")},

    **rows("error_monitor", "UncertaintyMonitor.prequential UncertaintyMonitor.until_alarm", "errors", of=UncertaintyMonitor),
    **rows("error_monitor", "UncertaintyMonitor.partial_fit", "errors", of=UncertaintyMonitor, kinds={"uncertainty": "positive -scalar", "error": "numbers -scalar"}),
    **rows("online_scaling", "OnlineScaling.prequential", "errors", of=OnlineScaling),
    **rows("online_scaling", "OnlineScaling.partial_fit", "errors", of=OnlineScaling, kinds={"uncertainty": "positive -scalar", "error": "numbers -scalar"}),
    **rows("online_scaling", "OnlineScaling.predict", "errors", of=lambda: OnlineScaling(), kinds={"uncertainty": "positive -scalar"}),
    **rows("online_scaling", "OnlineScaling.forecast", "errors", of=OnlineScaling, given={"key": list(range(N))}, kinds={"key": "free", "uncertainty": "positive -scalar"}),
    **rows("online_scaling", "OnlineScaling.outcome", "errors", of=lambda: asked(OnlineScaling(), U), given={"key": list(range(N))}, kinds={"key": "free", "error": "numbers"}),

    **{f"{room}{more}": Row("single", given={"y_true": E, "statement": statement, "horizon": 1} | given, kinds={"y_true": "numbers -frame", "statement": "free", "in_time": "free", "horizon": "count"} | kinds, nan="report" in room)
       for more, statement in (("", statements.Samples(BOUNDS + E[:, None])), ("+quantiles", statements.Quantiles(BOUNDS, [0.1, 0.9])))
       for room, given, kinds in (("forecast_tests.forecast_test", {"groups": np.arange(N) // 3}, {"groups": "array -None"}),
                                  ("forecast_validation.forecast_report", {"by": {"x": X}, "groups": np.arange(N) // 3}, {"by": "table -None", "groups": "array -None"}))},
    **rows("coverage", "interval_report", "intervals", nan=True, given=NUMBERED | {"y_pred": X, "by": {"x": X}},
           kinds=FREE_CLASSES | {"y_intervals": "intervals -booleans", "y_pred": "column -None", "by": "table -None", "sort_bounds": "flag", "n_calibration": "count -None"}),
    **rows("several_levels", "levels_report", "single", nan=True, given={"y_true": E, "lower": np.column_stack([E + 1 - np.arange(N) % 4, E - 4]), "upper": np.column_stack([E + 3, E + 4]), "levels": (0.5, 0.9), "by": {"x": X}},
           kinds={"y_true": "numbers", "lower": "free", "upper": "free", "levels": "free", "by": "table -None"}),
    **rows("coverage", "interval_report+groups", "intervals", nan=True, given=NUMBERED | {"y_pred": None, "by": None, "n_calibration": None, "groups": np.arange(N) // 3},
           kinds=FREE_CLASSES | {"y_intervals": "intervals -booleans", "y_pred": "free", "by": "free", "sort_bounds": "flag", "n_calibration": "free", "groups": "array -None"}),
    **rows("coverage", "interval_report+sets", "sets", nan=True, given={"y_intervals": SETS, "y_pred": None, "by": None},
           kinds={"y_intervals": "sets", "y_pred": "free", "by": "free", "sort_bounds": "flag", "n_calibration": "count -None"}),

    # probabilities
    **rows("reliability", "reliability_diagram", "binary"),
    **rows("calibration_errors", "ece_test debiased_squared_error calibration_error_interval", "binary"),
    **rows("reliability", "expected_calibration_error", "binary", given=NUMBERED, kinds=FREE_CLASSES),
    **rows("reliability", "expected_calibration_error+classes", "classes", kinds={"y_prob": "rows -1-D"}),
    **rows("reliability", "top_label_ece", "classes", given={"y_pred": None}, kinds={"y_pred": "free"}),
    **rows("reliability", "top_label_ece+numbers", "classes", given={"y_pred": None} | NUMBERED, kinds={"y_pred": "free"} | FREE_CLASSES),
    **rows("reliability", "classwise_ece", "classes", kinds={"y_prob": "rows -1-D"}), **rows("reliability", "classwise_ece+numbers", "classes", given=NUMBERED, kinds={"y_prob": "rows -1-D"} | FREE_CLASSES),
    **rows("walk", "cumulative_differences length_scale", "binary"),
    **rows("calibration_tests", "kolmogorov_smirnov_test kuiper_test spiegelhalter_test binary_calibration_tests", "binary"),
    **rows("calibration_tests", "multiclass_calibration_tests", "classes", nan=True), **rows("calibration_tests", "multiclass_calibration_tests+numbers", "classes", nan=True, given=NUMBERED, kinds=FREE_CLASSES),
    **rows("many_classes", "class_tests", "classes"), **rows("many_classes", "class_tests+numbers", "classes", given=NUMBERED, kinds=FREE_CLASSES),
    **rows("many_classes", "class_report", "classes", nan=True, given={"by": {"x": X}}, kinds={"by": "table -None"}),
    **rows("class_recalibration", "recalibrate_classes", "classes", nan=True, kinds={"by": "free"}), **rows("class_recalibration", "ClassScaling.fit", "classes", of=ClassScaling),
    **rows("class_recalibration", "ClassScaling.predict", "classes", of=lambda: ClassScaling().fit(CLASSES, LABEL)),
    **rows("class_recalibration", "ClassScalingByGroup.fit", "classes", of=ClassScalingByGroup, given={"by": np.arange(N) % 3}, kinds={"by": "array"}),
    **rows("class_recalibration", "ClassScalingByGroup.unseen", "single", of=lambda: ClassScalingByGroup().fit(CLASSES, LABEL, np.arange(N) % 3), given={"by": np.arange(N) % 3}, kinds={"by": "array"}),
    **rows("class_recalibration", "ClassScalingByGroup.predict", "classes", of=lambda: ClassScalingByGroup().fit(CLASSES, LABEL, np.arange(N) % 3), given={"by": np.arange(N) % 3}, kinds={"by": "array"}),
    **rows("differences", "brier_decomposition largest_difference", "binary"), **rows("calibration", "calibration_report", "binary", nan=True, given={"by": {"x": X}}, kinds={"by": "table -None"}),
    **rows("cumulative", "calibration_graph", "binary", kinds={"y_true": "numbers -booleans"}), **rows("two_groups", "comparison_graph paired_reliability", "two"),
    **rows("against_everyone", "subpopulation_graph", "groups"), **rows("rates", "rate_difference", "two rates"),
    **rows("against_everyone", "subpopulation_graph+cluster", "groups", given={"groups": np.arange(N) % 8}, kinds={"groups": "array -None"}),
    **rows("two_groups", "comparison_graph+cluster", "two", given={"groups_a": np.arange(N) % 8, "groups_b": np.arange(N) % 9},
           kinds={"groups_a": "array", "groups_b": "array"}),
    **rows("cumulative", "calibration_graph+cluster", "binary", given={"groups": np.arange(N) % 8}, kinds={"y_true": "numbers -booleans", "groups": "array -None"}),
    **{f"calibration_tests.{name}+cluster": Row("binary", given={"groups": np.arange(N) % 8}, kinds={"groups": "array -None"})
       for name in ("kolmogorov_smirnov_test", "kuiper_test", "spiegelhalter_test", "binary_calibration_tests")},
    **{f"{name}+cluster": Row("binary", given={"groups": np.arange(N) % 8}, kinds={"groups": "array -None"}, **({"nan": True} if name.endswith("report") else {}))
       for name in ("reliability.reliability_diagram", "calibration_errors.ece_test", "calibration_errors.calibration_error_interval", "differences.largest_difference")},
    **rows("calibration", "calibration_report+cluster", "binary", nan=True, given={"groups": np.arange(N) % 8, "by": None}, kinds={"groups": "array -None", "by": "free"}),
    **rows("calibration_tests", "multiclass_calibration_tests+cluster", "classes", nan=True, given={"groups": np.arange(N) % 8}, kinds={"groups": "array -None"}),
    **rows("brownian", "BrownianDistribution.cdf BrownianDistribution.sf BrownianDistribution.logcdf BrownianDistribution.logsf BrownianDistribution.ppf "
           "BrownianDistribution.isf", "single", of=lambda: kuiper_null),

    # maps from probabilities to probabilities
    **{key: row for cls in (PlattScaling, BetaScaling, HistogramBinning, IsotonicCalibration) for key, row in {
        **rows("recalibration", f"{cls.__name__}.fit", "binary", of=cls),
        **rows("recalibration", f"{cls.__name__}.predict", "binary", of=lambda cls=cls: fitted(cls()), kinds={"y_prob": "probabilities -scalar"})}.items()},
    **rows("recalibration", "TemperatureScaling.fit", "classes", of=TemperatureScaling),
    **rows("recalibration", "TemperatureScaling.predict", "classes", of=lambda: TemperatureScaling().fit(CLASSES, LABEL)),
    **{key: row for name, make in {
        "recalibration.PeriodicRefit": lambda: PeriodicRefit(PlattScaling(), every=5, warmup=5), "online.OnlinePlattScaling": OnlinePlattScaling,
        "online.OnlineBetaScaling": OnlineBetaScaling, "calibeating.Tracking": Tracking, "calibeating.Hedging": lambda: Hedging(rng=1),
        "mixture.OnlineMixture": OnlineMixture, "monitor.CalibrationMonitor": CalibrationMonitor, "monitor.RestartingForecaster": restarting}.items()
       for key, row in {
           f"{name}.prequential": Row("binary", of=make), f"{name}.partial_fit": Row("binary", of=make),
           f"{name}.predict": Row("binary", of=lambda make=make: fitted(make()), kinds={"y_prob": "probabilities -scalar"})}.items() if key != "monitor.CalibrationMonitor.predict"},
    **rows("monitor", "CalibrationMonitor.until_alarm", "binary", of=CalibrationMonitor),
    "monitor.CalibrationMonitor": Row("binary", call=through(CalibrationMonitor, lambda made: made.prequential(P, Y))),
    "monitor.RestartingForecaster": Row("binary", call=through(RestartingForecaster, lambda made: made.prequential(P, Y)), given={"forecaster": OnlinePlattScaling()}, kinds={"forecaster": "free"}),
    **{f"{name}.{method}": Row("binary", of=make, given={"key": list(range(N))}, kinds={"key": "free", "y_prob": "probabilities -scalar", "y_true": "outcomes -scalar"})
       for name, of in LATE.items() for method, make in (("forecast", of), ("outcome", lambda of=of: stated(of())))},
    **rows("mixture", "OnlineMixture.prequential_experts", "binary", of=OnlineMixture),
    "mixture.OnlineMixture": Row("binary", call=through(OnlineMixture, lambda made: made.prequential(P, Y)), given={"share": 0.25}, kinds={"share": "fraction"}),
    **rows("calibeating", "calibration_error sharpness refinement running_calibration_error running_sharpness", "binary"),
    **rows("calibeating", "FosterForecaster.prequential", "binary", of=lambda: FosterForecaster(rng=1)),
    **rows("calibeating", "OneAgainstAll.prequential OneAgainstAll.predict", "classes", of=lambda: OneAgainstAll(Tracking())),
    **rows("class_monitor", "ClassMonitor.prequential ClassMonitor.partial_fit", "classes", of=lambda: ClassMonitor(3)),
    **rows("calibeating", "TopLabel.prequential TopLabel.predict", "classes", of=lambda: TopLabel(Tracking())),
    **{f"calibeating.{cls.__name__}.{method}": Row("classes", of=make, given={"key": list(range(N))}, kinds={"key": "free"})
       for cls in (OneAgainstAll, TopLabel) for method, make in (("forecast", lambda cls=cls: cls(Tracking())), ("outcome", lambda cls=cls: asked(cls(Tracking()), CLASSES)))},
    **rows("online", "best_in_hindsight regret", "steps", kinds={"radius": "size -None -infinite"}),
    **{key: row for make in (OnlineNewtonStep, OnlineGradientDescent, Aioli, AggregatingForecaster) for key, row in rows(
        "online", " ".join(f"{make.__name__}.{method}" for method in ("prequential", "update", "predict")), "steps", aliases={"y": "y_true"}, of=lambda make=make: optimizer(make([0.0, 0.0]))).items()},
    **rows("online", "OnlineNewtonStep.regret_bound", "steps", of=lambda: optimizer(OnlineNewtonStep([0.0, 0.0], gamma=1e-4, radius=2.0))),

    **rows("streams", "RecalibratedClassifier.fit", "cases", kinds={"y": "free", "sample_weight": "free"}, of=lambda: RecalibratedClassifier(LogisticRegression(), "tops")),  # the model's to refuse
    **rows("streams", " ".join(f"RecalibratedClassifier.{method}" for method in ("prequential", "partial_fit", "predict_proba", "predict")), "cases",
           of=lambda: RecalibratedClassifier(LogisticRegression(), "tops").fit(FEATURES, Y), given=NUMBERED, kinds=FREE_CLASSES),
    "streams.RecalibratedClassifier.forecast": Row("cases", of=lambda: RecalibratedClassifier(LogisticRegression(), "tops").fit(FEATURES, Y), given={"key": list(range(N))}, kinds={"key": "free"}),
    "streams.RecalibratedClassifier.outcome": Row("cases", of=lambda: asked(RecalibratedClassifier(LogisticRegression(), "tops").fit(FEATURES, Y), FEATURES), given=NUMBERED | {"key": list(range(N))},
                                                  kinds=FREE_CLASSES | {"key": "free"}),
    **rows("logistic", "map_scores", "binary", given={"forecast": np.sqrt}, kinds={"y_prob": "probabilities -scalar", "forecast": "free"}),
    **rows("sample", "RegressionErrors.along", "errors", of=lambda: diffusion(), given={"by": np.arange(2040) % 1000 / 4}),

    # maps of uncertainties
    **{f"scaling.{type(one).__name__}.{method}": Row("errors", of=lambda one=one: clone(one).fit(U, E, {"x": X}), kinds={"groups": "free", "prediction": "numbers", "by": "table -None"}, given={"prediction": E, "by": {"x": X}})
       for one in SCALINGS for method in ("fit", "predict" if hasattr(one, "predict") else "transform", *(["apply", "shift", "outside"] if isinstance(one, ErrorMap) else []))},
    **{f"scaling.GroupScaling.{method}": Row("errors", of=lambda: GroupScaling().fit(U, E, {"x": KINDS}), given={"by": {"x": KINDS}}, kinds={"groups": "free", "by": "free"})
       for method in ("fit", "transform")},
    **rows("error_recalibration", "recalibrate_errors", "errors", nan=True, given={"by": {"x": X}}, kinds={"by": "table -None"}),
    **rows("scores", "crps negative_log_density", "errors", kinds={"dof": "size -infinite"}), **rows("scores", "brier_score log_score", "binary"),
    **rows("scores", "interval_score", "intervals", given={"level": 0.8}, kinds={"level": "fraction"}),
    "model_comparison.compare_scores": Row("errors", call=compared_errors, nan=True, kinds={"dof": "size -infinite", "groups": "free"}),
    "model_comparison.compare_scores+groups": Row("errors", call=compared_errors, nan=True, given={"groups": np.arange(N) % 12}, kinds={"dof": "size -infinite", "groups": "array -None"}),
    "model_comparison.compare_scores+intervals": Row("intervals", call=compared_intervals, nan=True, given={"level": 0.8}, kinds={"level": "fraction"}), "model_comparison.compare_scores+outcomes": Row("binary", call=compared_outcomes, nan=True),

    # parameters of estimators
    **rows("probability_recalibration", "ProbabilityRecalibration.predict", "binary", of=lambda: recalibrate_probabilities(np.arange(N) % 2, P, n_folds=4, n_boot=20, n_resamples=20, rng=1), kinds={"by": "free"}),
    **rows("probability_recalibration", "PlattByGroup.fit", "binary", of=PlattByGroup, given={"by": np.arange(N) % 3}, kinds={"by": "array"}),
    **rows("probability_recalibration", "PlattByGroup.unseen", "single", of=lambda: PlattByGroup().fit(P, Y, np.arange(N) % 3), given={"by": np.arange(N) % 3}, kinds={"by": "array"}),
    **rows("probability_recalibration", "PlattByGroup.predict", "binary", of=lambda: PlattByGroup().fit(P, Y, np.arange(N) % 3), given={"by": np.arange(N) % 3}, kinds={"y_prob": "probabilities -scalar", "by": "array"}),
    **rows("probability_recalibration", "recalibrate_probabilities+by", "binary", nan=True, given={"y_true": np.arange(N) % 2, "n_folds": 4, "by": np.arange(N) % 2}, kinds={"by": "array -None"}),
    **rows("probability_recalibration", "recalibrate_probabilities", "binary", nan=True, given={"y_true": np.arange(N) % 2, "n_folds": 4}, kinds={"by": "free"}),
    **rows("probability_recalibration", "recalibrate_probabilities+cluster", "binary", nan=True, given={"y_true": np.arange(N) % 2, "n_folds": 4, "groups": np.arange(N)}, kinds={"groups": "array -None", "by": "free"}),
    "recalibration.HistogramBinning": Row("binary", call=through(HistogramBinning, lambda made: made.fit(P, Y).predict(P))),
    "recalibration.PeriodicRefit": Row("binary", call=through(PeriodicRefit, lambda made: made.prequential(P, Y)), given={"calibrator": PlattScaling(), "every": 5, "warmup": 5},
                                       kinds={"calibrator": "free", "every": "count -None", "warmup": "count"}),
    **{f"calibeating.{cls.__name__}": Row("binary", call=through(cls, lambda made: made.prequential(P, Y)),
                                         given={"expert": None, "initial": None, "initial_weight": 1.0}, kinds={"expert": "free", "initial": "free", "initial_weight": "real"})
       for cls in (Tracking, Hedging)},
    **{f"calibeating.{make.__name__}": Row("binary", call=through(make, lambda made: made.prequential(P, Y)),
                                          given={"initial": None, "initial_weight": 1.0}, kinds={"initial": "free", "initial_weight": "real"}) for make in (tops, tobs, hops, hobs)},
    "calibeating.FosterForecaster": Row("binary", call=through(FosterForecaster, lambda made: made.prequential(Y)), given={"n_cells": 5, "pivot": 1},
                                       kinds={"n_cells": "count -one", "pivot": "count -zero"}),
    **{f"online.{cls.__name__}": Row("steps", call=through(cls, lambda made: made.prequential(FEATURES, Y)),
                                    given={"start": np.zeros(2), "gamma": 0.5, "rho": 2.0, "step": 0.5, "factor": 0.5, "ridge": 1.0, "centre": None, "n_points": 9, "method": "sampling"},
                                    kinds={"start": "numbers -shorter -longer", "centre": "free", **dict.fromkeys(["gamma", "rho", "step", "factor", "ridge", "radius"], "size")})
       for cls in (OnlineNewtonStep, OnlineGradientDescent, Aioli, AggregatingForecaster)},
    **{f"online.{cls.__name__}": Row("binary", call=through(cls, lambda made: made.prequential(P, Y)),
                                    given={"optimizer": None, "start": np.zeros(d), "gamma": 0.5, "rho": 2.0, "clip": 0.125},
                                    kinds={"optimizer": "free", "start": "numbers -shorter -longer", **dict.fromkeys(["gamma", "rho", "radius"], "size"), "clip": "size -None"})
       for cls, d in ((OnlinePlattScaling, 2), (OnlineBetaScaling, 3))},
}

EDGES_REFUSED = {name: edges for edges, names in {
    ("one point", "two points"):
        "class_recalibration.recalibrate_classes inputs.check_column inputs.read_labels outcomes.check_weights outcomes.check_labels outcomes.check_labels+numbers sample.Sample.along statistics.ence "
        "statistics.conditional_calibration bootstrap.bca_interval bootstrap.bca_intervals references.simulated_reference "
        "bin_scaling.bin_scaling_reference sample.RegressionErrors.along sample.Sample.with_error "
        "sample.RegressionErrors.with_error bias.bias_test scaling.GroupScaling.transform model_comparison.compare_scores model_comparison.compare_scores+intervals "
        "model_comparison.compare_scores+outcomes forecast_comparison.compare_forecasts statements.crps_of_distribution "
        "statements.MeanStd.pit statements.MeanStd.crps statements.Quantiles.pit statements.Quantiles.crps statements.Samples.pit statements.Samples.crps "
        "statements.Distribution.pit statements.Distribution.crps",
    ("ties", "constant"): "sample.Sample.keep sample.RegressionErrors.keep",
    ("ties", "constant", "one point", "two points", "one outcome"): "probability_recalibration.recalibrate_probabilities probability_recalibration.recalibrate_probabilities+cluster probability_recalibration.recalibrate_probabilities+by",  # too few of either
    ("constant", "one point", "two points"): "causes.find_causes",          # groups: all rows in one
    ("ties", "constant", "one point", "two points", "zeros"):
        "consistency.consistency_test+groups consistency.link_test+groups confidence_curves.confidence_curve+groups bin_scaling.extrapolate+groups error_recalibration.recalibrate_errors",
    ("constant", "one point"):
        "factors.average_test+groups stretches.factors_along+groups distributions.fit_inverse_gamma stratified.regression_ssc stratified.regression_ssc_score stratified.size_stratified_coverage "
        "two_groups.comparison_graph against_everyone.subpopulation_graph streams.RecalibratedClassifier.fit",
    ("constant", "one point", "zeros"):
        "statistics.cc statistics.scaled_error_correlation statistics.skewness_gm statistics.kurtosis_cs confidence_curves.confidence_curve "
        "intervals.coverage_width_based",
    ("one point",):
        "many_classes.class_report several_levels.levels_report calibration.calibration_report coverage.interval_report coverage.interval_report+sets stratified.feature_stratified_coverage stratified.feature_stratified_coverage+sets stretches.factors_along conclusions.draw_conclusions validation.validate_errors dependence.hsic dependence.hsic_test calibration_errors.debiased_squared_error",
    ("constant", "one point", "two points", "zeros"):
        "distributions.fit_student consistency.consistency_test consistency.link_test bin_scaling.extrapolate scaling.ErrorMap.fit",  # a line through two points leaves no error
    ("certain",):
        "calibration_tests.kolmogorov_smirnov_test calibration_tests.kuiper_test calibration_tests.spiegelhalter_test "
        "calibration_tests.kolmogorov_smirnov_test+cluster calibration_tests.kuiper_test+cluster calibration_tests.spiegelhalter_test+cluster "
        "calibration_tests.binary_calibration_tests calibration_tests.binary_calibration_tests+cluster",
    ("zeros",):
        "scaling.AsStated.fit scaling.FactorScaling.fit scaling.LogLinearScaling.fit scaling.IsotonicScaling.fit scaling.GammaScaling.fit",
    ("one point", "two points", "zeros"):
        "scaling.GroupScaling.fit distributions.fit_fisher_dof statistics.zmse stretches.valid_bins",
    ("ties", "constant", "one point", "two points"):
        "two_groups.comparison_graph+cluster against_everyone.subpopulation_graph+cluster model_comparison.compare_scores+groups "
        "bias.bias_test+groups bootstrap.bca_interval+groups bootstrap.bca_intervals+groups "
        "sample.Sample.with_groups sample.RegressionErrors.with_groups conformal.ConformalIntervals.fit+groups conformal.ConformalBounds.fit+groups "
        "coverage.interval_report+groups forecast_tests.forecast_test forecast_tests.forecast_test+quantiles "
        "forecast_validation.forecast_report forecast_validation.forecast_report+quantiles",
}.items() for name in names.split()} | {f"statements.{kind}.read_observed": ("one point", "two points") for kind in STATED} | {
    "statements.Distribution.cdf": ("one point", "two points"), **dict.fromkeys((), ("one point", "two points")), **{f"forecast_monitor.ForecastMonitor.{method}": ("one point", "two points") for method in ("prequential", "partial_fit", "until_alarm")}, **{f"statements.{kind}.take": () for kind in STATED}} | {f"{name}.{method}": ("one point", "two points") for name in (*LATE, "interval_streams.OnlineIntervals", "interval_streams.OnlineBounds", "quantile_tracking.OnlineQuantiles", "quantile_tracking.OnlineMembers", "online_scaling.OnlineScaling", "calibeating.OneAgainstAll", "calibeating.TopLabel", "streams.RecalibratedClassifier") for method in ("forecast", "outcome")}  # there are N keys
EXEMPT = {
          "columns.Statement.take", "columns.Statement.read_observed",  # of the classes made from it
          "resampling.monte_carlo_pvalue", "resampling.is_settled",  # take what a simulation made, undefined values included
          "forecast_recalibration.recalibrate_forecasts",  # a statement reads its outcomes, tests/test_forecast_recalibration.py
          "outcomes.positive_in_groups"}  # makes 0 and 1 of labels, for functions that check them then

# --- the tests -----------------------------------------------------------------------------------------------------------------------


def public():
    "Every public function, class and method by module and name; aliases where they were defined."
    for module in pkgutil.walk_packages(uqcal.__path__, "uqcal."):
        if module.ispkg or module.name == "uqcal._modidx": continue
        home, room = importlib.import_module(module.name), module.name.rpartition(".")[2]
        for name in home.__all__:
            found = getattr(home, name)
            if not callable(found) or getattr(found, "__module__", home.__name__) != home.__name__: continue
            yield f"{room}.{name}", found
            for method in dir(found) if inspect.isclass(found) else ():
                inner = getattr(found, method)
                if not method.startswith("_") and inspect.isfunction(inner) and inner.__module__.startswith("uqcal."):
                    yield f"{room}.{name}.{method}", inner


PUBLIC = dict(public())


@functools.cache
def signature(name):
    row = TABLE[name]
    function = row.call or PUBLIC[name.split("+")[0]]
    return {name: parameter for name, parameter in inspect.signature(function).parameters.items() if name != "self" and parameter.kind != parameter.VAR_KEYWORD}


@functools.cache
def made(name):
    "The object whose method a row calls, to be copied."
    return TABLE[name].of()


def called(name):
    "What a row calls: a function, or the method of an object that nothing else has."
    row = TABLE[name]
    return row.call or (PUBLIC[name.split("+")[0]] if row.of is None else getattr(copy.deepcopy(made(name)), name.split("+")[0].split(".")[-1]))


def valid(name):
    "The valid arguments of a row, and the kind of each."
    row, arguments, kinds = TABLE[name], {}, {}
    for parameter in signature(name):
        kind, value = WORLDS[row.world].get(parameter) or OPTIONS.get(parameter) or ("unknown", NOT_STATED)
        kinds[parameter], value = row.kinds.get(parameter, kind), row.given.get(parameter, value)
        if value is not NOT_STATED: arguments[parameter] = copy.deepcopy(value)
    return arguments, kinds


def plain(result):
    "A result as dictionaries, lists, arrays and numbers."
    if isinstance(result, type): return result.__name__
    if isinstance(result, BaseEstimator): return {name: plain(value) for name, value in vars(result).items() if not name.startswith("__")}
    if hasattr(result, "to_frame") and not isinstance(result, pd.Index): return plain(result.to_frame())
    if isinstance(result, pd.DataFrame): return {str(name): np.asarray(column) for name, column in result.items()}
    if dataclasses.is_dataclass(result): return {field.name: plain(getattr(result, field.name)) for field in dataclasses.fields(result)}
    if isinstance(result, dict): return {str(name): plain(value) for name, value in result.items()}
    if isinstance(result, (list, tuple)): return [plain(value) for value in result]
    return result if isinstance(result, (np.ndarray, float, int, str, type(None), np.generic)) else type(result).__name__


def undefined(values):
    "Whether a NaN is among the numbers of a plain result."
    if isinstance(values, dict): return any(undefined(value) for value in values.values())
    if isinstance(values, list): return any(undefined(value) for value in values)
    array = np.asarray(values)
    return bool(pd.isna(array[array != None]).any() if array.dtype == object else array.dtype.kind == "f" and np.isnan(array).any())  # noqa: E711


def outcome(name, **changed):
    "What a row's call gives with other arguments: a plain result, or the error."
    call, (arguments, _) = called(name), valid(name)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        try: return plain(call(**arguments | changed))
        except Exception as error: return error


@functools.cache
def as_given(name):
    "What a row's call gives with its own arguments."
    return outcome(name)


VERBS = tuple(f"{room}." for room in ("validating", "recalibrating", "conformalizing", "monitoring", "comparing", "monitors"))


def test_every_public_function_that_takes_an_array_is_in_the_table():
    def takes_data(function):
        try: return any("ArrayLike" in str(parameter.annotation) for parameter in inspect.signature(function).parameters.values())
        except ValueError: return False
    missing = [name for name, function in PUBLIC.items() if takes_data(function) and name not in TABLE and name not in EXEMPT and not name.startswith(VERBS)]  # tests/test_verbs.py
    assert not missing, f"no row for {missing}"
    assert not (nothing := {name.split("+")[0] for name in TABLE} - set(PUBLIC)), f"rows for nothing: {nothing}"


ROOMS = sorted({name.split(".")[0] for name in TABLE})


def of_room(room, faults_of_row):
    "The faults of all rows of a room, each with the name of its row."
    return [f"{name}: {fault}" for name in TABLE if name.split(".")[0] == room for fault in faults_of_row(name)]


@pytest.mark.parametrize("room", ROOMS)
def test_bad_input_is_refused_by_name(room):
    assert not (faults := of_room(room, faults_of_bad_input)), "\n".join(faults)


def faults_of_bad_input(name):
    "Bad values that a row takes, or refuses without a name."
    (arguments, kinds), faults = valid(name), []
    arrays = [parameter for parameter, kind in kinds.items() if kind.split(" -")[0] not in NO_OPTION]
    for parameter, kind in kinds.items():
        if kind == "unknown": faults.append(f"{parameter}: no kind for it")
        if kind in ("unknown", "free"): continue
        for fault, wrong in faults_of(kind, arguments.get(parameter)).items():
            if fault in ("shorter", "longer") and len(arrays) < 2: continue
            kept = copy.deepcopy(wrong)
            found = outcome(name, **{parameter: wrong})
            named = arrays if fault in ("shorter", "longer") else [parameter, TABLE[name].aliases.get(parameter, parameter)]
            if not isinstance(found, (ValueError, TypeError)): faults.append(f"{parameter} {fault}: {type(found).__name__} {str(found)[:60]}")
            elif isinstance(found, Warning) or not any(re.search(rf"\b{word}\b", str(found)) for word in named): faults.append(f"{parameter} {fault}: {type(found).__name__} {str(found)[:90]}")
            if not same(kept, wrong): faults.append(f"{parameter} {fault}: changed")
    return faults + [f"masked, {fault}" for fault in faults_of_masks(name)]


def same(one, other):
    if type(one) is type(other) is np.ndarray and one.dtype == other.dtype != object and one.shape == other.shape and one.tobytes() == other.tobytes(): return True
    try: np.testing.assert_equal(plain(one), plain(other))
    except (AssertionError, TypeError, ValueError): return repr(one) == repr(other)
    return True


def in_containers(value):
    "The same numbers in other containers, by name."
    if not isinstance(value, np.ndarray): return {}
    frozen = value.copy()
    frozen.flags.writeable = False
    made = {"list": value.tolist(), "read-only": frozen, "backwards": value[::-1].copy()[::-1], "strided": np.repeat(value, 2, axis=0)[::2]}
    if value.dtype == float: made |= {"float32": value.astype(np.float32), "masked": np.ma.masked_array(value, np.zeros(value.shape, bool))}
    if value.dtype == float and (value == np.round(value)).all(): made["integers"] = value.astype(int)
    if value.ndim == 1: made |= {"tuple": tuple(value.tolist()), "pandas": pd.Series(value), "polars": pl.Series(value)}
    else: made |= {"frame": pd.DataFrame(value), "Fortran": np.asfortranarray(value)}
    return made


EDGES = {
    # what happens to arrays of some kinds: few different values, one value, few points, no error at all, one outcome only, stated certainty
    "ties": lambda kind, value: np.resize(value[:3], value.shape),
    "constant": lambda kind, value: value if kind in ("feature", "column") else np.resize(value[:1], value.shape),
    "one point": lambda kind, value: value[:1],
    "two points": lambda kind, value: value[:2],
    "zeros": lambda kind, value: value * 0 if kind == "numbers" else value,
    "one outcome": lambda kind, value: value * 0 + 1 if kind in ("outcomes", "labels") else value,
    "certain": lambda kind, value: np.round(value) if kind == "probabilities" else value,
}


def at_edges(name):
    "What the row's call gives for data that are no fault but leave little to compute."
    arguments, kinds = valid(name)
    arrays = {parameter: value for parameter, value in arguments.items() if isinstance(value, np.ndarray) and " -shorter" not in kinds[parameter]}
    tables = {parameter: value for parameter, value in arguments.items() if kinds[parameter].startswith("table")}
    for edge, change in EDGES.items():
        changed = {parameter: change(kinds[parameter].split(" -")[0], value) for parameter, value in arrays.items()}
        changed |= {parameter: {key: change("column", column) for key, column in table.items()} for parameter, table in tables.items()}
        if not same(changed, {parameter: arguments[parameter] for parameter in changed}): yield edge, outcome(name, **changed)


# What costs a tenth of a second a call or more: all that it calls takes each container, so it takes a few.
COSTLY = ("model_comparison.compare_scores", "error_recalibration.recalibrate_errors", "probability_recalibration.recalibrate_probabilities", "validation.validate_errors",
          "conclusions.draw_conclusions", "rates.rate_difference", "forecast_comparison.compare_forecasts", "several_levels.levels_report", "distributions.fit_fisher_dof", "calibration.calibration_report",
          "class_recalibration.", "many_classes.class_report", "coverage.interval_report", "forecast_validation.forecast_report", "stretches.factors_along")
FEW = ("list", "masked", "pandas", "frame")


def in_turn(name):
    "Arguments of a row in other containers, all in the same one: what is wrong with one of them is wrong with all; and the first in a list, beside arrays."
    arguments, kinds = valid(name)
    made = {parameter: in_containers(value) for parameter, value in arguments.items() if kinds[parameter] != "free"}
    exact = {parameter for parameter in made if kinds[parameter].startswith("members") or name.startswith("conformal.ConformalSets.fit")}  # the latter keeps the precision of its thresholds
    for container in dict.fromkeys(container for others in made.values() for container in others):
        if name.startswith(COSTLY) and container not in FEW: continue
        together = {parameter: others[container] for parameter, others in made.items() if container in others and not (container == "float32" and parameter in exact)}
        if together: yield container, together
    lists = {parameter: others["list"] for parameter, others in made.items() if "list" in others}
    if len(lists) > 1: yield "first in a list", dict([next(iter(lists.items()))])


@pytest.mark.parametrize("room", ROOMS)
def test_any_container_gives_the_same_result_and_nothing_is_changed(room):
    assert not (faults := of_room(room, faults_of_containers)), "\n".join(faults)


def faults_of_containers(name):
    "Containers in which a row gives another result, and arguments that it changes or keeps."
    call, (arguments, _) = called(name), valid(name)
    kept, expected, faults = copy.deepcopy(arguments), as_given(name), []
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        result = call(**arguments)
    if undefined(expected) and not TABLE[name].nan: faults.append(f"NaN in {expected}")
    for parameter, value in arguments.items():
        if not same(value, kept[parameter]): faults.append(f"{parameter} was changed")
    for how, others in in_turn(name):
        found = outcome(name, **others)
        if not same(found, expected): faults.append(f"{how}: {found!s:.90}")
    refused = []
    for edge, found in at_edges(name):
        if isinstance(found, (ValueError, TypeError)): refused.append(edge)
        elif isinstance(found, Exception) or undefined(found) and not TABLE[name].nan: faults.append(f"{edge}: {found!s:.200}")
    if tuple(refused) != EDGES_REFUSED.get(name, ()): faults.append(f"it refuses {refused}")
    for value in arguments.values():
        if isinstance(value, np.ndarray): value[...] = 1 if value.dtype == bool else 0.25
    if not name.startswith(("inputs.", "outcomes.")) and not same(plain(result), expected): faults.append("the result holds a view of what came in")
    if takes_labels(name): faults += [f"labels, {fault}" for fault in faults_of_labels(name)]
    return faults


def rows_of(name):
    "Arguments that hold one row for each point, by name."
    arguments, kinds = valid(name)
    other = ("several", "numbers -shorter", "array -shorter", "counts", "pair")
    return {parameter: arguments[parameter] for parameter, kind in kinds.items() if parameter in arguments and not kind.startswith(other)
            and (isinstance(arguments[parameter], np.ndarray) or kind.startswith("table"))}


def labelled(value, index):
    "The rows as a pandas object."
    return pd.DataFrame(value, index=index) if isinstance(value, dict) or value.ndim == 2 else pd.Series(value, index=index)


def takes_labels(name):
    "Whether a row has two inputs or more of which pandas may know the rows; scikit-learn's way to a single step included."
    return len([value for value in rows_of(name).values() if isinstance(value, dict) or value.ndim < 3]) > 1


NAMES = pd.Index([f"point {i}" for i in range(N)])
LABELS = {
    # what the rows of one input are called where those of the others are called NAMES, and what the message says
    "another order": (NAMES[::-1], "in the same order"),
    "fresh": (pd.RangeIndex(N), "only count its rows"),
    "other rows": (pd.Index([*NAMES[1:], "point 99"]), "the same index"),
}


def unnamed(found):
    "A result without facts, which say what rows are called: that follows the labels."
    if isinstance(found, list): return [unnamed(one) for one in found]
    return {key: unnamed(value) for key, value in found.items() if key != "facts"} if isinstance(found, dict) else found


def faults_of_labels(name):
    "Pandas inputs that do not agree in their labels and are taken, or agree and are not."
    given, expected, faults = rows_of(name), unnamed(as_given(name)), []
    for parameter in given:
        for fault, (index, message) in LABELS.items():
            found = outcome(name, **{one: labelled(value, index if one == parameter else NAMES) for one, value in given.items()})
            if not isinstance(found, ValueError) or message not in str(found): faults.append(f"{parameter} {fault}: {type(found).__name__} {found!s:.90}")
        if name.startswith(COSTLY) and parameter != next(iter(given)): continue
        if not same(alone := unnamed(outcome(name, **{parameter: labelled(given[parameter], NAMES[::-1])})), expected): faults.append(f"{parameter} alone: {alone!s:.90}")
    if not same(agreed := unnamed(outcome(name, **{one: labelled(value, NAMES) for one, value in given.items()})), expected): faults.append(f"equal labels: {agreed!s:.90}")
    return faults


def faults_of_masks(name):
    "Masked arrays that are taken though something is masked, or refused though nothing is."
    faults = []
    for parameter, value in rows_of(name).items():
        for kind, plain_value in {"as it is": value, "truth values": np.asarray(value) > 0.5, "whole numbers": np.asarray(value).astype(int), "text": np.asarray(value).astype(str)}.items() \
                if isinstance(value, np.ndarray) else {"a feature": value["x"]}.items():
            for masked in (False, True):
                if not masked and (kind not in ("as it is", "a feature") or name.startswith(COSTLY)): continue  # in_turn takes those all at once; numbers of all kinds: tests/test_inputs.py
                mask = np.zeros(plain_value.shape, bool)
                mask.flat[mask.size // 2] = masked
                wrap = {"x": np.ma.masked_array(plain_value, mask)} if isinstance(value, dict) else np.ma.masked_array(plain_value, mask)
                found = outcome(name, **{parameter: wrap})
                if masked:
                    if not (isinstance(found, (ValueError, TypeError)) and parameter.split("_")[0] in str(found)): faults.append(f"{parameter} {kind}: {found!s:.90}")
                    continue
                if not same(found, as_given(name)): faults.append(f"{parameter} {kind}, no mask: {found!s:.90}")
    return faults
