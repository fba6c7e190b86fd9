"""Calibeating: the authors' streams and games, identities, guarantees against an adversary, and what is refused."""
import io
import json
import pickle
from pathlib import Path

import joblib
import numba as nb
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.base import clone
from sklearn.metrics import brier_score_loss

from uqcal.online.calibeating import (FosterForecaster, Hedging, OneAgainstAll, TopLabel, Tracking, _edges, _foster_pair, calibration_error, hobs, hops,
                               refinement, running_calibration_error, running_sharpness, sharpness, tobs, tops)
from uqcal.online.online import OnlineBetaScaling, OnlinePlattScaling
from uqcal.probabilities.recalibration import BetaScaling, HistogramBinning, PeriodicRefit, PlattScaling

OPS = Path(__file__).parent / "published" / "ops"
RELEASED = dict(initial=np.arange(1, 11) / 10 - 0.005, initial_weight=1)          # how the released code starts each bin
NAMES = ["bank", "fetal"]


def load(name): return np.load(OPS / f"sec4_{name}_drift_seed0.npz")


def stream(n=400, seed=0):
    rng = np.random.default_rng(seed)
    p = np.round(rng.random(n), 2)
    return p, (rng.random(n) < p**np.linspace(0.5, 3, n)).astype(int)


class Plain:
    "An expert with nothing but predict and partial_fit."
    def __init__(self): self.shift = 0.0
    def predict(self, p): return np.clip(np.asarray(p) + self.shift, 0, 1)

    def partial_fit(self, p, y):
        self.shift = 0.9 * self.shift + 0.1 * float(np.mean(np.asarray(y) - np.asarray(p)))
        return self


MAKERS = {"tops": tops, "tobs": tobs, "hops": lambda: hops(rng=3), "hobs": lambda: hobs(rng=3), "tracking": Tracking, "hedging": lambda: Hedging(rng=1),
          "tracking a plain expert": lambda: Tracking(Plain(), bin_width=0.25), "hedging a plain expert": lambda: Hedging(Plain(), bin_width=0.25, rng=2),
          "tracking histogram binning": lambda: Tracking(PeriodicRefit(HistogramBinning(5), every=40, warmup=50)), "with a prior": lambda: tops(**RELEASED)}
each = pytest.mark.parametrize("make", MAKERS.values(), ids=MAKERS)


@pytest.mark.parametrize("name", NAMES)
def test_tracking_agrees_with_the_authors(name):
    z = load(name)
    np.testing.assert_allclose(tops(start=(0, 0), **RELEASED).prequential(z["p"], z["y"]), z["tops"], atol=1e-8, rtol=0)
    np.testing.assert_allclose(tops(start=(0, 0)).prequential(z["p"], z["y"]), z["tops_plain"], atol=1e-8, rtol=0)


@pytest.mark.parametrize("name", NAMES)
def test_hedging_agrees_with_the_authors(name):
    z = load(name)
    np.testing.assert_allclose(hops(start=(0, 0)).prequential(z["p"], z["y"], uniforms=z["hops_u"]), z["hops"], atol=1e-8, rtol=0)


def test_calibeaten_beta_scaling_agrees_with_the_authors():
    bank, z = load("bank"), np.load(OPS / "beta_bank_seed0.npz")
    p, y = bank["p"], bank["y"]
    np.testing.assert_allclose(tobs(start=(0, 0, 0), **RELEASED).prequential(p, y), z["tobs"], atol=1e-8, rtol=0)
    np.testing.assert_allclose(tobs(start=(0, 0, 0)).prequential(p, y), z["tobs_plain"], atol=1e-8, rtol=0)
    np.testing.assert_allclose(hobs(start=(0, 0, 0)).prequential(p, y, uniforms=z["hobs_u"]), z["hobs"], atol=1e-8, rtol=0)


def test_tracked_histogram_binning_agrees_with_the_authors():
    bank, z = load("bank"), np.load(OPS / "hb_bank_seed0.npz")
    y = bank["y"][1000:]
    np.testing.assert_allclose(Tracking(None, **RELEASED).prequential(z["whb"], y), z["twhb"], atol=1e-8, rtol=0)
    np.testing.assert_allclose(Tracking(None).prequential(z["whb"], y), z["twhb_plain"], atol=1e-8, rtol=0)


