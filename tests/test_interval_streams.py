"""Intervals on a stream: slow twins, long-run coverage as an inequality against adversaries, tickets late and out of order, states bit for bit, MAPIE."""
import json
import math
import subprocess
import textwrap
import time
import venv

import numpy as np
import pytest
from sklearn.base import clone

from uqcal.intervals.conformal import conformal_threshold
from uqcal.online.interval_streams import AdaptiveConformal, AggregatedAdaptive, OnlineBounds, OnlineIntervals, QuantileTracker

TRACKERS = {"quantile": QuantileTracker, "adaptive": lambda **options: AdaptiveConformal(window=100, **options), "aggregated": lambda **options: AggregatedAdaptive(window=100, **options)}
each = pytest.mark.parametrize("make", TRACKERS.values(), ids=TRACKERS.keys())
proved = pytest.mark.parametrize("make", list(TRACKERS.values())[:2], ids=list(TRACKERS)[:2])


def drifting(n, seed=0):
    "Errors whose size swells, jumps and has heavy tails, with uncertainties that know half of it."
    rng, t = np.random.default_rng(seed), np.arange(n) / n
    u = np.exp(0.5 * rng.normal(size=n))
    return u, u * np.exp(1.5 * np.sin(9 * np.pi * t) + 2 * (t > 0.5)) * rng.standard_t(2, n)


def slow_tracker(scores, level, step):
    "Eq. 1."
    g, made = 0.0, []
    for s in scores:
        made.append(math.exp(g))
        g += step * ((max(math.log(s), math.log(1e-9)) if s > 0 else math.log(1e-9)) > g) - step * (1 - level)
    return made


def slow_adaptive(scores, level, step, window):
    "Eq. 4 from a window that is sorted anew."
    a, made = 1 - level, []
    for t, s in enumerate(scores):
        past = sorted(scores[max(0, t - window):t])
        rank = math.ceil((len(past) + 1) * (1 - a) - 1e-9)
        reach = math.inf if rank > len(past) else past[rank - 1] if rank > 0 else -math.inf
        made.append(max(reach, 0.0))
        a += step * (1 - level - (s > reach))
    return made


def slow_aggregated(scores, level, window):
    "Eq. 6 for experts of slow_adaptive."
    steps, alpha, stretch = [0.001 * 2**i for i in range(8)], 1 - level, 500
    rate = math.sqrt(3 * (math.log(16 * stretch) + 1) / (stretch * (alpha**2 * level**3 + alpha**3 * level**2)))
    levels, weights, made = np.full(8, alpha), np.full(8, 1 / 8), []
    for t, s in enumerate(scores):
        past = sorted(scores[max(0, t - window):t])
        m, below = len(past), sum(one < s for one in past)
        rank = math.ceil((m + 1) * (1 - weights @ levels) - 1e-9)
        made.append(max(math.inf if rank > m else past[rank - 1] if rank > 0 else 0.0, 0.0))
        beta = 1 - below / (m + 1)
        weights = weights * np.exp(-rate * (alpha * (beta - levels) - np.minimum(0, beta - levels)))
        weights = (1 - 1 / (2 * stretch)) * weights / weights.sum() + 1 / (2 * stretch) / 8
        levels = levels + np.array(steps) * (alpha - ((m + 1) * (1 - levels) - 1e-9 <= below))
    return made


@pytest.mark.parametrize("seed", range(3))
def test_kernels_are_their_slow_twins(seed):
    u, error = drifting(700, seed)
    scores = np.abs(error) / u
    scores[::40], scores[1::40] = 0.0, scores[41]         # exact hits, and ties
    for level in (0.5, 0.9):
        np.testing.assert_allclose(QuantileTracker(level, step=0.03).prequential(scores), slow_tracker(scores.tolist(), level, 0.03), rtol=1e-10)
        np.testing.assert_array_equal(AdaptiveConformal(level, step=0.02, window=50).prequential(scores), slow_adaptive(scores.tolist(), level, 0.02, 50))
        np.testing.assert_array_equal(AggregatedAdaptive(level, window=50).prequential(scores), slow_aggregated(scores.tolist(), level, 50))


