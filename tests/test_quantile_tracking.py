"""Quantiles that follow their outcomes: the promise on every sequence, tickets, states, members, refusals."""
import json
import time

import numpy as np
import pytest
from sklearn.base import clone

from uqcal.online.interval_streams import OnlineBounds, QuantileTracker
from uqcal.online.quantile_tracking import OnlineMembers, OnlineQuantiles

LEVELS = np.array([0.05, 0.1, 0.25, 0.4, 0.5, 0.6, 0.75, 0.9, 0.95])
SCORES = np.array([-1.645, -1.282, -0.674, -0.253, 0.0, 0.253, 0.674, 1.282, 1.645])
STEPS = pytest.mark.parametrize("steps", [0.05, 0.2, "mixed"])


def load(seed, n=900, rise=6.0):
    "A load with seasons and its quantiles, right until day 600; errors follow each other."
    rng, t = np.random.default_rng(seed), np.arange(n)
    sd = 4 + 1.5 * np.cos(2 * np.pi * t / 365)
    error = np.empty(n)
    error[0] = rng.standard_normal()
    for k in range(1, n): error[k] = 0.6 * error[k - 1] + 0.8 * rng.standard_normal()
    middle = 100 + 12 * np.sin(2 * np.pi * t / 365)
    return middle + sd * error + rise * np.clip((t - 600) / 300, 0, 1), middle[:, None] + sd[:, None] * SCORES


def awkward(name, n=1500):
    "Sequences without chance, or of rows whose shape changes."
    rng, t = np.random.default_rng(3), np.arange(n)
    even = np.tile(np.linspace(-1, 1, 9), (n, 1))
    if name == "staircase": return np.floor(10 * t / n), even
    if name == "jumps": return 5.0 * (t % 500 < 250), even
    if name == "atom": return np.where(rng.random(n) < 0.6, 0.0, rng.exponential(1, n)), even
    if name == "no width": return rng.standard_normal(n), np.where((t % 3 == 1)[:, None], 0.0, even)
    rows = np.cumsum(rng.random((n, 9)) ** 8 + 1e-9, axis=1) * np.where(t % 2, 1, 10.0)[:, None]
    return rng.standard_normal(n), rows - rows.mean(axis=1, keepdims=True)


@pytest.mark.parametrize("name", ["staircase", "jumps", "atom", "no width", "uneven"])
@pytest.mark.parametrize("step", [0.02, 0.05, 0.3])
def test_each_level_holds_as_promised_whatever_comes(name, step):
    "Eq. 3 to the last digits, Eq. 4 as an inequality. Mutations: `<` for `<=`, pooling left out, the bound without uneven gaps."
    y, rows = awkward(name)
    tracker = OnlineQuantiles(LEVELS, steps=step)
    played = tracker.prequential(y, rows)
    share = (y[:, None] <= played).mean(axis=0)
    np.testing.assert_allclose(tracker.shares_, share, atol=1e-12)
    np.testing.assert_allclose(LEVELS - share, tracker.shifts_ / (step * y.size), atol=1e-10)
    assert (np.diff(played, axis=1) >= -1e-12 * np.abs(played).max()).all()
    assert np.abs(share - LEVELS).max() <= tracker.bound_ < np.inf


def test_an_adversary_who_sees_what_is_played_is_held_too():
    tracker, row, below = OnlineQuantiles(LEVELS), np.linspace(-1, 1, 9), np.zeros(9)
    for t in range(400):
        y = float(np.clip(tracker.predict(row)[4] + (0.01 if t % 200 < 100 else -0.01), -5, 5))
        below += y <= tracker.prequential([y], [row])[0]
        assert np.abs(below / (t + 1) - LEVELS).max() <= tracker.bound_


@STEPS
def test_what_is_stated_has_not_seen_its_outcome(steps):
    y, rows = load(1, 60)
    whole = OnlineQuantiles(LEVELS, steps=steps).prequential(y, rows)
    for t in (0, 20, 59):
        other = y.copy()
        other[t] += 50
        made = OnlineQuantiles(LEVELS, steps=steps).prequential(other, rows)
        np.testing.assert_array_equal(made[:t + 1], whole[:t + 1])
        assert t == 59 or (made[t + 1] != whole[t + 1]).any()


@STEPS
@pytest.mark.parametrize("kind", ["quantiles", "members"])
def test_tickets_give_the_bits_of_the_stream_and_states_go_on(steps, kind):
    y, rows = load(2, 120)
    def make(): return OnlineQuantiles(LEVELS, steps=steps) if kind == "quantiles" else OnlineMembers(9, steps=steps)
    if kind == "members": rows = np.random.default_rng(0).permuted(rows, axis=1)
    expected, served = make().prequential(y, rows), make()
    for t in range(120):
        np.testing.assert_array_equal(served.forecast(rows[t], key=t), expected[t])
        if t == 70: served = type(served).from_dict(json.loads(json.dumps(served.to_dict(), allow_nan=False)))
        np.testing.assert_array_equal(served.outcome(t, y[t]), expected[t])
    late = make()
    late.forecast(rows[:50], key=list(range(50)))
    late = type(late).from_dict(json.loads(json.dumps(late.to_dict(), allow_nan=False)))
    order = np.random.default_rng(5).permutation(50).tolist()
    np.testing.assert_allclose(late.outcome(order, y[order]), rows[order], rtol=1e-14)   # none had an outcome when they were issued
    assert late.outcomes_ == 50 and late.open_keys == [] and clone(late).outcomes_ == 0


