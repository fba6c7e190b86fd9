"""Online scaling: the authors' streams, exact cases, regret bounds, equality of step by step and at once, and what is refused."""
import io
import pickle
from pathlib import Path

import joblib
import numpy as np
from every_case import every_case
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.base import clone

from uqcal.online.online import (Aioli, AggregatingForecaster, OnlineBetaScaling, OnlineGradientDescent, OnlineNewtonStep, OnlinePlattScaling, best_in_hindsight,
                          regret)
from uqcal._chance.logistic import platt_features

OPS = Path(__file__).parent / "published" / "ops"
STREAMS = ["sec1_covariate", "sec1_label", "sec1_regression", "sec4_bank_drift_seed0", "sec4_fetal_drift_seed0"]
OPTIMIZERS = [OnlineNewtonStep((1.0, 0.0)), OnlineNewtonStep((1.0, 0.0), radius=1.05), Aioli((1.0, 0.0)), Aioli((1.0, 0.0), centre=(1.0, 0.0)),
              OnlineGradientDescent((1.0, 0.0)), OnlineGradientDescent((1.0, 0.0), radius=1.05), AggregatingForecaster((1.0, 0.0)),
              AggregatingForecaster((1.0, 0.0), method="sampling", n_points=50, rng=3)]
SCALINGS = [OnlinePlattScaling(), OnlineBetaScaling(), OnlinePlattScaling(optimizer=Aioli((1.0, 0.0), centre=(1.0, 0.0))),
            OnlineBetaScaling(optimizer=AggregatingForecaster((1.0, -1.0, 0.0), n_points=125))]
each_optimizer = pytest.mark.parametrize("optimizer", OPTIMIZERS, ids=lambda o: f"{type(o).__name__}")
each_scaling = pytest.mark.parametrize("scaling", SCALINGS, ids=lambda s: f"{type(s).__name__}-{type(s.optimizer).__name__}")


def stream(n=300, seed=0):
    rng = np.random.default_rng(seed)
    p = rng.beta(0.6, 0.6, n)
    return p, (rng.random(n) < p**np.linspace(0.5, 3, n)).astype(int)


@pytest.mark.parametrize("name", STREAMS)
def test_online_platt_scaling_agrees_with_the_authors(name):
    z = np.load(OPS / f"{name}.npz")
    zero = OnlinePlattScaling(start=(0, 0))
    forecast = zero.prequential(z["p"][:-1], z["y"][:-1])          # the released code makes no update after the last outcome
    np.testing.assert_allclose([*forecast, zero.predict(z["p"][-1])], z["ops"], atol=1e-8, rtol=0)
    np.testing.assert_allclose(zero.optimizer_.metric_, z["A_end"], rtol=1e-10)
    np.testing.assert_allclose(OnlinePlattScaling().prequential(z["p"], z["y"]), z["ops_start10"], atol=1e-8, rtol=0)


def test_online_beta_scaling_agrees_with_the_authors():
    bank, z = np.load(OPS / "sec4_bank_drift_seed0.npz"), np.load(OPS / "beta_bank_seed0.npz")
    beta = OnlineBetaScaling(start=(0, 0, 0))
    np.testing.assert_allclose([*beta.prequential(bank["p"][:-1], bank["y"][:-1]), beta.predict(bank["p"][-1])], z["obs"], atol=1e-8, rtol=0)
    np.testing.assert_allclose(beta.optimizer_.metric_, z["A_end"], rtol=1e-10)


@every_case("name", ["plain", "start10", "ball1", "beta3", "beta3_ball1", "gamma_half"])
def test_newton_steps_and_projections_are_exact(name):
    z = np.load(OPS / "ons_step_cases.npz")
    gamma, rho, radius = z[f"{name}_gamma_rho_radius"]
    newton = OnlineNewtonStep(z[f"{name}_start"], gamma=gamma, rho=rho, radius=radius)
    path, forecast = [newton.coef_], []
    for x, y in zip(z[f"{name}_features"], z[f"{name}_y"]):
        forecast.append(newton.predict(x))
        path.append(newton.update(x, y).coef_)
    np.testing.assert_allclose(path, z[f"{name}_theta"], atol=1e-10, rtol=0)
    np.testing.assert_allclose(forecast, z[f"{name}_forecast"], atol=1e-10, rtol=0)
    np.testing.assert_allclose(newton.metric_, z[f"{name}_A_end"], rtol=1e-10)