def test_a_level_that_does_not_move_is_conformal_prediction():
    scores = np.abs(np.random.default_rng(1).normal(size=300))
    made = AdaptiveConformal(0.8, step=1e-14, window=1000).prequential(scores)
    for n in (1, 3, 4, 5, 100, 299): assert made[n] == conformal_threshold(scores[:n], 0.8)


def adversaries(rng):
    "Who sees the threshold and the number of the step, and chooses a score."
    yield lambda reach, t: reach * 1.001 + 1e-12 if np.isfinite(reach) else 1.0               # always a miss where it can be
    yield lambda reach, t: 0.0                                                                 # never one
    yield lambda reach, t: 0.0 if t < 400 else 1e6                                             # long quiet, then beyond all that was seen
    yield lambda reach, t: 1e6 if t < 400 else 0.0
    yield lambda reach, t: min(reach * 1.001 + 1e-12, 1e3) if t // 100 % 2 else 0.0            # in turns
    yield lambda reach, t: (min(reach, 100.0) * (1.001 if rng.random() < 0.5 else 0.5))        # by chance
    yield lambda reach, t: math.exp(t / 40 - 10)                                               # ever larger
    yield lambda reach, t: 1.0                                                                 # ties only
    yield lambda reach, t: 1e150 if t % 3 else 1e-150


@proved
@pytest.mark.slow
def test_long_run_coverage_is_an_inequality_against_adversaries(make):
    for level in (0.5, 0.9, 0.99):
        for choose in adversaries(np.random.default_rng(2)):
            tracker, covered, lowest, highest = make(level=level), 0, 0.0, 0.0
            for t in range(900):
                reach = tracker.threshold_
                score = choose(reach, t)
                covered += score <= reach
                tracker.update(score)
                logs = math.log(max(score, 1e-9))
                lowest, highest = min(lowest, logs), max(highest, logs)
                if isinstance(tracker, QuantileTracker): bound = (highest - lowest + 0.05) / (0.05 * (t + 1))
                else: bound = (max(level, 1 - level) + 0.005) / (0.005 * (t + 1))
                assert tracker.bound_ == pytest.approx(bound, rel=1e-9)
                assert abs(tracker.coverage_ - level) <= bound + 1e-9
                assert covered / (t + 1) >= tracker.coverage_ - 1e-12                          # what is booked as a miss though covered only helps


@each
def test_coverage_under_drift_where_a_fixed_threshold_loses_it(make):
    u, error = drifting(100_000, 5)
    scores = np.abs(error) / u
    for level in (0.8, 0.9, 0.95):
        assert abs(np.mean(scores <= make(level=level).prequential(scores)) - level) < 0.005
        assert abs(np.mean(scores <= conformal_threshold(scores[:1000], level)) - level) > 0.03


def test_late_outcomes_shift_the_bound_by_their_number():
    rng, tracker, waiting = np.random.default_rng(3), OnlineIntervals(), []
    D, T, missed, logs = 60, 3000, [], [0.0]
    for t in range(T):
        waiting.append((t, tracker.forecast(1.0, key=t)))
        if len(waiting) > D or t == T - 1:
            while len(waiting) > (D if t < T - 1 else 0):
                key, reach = waiting.pop(int(rng.integers(len(waiting))))
                error = min(reach * 1.01, 30.0) if key % 700 < 350 else 0.01                   # in turns misses where that can be, and none
                assert tracker.outcome(key, error) == reach
                missed.append(error > reach)
                logs.append(math.log(error))
        if missed: assert abs(np.mean(missed) - 0.1) <= (max(logs) - min(logs) + 0.05 * (1 + D)) / (0.05 * len(missed)) + 1e-9
    assert tracker.coverage_ == pytest.approx(1 - np.mean(missed)) and tracker.open_keys == []