def test_members_stay_where_they_stand_and_are_quantiles_of_their_ranks():
    y, rows = load(3, 300)
    shuffled, order = rows.copy(), np.argsort(np.random.default_rng(1).random(rows.shape), axis=1)
    shuffled = np.take_along_axis(rows, order, 1)
    made = OnlineMembers(9).prequential(y, shuffled)
    expected = OnlineQuantiles(np.arange(1, 10) / 10).prequential(y, rows)
    np.testing.assert_array_equal(made, np.take_along_axis(expected, order, 1))


def test_units_do_not_matter():
    y, rows = load(4, 300)
    for steps in (0.05, "mixed"):
        np.testing.assert_array_equal(OnlineQuantiles(LEVELS, steps=steps).prequential(1024 * y, 1024 * rows), 1024 * OnlineQuantiles(LEVELS, steps=steps).prequential(y, rows))


def test_a_drift_is_followed_on_the_side_where_it_is():
    "Twenty loads, last 300 days: one factor about the middle covers .856 with an interval score of 21.9, each side .887 and 18.9, mixed steps 18.5 (to chance)."
    found = {}
    def score(y, low, high): return (high - low + 20 * (np.maximum(low - y, 0) + np.maximum(y - high, 0))).mean()
    ways = {"factor": lambda y, rows: OnlineBounds(QuantileTracker()).prequential(y, rows[:, [0, -1]]), "sides": lambda y, rows: OnlineBounds().prequential(y, rows[:, [0, -1]]),
            "levels": lambda y, rows: OnlineQuantiles(LEVELS).prequential(y, rows), "mixed": lambda y, rows: OnlineQuantiles(LEVELS, steps="mixed").prequential(y, rows)}
    for name, way in ways.items():
        kept = []
        for seed in range(100, 120):
            y, rows = load(seed)
            low, *_, high = way(y, rows)[600:].T
            kept.append([((low <= y[600:]) & (y[600:] <= high)).mean(), score(y[600:], low, high)])
        found[name] = np.mean(kept, axis=0)
    assert 0.84 < found["factor"][0] < 0.87 and 21 < found["factor"][1] < 23
    for name in ("sides", "levels"): assert 0.875 < found[name][0] < 0.9 and 18 < found[name][1] < 19.6
    assert found["mixed"][1] < found["levels"][1] < found["factor"][1] - 2


@pytest.mark.parametrize("wrong, fault", [((0.5,), "at least two levels"), ((0.9, 0.1), "rise"), ((0.1, 1.0), "strictly between 0 and 1")])
def test_levels_are_refused_by_name(wrong, fault):
    with pytest.raises(ValueError, match=fault): OnlineQuantiles(wrong).predict(np.zeros((1, len(wrong))))


def test_refused_input_changes_nothing():
    tracker = OnlineQuantiles((0.1, 0.5, 0.9))
    tracker.forecast([1.0, 2.0, 3.0], key="a")
    before = json.dumps(tracker.to_dict())
    for wrong, fault in ((lambda: tracker.prequential([1.0], [[1.0, 3.0, 2.0]]), "rise from level to level"), (lambda: tracker.prequential([1.0], [[1.0, 2.0]]), "one column for each level"),
                         (lambda: tracker.prequential([1.0], [[1.0, 2.0, np.inf]]), "finite|infinite"), (lambda: tracker.prequential([1.0, 2.0], [[1.0, 2.0, 3.0]]), "same length"),
                         (lambda: tracker.forecast([1.0, 2.0, 3.0], key="a"), "already"), (lambda: tracker.outcome("b", 1.0), "no open forecast")):
        with pytest.raises(ValueError, match=fault): wrong()
        assert json.dumps(tracker.to_dict()) == before
    with pytest.raises(ValueError, match="steps"): OnlineQuantiles(steps="many").begin()
    with pytest.raises(ValueError, match="steps"): OnlineQuantiles(steps=2).begin()


def test_sentences_promise_no_more_than_is_proved():
    y, rows = load(5)
    tracker, mixed = OnlineQuantiles(LEVELS), OnlineQuantiles(LEVELS, steps="mixed")
    assert "No outcome yet" in tracker.sentence
    for one in (tracker, mixed): one.prequential(y, rows)
    assert "Worst-case guarantee" in tracker.sentence and "no worst-case guarantee" in mixed.sentence and mixed.bound_ is None


def test_bounds_follow_each_side_and_keep_their_promise():
    rng = np.random.default_rng(6)
    y, rows = rng.exponential(1, 5000) - 1, np.tile([-1.0, 1.0], (5000, 1))
    online = OnlineBounds(level=0.8)
    made = online.prequential(y, rows)
    inside = (made[:, 0] <= y) & (y <= made[:, 1])
    assert online.coverage_ == inside.mean() and abs(inside.mean() - 0.8) <= online.bound_ < 0.1
    assert abs((y < made[:, 0]).mean() - 0.1) < 0.02 and abs((y > made[:, 1]).mean() - 0.1) < 0.02
    assert "Worst-case guarantee" in online.sentence and "Worst-case guarantee" not in OnlineBounds(steps="mixed").sentence
    open_ = OnlineBounds()
    made = open_.prequential([1.0, 2.0, 3.0], [[-1, 1], [-np.inf, np.inf], [-1, 1]])
    assert np.isinf(made[1]).all() and "1 interval infinite" in open_.sentence
    with pytest.raises(ValueError, match="level"): OnlineBounds(level=2).predict([0.0, 1.0])


def test_a_million_rows_of_nine_levels_take_seconds():
    rng = np.random.default_rng(7)
    rows, y = np.tile(SCORES, (1_000_000, 1)), rng.standard_normal(1_000_000)
    tracker = OnlineQuantiles(LEVELS)
    tracker.prequential(y[:10], rows[:10])
    begun = time.process_time()
    tracker.prequential(y, rows)
    assert time.process_time() - begun < 5
