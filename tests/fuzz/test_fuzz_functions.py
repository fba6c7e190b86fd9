"""Every public function that takes data, against arguments drawn at random: a result, or ValueError or TypeError that names an argument; no warning, nothing else, no hang."""
import decimal
import fractions
import warnings

import hostile
import numpy as np
import pytest
import test_refusals as table
from cases import blocks
from sklearn.linear_model import LogisticRegression

from uqcal.statistics.bootstrap import bca_interval, bca_intervals
from uqcal._chance.brownian import kuiper_null
from uqcal.online.calibeating import FosterForecaster, OneAgainstAll, Tracking, sharpness
from uqcal.probabilities.calibration_tests import spiegelhalter_test
from uqcal.errors.conclusions import draw_conclusions
from uqcal.statistics.consistency import link_test
from uqcal.intervals.coverage import interval_report
from uqcal._chance.coverage_counts import coverage_interval
from uqcal.subgroups.two_groups import comparison_graph, paired_reliability
from uqcal._chance.distributions import fit_inverse_gamma, simulate_calibrated
from uqcal.intervals.intervals import (classification_mean_width_score, coverage_width_based,
                                       regression_mean_width_score, regression_mwi_score)
from uqcal.intervals.stratified import size_stratified_coverage
from uqcal.corrections.error_recalibration import recalibrate_errors
from uqcal.online.online import AggregatingForecaster, Aioli, OnlineNewtonStep, OnlinePlattScaling, best_in_hindsight, regret
from uqcal.probabilities.reliability import classwise_ece
from uqcal._sample.repeats import find_repeats
from uqcal.corrections.scaling import FactorScaling
from uqcal.comparison.scores import negative_log_density
from uqcal.statistics.statistics import cc
from uqcal.adapters.streams import RecalibratedClassifier
from uqcal.errors.validation import validate_errors

NAMES = sorted(table.TABLE)
MOST = {"n_boot": 200, "n_mc": 200, "n_resamples": 200, "n_points": 200, "size": 200, "n": 2000, "n_calibration": 200}


def arguments_of(number):
    "A row of the table, and its arguments with one to three of them hostile."
    rng = np.random.default_rng([1, number])
    name = NAMES[number % len(NAMES)]
    call, (arguments, kinds) = table.called(name), table.valid(name)
    chosen = [parameter for parameter in kinds if kinds[parameter] not in ("free", "flag", "text", "masks")]
    for parameter in rng.permutation(chosen)[:rng.choice([1, 1, 1, 2, 3])]:
        value = arguments.get(parameter)
        if isinstance(value, dict): wrong = {key: hostile.hostile(rng, column) for key, column in value.items()}
        else: wrong = hostile.hostile(rng, value)
        if parameter in MOST and isinstance(wrong, (int, np.integer)) and not isinstance(wrong, bool) and wrong > MOST[parameter]: wrong = MOST[parameter]
        arguments[parameter] = wrong
    words = {word for parameter in kinds for word in (parameter, table.TABLE[name].aliases.get(parameter, parameter), parameter.split("_")[0])}
    return name, call, arguments, words


def shown(arguments): return ", ".join(f"{parameter}={value!r:.300}" for parameter, value in arguments.items())


@pytest.mark.parametrize("numbers", blocks(200, 60_000))
def test_calls(numbers):
    faults = []
    for number in numbers:
        name, call, arguments, words = arguments_of(number)
        if fault := hostile.fault_of(call, arguments, words): faults.append(f"{number} {name}: {fault}")
    assert not faults, "\n".join(faults)


# --- what was found, each under its name

