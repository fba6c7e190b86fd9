"""Batch recalibration and periodic refits: the authors' streams, statsmodels' estimates, ties, separable data, and what is refused."""
import warnings
from pathlib import Path

import numpy as np
import pytest
from sklearn.exceptions import NotFittedError

from uqcal.probabilities.recalibration import BetaScaling, HistogramBinning, IsotonicCalibration, PeriodicRefit, PlattScaling, TemperatureScaling

OPS = Path(__file__).parent / "published" / "ops"


@pytest.fixture(scope="module")
def scores():
    rng = np.random.default_rng(5)
    p = rng.random(400)
    return p, (rng.random(400) < p**2).astype(int)


@pytest.mark.parametrize("name", ["bank", "fetal"])
def test_fixed_and_refitted_platt_agree_with_the_authors(name):
    z = np.load(OPS / f"sec4_{name}_drift_seed0.npz")
    start, every = int(z["T_cal"]), int(z["W"])
    np.testing.assert_allclose(PeriodicRefit(PlattScaling(), every=every, warmup=start).prequential(z["p"], z["y"])[start:], z["wps_mle"], atol=1e-8, rtol=0)
    np.testing.assert_allclose(PeriodicRefit(PlattScaling(), every=None, warmup=start).prequential(z["p"], z["y"])[start:], z["fps_mle"], atol=1e-8, rtol=0)


@pytest.mark.parametrize("name", ["covariate", "label", "regression"])
def test_drift_in_one_dimension_agrees_with_the_authors(name):
    z = np.load(OPS / f"sec1_{name}.npz")
    np.testing.assert_allclose(PeriodicRefit(PlattScaling(), every=500, warmup=500).prequential(z["p"], z["y"])[500:], z["wps_mle"][500:], atol=1e-8, rtol=0)
    np.testing.assert_allclose(PlattScaling().fit(z["p"][:500], z["y"][:500]).predict(z["p"]), z["fixed_mle"], atol=1e-8, rtol=0)


def test_refitted_beta_agrees_with_the_authors():
    stream, z = np.load(OPS / "sec4_bank_drift_seed0.npz"), np.load(OPS / "beta_bank_seed0.npz")
    np.testing.assert_allclose(PeriodicRefit(BetaScaling()).prequential(stream["p"], stream["y"])[1000:], z["wbs_mle"], atol=1e-8, rtol=0)


def test_histogram_binning_agrees_with_the_authors():
    stream, z = np.load(OPS / "sec4_bank_drift_seed0.npz"), np.load(OPS / "hb_bank_seed0.npz")
    p, y, cut = stream["p"], stream["y"], z["noise_fit_offsets"]
    for k, t in enumerate(z["window_starts"]):
        fit = HistogramBinning(20).fit((p[:t] + z["noise_fit"][cut[k]:cut[k + 1]]) / (1 + 1e-10), y[:t])
        later = (p[t:t + 500] + z["noise_pred"][t - 1000:t - 500]) / (1 + 1e-10)
        np.testing.assert_allclose(fit.predict(later), z["whb"][t - 1000:t - 500], atol=1e-8, rtol=0)


@pytest.mark.parametrize("kind", [PlattScaling, BetaScaling])
def test_estimates_and_standard_errors_are_those_of_statsmodels(kind, scores):
    import statsmodels.api as sm
    p, y = scores
    features = [np.log(p / (1 - p))] if kind is PlattScaling else [np.log(p), np.log(1 - p)]
    expected = sm.Logit(y, np.column_stack([*features, np.ones_like(p)])).fit(disp=0, tol=1e-12)
    table = kind().fit(p, y).to_frame()
    np.testing.assert_allclose(table["estimate"], expected.params, rtol=1e-7)
    np.testing.assert_allclose(table["standard_error"], expected.bse, rtol=1e-6)


@pytest.mark.parametrize("kind", [PlattScaling, BetaScaling, HistogramBinning, IsotonicCalibration])
def test_integer_weights_count_points(kind, scores):
    p, y = scores
    w = np.random.default_rng(1).integers(0, 3, p.size)
    if kind is HistogramBinning: p = np.round(p)      # bins are cut by points, means are weighted
    weighted, repeated = kind().fit(p, y, w), kind().fit(np.repeat(p, w), np.repeat(y, w))
    np.testing.assert_allclose(weighted.predict(p), repeated.predict(p), rtol=1e-9)


