"""At home in scikit-learn: maps in pipelines and under its checks, metrics as scorers, names that mean what they mean there, weights."""
import inspect

import numpy as np
from every_case import every_case
import pytest
import sklearn.metrics
from scipy.special import expit, softmax
from sklearn.datasets import load_iris
from sklearn.linear_model import BayesianRidge, LogisticRegression
from sklearn.metrics import make_scorer
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.naive_bayes import GaussianNB
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer
from sklearn.utils.estimator_checks import check_estimator

import uqcal
from uqcal.maps import BetaScaling, ErrorMap, FactorScaling, GammaScaling, LinearShift, LogLinearScaling, IsotonicScaling, PlattScaling, StepShift
from uqcal.probabilities.recalibration import HistogramBinning, IsotonicCalibration, TemperatureScaling

RNG = np.random.default_rng(5)
LOGIT = RNG.standard_normal(300)
Y = (RNG.random(300) < expit(0.5 * LOGIT)).astype(int)
U = np.exp(0.3 * RNG.standard_normal(300))
E = 1.5 * U * RNG.standard_normal(300)

ONE_DIMENSION = [PlattScaling(), BetaScaling(), HistogramBinning(), IsotonicCalibration(), FactorScaling(), LogLinearScaling(), IsotonicScaling(), GammaScaling(),
                 LinearShift(), StepShift(), ErrorMap(FactorScaling())]


@pytest.mark.filterwarnings("ignore:Can.t test estimator")
@every_case("made", ONE_DIMENSION, ids=lambda one: type(one).__name__)
def test_maps_of_one_dimension_pass_what_scikit_learn_asks_of_such(made):
    found = check_estimator(made, on_fail=None, on_skip=None)
    assert found and {one["status"] for one in found} == {"passed"}


class _OfFeatures(PlattScaling):
    "The same map, said to take features, so that all of scikit-learn's checks are tried."

    def __init__(self, fit_slope=True): super().__init__(fit_slope)

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.one_d_array, tags.input_tags.two_d_array = False, True
        return tags


class _RowsOfFeatures(TemperatureScaling):
    "The same map of many classes, under all of the checks."


SHAPE = "scores have one dimension, and the check gives features of several columns"
ROWS = "rows must be probabilities that sum to 1, and the check gives features"
WORDS = "refused, in words of its own"
OF_FEATURES = """fit_score_takes_y estimators_overwrite_params dont_overwrite_parameters estimators_fit_returns_self readonly_memmap_input
    n_features_in_after_fitting positive_only_tag_during_fit estimators_dtypes dtype_object pipeline_consistency estimators_nan_inf estimator_sparse_tag
    estimators_pickle f_contiguous_array_estimator methods_sample_order_invariance methods_subset_invariance dict_unchanged fit_idempotent
    fit_check_is_fitted n_features_in fit2d_predict1d"""
REFUSED_IN_ITS_WORDS = "estimators_empty_data_messages complex_data estimator_sparse_array estimator_sparse_matrix fit2d_1sample fit2d_1feature requires_y_none"
WEIGHTS = """sample_weights_pandas_series sample_weights_not_an_array sample_weights_list all_zero_sample_weights_error sample_weights_shape
    sample_weights_not_overwritten sample_weight_equivalence_on_dense_data"""


def _expected(reason, more=""):
    return {f"check_{name}": reason for name in f"{OF_FEATURES} {more}".split()} | {f"check_{name}": WORDS for name in REFUSED_IN_ITS_WORDS.split()}


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("made, expected", [(_OfFeatures(), _expected(SHAPE, WEIGHTS)), (_RowsOfFeatures(), _expected(ROWS))], ids=["scores", "rows"])
def test_of_checks_on_features_maps_fail_those_named_alone(made, expected):
    found = check_estimator(made, on_fail=None, on_skip=None, expected_failed_checks=expected)
    assert {one["check_name"]: str(one["exception"])[:200] for one in found if one["status"] == "failed"} == {}
    assert sum(one["status"] == "passed" for one in found) >= 12


def test_a_pipeline_of_scores_ends_in_a_map():
    pipe = make_pipeline(FunctionTransformer(expit), PlattScaling()).fit(LOGIT, Y)
    np.testing.assert_array_equal(pipe.predict(LOGIT), PlattScaling().fit(expit(LOGIT), Y).predict(expit(LOGIT)))
    brier = make_scorer(lambda y, q: np.mean((y - q)**2), greater_is_better=False)
    search = GridSearchCV(make_pipeline(FunctionTransformer(expit), HistogramBinning()), {"histogrambinning__n_bins": [2, 50]}, scoring=brier, cv=3).fit(LOGIT, Y)
    assert search.best_params_ == {"histogrambinning__n_bins": 2}
    weighed = make_pipeline(FunctionTransformer(expit), PlattScaling()).fit(LOGIT, Y, plattscaling__sample_weight=1.0 + Y)
    assert weighed.predict(LOGIT).mean() > pipe.predict(LOGIT).mean() + 0.1
    classes, labels = load_iris(return_X_y=True)
    logits = LogisticRegression(max_iter=500).fit(classes, labels).decision_function(classes)
    rows = make_pipeline(FunctionTransformer(softmax, kw_args={"axis": 1}), TemperatureScaling()).fit(logits, labels).predict(logits)
    np.testing.assert_allclose(rows.sum(axis=1), 1)