@given(st.lists(st.floats(-50, 50), min_size=3, max_size=3), st.lists(st.floats(-3, 3), min_size=9, max_size=9), st.floats(1e-3, 10))
@settings(max_examples=200, deadline=None, derandomize=True)
def test_the_projection_satisfies_its_condition(point, entries, radius):
    from uqcal.online.online import _project
    B = np.reshape(entries, (3, 3))
    A, w = B @ B.T + 0.5 * np.eye(3), np.array(point)
    if np.linalg.norm(w) <= radius: return
    x = w.copy()
    lam = _project(x, A, radius)
    assert lam > 0 or np.linalg.norm(w) < radius * (1 + 1e-9)
    np.testing.assert_allclose(np.linalg.norm(x), radius, rtol=1e-12)
    np.testing.assert_allclose(A @ (x - w) + lam * x, 0, atol=1e-9 * (np.abs(A @ w).max() + 1))


@pytest.mark.slow
def test_regret_stays_below_its_bounds_on_random_streams():
    B, G = 1.0, 5.0
    alpha = np.exp(-G * B)
    gamma = 0.5 * min(1 / (4 * G * 2 * B), alpha)
    rng = np.random.default_rng(11)
    for _ in range(300):
        n = int(rng.integers(20, 300))
        p = np.clip(rng.beta(*rng.uniform(0.3, 3, 2), n), 0.01, 0.99)
        z = (rng.normal() + np.linspace(0, rng.uniform(-2, 2), n)) * np.log(p / (1 - p)) + rng.normal()
        X, y = platt_features(p), (rng.random(n) < 1 / (1 + np.exp(-z))).astype(float)
        newton = OnlineNewtonStep((0.5, 0.0), gamma=gamma, rho=1 / (2 * gamma * B)**2, radius=B)
        forecast, u = newton.prequential(X, y), best_in_hindsight(X, y, radius=B)
        assert np.linalg.norm(u) <= B + 1e-6
        suffered = regret(X, y, forecast, u)[-1]
        assert suffered <= newton.regret_bound(u) <= (1 / alpha + 8 * G * B) * (1 + 2 * np.log1p(n / 128))


def test_a_bound_is_stated_only_where_it_is_a_theorem():
    p, y = stream()
    X = platt_features(np.clip(p, 0.01, 0.99))
    with pytest.raises(ValueError, match="gamma must be at most"): OnlineNewtonStep((1.0, 0.0)).update(X, y).regret_bound((1.0, 0.0))
    small = OnlineNewtonStep((0.5, 0.0), gamma=0.003, radius=1.0).update(X, y)
    assert small.regret_bound((0.5, 0.5)) > 0
    with pytest.raises(ValueError, match="against must lie in the ball"): small.regret_bound((1.0, 0.5))
    with pytest.raises(ValueError, match="gamma"): small.update([[20.0, 1.0]], [1]).regret_bound((0.5, 0.5))


def test_aioli_stays_below_its_bound_on_random_and_adversarial_streams():
    """Eq. 11 for the best parameters within its condition; a wrong curvature or a forecast from the wrong side breaks it on the adversarial streams."""
    rng = np.random.default_rng(5)
    for k in range(200):
        n = int(rng.integers(20, 300))
        p = np.clip(rng.beta(*rng.uniform(0.3, 3, 2), n), 0.01, 0.99)
        X, ridge, radius = platt_features(p), 10.0**rng.uniform(-2, 1), rng.uniform(0.2, 3)
        factor = 1 / (1 + radius * np.hypot(X[:, 0], 1).max())
        aioli, y = Aioli((0.0, 0.0), factor=factor, ridge=ridge), (rng.random(n) < p**rng.uniform(0.2, 3)).astype(float)
        if k % 4 == 0:
            made, y = np.empty(n), np.empty(n)
            for t in range(n):
                made[t] = aioli.predict(X[t])
                y[t] = float(made[t] <= 0.5)
                aioli.update(X[t], y[t])
        else: made = aioli.prequential(X, y)
        u = best_in_hindsight(X, y, radius=radius)
        right = ridge * u @ u + np.log(np.linalg.det(aioli.state_[1] / (2 * ridge))) / factor
        assert regret(X, y, made, u)[-1] <= right + 1e-9


