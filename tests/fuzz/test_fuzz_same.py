"""Pairs of calls that must agree: rows in another order, other containers, other units, other names of groups; and, for random data in place of the table's, the same rules."""
import functools

import numpy as np
import pandas as pd
import polars as pl
import pytest
import test_refusals as table
from cases import blocks

from uqcal.statistics import bin_scaling, bootstrap, consistency, statistics
from uqcal.probabilities import calibration_tests, reliability
from uqcal.errors import conclusions
from uqcal.subgroups import against_everyone, cumulative, screening
from uqcal._chance import distributions
from uqcal.intervals import intervals
from uqcal.errors.validation import validate_errors

# --- data: random in size and shape, of decimals that single precision keeps, no two uncertainties, scores or features alike


def distinct(rng, n, low, high): return (np.sort(rng.choice(np.arange(1, 4096), n, replace=False))[rng.permutation(n)] / 4096 * (high - low) + low).round(4)


def drawn(rng):
    "Errors, uncertainties, probabilities and what belongs to them, of one length."
    n = int(rng.integers(30, 120))
    u, p = distinct(rng, n, 0.5, 4.5), distinct(rng, n, 0.0, 1.0)
    error = np.round(u * rng.standard_t(4, n), 3)
    return {"error": error, "uncertainty": u, "x": distinct(rng, n, -8.0, 8.0), "y": (rng.random(n) < p).astype(float), "p": p, "w": rng.integers(1, 5, n) / 4, "label": rng.choice([0.0, 1.0, 2.0], n),
            "bounds": np.column_stack([error - u, error + u / 2]).round(4), "truth": np.round(error / 2, 3), "member": rng.random(n) < 0.4}


FEW = dict(n_boot=20, n_resamples=20, rng=3)


def errors(function, **options): return lambda d: function(d["error"], d["uncertainty"], **options)
def binary(function, **options): return lambda d: function(d["y"], d["p"], sample_weight=d["w"], **options)


CALLS = {
    # a call, and what it does not depend on: the order of rows, the unit of errors and uncertainties, the names of groups
    "zms": (errors(statistics.zms), "order unit"), "rce": (errors(statistics.rce), "order unit"), "cc": (errors(statistics.cc), "order unit"),
    "ence": (errors(statistics.ence, n_bins=5), "order unit"), "zmse": (errors(statistics.zmse, n_bins=5), "order unit"),
    "ence along a feature": (lambda d: statistics.ence(d["error"], d["uncertainty"], n_bins=4, by=d["x"]), "order unit"),
    "groups": (lambda d: conclusions.draw_conclusions(d["error"], d["uncertainty"], by={"g": [f"{one:03g}" for one in d["label"]]}, **FEW), "unit names"),
    "scaled": (errors(statistics.scaled_error_correlation), "order unit"), "nll": (errors(statistics.nll), "order"),
    "interval": (lambda d: bootstrap.bca_interval("zmse", d["error"], d["uncertainty"], n_bins=4, n_boot=40, rng=1), "unit"),
    "consistency": (errors(consistency.consistency_test, n_resamples=40, rng=1), "unit"), "link": (errors(consistency.link_test, n_resamples=40, rng=1), "unit"),
    "scaling": (errors(bin_scaling.extrapolate, n_bins=(2, 3, 4, 5, 6), min_bin_size=2, fit_above=1, method="paper", rng=1), "unit"),
    "conclusions": (lambda d: conclusions.draw_conclusions(d["error"], d["uncertainty"], by={"x": d["x"]}, **FEW), "unit"),
    "validate": (lambda d: validate_errors(d["error"], d["uncertainty"], n_bins=4, n_mc=20, statistics=("zms", "ence"), **FEW), "unit"),
    "gamma": (lambda d: distributions.fit_inverse_gamma(d["uncertainty"]), "order"),
    "reliability": (binary(reliability.reliability_diagram, n_bins=6), "order"), "ece": (binary(reliability.expected_calibration_error, n_bins=6), "order"),
    "kuiper": (binary(calibration_tests.kuiper_test, method="asymptotic"), "order"), "spiegelhalter": (binary(calibration_tests.spiegelhalter_test, method="asymptotic"), "order"),
    "smirnov": (binary(calibration_tests.kolmogorov_smirnov_test, method="asymptotic"), "order"),
    "graph": (binary(cumulative.calibration_graph, method="asymptotic"), "order"),
    "subpopulation": (lambda d: against_everyone.subpopulation_graph(d["y"], d["p"], d["member"], method="asymptotic"), "order"),
    "screen": (lambda d: screening.screen(pd.DataFrame({"r": d["y"], "s": d["p"], "g": d["label"]}), y_true="r", score="s", by="g", method="asymptotic").table, "order names"),
    "coverage": (lambda d: intervals.coverage_test(d["truth"], d["bounds"], level=0.8), "order unit"),
    "width": (lambda d: intervals.regression_coverage_score(d["truth"], d["bounds"]), "order unit"),
}