@pytest.mark.parametrize("kind", [PlattScaling, BetaScaling, HistogramBinning, IsotonicCalibration])
@pytest.mark.parametrize("p, y", [([0.1, 0.2, 0.8, 0.9], [0, 0, 1, 1]), ([0.1, 0.2, 0.8, 0.9], [1, 1, 0, 0]), ([0.1, 0.5, 0.5, 0.9], [0, 0, 1, 1]),
                                  ([0.1, 0.4, 0.8], [1, 1, 1]), ([0.1, 0.4, 0.8], [0, 0, 0]), ([0.3] * 5, [0, 1, 1, 0, 1]), ([0.3, 0.6] * 4, [0, 1, 1, 0] * 2),
                                  ([0.0, 1.0, 0.0, 1.0], [0, 1, 1, 0]), ([0.0, 1.0], [0, 1]), ([0.5], [1]), ([0.0] * 3, [0, 0, 1])])
def test_degenerate_data_give_finite_maps_without_warnings(kind, p, y):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        q = kind().fit(p, y).predict(np.linspace(0, 1, 11))
    assert np.all((q >= 0) & (q <= 1))


@pytest.mark.parametrize("seed", range(4))
def test_the_staircase_is_that_of_scikit_learn_with_half_a_counterexample_at_each_end(seed):
    from sklearn.isotonic import IsotonicRegression
    rng = np.random.default_rng(seed)
    p, w = rng.random(120).round(2), rng.integers(0, 4, 120)
    y = (rng.random(120) < p**2).astype(int)
    fit = IsotonicCalibration().fit(p, y, w)
    other = IsotonicRegression().fit(np.r_[-1, p, 2], np.r_[1, y, 0], sample_weight=np.r_[0.5, w, 0.5])
    known = w > 0
    np.testing.assert_allclose(fit.predict(p[known]), other.predict(p[known]), atol=1e-12)
    assert 0 < fit.mean_[0] and fit.mean_[-1] < 1 and np.all(np.diff(fit.predict(np.linspace(0, 1, 1001))) >= 0)
    n = (w * (p <= p[(y == 1) & known].min()))[y == 0].sum()  # rows below the first event
    assert fit.predict(0.0) <= max(0.5 / (n + 0.5), fit.mean_[0]) + 1e-12


def test_isotonic_sentences_and_state_survive_json():
    import json
    p, y = np.linspace(0.05, 0.95, 40), np.arange(40) % 3 > 0
    for made in (PlattScaling().fit(p, y), BetaScaling().fit(p, y), IsotonicCalibration().fit(p, y)):
        again = type(made).from_dict(json.loads(json.dumps(made.to_dict())))
        assert again.sentence == made.sentence and np.array_equal(again.predict(p), made.predict(p))
    assert IsotonicCalibration().fit([0.3] * 4, [0, 1, 1, 0]).sentence == "0.500 throughout"


@pytest.mark.parametrize("temperature", [0.4, 1.0, 3.0])
def test_a_temperature_is_found_again_and_is_that_of_a_bounded_search(temperature):
    from scipy.optimize import minimize_scalar
    rng = np.random.default_rng(3)
    logits = rng.normal(size=(4000, 5)) * 2
    true = np.exp(logits) / np.exp(logits).sum(axis=1, keepdims=True)
    label = (true.cumsum(axis=1) > rng.random((4000, 1))).argmax(axis=1)
    stated = np.exp(logits * temperature)
    stated /= stated.sum(axis=1, keepdims=True)
    fit = TemperatureScaling().fit(stated, label)
    assert abs(fit.temperature_ - temperature) < 4 * fit.standard_error_ < 0.3 * temperature

    def loss(t):
        q = stated**(1 / t)
        return -np.mean(np.log(q[np.arange(4000), label] / q.sum(axis=1)))
    plain = minimize_scalar(loss, bounds=(0.1, 10), method="bounded", options={"xatol": 1e-9}).x
    assert fit.temperature_ == pytest.approx(plain, rel=1e-6)
    curvature = (loss(1 / (1 / plain + 1e-4)) + loss(1 / (1 / plain - 1e-4)) - 2 * loss(plain)) / 1e-8 * 4000
    assert fit.standard_error_ == pytest.approx(plain**2 / np.sqrt(curvature), rel=1e-3)
    np.testing.assert_allclose(fit.predict(stated[:5]).sum(axis=1), 1, rtol=1e-12)


def test_a_temperature_stays_finite_and_knows_its_classes():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        reversed_ = TemperatureScaling().fit([[0.9, 0.1], [0.2, 0.8]], [1, 0])
        assert reversed_.temperature_ == pytest.approx(100) and reversed_.sentence.endswith("rank the classes no better than chance")
        fit = TemperatureScaling().fit([[1.0, 0.0], [0.0, 1.0], [0.3, 0.7]], ["b", "b", "a"], classes=["a", "b"])
    assert np.isfinite(fit.predict([[1.0, 0.0]])).all()
    with pytest.raises(ValueError, match="a column for each of the 2 classes of the fit, got 3"): fit.predict([[0.2, 0.3, 0.5]])