@pytest.mark.parametrize("name", NAMES)
def test_metrics_agree_with_the_authors(name):
    z = load(name)
    T, W, p, y = int(z["T_cal"]), int(z["W"]), z["p"], z["y"]
    forecasts = {"bm": p, "fps": PeriodicRefit(PlattScaling(), every=None, warmup=T).prequential(p, y), "wps": PeriodicRefit(PlattScaling(), every=W, warmup=T).prequential(p, y),
                 "ops": z["ops"], "tops": z["tops"], "hops": z["hops"], "tops_plain": z["tops_plain"]}
    for method, q in forecasts.items():
        error, sharp = running_calibration_error(y[T:], q[T:]), running_sharpness(y[T:], q[T:])
        np.testing.assert_allclose(error[z["eval_times"] - T - 1], z[f"CE_{method}"], atol=2e-8, rtol=0)
        np.testing.assert_allclose(sharp[z["eval_times"] - T - 1], z[f"SHP_{method}"], atol=2e-8, rtol=0)


def test_metrics_of_beta_and_histogram_binning_agree_with_the_authors():
    bank, beta, hb = load("bank"), np.load(OPS / "beta_bank_seed0.npz"), np.load(OPS / "hb_bank_seed0.npz")
    y, at = bank["y"][1000:], beta["eval_times"] - 1001
    found = {"wbs": PeriodicRefit(BetaScaling()).prequential(bank["p"], bank["y"])[1000:], "obs": beta["obs"][1000:], "tobs": beta["tobs"][1000:], "hobs": beta["hobs"][1000:]}
    for method, q in found.items(): np.testing.assert_allclose(running_calibration_error(y, q)[at], beta[f"CE_{method}"], atol=2e-8, rtol=0)
    for method in ("whb", "twhb"): np.testing.assert_allclose(running_calibration_error(y, hb[method])[at], hb[f"CE_{method}"], atol=2e-8, rtol=0)


@pytest.mark.parametrize("name", ["m10", "m5", "m20", "alt", "drift"])
def test_the_game_is_exact(name):
    z = np.load(OPS / "f99_cases.npz")
    m, pivot, y = int(z[f"{name}_m"]), int(z[f"{name}_pivot"]), z[f"{name}_y"]
    at_once = FosterForecaster(m, pivot).prequential(y, uniforms=z[f"{name}_u"])
    np.testing.assert_allclose(at_once, z[f"{name}_forecast"], atol=1e-10, rtol=0)
    np.testing.assert_array_equal(np.floor(at_once * m), z[f"{name}_cell_exact"])
    game = FosterForecaster(m, pivot)
    for t, outcome in enumerate(y):
        points, chances = game.forecast_distribution()
        assert (chances[0] < 1) == bool(z[f"{name}_randomised_exact"][t])
        game.prequential([outcome], uniforms=z[f"{name}_u"][t:t + 1])


@given(st.lists(st.integers(0, 1), min_size=1, max_size=120), st.integers(1, 12), st.integers(0, 11), st.integers(0, 1000))
@settings(max_examples=5 * settings.default.max_examples, deadline=None, derandomize=True)
def test_fosters_conditions_hold_at_every_step(outcomes, m, pivot, seed):
    game = FosterForecaster(m, pivot % m, rng=seed)
    for y in outcomes:
        points, chances = game.forecast_distribution()
        ones, plays = (counts[0] for counts in game.game_)
        mean = np.where(plays > 0, ones / np.maximum(plays, 1), (np.arange(m) + 0.5) / m)
        deficit, excess = np.arange(m) / m - mean, mean - np.arange(1, m + 1) / m
        i = int(points[0] * m)
        if chances[0] == 1: assert deficit[i] <= 1e-12 and excess[i] <= 1e-12
        else:
            assert points[1] == pytest.approx(points[0] + 1 / m) and excess[i] > 0 and deficit[i + 1] > 0
            assert not np.any((deficit < -1e-12) & (excess < -1e-12) & (plays > 0))
            assert chances[0] == pytest.approx(deficit[i + 1] / (deficit[i + 1] + excess[i]))
        assert game.predict() in points
        game.partial_fit(y)


def against_the_adversary(forecaster, seed, n):
    "Forecasts, and answers that are 1 exactly where the mean of what the forecast is drawn from is at most ½."
    made, answers = [], []
    for p in np.random.default_rng([seed, 0]).random(n):
        points, chances = forecaster.forecast_distribution(p) if isinstance(forecaster, Hedging) else ([forecaster.predict(p)], [1.0])
        answers.append(int(np.dot(points, chances) <= 0.5 + TIE))
        made.append(forecaster.predict(p))
        forecaster.partial_fit(p, answers[-1])
    return answers, made


# Equal chances on either side of ½ have the mean ½, and rounding must not give the answer. Means other than ½ are at least 1/(m n²) away after n steps with m bins.
TIE = 1e-9
SEEDS = range(4)