def test_best_in_hindsight_is_a_minimum():
    p, y = stream()
    X = platt_features(p)
    loss = lambda u: np.logaddexp(0, X @ u).sum() - y @ (X @ u)          # noqa: E731
    free, held = best_in_hindsight(X, y), best_in_hindsight(X, y, radius=0.5)
    np.testing.assert_allclose(np.linalg.norm(held), 0.5, rtol=1e-6)
    for angle in np.linspace(0, 6.28, 50):
        turn = np.array([np.cos(angle), np.sin(angle)])
        assert loss(free) <= loss(free + 0.01 * turn) and loss(held) <= loss(0.5 * turn) + 1e-9
    with pytest.raises(ValueError, match="separated"): best_in_hindsight(X[:5], np.ones(5))
    assert np.linalg.norm(best_in_hindsight(X[:5], np.ones(5), radius=2.0)) == pytest.approx(2, rel=1e-6)


def test_aioli_minimises_its_objective():
    from scipy.optimize import minimize
    p, y = stream(40, 2)
    X, aioli, past = platt_features(p), Aioli((0.0, 0.0), factor=0.2, ridge=0.7), []
    for x, outcome in zip(X, y):
        def objective(theta, x=x):
            total = 0.7 * theta @ theta + np.logaddexp(0, theta @ x) + np.logaddexp(0, -theta @ x)
            return total + sum(g @ (theta - at) + eta / 2 * (g @ (theta - at))**2 for at, g, eta in past)
        slow = minimize(objective, np.zeros(2), method="BFGS", options={"gtol": 1e-10}).x
        forecast = aioli.predict(x)
        theta = aioli.update(x, outcome).coef_
        np.testing.assert_allclose(theta, slow, atol=1e-6)
        np.testing.assert_allclose(forecast, 1 / (1 + np.exp(-theta @ x)), rtol=1e-12)
        past.append((theta, (forecast - outcome) * x, 0.2 * np.exp((2 * outcome - 1) * (theta @ x))))


@given(st.floats(-1e6, 1e6), st.floats(0, 1e6))
@settings(max_examples=500, deadline=None, derandomize=True)
def test_the_scalar_root_is_found_everywhere(c, kappa):
    from uqcal.online.online import _root
    z = _root(c, kappa)
    np.testing.assert_allclose(z + kappa * np.tanh(z / 2), c, rtol=1e-12, atol=1e-12)


def test_the_mixture_has_regret_below_the_logarithm_of_its_size():
    p, y = stream(500, 4)
    X = platt_features(p)
    for method in ("grid", "sampling"):
        vovk = AggregatingForecaster((1.0, 0.0), method=method, n_points=200)
        forecast = vovk.prequential(X, y)
        points = vovk.state_[1]
        assert max(regret(X, y, forecast, u)[-1] for u in points) <= np.log(len(points)) + 1e-9