RIGHT = {"two classes": ([[0.6, 0.4], [0.3, 0.7], [0.45, 0.55]], [0, 1, 1]), "three": ([[0.5, 0.3, 0.2], [0.2, 0.5, 0.3], [0.1, 0.4, 0.5], [0.2, 0.2, 0.6]], [0, 1, 2, 2]),
         "one class seen": ([[0.6, 0.4], [0.7, 0.3]], [0, 0]), "certain": ([[1.0, 0.0], [0.0, 1.0]], [0, 1]), "a tie": ([[0.5, 0.5], [0.3, 0.7]], [0, 1])}


@pytest.mark.parametrize("P, label", RIGHT.values(), ids=RIGHT)
def test_where_all_is_classified_right_the_temperature_has_platts_targets(P, label):
    fit = TemperatureScaling().fit(P, label)
    assert fit.smoothed_ and 0.05 < fit.temperature_ <= 200 and "smoothed" in fit.sentence
    assert 0.5 <= fit.predict(P).max() < 0.99
    more = TemperatureScaling().fit(P * 50, label * 50)
    assert more.smoothed_ and more.predict(P).max() > 0.9  # fifty times the evidence


def test_a_temperature_of_two_classes_in_balance_is_platts_slope():
    z = np.array([0.4, 1.0, 1.7])
    p = 1 / (1 + np.exp(-np.r_[z, -z]))
    label = np.r_[[1] * 3, [0] * 3]
    fit, platt = TemperatureScaling().fit(np.column_stack([1 - p, p]), label), PlattScaling().fit(p, label)
    assert fit.smoothed_ and platt.smoothed_ and platt.coef_[1] == pytest.approx(0, abs=1e-9)
    assert 1 / fit.temperature_ == pytest.approx(platt.coef_[0], rel=1e-6)


def test_a_temperature_below_a_hundredth_is_found():
    rng = np.random.default_rng(2)
    logits = rng.normal(size=(3000, 3))
    q = np.exp(logits) / np.exp(logits).sum(axis=1, keepdims=True)
    label = (q.cumsum(axis=1) > rng.random((3000, 1))).argmax(axis=1)
    flat = np.exp(logits / 1000)
    fit = TemperatureScaling().fit(flat / flat.sum(axis=1, keepdims=True), label)
    assert fit.temperature_ == pytest.approx(1e-3, rel=0.1) and not fit.smoothed_


@pytest.mark.parametrize("kind", [PlattScaling, BetaScaling, HistogramBinning])
def test_weights_scale_matters_where_they_are_counts_only(kind, scores):
    p, y = scores
    w = np.random.default_rng(3).uniform(0.2, 3, p.size)
    errors = [kind().fit(p, y, times * w).to_frame()["standard_error"] for times in (1, 1000)]
    np.testing.assert_allclose(*errors, rtol=1e-6)
    counted = [kind().fit(p, y, times * np.ones(p.size)).to_frame()["standard_error"] for times in (1, 4)]
    np.testing.assert_allclose(counted[0], 2 * counted[1], rtol=1e-6)


def test_separated_points_give_platts_smoothed_targets():
    assert PlattScaling().fit([0.2, 0.7], [0, 1]).smoothed_ and not PlattScaling().fit([0.2, 0.7, 0.4, 0.5], [0, 1, 1, 0]).smoothed_
    np.testing.assert_allclose(PlattScaling().fit([0.3, 0.6, 0.9], [1, 1, 1]).predict([0.1, 0.5]), 0.8, rtol=1e-6)   # (3 + 1)/(3 + 2)


def test_equal_scores_stay_in_one_bin_and_groups_are_those_of_array_split():
    p = np.arange(1, 24) / 24
    fit = HistogramBinning(4).fit(p, np.arange(23) % 2)
    assert fit.count_.tolist() == [len(group) for group in np.array_split(p, 4)]
    tied = HistogramBinning(3).fit([0.1] * 5 + [0.2], [0, 1, 0, 1, 0, 1])
    assert tied.predict(0.1) == 0.4 and tied.predict(0.2) == 1.0 and tied.predict(0.15) == 1.0


def test_a_periodically_refitted_stream_continues_and_is_unchanged_by_a_refused_call(scores):
    p, y = scores
    whole = PeriodicRefit(BetaScaling(), every=50, warmup=60).prequential(p, y)
    parts = PeriodicRefit(BetaScaling(), every=50, warmup=60)
    got = [parts.prequential(p[:70], y[:70])]
    with pytest.raises(ValueError): parts.prequential([0.5, 2.0], [0, 1])
    with pytest.raises(ValueError): parts.partial_fit([0.5, 0.6], [0])
    for a, b in [(70, 71), (71, 300), (300, 400)]: got.append(parts.prequential(p[a:b], y[a:b]))
    np.testing.assert_array_equal(np.concatenate(got), whole)


def test_predictions_need_a_fit():
    for kind in (PlattScaling, BetaScaling, HistogramBinning):
        with pytest.raises(NotFittedError): kind().predict(0.5)