UNREADABLE = hostile.Lies(RuntimeError("no data"))
P, Y, X = table.P, table.Y, table.FEATURES
FOUND = {
    "jobs that are none": ("n_jobs must be", lambda: statistics_interval(n_jobs=(1, 2))),
    "jobs as an array": ("n_jobs must be", lambda: statistics_interval(n_jobs=np.zeros(3))),
    "jobs as text that joblib would compute": ("n_jobs must be", lambda: statistics_interval(n_jobs="cpu_count()")),
    "more jobs than any machine has": ("n_jobs must be", lambda: statistics_interval(n_jobs=10**30)),
    "a quantile that can't be read": ("q must be", lambda: kuiper_null.ppf(UNREADABLE)),
    "a masked quantile": ("q must not hold missing", lambda: kuiper_null.ppf((np.ma.masked,))),
    "a score that can't be read": ("y_prob must be", lambda: OnlinePlattScaling().partial_fit(UNREADABLE, [1.0])),
    "bins as an array": ("bin_width must be", lambda: sharpness(Y, P, bin_width=np.ones(3))),
    "bins without end": ("bin_width must be", lambda: sharpness(Y, P, bin_width=5e-324)),
    "a Decimal that signals": ("bin_width must be", lambda: sharpness(Y, P, bin_width=decimal.Decimal("sNaN"))),
    "an integer that is no double": ("confidence must lie", lambda: statistics_interval(confidence=10**400)),
    "a radius that is no real number": ("radius must be", lambda: best_in_hindsight(X, Y, radius=decimal.Decimal("1e999"))),
    "a ridge of 1e-150": ("ridge must lie", lambda: Aioli(np.zeros(2), ridge=1e-150).prequential(X, Y)),
    "a clip below the last digit of 1": ("clip must be", lambda: OnlinePlattScaling(clip=1e-17).prequential(P, Y)),
    "features whose squares vanish": ("features must not all be smaller", lambda: best_in_hindsight(X * 1e-300, Y)),
    "parameters of another length": ("against must hold 2", lambda: regret(X, Y, P, [1.0])),
    "a class that is masked": ("y must not hold missing", lambda: RecalibratedClassifier(LogisticRegression()).fit(X, Y).partial_fit(X[:2], (1, np.ma.masked))),
    "uncertainties that differ in the last digit": ("uncertainty must vary", lambda: fit_inverse_gamma(np.array([1e16, 1e16 + 2]))),
    "degrees of freedom that are no double": ("dof must be", lambda: simulate_calibrated(10, 10**400)),
    "bins that no memory holds": ("n_bins must be", lambda: paired_reliability(Y, P, Y, P, n_bins=2**64 - 1)),
    "a confidence that is nothing beside 1": ("confidence must be more than rounding", lambda: statistics_interval(confidence=5e-324)),
    "more cells than memory holds": ("n_cells must", lambda: FosterForecaster(n_cells=np.uint64(2**64 - 1), pivot=1).prequential(Y)),
    "rows of two lengths": ("rows must be", lambda: table.SAMPLE.keep([[0, 1, 2, 3], [0, 1, 2]])),
    "a label that is masked in a set": ("y_pred_set .row by row. must hold plain", lambda: classification_mean_width_score([[True, np.ma.masked], [False, True]])),
    "chances that can't be read": ("y_prob must be", lambda: classwise_ece([0, 1, 2], UNREADABLE)),
    "uncertainties that don't vary": ("uncertainty must hold values that differ", lambda: cc(table.E, np.full(table.E.size, 1e149))),
    "a bound that is masked": ("y_intervals .row by row. must hold plain", lambda: regression_mean_width_score([[0.0, 1.0], [np.ma.masked, 2.0]])),
    "a number that signals": ("dof must be", lambda: simulate_calibrated(10, decimal.Decimal("sNaN"))),
    "a draw that signals": ("uniforms must", lambda: FosterForecaster().prequential([1, 0], uniforms=[0.5, decimal.Decimal("sNaN")])),
    "clusters of two kinds": ("groups_a and groups_b must hold labels of one kind", lambda: comparison_graph(
        Y, P, Y, P, groups_a=np.arange(Y.size) // 2, groups_b=np.arange(Y.size).astype("M8[D]"))),
    "a masked list of distributions": ("distributions must be", lambda: validate_errors(table.E, table.U, distributions=np.ma.masked)),
    "a masked list of statistics": ("statistics must be one or more names", lambda: validate_errors(table.E, table.U, statistics=np.ma.masked)),
    "no list of names": ("names must be one or more names", lambda: bca_intervals(np.array(0.0), table.E, table.U)),
    "sizes that don't vary": ("uncertainty must vary", lambda: link_test(table.E, np.full(table.E.size, 1e149))),
    "a dof that signals": ("dof must be above 2", lambda: negative_log_density(table.E, table.U, dof=decimal.Decimal("sNaN"))),
    "widths beside which nothing varies": ("y_true must vary by more", lambda: coverage_width_based(table.E * 1e-300 * 1e-23, -np.ones(table.E.size), np.ones(table.E.size), 1.0, 0.9)),
    "clusters of numbers and of text": ("groups_a and groups_b must hold labels of one kind", lambda: comparison_graph(
        Y, P, Y, P, groups_a=np.arange(Y.size) // 2, groups_b=np.array(list(map(str, range(Y.size))), dtype=object))),
    "a confidence level that is masked": ("confidence_level", lambda: regression_mwi_score(np.arange(6.0), np.array([[0.0, 9.0]] * 6), [0.5, np.ma.masked])),
    "a level that is masked": ("level", lambda: size_stratified_coverage(np.arange(6.0), np.array([[0.0, 9.0]] * 6), [0.5, np.ma.masked])),
    "errors next to zero": ("error must hold at least ten rows", lambda: recalibrate_errors(table.E * 1e-300 * 1e-23, table.U)),
    "one number for rows of chances": ("y_prob must", lambda: OneAgainstAll(Tracking()).predict(np.array(0.5))),
}


@pytest.mark.parametrize("confidence", [0.5, 0.1, 1e-9])
def test_a_narrow_interval_of_coverage_holds_the_coverage(confidence):
    for covered in range(25):
        low, high = coverage_interval(covered, 24, confidence, 40)
        assert low < high and low <= (covered + 0.5) / 24 and (covered - 0.5) / 24 <= high


def test_clusters_of_impossible_events_are_tested_in_silence():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert spiegelhalter_test(Y, P * 1e-300, groups=np.arange(Y.size) // 3, n_resamples=25, rng=1).pvalue <= 1


def statistics_interval(**options): return bca_interval("zms", table.E, table.U, n_boot=20, rng=1, **options)


@pytest.mark.parametrize("name", FOUND)
def test_found(name):
    message, call = FOUND[name]
    with warnings.catch_warnings(), pytest.raises((ValueError, TypeError), match=message):
        warnings.simplefilter("error")
        call()


@pytest.mark.parametrize("run", [
    lambda: find_repeats(table.E * 1e-300 * 1e-23, table.U), lambda: draw_conclusions(table.E * 1e-300, table.U, n_boot=20, n_resamples=20, rng=1),
    lambda: validate_errors(np.where(np.arange(table.E.size) == 5, 1e100, table.E), table.U, statistics=("zms", "ence"), n_bins=3, n_boot=20, n_resamples=20, n_mc=20, rng=1),
    lambda: FactorScaling().fit(np.where(np.arange(table.E.size) == 5, 1e-100, table.U), table.E),
    lambda: table.SAMPLE.along([-2**63, np.float16(0.5), *range(22)]),
    lambda: recalibrate_errors(table.E, np.where(np.arange(table.E.size) == 5, 1e-100, table.U), by={"x": np.arange(table.E.size) * 5e-324}, n_boot=20, n_resamples=20, rng=1),
    lambda: interval_report(table.E * 1e149, np.column_stack([-1e150 * np.ones(table.E.size), 1e150 * np.ones(table.E.size)]), 0.9, n_resamples=20, rng=1),
    lambda: interval_report(table.E * 1e149, np.column_stack([-table.U, table.U]), 0.9, n_resamples=20, rng=1),
    lambda: recalibrate_errors(table.E, table.U, n_folds=10**400, n_boot=20, n_resamples=20, rng=1),
    lambda: AggregatingForecaster(np.zeros(2), radius=fractions.Fraction(1, 3), n_points=9, method="sampling").prequential(X, Y)],
    ids=["denormal errors", "errors of 1e-300", "an error of 1e100", "an uncertainty of 1e-100", "numbers of many kinds", "an uncertainty and a feature next to zero", "wide intervals", "far intervals", "more folds than rows", "a fraction"])
def test_numbers_at_the_end_of_the_range_do_no_harm(run):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        run()


@pytest.mark.parametrize("forecaster", [Aioli(np.zeros(2)), OnlineNewtonStep(np.zeros(2))])
def test_collinear_features_give_forecasts(forecaster):
    "Where rounding makes the matrix singular, its solution stays finite."
    with np.errstate(all="raise"): assert np.isfinite(forecaster.prequential(np.full((20, 2), 1e12), Y[:20])).all()


@pytest.mark.parametrize("value", [np.longdouble(0.5), fractions.Fraction(1, 2), np.float16(0.5)])
def test_any_real_number_is_a_parameter(value):
    for name in ("gamma", "rho", "radius"):
        np.testing.assert_array_equal(OnlinePlattScaling(**{name: value}).prequential(P, Y), OnlinePlattScaling(**{name: 0.5}).prequential(P, Y))
    np.testing.assert_array_equal(OnlinePlattScaling(clip=value / 2).prequential(P, Y), OnlinePlattScaling(clip=0.25).prequential(P, Y))