@each
def test_without_delay_tickets_give_the_bits_of_the_stream(make):
    u, error = drifting(400, 7)
    y, bounds = 3 + error, np.column_stack([3 - u, 3 + u])
    for served, at_once, given, seen in ((OnlineIntervals(make()), OnlineIntervals(make()), u, error), (OnlineBounds(make()), OnlineBounds(make()), bounds, y)):
        expected = at_once.prequential(*((u, error) if given is u else (y, bounds)))
        for t in range(400):
            np.testing.assert_array_equal(stated := served.forecast(given[t], key=t), expected[t])
            np.testing.assert_array_equal(served.outcome(t, seen[t]), stated)
        assert json.dumps(served.tracker_.to_dict()) == json.dumps(at_once.tracker_.to_dict())
        assert served.coverage_ == at_once.coverage_ and served.sentence == at_once.sentence


@each
def test_bounds_about_a_prediction_are_intervals_of_its_uncertainty(make):
    u, error = drifting(500, 8)
    u = np.round(u * 64) / 64 + 1 / 64                    # sums that are exact
    error = np.round(error * 64) / 64
    half = OnlineIntervals(make()).prequential(u, error)
    made = OnlineBounds(make()).prequential(8 + error, np.column_stack([8 - u, 8 + u]))
    np.testing.assert_allclose(made, np.column_stack([8 - half, 8 + half]), rtol=0, atol=1e-13 * np.abs(made[np.isfinite(made)]).max())


@each
def test_a_state_goes_on_bit_for_bit_with_outcomes_still_out(make):
    u, error = drifting(300, 9)
    live = OnlineIntervals(make())
    for t in range(150):
        live.forecast(u[t], key=f"case {t}")
        if t >= 30: live.outcome(f"case {t - 30}", error[t - 30])
    written = json.dumps(live.to_dict(), allow_nan=False)
    other = OnlineIntervals.from_dict(json.loads(written))
    assert json.dumps(other.to_dict(), allow_nan=False) == written and other.open_keys == live.open_keys
    for t in range(150, 300):
        assert live.forecast(u[t], key=f"case {t}") == other.forecast(u[t], key=f"case {t}")
        assert live.outcome(f"case {t - 30}", error[t - 30]) == other.outcome(f"case {t - 30}", error[t - 30])
    np.testing.assert_array_equal(live.prequential(u, error), other.prequential(u, error))
    assert clone(live).coverage_ != live.coverage_        # a clone has learnt nothing


def test_what_is_stated_scales_with_the_unit():
    u, error = drifting(2000, 10)
    for make in TRACKERS.values():
        np.testing.assert_array_equal(OnlineIntervals(make()).prequential(1024 * u, 1024 * error), 1024 * OnlineIntervals(make()).prequential(u, error))


def test_a_tracker_finds_uncertainties_that_are_far_off():
    error = np.random.default_rng(11).normal(size=4000)
    for u in (1e-4, 1e4):
        half = OnlineIntervals().prequential(np.full(4000, u), error)
        assert abs(np.mean(np.abs(error)[3000:] <= half[3000:]) - 0.9) < 0.02


def test_infinite_and_empty_intervals_are_stated_counted_and_told():
    online = OnlineIntervals(AdaptiveConformal(0.9, step=0.1, window=20))
    made = online.prequential(np.ones(100), np.r_[np.ones(40), 10.0 ** np.arange(60)])
    assert np.isinf(made[:6]).all() and (made[6:12] == 1).all() and np.isinf(made[41:]).sum() > 30
    tracker = online.tracker_
    assert tracker.infinite_ == np.isinf(made).sum() and f"{tracker.infinite_} intervals infinite" in online.sentence
    online.prequential(np.ones(300), np.zeros(300))
    assert tracker.empty_ == 0 and "empty" not in online.sentence                              # of no width, and each holds its outcome
    made = online.prequential(np.ones(300), np.full(300, 1e-3))
    assert tracker.empty_ > 10 and (made >= 0).all() and "empty" in online.sentence
    assert (np.isfinite(OnlineIntervals().prequential(np.ones(100), 10.0 ** np.arange(100)))).all()