@pytest.mark.parametrize("make", [OnlinePlattScaling, OnlineBetaScaling, tops, tobs])
def test_the_adversary_ruins_each_deterministic_forecast(make):
    "Each step costs |q − y| ≥ ½, always in the same direction within a bin, so that nothing cancels."
    for seed in SEEDS: assert np.all(running_calibration_error(*against_the_adversary(make(), seed, 500)) >= 0.5 - TIE)


@pytest.mark.parametrize("width", [0.5, pytest.param(0.25, marks=pytest.mark.slow), pytest.param(0.1, marks=pytest.mark.slow)])
def test_hedging_keeps_its_guarantee_against_the_adversary(width):
    "Theorem 3.2 of Gupta and Ramdas bounds the mean over the draws, at each T. Wide bins give the tighter bound: ¼ + 4/√T for two."
    games = [against_the_adversary(hops(bin_width=width, rng=np.random.default_rng([seed, 1])), seed, 1000) for seed in SEEDS]
    error = np.mean([running_calibration_error(*game, bin_width=width) for game in games], axis=0)
    assert np.all(error <= width / 2 + 2 / (width * np.sqrt(np.arange(1, 1001))))


@nb.njit
def potentials(kind, m, n, games, rng):
    "Sums over cells of plays times squared distance of the mean from the cell, at the end of games against an opponent of some kind."
    out = np.empty(games)
    for g in range(games):
        ones, plays = np.zeros(m, np.int64), np.zeros(m, np.int64)
        for t in range(n):
            low, chance = _foster_pair(ones, plays, 0)
            mean = (low + 0.5 + (1 - chance)) / m
            if kind == 0: y = int(mean <= 0.5 + 1e-9)
            elif kind == 1: y = int(rng.random() < 0.5)
            elif kind == 2: y = int(rng.random() < t / n)
            else: y = int(plays[low] > plays[min(low + 1, m - 1)])  # against the cell that was played more
            cell = low + (rng.random() > chance)
            plays[cell] += 1
            ones[cell] += y
        away = np.maximum(0, np.maximum(np.arange(m) / m - ones / np.maximum(plays, 1), ones / np.maximum(plays, 1) - np.arange(1, m + 1) / m))
        out[g] = np.sum(plays * away**2)
    return out


@pytest.mark.parametrize("kind", range(4))
@pytest.mark.slow
def test_the_potential_of_a_game_grows_like_a_logarithm_at_most(kind):
    """Eq. 8 of the page, for the mean over 400 games; equal chances in place of Eq. 6 break it against the first opponent."""
    for m, n in [(2, 3000), (10, 3000), (10, 50), (20, 3000)]:
        found = potentials(kind, m, n, 400, np.random.default_rng(1))
        assert found.mean() <= m * (1 + np.log(n / m)) + 4 * found.std() / 20


@given(st.lists(st.tuples(st.floats(0, 1), st.integers(0, 1)), min_size=1, max_size=60), st.sampled_from([1.0, 0.5, 0.2, 0.1, 0.05, 1 / 3]))
@settings(max_examples=5 * settings.default.max_examples, deadline=None, derandomize=True)
def test_the_identities_hold(pairs, width):
    q, y = np.array(pairs).T
    R, n = refinement(y, q, bin_width=width), len(y)
    np.testing.assert_allclose(R, y.mean() - sharpness(y, q, bin_width=width), atol=1e-12)
    assert R <= brier_score_loss(y, q) + width + width**2 / 4 + 1e-12
    np.testing.assert_allclose(running_calibration_error(y, q, bin_width=width)[-1], calibration_error(y, q, bin_width=width), atol=1e-12)
    tracked, m = Tracking(None, bin_width=width).prequential(q, y), round(1 / width)
    assert brier_score_loss(y, tracked) <= R + m * (np.log(n) + 1) / n + 1e-12
    assert sharpness(y, tracked, bin_width=width) >= sharpness(y, q, bin_width=width) - width - width**2 / 4 - m * (np.log(n) + 1) / n - 1e-12


def test_bins_are_closed_on_the_right_with_edges_rounded_correctly():
    for k in range(1, 10):
        y, low, high = [1, 0], k / 10, np.nextafter(k / 10, 1)
        assert calibration_error(y, [low, high]) == pytest.approx(0.5, abs=0.5) and sharpness(y, [low, high]) == 0.5
    assert _edges(0.05).tolist() == [k / 20 for k in range(1, 21)]
    assert sharpness([1, 0], [0.0, 0.1]) == 0.25 and sharpness([1, 0], [0.91, 1.0]) == 0.25