@each_optimizer
def test_optimisers_step_by_step_are_as_at_once(optimizer):
    p, y = stream()
    X = platt_features(p)
    whole, steps, forecast = clone(optimizer), clone(optimizer), []
    at_once = whole.prequential(X, y)
    for x, outcome in zip(X, y):
        forecast.append(steps.predict(x))
        steps.update(x, outcome)
    np.testing.assert_allclose(forecast, at_once, rtol=1e-12)
    np.testing.assert_allclose(steps.coef_, whole.coef_, rtol=1e-12)
    assert np.all((at_once >= 0) & (at_once <= 1))
    before = pickle.dumps(whole)
    for bad in (X[0, :1], [[np.nan, 1.0]], [["a", "b"]], np.zeros((1, 2, 2)), [[np.inf, 1.0]]):
        with pytest.raises((ValueError, TypeError), match="features"): whole.update(bad, 1)
    with pytest.raises(ValueError, match="y_true"): whole.update(X[0], 2)
    assert pickle.dumps(whole) == before
    if hasattr(optimizer, "radius") and not isinstance(optimizer, AggregatingForecaster): assert np.linalg.norm(whole.coef_) <= optimizer.radius * (1 + 1e-12)


@each_scaling
def test_a_stream_can_be_served_stopped_saved_and_continued(scaling):
    p, y = stream()
    at_once = clone(scaling).prequential(p, y)
    live, served = clone(scaling), []
    for p_t, y_t in zip(p[:120], y[:120]):
        served.append(live.predict(p_t))
        live.partial_fit(p_t, y_t)
    file = io.BytesIO()
    joblib.dump(live, file)
    file.seek(0)
    again = joblib.load(file)
    served += [*again.prequential(p[120:200], y[120:200])]
    again_predicts = again.predict(p[200:])
    assert again_predicts.shape == (100,)
    again.partial_fit(p[200:], y[200:])
    np.testing.assert_array_equal(served, at_once[:200])
    np.testing.assert_array_equal(again.coef_, clone(scaling).partial_fit(p, y).coef_)


@each_scaling
def test_the_state_does_not_grow_and_clones_are_fresh(scaling):
    p, y = stream(5000)
    first = clone(scaling).partial_fit(p[:100], y[:100])
    later = clone(scaling).partial_fit(p, y)
    assert len(pickle.dumps(first)) == len(pickle.dumps(later))
    assert clone(later).get_params().keys() == scaling.get_params().keys()
    assert clone(later).predict(0.3) == clone(scaling).predict(0.3)


def test_the_start_is_the_identity():
    p = np.array([1e-5, 0.2, 0.7, 0.99999])
    for fresh in (OnlinePlattScaling(), OnlineBetaScaling()): np.testing.assert_allclose(fresh.predict(p), p, rtol=1e-9)
    assert OnlinePlattScaling().predict(0.0) == pytest.approx(1e-5) and isinstance(OnlinePlattScaling().predict(0.4), float)


@each_scaling
@pytest.mark.parametrize("p, y, name", [([0.1, 1.1], [0, 1], "y_prob"), ([0.1, 0.2], [0, 2], "y_true"), ([0.1, 0.2], [0], "y_true"), ("0.1", 0, "y_prob"), (-0.1, 0, "y_prob"), (0.1, 0.5, "y_true")])
def test_a_refused_call_leaves_the_state_as_it_was(scaling, p, y, name):
    good = stream(50)
    live = clone(scaling).partial_fit(*good)
    before = pickle.dumps(live)
    for call in (live.partial_fit, live.prequential)[:2 if np.ndim(p) else 1]:
        with pytest.raises((ValueError, TypeError), match=name): call(p, y)
    assert pickle.dumps(live) == before


@every_case("make", [lambda: OnlinePlattScaling(clip=0.0), lambda: OnlinePlattScaling(clip=0.5), lambda: OnlinePlattScaling(gamma=0), lambda: OnlinePlattScaling(rho=-1),
                                  lambda: OnlinePlattScaling(radius=np.nan), lambda: OnlinePlattScaling(start=(1, 0, 0)), lambda: OnlineBetaScaling(start=(1, 0)),
                                  lambda: OnlinePlattScaling(optimizer=Aioli((1, 0, 0))), lambda: OnlinePlattScaling(optimizer=Aioli((1, 0), ridge=0)),
                                  lambda: OnlinePlattScaling(optimizer=AggregatingForecaster((1, 0), method="guess"))])
def test_settings_are_checked_when_first_used(make):
    with pytest.raises(ValueError, match="clip|gamma|rho|radius|start|ridge|method"): make().predict(0.5)