def test_the_sentence_counts_and_promises_no_more_than_is_proved():
    online = OnlineIntervals()
    assert online.sentence == "No outcome yet, 90 % claimed."
    online.prequential(np.ones(1), np.ones(1) * 5)
    assert "guarantee nothing yet" in online.sentence
    online = OnlineIntervals()
    online.prequential(np.ones(3), np.ones(3))
    u, error = drifting(5000, 12)
    half = online.prequential(u, error)
    assert f"{(np.abs(error) <= half).sum() + 2:,} of 5,003 outcomes covered" in online.sentence
    aggregated = OnlineIntervals(AggregatedAdaptive())
    aggregated.prequential(u, error)
    assert "Worst-case guarantee" in online.sentence and "Worst-case guarantee" not in aggregated.sentence


@pytest.mark.parametrize("make", [*TRACKERS.values(), lambda **options: AdaptiveConformal(**options)], ids=[*TRACKERS, "long"])
@pytest.mark.parametrize("level", [0.5, 0.9])
def test_outcomes_that_are_the_middle_are_counted_as_they_were_stated(make, level):
    "19 of 20 outcomes are 0, and 0 is the middle: true 95 %, where 53 % were told and no more than 3 % beside 50 promised. Mutations: outcomes as they are booked; a guarantee of two sides; intervals of no width called empty though they hold their outcome."
    rng = np.random.default_rng(0)
    y, served = np.where(rng.random(3000) < 0.95, 0.0, rng.integers(1, 4, 3000)), OnlineBounds(make(level=level))
    made = served.prequential(y, np.tile([-1.0, 1.0], (3000, 1)))
    inside = (made[:, 0] <= y) & (y <= made[:, 1])
    assert inside.mean() > 0.94 and served.coverage_ == inside.mean()
    assert served.sentence.startswith(f"{inside.sum():,} of 3,000 outcomes covered ({100 * inside.mean():.1f} %, {100 * level:g} % claimed)")
    booked = served.tracker_.coverage_
    if hasattr(served.tracker_, "bound_"): assert ("points below" if booked < inside.mean() else "points of") in served.sentence
    if hasattr(served.tracker_, "empty_"): assert served.tracker_.empty_ <= ((made[:, 0] == made[:, 1]) & ~inside).sum()
    if level == 0.5 and make is not TRACKERS["aggregated"]: assert booked < 0.7


def test_decimals_that_should_be_equal_are_equal_on_a_stream():
    "Bounds of one decimal: exactly tied outcomes missed by the last bit, here and there. Mutation: bounds as they are computed."
    rng = np.random.default_rng(1)
    middle = rng.normal(20, 5, 3000).round(1)
    y, served = (middle + 0.4 * rng.standard_normal(3000)).round(1), OnlineBounds(AdaptiveConformal(0.5))
    made = served.prequential(y, np.column_stack([middle - 0.3, middle + 0.3]).round(1))
    inside = (made[:, 0] <= y) & (y <= made[:, 1])
    assert served.coverage_ == inside.mean() and f"{inside.sum():,} of 3,000" in served.sentence


@pytest.mark.parametrize("tracker, fault", [(3, "tracker"), (QuantileTracker(1.5), "level"), (QuantileTracker(step=2), "step"), (AdaptiveConformal(window=0), "window"), (AdaptiveConformal(step=-1), "step")])
def test_bad_trackers_are_refused_by_name(tracker, fault):
    with pytest.raises((ValueError, TypeError), match=fault): OnlineIntervals(tracker).forecast(1.0, key=1)