def same_rows(rng, d):
    order = rng.permutation(d["error"].size)
    return {name: values[order] for name, values in d.items()}


def same_unit(rng, d):
    factor = 2.0 ** int(rng.integers(-40, 40))
    return d | {name: d[name] * factor for name in ("error", "uncertainty", "bounds", "truth")}


def same_names(rng, d): return d | {"label": d["label"] * 3 + 100}


def close(one, other, ulps):
    "Whether two plain results hold the same numbers, to so many units of the last digit of the largest."
    if isinstance(one, dict): return one.keys() == other.keys() and all(close(one[key], other[key], ulps) for key in one)
    if isinstance(one, list): return len(one) == len(other) and all(map(functools.partial(close, ulps=ulps), one, other))
    a, b = np.asarray(one), np.asarray(other)
    if a.dtype.kind not in "fiu" or not ulps: return table.same(one, other)
    return a.shape == b.shape and np.allclose(a, b, rtol=ulps * 2e-16, atol=ulps * 2e-16 * np.abs(a[np.isfinite(a)]).max(initial=0.0), equal_nan=True)


WITHOUT = {"uncertainty", "edges", "width", "label", "a", "b", "low", "high", "mean_uncertainty", "unit", "null_width", "bounds", "part"}  # in the unit of the data, or names


def without(found):
    "A plain result without what is in the unit of the data, or tells of it."
    if isinstance(found, list): return [without(one) for one in found]
    return {key: without(value) for key, value in found.items() if key not in WITHOUT} if isinstance(found, dict) else found


def told(call, d):
    try: return table.plain(call(d))
    except (ValueError, TypeError) as error: return f"{type(error).__name__}"


def in_other_clothes(rng, value):
    "The same numbers in a container drawn at random."
    made = list(table.in_containers(value).values())
    if value.ndim == 1: made += [pd.DataFrame({"x": value})["x"], pl.DataFrame({"x": value})["x"], np.asfortranarray(np.column_stack([value, value]))[:, 1], value.astype(object), value.astype(">f8")]
    return made[rng.integers(len(made))]


def pair(number):
    "What is wrong with a pair of calls; nothing as a rule."
    rng = np.random.default_rng([4, number])
    name = sorted(CALLS)[number % len(CALLS)]
    call, free = CALLS[name]
    d = drawn(rng)
    changes = {"order": same_rows, "unit": same_unit, "names": same_names}
    kind = rng.choice([*free.split(), "clothes"])
    if kind == "clothes": other = {key: in_other_clothes(rng, value) if key not in ("label", "member") and value.dtype == float else value for key, value in d.items()}
    else: other = changes[kind](rng, d)
    one, two = told(call, d), told(call, other)
    if kind in ("unit", "names"): one, two = without(one), without(two)
    return None if close(one, two, 1000 if kind == "order" else 0) else f"{number} {name}, {kind}: {one!s:.400} | {two!s:.400}"


def test_calls_give_results():
    "A refusal equals a refusal: pairs prove nothing unless the calls work."
    refused = [(name, said) for name, (call, _) in CALLS.items() if isinstance(said := told(call, drawn(np.random.default_rng(5))), str)]
    assert not refused, refused


@pytest.mark.parametrize("numbers", blocks(60, 10_000))
def test_pairs(numbers):
    faults = [fault for number in numbers if (fault := pair(number))]
    assert not faults, "\n".join(faults)