@each
def test_step_by_step_is_as_at_once(make):
    p, y = stream()
    at_once = make().prequential(p, y)
    live, served = make(), []
    for p_t, y_t in zip(p[:150], y[:150]):
        served.append(live.predict(p_t))
        assert isinstance(served[-1], float)
        live.partial_fit(p_t, y_t)
    file = io.BytesIO()
    joblib.dump(live, file)
    file.seek(0)
    served += [*joblib.load(file).prequential(p[150:], y[150:])]
    np.testing.assert_allclose(served, at_once, rtol=1e-14)
    assert np.all((at_once >= 0) & (at_once <= 1))


@each
@pytest.mark.parametrize("p, y, name", [([0.1, 1.1], [0, 1], "y_prob"), ([0.1, 0.2], [0, 2], "y_true"), ([0.1, 0.2], [0], "y_true")])
def test_a_refused_call_leaves_the_state_as_it_was(make, p, y, name):
    live = make().partial_fit(*stream(60))
    before = pickle.dumps(live.__getstate__())
    for call in (live.partial_fit, live.prequential):
        with pytest.raises((ValueError, TypeError), match=name): call(p, y)
    assert pickle.dumps(live.__getstate__()) == before
    if name == "y_prob":
        with pytest.raises((ValueError, TypeError), match=name): live.predict(p)


@each
def test_clones_are_fresh_and_the_expert_handed_over_is_left_alone(make):
    made = make()
    before = pickle.dumps(made.expert) if made.expert is not None else None
    made.partial_fit(*stream(60))
    if before: assert pickle.dumps(made.expert) == before
    if not isinstance(made.expert, Plain): assert clone(made).partial_fit(0.5, 1) is not None


def test_missing_uniforms_are_refused_and_change_nothing():
    z = load("fetal")
    u = z["hops_u"].copy()
    first = np.flatnonzero(~np.isnan(u))[10]
    u[first] = np.nan
    game = hops(start=(0, 0), rng=1)
    game.prequential(z["p"][:5], z["y"][:5], uniforms=z["hops_u"][:5])
    before = pickle.dumps(game.__getstate__())
    with pytest.raises(ValueError, match=f"none at position {first - 5}"): game.prequential(z["p"][5:], z["y"][5:], uniforms=u[5:])
    with pytest.raises(ValueError, match="uniforms"): game.prequential(z["p"][5:], z["y"][5:], uniforms=u[:3])
    with pytest.raises(ValueError, match="uniforms"): game.prequential([0.5], [1], uniforms=[1.5])
    assert pickle.dumps(game.__getstate__()) == before


@pytest.mark.parametrize("make", [lambda: Tracking(bin_width=0.3), lambda: Tracking(bin_width=0), lambda: Tracking(bin_width=np.nan), lambda: Tracking(initial=[0.1, 0.2]),
                                  lambda: Tracking(initial=1.5), lambda: Tracking(initial_weight=-1), lambda: Hedging(bin_width=0.7), lambda: Hedging(rng=-1)])
def test_settings_are_checked_when_first_used(make):
    with pytest.raises(ValueError, match="bin_width|initial|rng"): make().predict(0.5)


def test_the_first_forecasts_of_tracking_are_mid_points():
    p = np.linspace(0, 1, 21)
    np.testing.assert_allclose(Tracking().predict([0.0, 0.1, 0.15, 1.0]), [0.05, 0.05, 0.15, 0.95])
    np.testing.assert_allclose(Tracking(bin_width=0.5, initial=0.3, initial_weight=2).partial_fit(p[:1], [1]).predict(0.2), (2 * 0.3 + 1) / 3)


def test_hedging_states_its_forecast_before_the_outcome():
    p, y = stream(200)
    game = Hedging(rng=2)
    for p_t, y_t in zip(p, y):
        points, chances = game.forecast_distribution(p_t)
        assert chances.sum() == pytest.approx(1) and game.predict(p_t) in points
        assert game.predict(p_t) == game.predict(p_t)
        game.partial_fit(p_t, y_t)