def test_refused_input_changes_nothing():
    online = OnlineIntervals()
    online.forecast([1.0, 2.0], key=["a", "b"])
    before = json.dumps(online.to_dict())
    for wrong in (lambda: online.outcome(["a", "c"], [1, 1]), lambda: online.outcome("a", np.nan), lambda: online.outcome(["a", "b"], [1.0]),
                  lambda: online.forecast(1.0, key="a"), lambda: online.forecast(0.0, key="d"), lambda: online.prequential([1.0], [1.0, 2.0])):
        with pytest.raises((ValueError, TypeError)): wrong()
        assert json.dumps(online.to_dict()) == before
    bounds = OnlineBounds()
    for wrong in ([1.0, 1.0], [2.0, 1.0], [1.0, np.inf]):
        with pytest.raises(ValueError, match="y_intervals"): bounds.forecast(wrong, key=1)


def test_a_million_outcomes_take_seconds():
    scores = np.abs(np.random.default_rng(13).normal(size=1_000_000))
    for tracker in (QuantileTracker(), AdaptiveConformal(), AggregatedAdaptive()):
        tracker.update([1.0, 2.0])
        begun = time.process_time()
        tracker.prequential(scores)
        assert time.process_time() - begun < 10


PEER = textwrap.dedent("""
    import sys, warnings
    import numpy as np
    from sklearn.base import BaseEstimator, RegressorMixin
    from mapie.conformity_scores import AbsoluteConformityScore
    from mapie.regression import TimeSeriesRegressor
    warnings.simplefilter("ignore")
    class Zero(RegressorMixin, BaseEstimator):
        def fit(self, X, y):
            self.fitted_ = True
            return self
        def predict(self, X): return np.zeros(len(X))
    data = np.load(sys.argv[1])
    first, then, width = data["first"], data["then"], []
    zero = Zero().fit(None, None)
    model = TimeSeriesRegressor(zero, method="aci", cv="prefit", conformity_score=AbsoluteConformityScore(sym=True))
    model.fit(np.zeros((first.size, 1)), first)
    for y in then:
        _, made = model.predict(np.zeros((1, 1)), confidence_level=0.9, allow_infinite_bounds=True)
        width.append(made[0, 1, 0])
        model.adapt_conformal_inference(np.zeros((1, 1)), np.array([y]), gamma=0.01, confidence_level=0.9)
        model.update(np.zeros((1, 1)), np.array([y]))
    np.save(sys.argv[2], width)
""")


@pytest.mark.slow
def test_adaptive_conformal_is_mapies_while_its_level_is_a_level(tmp_path):
    """MAPIE holds the level between 0 and 1, and so gives the bound of Eq. 5 away; until the level leaves that range both do the same."""
    venv.create(tmp_path / "env", with_pip=True)
    python = tmp_path / "env" / "bin" / "python"
    done = subprocess.run([python, "-m", "pip", "--quiet", "--disable-pip-version-check", "install", "mapie==1.6.0"], capture_output=True, text=True)
    if done.returncode: pytest.skip(f"mapie==1.6.0 can't be installed: {(done.stderr.strip().splitlines() or ['no reason given'])[-1]}")
    against_mapie(python, tmp_path)


def against_mapie(python, folder):
    rng, n, m = np.random.default_rng(14), 400, 150
    error = rng.normal(size=m + n) * np.where(np.arange(m + n) % 200 < 100, 1.0, 1.4)
    np.savez(folder / "data.npz", first=error[:m], then=error[m:])
    subprocess.run([python, "-c", PEER, folder / "data.npz", folder / "made.npy"], check=True)
    tracker = AdaptiveConformal(0.9, step=0.01, window=m)
    tracker._now()[1][:], tracker._now()[2][:], tracker._now()[3][0] = np.sort(np.abs(error[:m])), np.abs(error[:m]), m
    ours = tracker.prequential(np.abs(error[m:]))
    np.testing.assert_allclose(ours, np.load(folder / "made.npy"), rtol=1e-12)
    assert len(set(ours)) > 50 and np.isfinite(ours).all()
