"""The adapter among river's own models and tools: its checks, delay, labels, bounded memory."""
import numpy as np
import pytest
from test_streams import stream

from uqcal.adapters.river_models import RecalibratedFeature, RecalibratedOnline
from uqcal.adapters.streams import _make_forecaster

river = pytest.importorskip("river")
from river import checks, compose, datasets, evaluate, linear_model, metrics, naive_bayes, preprocessing

ONLINE = {"logistic": linear_model.LogisticRegression, "Bayes": naive_bayes.GaussianNB,
          "pipeline": lambda: preprocessing.StandardScaler() | linear_model.LogisticRegression()}


@pytest.mark.parametrize("make", [pytest.param(make, id=name, marks=[pytest.mark.slow] * (name != "pipeline")) for name, make in ONLINE.items()])
def test_rivers_own_checks_pass(make):
    model = RecalibratedOnline(make())
    assert isinstance(model, river.base.Classifier)
    checks.check_estimator(model)


def test_a_river_model_is_scored_with_and_without_delay():
    scaler, logistic = preprocessing.StandardScaler, linear_model.LogisticRegression
    for delay in (None, 100):
        found = [evaluate.progressive_val_score(datasets.Phishing(), model, metrics.LogLoss(), delay=delay).get()
                 for model in (scaler() | logistic(), RecalibratedOnline(scaler() | logistic(), "ops"), scaler() | RecalibratedOnline(logistic(), "ops"))]
        assert found[1] < found[0] - 0.03 and found[2] < found[0] - 0.03
    assert isinstance(scaler() | RecalibratedOnline(logistic()), compose.Pipeline)


class Steady:
    "A model that states the feature, and one more in a thousand after each outcome."
    def __init__(self): self.n = 0
    def predict_proba_one(self, x): return {True: x["p"] * (1 - self.n / 1000), False: 1 - x["p"] * (1 - self.n / 1000)}
    def learn_one(self, x, y): self.n += 1


@pytest.mark.parametrize("keyed", [True, False])
@pytest.mark.parametrize("method", ["tops", "hops"])
def test_late_outcomes_teach_the_score_that_was_stated(method, keyed):
    p, y = stream(400)
    model, alone = RecalibratedOnline(Steady(), method, rng=4), _make_forecaster(method, rng=4)
    for t in range(400):
        given = {"key": t} if keyed else {}
        score = p[t] * (1 - max(t - 50, 0) / 1000)
        assert model.predict_proba_one({"p": p[t], "t": t}, **given)[True] == alone.forecast(score, key=t)
        assert model.predict_proba_one({"p": p[t], "t": t}, **given)[True] == alone.open_ticket(t).forecast if not keyed else True
        if t >= 50:
            given = {"key": t - 50} if keyed else {}
            model.learn_one({"t": t - 50, "p": p[t - 50]}, bool(y[t - 50]), **given)
            alone.outcome(t - 50, y[t - 50])
    left, right = (one.to_dict()["content"]["state"] for one in (model.forecaster, alone))
    assert left["state_"] == right["state_"] if method == "tops" else left["game_"] == right["game_"]


def test_words_may_be_labels_and_a_third_is_refused():
    model = RecalibratedOnline(naive_bayes.GaussianNB(), "ops")
    rng = np.random.default_rng(0)
    assert model.predict_proba_one({"x": 0.0}) == {False: 0.5, True: 0.5}
    for _ in range(500):
        x = rng.normal()
        stated = model.predict_proba_one({"x": x})
        model.learn_one({"x": x}, "spam" if rng.random() < 1 / (1 + np.exp(-3 * x)) else "ham")
    assert set(stated) == {"spam", "ham"} and model.predict_one({"x": 2.0}) == "spam" and model.predict_one({"x": -2.0}) == "ham"
    for wrong in ("eggs", True, 1.5, None):
        with pytest.raises(ValueError, match="y must be"): model.learn_one({"x": 0.0}, wrong)


def test_forecasts_without_outcome_are_bounded():
    model = RecalibratedOnline(linear_model.LogisticRegression(), remember=20)
    for t in range(100): model.predict_proba_one({"t": t})
    assert len(model.forecaster.open_keys) == 20
    model.learn_one({"t": 3}, True)  # forgotten, so learnt as stated now
    assert len(model.forecaster.open_keys) == 19


def test_a_stated_probability_is_recalibrated_on_its_way_through_a_pipeline():
    p, y = stream(400)
    step, alone = RecalibratedFeature("p"), _make_forecaster("mixture")
    assert isinstance(step, river.base.SupervisedTransformer) and isinstance(step.clone(), RecalibratedFeature)
    pipeline = step | linear_model.LogisticRegression()
    for t in range(400):
        x = {"p": float(p[t]), "t": t / 400}
        pipeline.predict_proba_one(x)
        assert step.transform_one(x) == {"p": alone.predict(p[t]), "t": t / 400} and x["p"] == p[t]
        pipeline.learn_one(x, bool(y[t]))
        alone.partial_fit(p[t], y[t])
    for wrong in ({"t": 1}, {"p": 1.2}, {"p": "x"}):
        with pytest.raises(ValueError, match="x must hold a probability under 'p'"): step.transform_one(wrong)
    for check in (checks.common.check_repr, checks.common.check_tags, checks.common.check_clone_same_class, checks.common.check_init_has_default_params_for_tests,
                  checks.common.check_doc, checks.common.check_clone_changes_memory_addresses, checks.common.check_pickling_supports_roundtrip,
                  checks.common.check_repr_roundtrips_clone, checks.common.check_get_params_matches_signature): check(RecalibratedFeature("p"))


def test_a_key_teaches_once():
    p, y = stream(50)
    model = RecalibratedOnline(Steady(), "ops")
    model.predict_proba_one({"p": p[0]}, key="a")
    for key in ("a", "b"):  # forecast before, and known at once
        model.learn_one({"p": p[0]}, True, key=key)
        before = model.forecaster.to_dict()
        with pytest.raises(ValueError, match=f"the outcome of key '{key}' is booked already"): model.learn_one({"p": p[0]}, True, key=key)
        with pytest.raises(ValueError, match="booked already"): model.predict_proba_one({"p": p[0]}, key=key)
        assert model.forecaster.to_dict() == before and model.model.n == model.steps_
    with pytest.raises(TypeError, match="key must be text or a whole number, got tuple"): model.learn_one({"p": p[0]}, True, key=("a", 1))
    for _ in range(2): model.learn_one({"p": p[0]}, True)  # features without a key may come again
    assert model.steps_ == 4
