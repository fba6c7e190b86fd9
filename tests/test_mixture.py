"""The mixture: its experts, a slow twin, regret bounds on random and adversarial streams, order, late outcomes, and what it costs."""
import math
import time

import numba as nb
import numpy as np
import pytest
from sklearn.base import clone

from uqcal.online.calibeating import tops
from uqcal.online.mixture import OnlineMixture
from uqcal.online.online import OnlineBetaScaling, OnlinePlattScaling


def stream(n=600, seed=0):
    "A score whose truth bends ever more, and outcomes."
    rng = np.random.default_rng(seed)
    p = rng.beta(0.6, 0.6, n)
    return p, (rng.random(n) < p**np.linspace(0.5, 3, n)).astype(float)


def sigma(z): return 1 / (1 + math.exp(-z)) if z >= 0 else math.exp(z) / (1 + math.exp(z))


def held(q): return min(max(q, 1e-300), 1 - 2**-53)


def drawer(q): return 10 if q < 1e-5 else 11 if q > 1 - 1e-5 else next(i for i in range(10) if q <= (i + 1) / 10)


PRIOR = np.array([0.69, 0.05, 0.05, 0.05, 0.05, 0.05, 0.01, 0.05])
PAIR = np.array([2 / 3, 1 / 3])


def slow(p, y, share=1e-4):
    "Eqs 3, 5 and 7 in plain Python: forecasts, weights at the end."
    keep, ridge = [1.0, 0.99, 0.999, 0.9999], [100.0, 5.0, 5.0, 5.0]
    theta, A = [np.array([1.0, 0.0]) for _ in keep], [r * np.eye(2) for r in ridge]
    beta, B = np.array([1.0, -1.0, 0.0]), 25 * np.eye(3)
    drawers = [*([1.0, (i + 0.5) / 10] for i in range(10)), [1.0, 5e-6], [1.0, 1 - 5e-6]]
    lift, mend = [[0.0, 10.0] for _ in range(12)], [[0.0, 10.0] for _ in range(12)]
    weight, pair, out, ends = PRIOR, PAIR, [], [1e-5, 1 - 1e-5]
    for t, (score, outcome) in enumerate(zip(p, y), start=1):
        if 0 < score < 1: ends = [min(ends[0], score), max(ends[1], score)]
        c = score if 0 < score < 1 else ends[int(score)]
        z = math.log(c / (1 - c))
        x, x3 = np.array([z, 1.0]), np.array([math.log(c), math.log1p(-c), 1.0])
        maps, bent = [sigma(th @ x) for th in theta], sigma(beta @ x3)
        d, e = drawer(maps[0]), drawer(c)
        stated = [c, *maps, bent, drawers[d][1] / drawers[d][0], sigma(z + lift[e][0])]
        q = np.array([held(s) for s in stated])
        mixed = held(weight @ q)
        f = drawer(mixed)
        two = np.array([mixed, held(sigma(math.log(mixed / (1 - mixed)) + mend[f][0]))])
        out.append(held(pair @ two))
        for i in range(4):
            g = (maps[i] - outcome) * x
            if i == 0: A[i] = A[i] + np.outer(g, g)
            else: A[i] = keep[i] * A[i] + (1 - keep[i]) * 5 * np.eye(2) + maps[i] * (1 - maps[i]) * np.outer(x, x)
            theta[i] = theta[i] - (10 if i == 0 else 1) * np.linalg.solve(A[i], g)
        g = (bent - outcome) * x3
        B = B + np.outer(g, g)
        beta = beta - 10 * np.linalg.solve(B, g)
        drawers[d] = [drawers[d][0] + 1, drawers[d][1] + outcome]
        for table, k, s, kappa in ((lift, e, stated[-1], 0.99), (mend, f, two[1], 0.9999)):
            table[k][1] = kappa * table[k][1] + (1 - kappa) * 10 + s * (1 - s)
            table[k][0] -= (s - outcome) / table[k][1]
        alpha = max(share, 1 / (t + 1))
        weight, pair = (w * np.where(outcome == 1, s, 1 - s) for w, s in ((weight, q), (pair, two)))
        weight, pair = ((1 - alpha) * w / w.sum() + alpha * first for w, first in ((weight, PRIOR), (pair, PAIR)))
    return np.array(out), weight


@pytest.mark.parametrize("seed", range(3))
def test_the_kernel_is_the_slow_twin(seed):
    p, y = stream(seed=seed)
    p[::50], p[1::50], p[2::50] = 0.0, 1.0, 0.3          # certain scores, and one on an edge
    mixture = OnlineMixture()
    made, weight = slow(p, y)
    np.testing.assert_allclose(mixture.prequential(p, y), made, rtol=1e-7)
    np.testing.assert_allclose(mixture.weights_, weight, rtol=1e-5)