def test_multiclass_reductions_use_the_binary_parts():
    rng = np.random.default_rng(0)
    P = rng.dirichlet([1, 1, 1], 300)
    label = np.array([rng.choice(3, p=row**2 / np.sum(row**2)) for row in P])
    made = OneAgainstAll(tops()).prequential(P, label)
    np.testing.assert_array_equal(made[:, 1], tops().prequential(P[:, 1], label == 1))
    np.testing.assert_allclose(OneAgainstAll(tops(), normalize=True).prequential(P, label).sum(axis=1), 1)
    top, chance = TopLabel(tops()).prequential(P, label)
    chosen = top == 2
    np.testing.assert_array_equal(chance[chosen], tops().prequential(P[chosen, 2], label[chosen] == 2))
    for bad in (P[0], P * 2, np.full((2, 3), np.nan)):
        with pytest.raises(ValueError, match="y_prob"): TopLabel(tops()).prequential(bad, [0, 1])
    for wrong in ([0, 3], [0, 0.5], [0]):
        with pytest.raises(ValueError, match="y_true"): OneAgainstAll(tops()).prequential(P[:2], wrong)


@pytest.mark.parametrize("make", [lambda: OneAgainstAll(tops()), lambda: OneAgainstAll(hops(rng=2), normalize=True), lambda: TopLabel(tops()), lambda: TopLabel(Tracking())])
def test_late_outcomes_of_classes_are_booked_where_they_were_stated(make):
    rng = np.random.default_rng(0)
    P = rng.dirichlet([1, 1, 1], 240)
    label = np.array([rng.choice(3, p=row**2 / np.sum(row**2)) for row in P])
    live, at_once, stated = make(), make(), {}
    for t in range(240):
        stated[t] = live.forecast(P[t:t + 1], [t])
        if t == 120: live = type(live).from_dict(json.loads(json.dumps(live.to_dict())))
        if t >= 40: np.testing.assert_array_equal(live.outcome([t - 40], label[[t - 40]]), stated[t - 40])
    assert sorted(live.open_keys) == list(range(200, 240)) and live.is_open(239) and not live.is_open(3)
    before = live.to_dict()
    for wrong, said in [(lambda: live.outcome([200, 3], [0, 1]), "key 3 has no open forecast"), (lambda: live.outcome([200], [3]), "y_true"), (lambda: live.outcome([200], [0, 1]), "one class for each of the 1 keys"),
                        (lambda: live.forecast(P[:1], [230]), "still out"), (lambda: live.forecast(P[:2], [1]), "one key for each of the 2"), (lambda: live.forecast(P[:2, :2], [1, 2]), "y_prob"), (lambda: live.withdraw([3]), "no open")]:
        with pytest.raises(ValueError, match=said): wrong()
    assert live.to_dict() == before
    np.testing.assert_array_equal(live.outcome([239, 200], label[[239, 200]]), np.concatenate([stated[239], stated[200]], axis=0 if isinstance(live, OneAgainstAll) else 1))
    assert live.withdraw(live.open_keys).open_keys == []
    if isinstance(live, TopLabel) and live.forecaster.expert is None:  # the bins are those of the scores, so that lateness can't move them
        at_once.prequential(P[[*range(201), 239]], label[[*range(201), 239]])
        for one, two in zip(live.parts_, at_once.parts_): np.testing.assert_array_equal(one.state_, two.state_)


def test_forecasters_without_tickets_take_no_late_outcomes():
    class Plain:
        def predict(self, p): return p
    with pytest.raises(TypeError, match="forecaster must keep tickets"): OneAgainstAll(Plain()).forecast(np.full((1, 2), 0.5), ["a"])


def test_experts_run_alike_with_and_without_prequential():
    p, y = stream()

    class Bare:
        def __init__(self): self.inner = OnlineBetaScaling()
        def predict(self, p): return self.inner.predict(p)
        def partial_fit(self, p, y): self.inner.partial_fit(p, y)

    np.testing.assert_array_equal(Tracking(Bare()).prequential(p, y), tobs().prequential(p, y))


@pytest.mark.parametrize("made", [lambda: hops(rng=5), lambda: Hedging(rng=np.random.default_rng(5)), lambda: Hedging(OnlinePlattScaling(), rng=5)])
@pytest.mark.parametrize("kind", [OneAgainstAll, TopLabel])
def test_classes_of_a_seeded_hedger_draw_apart_and_again_the_same(made, kind):
    "Mutation: each class with a copy of one generator, so that all draw the same numbers."
    rng = np.random.default_rng(0)
    P, y = rng.dirichlet(np.ones(3), 300), rng.integers(0, 3, 300)
    several = [kind(made()) for _ in range(2)]
    first, again = (one.prequential(P, y) for one in several)
    np.testing.assert_array_equal(first, again)
    draws = [part.rng_.random() for part in several[0].parts_]
    assert len(set(draws)) == 3
    twin = kind(made()).prequential(P[:150], y[:150])                       # in two parts as in one
    np.testing.assert_array_equal(np.asarray(twin), np.asarray(first)[..., :150] if kind is TopLabel else first[:150])