def test_a_pipeline_of_uncertainties_holds_maps_at_any_place():
    pipe = make_pipeline(FunctionTransformer(np.sqrt), FactorScaling(), LogLinearScaling()).fit(U**2, E)
    np.testing.assert_allclose(pipe.transform(U**2), LogLinearScaling().fit(FactorScaling().fit(U, E).transform(U), E).transform(FactorScaling().fit(U, E).transform(U)))
    assert np.mean((E / pipe.transform(U**2))**2) == pytest.approx(1, rel=1e-6)


def test_a_map_behind_features_is_refused_with_its_shape():
    with pytest.raises(ValueError, match="y_prob must be 1-D, got shape"): make_pipeline(FunctionTransformer(), PlattScaling()).fit(np.ones((4, 3)), [0, 1, 0, 1])
    with pytest.raises(ValueError, match="uncertainty must be 1-D, got shape"): make_pipeline(FunctionTransformer(), FactorScaling()).fit(np.ones((4, 3)), [0, 1, 0, 1])


def test_a_name_of_scikit_learns_metrics_means_a_number_here():
    "Today no name of uqcal's is one of its; a score of each row has another."
    theirs = {name for name in dir(sklearn.metrics) if inspect.isfunction(getattr(sklearn.metrics, name))}
    for module in (uqcal.metrics, uqcal.scores, uqcal.tests, uqcal.checks):
        for name in theirs & set(module.__all__): assert isinstance(getattr(module, name)([0, 1, 1], [0.1, 0.8, 0.7]), float), name
    assert "log_score" in uqcal.scores.__all__ and uqcal.scores.log_score([0, 1], [0.5, 0.5]).shape == (2,)


@pytest.mark.parametrize("name, method, data", [("expected_calibration_error", "predict_proba", "classes"), ("regression_coverage_score", "predict", "bounds"),
                                                ("regression_mean_width_score", "predict", "bounds"), ("top_label_ece", "predict_proba", "iris")])
def test_metrics_serve_as_scorers(name, method, data):
    metric = getattr(uqcal.metrics, name)
    if data == "classes":
        X, y, model, options = LOGIT[:, None], Y, GaussianNB(), {}
    elif data == "iris":
        X, y, model, options = *load_iris(return_X_y=True), GaussianNB(), {}
    else:
        X, y, model, options = LOGIT[:, None], E, _Bounds(), {}
    if name == "regression_mean_width_score": score = make_scorer(lambda y, bounds: metric(bounds), response_method=method, **options)
    else: score = make_scorer(metric, response_method=method, **options)
    found = cross_val_score(model, X, y, scoring=score, cv=3, error_score="raise")
    assert found.shape == (3,) and np.all(found >= 0) and np.all(np.isfinite(found))


class _Bounds(BayesianRidge):
    "A ridge that predicts intervals."

    def predict(self, X):
        mean, std = super().predict(X, return_std=True)
        return np.column_stack([mean - std, mean + std])


def test_weights_are_used_or_refused_by_name_in_every_verb():
    p, weight = uqcal.Probabilities(expit(LOGIT)), np.where(Y == 1, 3.0, 1.0)
    taken, plain = (uqcal.validate(Y, p, rng=1, options=uqcal.options.ValidateOptions(n_boot=99, n_resamples=99), **more) for more in ({"sample_weight": weight}, {}))
    assert taken["overall"].direction == "too small" and plain["overall"].direction is None
    groups = np.where(np.arange(len(Y)) % 5, "a", "b")  # whose p-values are no small ones, which would be shuffled for long
    weighed, flat = (uqcal.compare_groups(Y, expit(LOGIT), by=groups, reference="all", rng=1, **more).to_frame("comparisons")["average_difference"] for more in ({"sample_weight": weight}, {}))
    assert not np.allclose(weighed, flat)
    mean_std, bounds = uqcal.MeanStd(0, U), uqcal.Intervals(-U, U, level=0.6)
    refusals = [(uqcal.validate, (E, mean_std)), (uqcal.validate, (E, bounds)), (uqcal.validate, (E, uqcal.Quantiles(np.column_stack([-U, U]), [0.1, 0.9]))),
                (uqcal.recalibrate, (E, mean_std)), (uqcal.recalibrate, (Y, p)), (uqcal.conformalize, (E, bounds)), (uqcal.monitor, (Y, p)),
                (uqcal.compare_models, (E, {"one": mean_std, "two": mean_std}))]
    for verb, given in refusals:
        for name in ("sample_weight", "weights"):
            with pytest.raises(TypeError, match=f"(?s)(?=.*{verb.__name__ if name == 'weights' else ''}).*{name}"): verb(*given, **{name: weight})