def test_experts_are_the_methods_whose_names_they_bear():
    p, y = stream(5000, 3)
    p = 0.001 + 0.998 * p
    table = OnlineMixture().prequential_experts(p, y)
    for name, method in [("OPS", OnlinePlattScaling()), ("OBS", OnlineBetaScaling()), ("TOPS", tops(initial_weight=1))]:
        np.testing.assert_allclose(table[name], method.prequential(p, y), rtol=1e-9)
    np.testing.assert_array_equal(table["score"], p)
    np.testing.assert_array_equal(table["forecast"], OnlineMixture().prequential(p, y))


@nb.njit
def _cheapest(chance, alpha, prior):
    "Least of log loss minus log prior chance over all sequences of experts."
    price = -np.log(chance[0]) - np.log(prior)
    for t in range(1, chance.shape[0]):
        stay, move = -np.log(1 - alpha[t - 1] + alpha[t - 1] * prior), -np.log(alpha[t - 1] * prior)
        price = np.minimum(price + stay, price.min() + move) - np.log(chance[t])
    return price.min()


def random_streams(number):
    "Streams of all sorts: drift, jumps, certain scores, rare ones, nonsense."
    rng = np.random.default_rng(7)
    for i in range(number):
        n = int(rng.integers(1, 600))
        p = [rng.beta(*rng.uniform(0.1, 3, 2), n), rng.integers(0, 2, n) * 1.0, np.full(n, rng.random()), rng.random(n)**20][i % 4]
        z = np.log(np.clip(p, 1e-6, 1 - 1e-6) / (1 - np.clip(p, 1e-6, 1 - 1e-6)))
        move = np.where(np.arange(n) < rng.integers(0, n + 1), 0.0, rng.normal(0, 3)) + np.linspace(0, rng.normal(0, 2), n)
        y = (rng.random(n) < 1 / (1 + np.exp(-np.clip(rng.normal(1, 1) * z + move, -50, 50)))).astype(float)
        yield p, [y, rng.integers(0, 2, n) * 1.0, np.arange(n) // max(1, n // 5) % 2 * 1.0][i % 3]


def within_bounds(p, y, share):
    "That the mixture and the stated forecast keep their bounds on a stream."
    mixture = OnlineMixture(share=share)
    frame = mixture.prequential_experts(p, y)
    table, names = frame.to_numpy(), list(frame)[:8]
    assert ((table > 0) & (table < 1)).all()
    so_far = np.cumsum(-np.log(np.where(y[:, None] == 1, table, 1 - table)), axis=0)
    chance, loss = np.exp(-np.diff(so_far, axis=0, prepend=0)), so_far[-1]
    alpha = np.maximum(share, 1 / (np.arange(1, p.size + 1) + 1))
    assert loss[8] <= _cheapest(np.ascontiguousarray(chance[:, :8]), alpha, PRIOR) + 1e-6
    assert loss[10] <= _cheapest(np.ascontiguousarray(chance[:, 8:10]), alpha, PAIR) + 1e-6
    for k, first in enumerate(names):
        assert loss[10] <= loss[k] + mixture.regret_bound(first) + 1e-6
        for j, then in enumerate(names):                        # the best time to change from one to the other
            both = loss[j] + (so_far[:, k] - so_far[:, j]).min()
            assert loss[10] <= both + mixture.regret_bound(first, then) + 1e-6


def test_regret_stays_below_its_bounds_on_random_streams():
    """Deterministic bounds: no stream may break them. A weight that forgets to share, or shares before it learns, does."""
    for i, (p, y) in enumerate(random_streams(300)): within_bounds(p, y, [1e-4, 0.01, 0.3][i % 3])


@pytest.mark.parametrize("score", ["random", "certain", "one value"])
def test_regret_stays_below_its_bounds_against_an_adversary(score):
    "Each outcome is the one that the forecast makes less likely."
    rng = np.random.default_rng(2)
    p = {"random": rng.random(1500), "certain": rng.integers(0, 2, 1500) * 1.0, "one value": np.full(1500, 0.3)}[score]
    mixture, y = OnlineMixture(), np.empty(1500)
    for t in range(1500):
        y[t] = mixture.predict(p[t]) <= 0.5
        mixture.partial_fit(p[t], y[t])
    within_bounds(p, y, 1e-4)


def test_the_bound_is_the_price_of_the_page():
    mixture = OnlineMixture(share=1e-3)
    assert mixture.regret_bound("score") == pytest.approx(math.log(1.5 / 0.69))
    mixture.prequential(*stream(5000))
    stay = math.log(1000) - 4000 * math.log1p(-1e-3)
    alpha = np.maximum(1e-3, 1 / (np.arange(1, 5000) + 1))
    assert stay == pytest.approx(-np.log1p(-alpha).sum(), rel=1e-9)
    assert mixture.regret_bound("score") == pytest.approx(math.log(1.5 / 0.69) + 2 * stay, rel=1e-9)
    assert mixture.regret_bound("score", "TOPS", "OPS") - mixture.regret_bound("score") == pytest.approx(2 * math.log(1000) + math.log(100 / 0.05), rel=1e-9)
    with pytest.raises(ValueError, match="experts"): mixture.regret_bound("OPSS")
    with pytest.raises(ValueError, match="experts"): mixture.regret_bound()


def test_forecasts_keep_the_order_within_a_bin_and_are_never_certain():
    """Rare ones: tracking loses the order of the scores, the mixture keeps it to 0.01 of the area."""
    from scipy.stats import rankdata
    rng = np.random.default_rng(5)
    p = 1 / (1 + np.exp(7.3 - 1.5 * rng.normal(size=40_000)))
    y = (rng.random(p.size) < p).astype(float)

    def area(q): return (rankdata(q)[y == 1].sum() - y.sum() * (y.sum() + 1) / 2) / y.sum() / (y.size - y.sum())
    made = OnlineMixture().prequential(p, y)
    assert area(made) > area(p) - 0.01 > area(tops().prequential(p, y)) + 0.1
    ones = OnlineMixture().prequential(np.r_[np.full(2000, 0.9), np.full(2000, 0.99)], np.ones(4000))
    assert 0.99 < ones[-1] < 1
    learnt = OnlineMixture()
    learnt.prequential(p, y)
    grid = np.linspace(0.001, 0.099, 50)
    assert (np.diff(learnt.predict(grid)) > 0).all()


def test_step_by_step_is_as_at_once_and_refused_input_changes_nothing():
    p, y = stream()
    whole, steps, made = OnlineMixture(), OnlineMixture(), []
    at_once = whole.prequential(p, y)
    for score, outcome in zip(p, y):
        made.append(steps.predict(score))
        steps.partial_fit(score, outcome)
        for wrong in ((1.5, 1), (score, 2), (np.nan, 0)):
            with pytest.raises(ValueError): steps.partial_fit(*wrong)
    np.testing.assert_array_equal(made, at_once)
    for a, b in zip(whole.state_, steps.state_): np.testing.assert_array_equal(a, b)
    assert not hasattr(clone(whole), "state_")


def test_late_outcomes_are_booked_where_the_forecast_was_made():
    "Issued and booked at once: the same bits. Late: weights and bins as stated, and no harm."
    p, y = stream(4000, 4)
    direct, booked, late = OnlineMixture(), OnlineMixture(), OnlineMixture()
    at_once = direct.prequential(p, y)
    stated = []
    for t in range(p.size):
        made, ticket = booked.issue(p[t:t + 1])
        stated.append(made[0])
        booked.book(ticket, y[t:t + 1])
    np.testing.assert_array_equal(stated, at_once)
    for a, b in zip(direct.state_, booked.state_): np.testing.assert_array_equal(a, b)
    tickets, delayed = [], []
    for t in range(p.size):
        made, ticket = late.issue(p[t:t + 1])
        delayed.append(made[0])
        tickets += ticket
        if t >= 200: late.book([tickets[t - 200]], y[t - 200:t - 199])
    bins = np.array([row[2] for row in tickets])               # what OPS stated when the forecast was made
    where = np.array([drawer(q) for q in bins[:3800]])
    np.testing.assert_array_equal(late.state_[2][0], 1 + np.bincount(where, minlength=12))
    loss = lambda q: -np.log(np.where(y == 1, q, 1 - np.asarray(q)))[400:].mean()          # noqa: E731
    assert loss(delayed) < loss(at_once) + 0.02


@pytest.mark.parametrize("share", [0.0, 1.0, -1, np.nan, True])
def test_settings_are_checked_when_first_used(share):
    with pytest.raises((ValueError, TypeError), match="share"): OnlineMixture(share=share).prequential([0.5], [1])


def test_a_step_costs_at_most_twelve_of_online_platt_scaling():
    p, y = stream(200_000)
    spent = {}
    for make in (OnlinePlattScaling, OnlineMixture) * 4:
        made = make().partial_fit(p[:9], y[:9])
        began = time.process_time()
        made.prequential(p, y)
        spent.setdefault(make, []).append(time.process_time() - began)
    assert min(spent[OnlineMixture]) < 12 * min(spent[OnlinePlattScaling])
    assert sum(part.nbytes for part in made.state_) < 2000
