"""Results keep what they found: reading one never computes it again, and rows that repeat others are searched for once."""

import cProfile
import json
import pstats
from pathlib import Path

import numpy as np
import pytest

import uqcal
from uqcal.comparison.model_comparison import compare_scores
from uqcal.errors.validation import validate_errors

ENGINES = {"repeats", "bootstrap", "references", "statistics", "consistency", "bias", "factors", "causes", "groups", "resampling", "scaling", "calibration_tests", "reliability"}
KEPT = {("bootstrap", "contains_estimate"), ("causes", "sentence"), ("repeats", "is_suspect"), ("reliability", "null_limit"),
        ("scaling", "effect"), ("scaling", "<genexpr>"), ("scaling", "__sklearn_tags__")}  # numbers compared with kept ones, and numbers of a map put together
TOLD = {"_next_step", "_next_call", "_runs_backwards", "_too_few", "_worth", "_headline"}
READ = ("sentence", "conclusion", "step", "headline", "next_step", "next_call", "mends", "mend_call", "still_open", "cautions", "n_calibration", "is_reversed", "no_mend", "answers", "verdict", "faults")


def calls(action):
    "What an action returns, and how often it calls each function of uqcal, by module and name."
    profile = cProfile.Profile()
    found = profile.runcall(action)
    counts = {}
    for (path, _, name), (_, number, *_) in pstats.Stats(profile).stats.items():
        if Path(path).parent.parent.name == "uqcal": counts[Path(path).stem, name] = counts.get((Path(path).stem, name), 0) + number
    return found, counts


def read(result):
    "All that is said of a result, as a user would ask for it."
    said = [getattr(result, name) for name in READ if hasattr(result, name)]
    said += [repr(result), result._repr_html_()]
    if hasattr(result, "to_json"): said.append(result.to_json())
    return said


def rows(kind, n=400):
    rng = np.random.default_rng(5)
    u, z = np.exp(rng.normal(0, 0.3, n)), rng.normal(size=n)
    if kind == "neighbours alike":
        z = np.cumsum(z)
        z = (z - np.convolve(z, np.ones(40) / 40, "same")) / 3
    if kind == "copies": u, z = np.repeat(u[::2], 2), np.repeat(z[::2], 2)
    return 1.4 * u * z, u


FEW = dict(rng=0, n_boot=19, n_resamples=99)


@pytest.mark.parametrize("kind", ["neighbours alike", "copies", "independent"])
def test_a_validation_searches_for_repeats_once_and_keeps_them(kind):
    result, counts = calls(lambda: validate_errors(*rows(kind), n_mc=20, **FEW))
    assert counts["repeats", "repeats_of"] == 1
    assert result.repeats.is_suspect == (kind != "independent")
    assert result.repeats == uqcal.checks.find_repeats(*rows(kind))
    assert validate_errors(*rows(kind), groups=np.arange(400) // 2, n_mc=20, **FEW).repeats is None
    assert result.picture is not None  # drawn once, and kept
    _, counts = calls(lambda: read(result))
    assert not {one for one in counts if one[0] in ENGINES} - KEPT


def results():
    error, u = rows("independent", 300)
    rng = np.random.default_rng(8)
    p = rng.uniform(0.05, 0.95, 400)
    y = (rng.random(400) < p**2).astype(int)
    yield "validate", lambda: validate_errors(error, u, n_mc=20, **FEW)
    yield "mend", lambda: uqcal.corrections.error_recalibration.recalibrate_errors(error, u, **FEW)
    yield "calibration_report", lambda: uqcal.probabilities.calibration.calibration_report(y, p, **FEW)
    yield "calibration_report, reversed", lambda: uqcal.probabilities.calibration.calibration_report(1 - y, p, **FEW)
    yield "recalibrate_probabilities", lambda: uqcal.corrections.probability_recalibration.recalibrate_probabilities(y, p, **FEW)
    yield "interval_report", lambda: uqcal.intervals.coverage.interval_report(error, np.column_stack([-u, u]), 0.9, rng=0, n_resamples=99)
    yield "compare_models", lambda: compare_scores(None, {"a": (error, u), "b": (error, 2 * u)}, rng=0)


@pytest.mark.parametrize(("name", "make"), list(results()), ids=[name for name, _ in results()])
def test_reading_a_result_twice_computes_nothing_again(name, make):
    result = make()
    first = read(result)
    again, counts = calls(lambda: read(result))
    assert again == first
    assert not {one for one in counts if one[0] in ENGINES or one[1] in TOLD} - KEPT


def test_a_test_is_the_same_object_wherever_it_is_read():
    result = validate_errors(*rows("neighbours alike"), n_mc=20, **FEW)
    told = json.loads(result.to_json())
    for written, one in zip(told["findings"], result.findings, strict=True):
        assert written["pvalue"] == one.pvalue
        assert result[one.name].test is one.test
    assert told["conclusion"] == result.conclusion and told["step"]["sentence"] == result.step.sentence
