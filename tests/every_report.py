"""One report of each kind, small and quick to make, by name."""
import functools
import io

import numpy as np
import pandas as pd

from uqcal.sample.datasets import load_demo

N = 400


def _errors(size=1.4, n=N):
    rng = np.random.default_rng(1)
    u = np.exp(0.4 * rng.standard_normal(n))
    return size * u * rng.standard_normal(n), u


def _validation():
    from uqcal.errors.validation import validate_errors
    days = load_demo()
    return validate_errors(days["temperature"] - days["temperature_mean"], days["temperature_std"], by={"season": days["season"]}, n_boot=199, n_resamples=199, n_mc=50, rng=0)


def _scores():
    from uqcal.errors.validation import validate_errors
    return validate_errors(*_errors(), conclusions=False, statistics=("zms", "cc"), n_boot=99, n_mc=50, rng=0)


def _intervals():
    from uqcal.intervals.coverage import interval_report
    days = load_demo()
    return interval_report(days["temperature"], days[["q05", "q95"]], 0.9, by={"season": days["season"]}, n_resamples=199, rng=0)


def _sets():
    from uqcal.intervals.coverage import interval_report
    rng = np.random.default_rng(2)
    sets = rng.random((N, 3)) < 0.6
    return interval_report(rng.integers(0, 3, N), sets, 0.9, n_resamples=99, rng=0)


def _probabilities():
    from uqcal.probabilities.calibration import calibration_report
    days = load_demo()
    return calibration_report(days["rain"], days["rain_prob"], n_boot=99, n_resamples=199, rng=0)


def _recalibrated_errors():
    from uqcal.corrections.error_recalibration import recalibrate_errors
    return recalibrate_errors(*_errors(), n_boot=99, n_resamples=99, rng=0)


def _unchanged_errors():
    from uqcal.corrections.error_recalibration import recalibrate_errors
    return recalibrate_errors(*_errors(1.0), n_boot=99, n_resamples=99, rng=0)


def _recalibrated_probabilities():
    from uqcal.corrections.probability_recalibration import recalibrate_probabilities
    days = load_demo()
    return recalibrate_probabilities(days["rain"], days["rain_prob"], n_boot=99, n_resamples=99, rng=0)


def _recalibrated_quantiles():
    from uqcal.predictive.forecast_recalibration import recalibrate_forecasts
    from uqcal.statements import Quantiles
    days = load_demo()
    return recalibrate_forecasts(days["temperature"] + 2, Quantiles(days[["q05", "q95"]]), rng=0)


def _models():
    from uqcal.comparison.model_comparison import compare_scores
    days = load_demo()
    mean, std = days["temperature_mean"], days["temperature_std"]
    return compare_scores(days["temperature"], {"forest": (mean, std), "wider forest": (mean, 1.5 * std), "narrow": (mean, 0.5 * std)}, n_boot=199, rng=0)


def _table():
    rng = np.random.default_rng(3)
    group = rng.choice(["north", "south", "east"], 900)
    score = rng.random(900)
    chance = np.clip(score + 0.25 * (group == "north"), 0, 1)
    return pd.DataFrame({"y": (rng.random(900) < chance).astype(int), "s": score, "g": group})


def _screening():
    from uqcal.subgroups.screening import screen
    return screen(_table(), y_true="y", score="s", by="g", reference="all", n_resamples=199, rng=0)


def _pair():
    from uqcal.subgroups.screening import _pair_report
    from uqcal.subgroups.two_groups import comparison_graph
    table = _table()
    a, b = (table[table["g"] == name] for name in ("north", "south"))
    graph = comparison_graph(a["y"], a["s"], b["y"], b["s"], n_resamples=199, rng=0)
    return _pair_report(graph, {"a": "north", "b": "south", "n_a": len(a), "n_b": len(b)})


def _stream(columns, run):
    frame = pd.DataFrame(columns)
    return run(io.BytesIO(frame.to_csv(index=False).encode()), lambda text: None)


def _probability_stream():
    from uqcal.adapters.rows import recalibrate_rows
    days = load_demo()
    return _stream({"p": days["rain_prob"], "y": days["rain"]}, functools.partial(recalibrate_rows, score="p", y_true="y"))


def _error_stream():
    from uqcal.adapters.error_streams import recalibrate_error_rows
    error, u = _errors(1.8)
    return _stream({"u": u, "e": error}, functools.partial(recalibrate_error_rows, uncertainty="u", error="e"))


def _bound_stream():
    from uqcal.adapters.error_streams import recalibrate_bound_rows
    days = load_demo()
    return _stream({"low": days["q05"], "up": days["q95"], "y": days["temperature"]}, functools.partial(recalibrate_bound_rows, lower="low", upper="up", y_true="y", level=0.9))


def _parts(frame):
    import dask.array as da
    return {name: da.from_array(frame[name].to_numpy(), chunks=300) for name in frame}


def _errors_in_parts():
    from uqcal.parts.errors_in_parts import _errors_of_partitions
    error, u = _errors(n=600)
    return _errors_of_partitions(_parts(pd.DataFrame({"error": error, "uncertainty": u})))


def _probabilities_in_parts():
    from uqcal.parts.partitions import _calibration_of_partitions
    days = load_demo()
    return _calibration_of_partitions(_parts(days[["rain", "rain_prob"]]), y_true="rain", y_prob="rain_prob", n_boot=99)


def _pair_in_parts():
    from uqcal.subgroups.partition_comparison import _comparison_of_partitions
    return _comparison_of_partitions(_parts(_table()), "north", "south", y_true="y", score="s", by="g")


def _screening_in_parts():
    from uqcal.subgroups.partition_comparison import _comparisons_of_partitions
    return _comparisons_of_partitions(_parts(_table()), y_true="y", score="s", by="g")


MAKERS = {"validation": _validation, "scores": _scores, "intervals": _intervals, "sets": _sets, "probabilities": _probabilities, "recalibrated errors": _recalibrated_errors,
          "unchanged errors": _unchanged_errors, "recalibrated probabilities": _recalibrated_probabilities, "recalibrated quantiles": _recalibrated_quantiles, "models": _models, "screening": _screening, "pair": _pair,
          "probability stream": _probability_stream, "error stream": _error_stream, "bound stream": _bound_stream, "errors in parts": _errors_in_parts,
          "probabilities in parts": _probabilities_in_parts, "pair in parts": _pair_in_parts, "screening in parts": _screening_in_parts}


@functools.cache
def report(name):
    "The report of that name, made once."
    return MAKERS[name]()
