"""The monitor: a plain-Python version, the promised run length, the same alarm however outcomes come, what an alarm says, and restarts."""
import copy
import json
import math
import pickle

import numpy as np
from every_case import every_case
import pytest
from sklearn.base import clone

from uqcal.online.calibeating import Tracking, hops, tops
from uqcal.online.mixture import OnlineMixture
from uqcal.online.monitor import _EDGES, Alarm, CalibrationMonitor, RestartingForecaster
from uqcal.online.online import OnlinePlattScaling
from uqcal.adapters.streams import RecalibratedClassifier, _make_forecaster


def sigmoid(z): return 1 / (1 + np.exp(-z))


def stream(n, rng, shift=0.0, mean=0.0):
    z = mean + rng.normal(0, 1.5, n)
    return sigmoid(z), (rng.random(n) < sigmoid(z + shift)).astype(float)


def changed(before=2000, after=2000, shift=1.0, seed=1):
    rng = np.random.default_rng(seed)
    return [np.concatenate(parts) for parts in zip(stream(before, rng), stream(after, rng, shift))]


def in_plain_python(q, y, run_length):
    "Sums after each outcome up to the first alarm, and the best stretch, from lists of all bets that were ever begun."
    edges = [0.001, 0.003, 0.01, 0.03, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 0.97, 0.99, 0.997, 0.999]
    shares = [0.4 / 8] * 8 + [0.2 / 6] * 6 + [0.1 / 2] * 2 + [0.3 / 4] * 4
    memory, past = [6, 25, 100, 400], []
    bets, totals = [[] for _ in shares], []  # for each rival, what each of its bets is worth
    for p, happened in zip(q, y):
        b, odds, rivals = sum(edge < p for edge in edges), p / (1 - p), []
        info = sum(a * (1 - a) for a, _ in past)
        centre = sum(a * (1 - a) * math.log(a / (1 - a)) for a, _ in past) / info if past else math.log(odds)
        for size in (0.1, 0.25, 0.6, 1.5):
            for sign in (-1, 1): rivals.append(odds * math.exp(sign * size))
        for slope in (-1, 0, 0.5, 0.75, 4 / 3, 2): rivals.append(math.exp(centre + slope * (math.log(odds) - centre)))
        rivals = [r / (1 + r) for r in rivals] + [(1 - often) * p + often / 2 for often in (0.01, 0.1)]
        for m in memory:
            excess = known = 0.0
            for a, what in past:
                if sum(edge < a for edge in edges) != b: continue
                keep = 1 - a * (1 - a) / m
                excess, known = keep * excess + what - a, keep * known + a * (1 - a)
            r = odds * math.exp(min(max(excess / (known + 2), -3), 3))
            rivals.append(r / (1 + r))
        for own, r in zip(bets, rivals):
            own.append(1.0)
            own[:] = [worth * (r / p if happened else (1 - r) / (1 - p)) for worth in own]
        past.append((p, happened))
        totals.append(sum(share * sum(own) for share, own in zip(shares, bets)))
        best = max(max(own) for own in bets)
        if totals[-1] >= run_length and best >= 100: return totals, 1 + next(own.index(best) for own in bets if best in own), best
    return totals, None, None


@pytest.mark.parametrize("seed, shift", [(0, 0.0), (1, 1.5), (2, -1.5)])
def test_the_sum_is_that_of_all_bets_that_were_ever_begun(seed, shift):
    rng = np.random.default_rng(seed)
    q, y = stream(150, rng, shift)
    q[::9] = np.round(q[::9], 1).clip(0.1, 0.9)  # on the edges of bins too
    totals, since, best = in_plain_python(q, y, 20_000)
    reading = CalibrationMonitor(run_length=20_000).prequential(q, y)
    np.testing.assert_allclose(reading.total[:len(totals)], totals, rtol=1e-8)
    if since is None: assert reading.alarm is None
    else:
        assert (reading.alarm.outcome, reading.alarm.since) == (len(totals), since)
        assert reading.alarm.likelier == pytest.approx(best)
    assert (since is None) == (shift == 0)


@pytest.mark.parametrize("mean", [0.0, -3.0])
def test_false_alarms_are_as_rare_as_promised(mean):
    "400,000 outcomes hold at most 400,000/2,000 = 200 alarms in the mean; more than 200 + 3√200 come with a chance of 0.2 %."
    rng, monitor = np.random.default_rng(5), CalibrationMonitor(run_length=2000)
    monitor.partial_fit(*stream(400_000, rng, mean=mean))
    assert 100 < monitor.alarms_ < 200 + 3 * np.sqrt(200)


def test_a_model_that_states_next_to_nothing_is_not_rung_by_counting():
    monitor = CalibrationMonitor(run_length=1000).partial_fit(np.full(50_000, 1e-9), np.zeros(50_000))
    assert monitor.statistic > 10_000 and monitor.alarm_ is None
    for sure in (0.0, 1.0): assert CalibrationMonitor(run_length=10).partial_fit(np.full(5000, sure), np.full(5000, sure)).alarms_ == 0


FAULTS = {"level": lambda z: sigmoid(z + 0.7), "spread": lambda z: sigmoid(z / 2), "reverse": lambda z: sigmoid(-z),
          "alternate tenths": lambda z: np.clip(sigmoid(z) + 0.12 * (-1)**np.floor(10 * sigmoid(z)), 0, 1)}


@pytest.mark.parametrize("fault", FAULTS)
def test_faults_are_heard_soon_and_dated(fault):
    for seed in range(5):
        rng = np.random.default_rng(seed)
        z = rng.normal(0, 1.5, 6000)
        chance = np.where(np.arange(6000) < 4000, sigmoid(z), FAULTS[fault](z))
        alarm = CalibrationMonitor().prequential(sigmoid(z), (rng.random(6000) < chance).astype(int)).alarm
        assert 4000 < alarm.outcome < 5300 and 3700 < alarm.since < 4400 and alarm.likelier > 100


@pytest.mark.parametrize("size", [1, 7, 1000])
def test_chunks_of_any_size_give_the_same_sums_and_alarms(size):
    q, y = changed(300, 500)
    q[100], y[100] = 0.0, 0.0
    whole, chunks = CalibrationMonitor(), CalibrationMonitor()
    reading, found = whole.prequential(q, y), []
    for first in range(0, q.size, size): found.append(chunks.prequential(q[first:first + size], y[first:first + size]))
    np.testing.assert_array_equal(np.concatenate([one.total for one in found]), reading.total)
    assert [alarm for one in found for alarm in one.alarms] == list(reading.alarms) and len(reading.alarms) > 1
    assert chunks.alarm_ == whole.alarm_ == reading.alarms[-1] and chunks.first_alarm_ == reading.alarm
    assert chunks.alarms_ == len(reading.alarms) and chunks.outcomes_ == 800


@pytest.mark.parametrize("q, y, said", [(0.0, 1, "a probability of 0 was predicted and the event occurred"), (1.0, 0, "a probability of 1 was predicted and the event did not occur")])
def test_an_impossible_event_rings_at_once(q, y, said):
    monitor = CalibrationMonitor(run_length=10**12).partial_fit([0.3, 0.0, 1.0], [1, 0, 1])
    assert monitor.alarm_ is None
    alarm = monitor.partial_fit(q, y).alarm_
    assert (alarm.outcome, alarm.since, alarm.n, alarm.likelier) == (4, 4, 1, np.inf) and said in alarm.sentence
    assert monitor.statistic == 0 and monitor.partial_fit(q, 1 - y).alarms_ == 1


def test_what_is_next_to_impossible_rings_at_once_too():
    alarm = CalibrationMonitor().partial_fit(1e-12, 1).alarm_
    assert "a probability of 1.00e−12 was predicted and the event occurred" in alarm.sentence and np.isfinite(alarm.likelier)
    assert CalibrationMonitor().partial_fit(5e-324, 1).alarm_.outcome == 1
    assert CalibrationMonitor().partial_fit(np.nextafter(1, 0), 0).alarm_.outcome == 1


def test_the_words_of_an_alarm_are_those_of_its_stretch():
    q, y = changed(2000, 500, 1.2)
    alarm = CalibrationMonitor().prequential(q, y).alarm
    part = slice(alarm.since - 1, alarm.outcome)
    assert alarm.n == q[part].size == alarm.to_frame()["outcomes"].sum()
    assert alarm.predicted == pytest.approx(q[part].mean()) and alarm.happened == pytest.approx(y[part].mean())
    row = alarm.to_frame().set_index("low").loc[0.5]
    inside = (q[part] > 0.5) & (q[part] <= 0.6)
    assert row["happened"] == pytest.approx(y[part][inside].mean())
    assert row["standard_error"] == pytest.approx(np.sqrt(np.sum((q * (1 - q))[part][inside])) / inside.sum())
    assert alarm.direction == "too low" and f"too low since about outcome {alarm.since:,} ({alarm.n:,} outcomes: " in alarm.sentence
    assert alarm.sentence.endswith("False-alarm rate: at most 1 per 1,000,000 outcomes.")


def test_which_way_is_said_only_where_the_means_say_so():
    rng = np.random.default_rng(0)
    z = rng.normal(0, 1.5, 3000)
    y = rng.random(3000) < FAULTS["alternate tenths"](z)
    assert CalibrationMonitor().prequential(sigmoid(z), y).alarm.direction in ("mixed", "overconfident", "underconfident")
    assert CalibrationMonitor().prequential(*stream(3000, rng, -1)).alarm.direction == "too high"


def alarm_of(*rows):
    "An alarm whose bins hold so many outcomes, what was predicted and how many happened."
    sums = np.array([[np.searchsorted(_EDGES, q), n, n * q, k, n * q * (1 - q)] for q, n, k in rows])
    return Alarm(outcome=int(sums[:, 1].sum()), since=1, likelier=200.0, run_length=1000, sums=sums)


@every_case("rows, direction, has_exceptions", [
    ([(0.45, 100, 61), (0.55, 100, 61)], "too low", False), ([(0.45, 100, 58), (0.55, 100, 61)], "unclear", False),
    ([(0.45, 100, 58), (0.55, 100, 44)], "unclear", False), ([(0.45, 100, 62), (0.55, 100, 41)], "overconfident", False),
    ([(0.45, 100, 31), (0.55, 100, 70)], "underconfident", False), ([(0.35, 100, 52), (0.45, 100, 28), (0.55, 100, 69), (0.65, 100, 51)], "mixed", False),
    ([(0.005, 1000, 0)], "too high", False), ([(0.25, 1000, 150), (0.55, 100, 75)], "too high", True)])
def test_a_direction_is_named_beyond_three_standard_deviations(rows, direction, has_exceptions):
    """A stretch that stood out is beyond two by selection. Catches the threshold of 2, "both ways" without a bin on either
    side, and a standard error of what was predicted, by which no event among five expected is 2.2 only."""
    alarm = alarm_of(*rows)
    assert (alarm.direction, alarm.has_exceptions) == (direction, has_exceptions) and ("on the whole" in alarm.line) is has_exceptions


def test_nothing_seen_is_no_alarm():
    monitor = CalibrationMonitor()
    assert monitor.alarm_ is monitor.first_alarm_ is None and monitor.statistic == 0
    assert clone(monitor.partial_fit(0.0, 1)).alarm_ is None
    assert CalibrationMonitor.from_dict(CalibrationMonitor().to_dict()).alarm_ is None
    assert CalibrationMonitor().until_alarm([0.5, 0.0, 0.5], [1, 1, 1]) == 1
    assert CalibrationMonitor().until_alarm([0.5], [1]) is None
    with pytest.raises(ValueError, match="run_length"): CalibrationMonitor(run_length=0).partial_fit(0.5, 1)


def test_a_restart_forgets_the_evidence_and_keeps_the_counts():
    q, y = changed(0, 60)
    monitor = CalibrationMonitor(run_length=10**9).partial_fit(q, y)
    assert monitor.statistic > 100
    assert monitor.restart().statistic == 0 and monitor.outcomes_ == 60
    fresh = CalibrationMonitor(run_length=10**9)
    np.testing.assert_array_equal(monitor.prequential(q, y).total, fresh.prequential(q, y).total)


def test_a_state_goes_on_bit_for_bit_and_stays_small():
    q, y = changed(500, 500)
    live = CalibrationMonitor().partial_fit(q[:620], y[:620])
    text = json.dumps(live.to_dict(), allow_nan=False)
    for other in (CalibrationMonitor.from_dict(json.loads(text)), pickle.loads(pickle.dumps(live)), copy.deepcopy(live)):
        assert other.alarm_ == live.alarm_ and other.statistic == live.statistic
        assert other.prequential(q[620:], y[620:]) == copy.deepcopy(live).prequential(q[620:], y[620:])
    assert len(text) < 100_000


def test_a_restart_at_the_alarm_learns_what_online_platt_scaling_cannot():
    p, y = changed(100_000, 5000, 1.5, seed=2)
    truth = sigmoid(np.log(p / (1 - p)) + 1.5)
    live = RestartingForecaster(OnlinePlattScaling())
    made, plain = live.prequential(p, y), OnlinePlattScaling().prequential(p, y)
    begun = int(np.argmax(np.cumsum(made * (1 - made)) >= 50))  # from when on the monitor listens
    assert live.restarts_ == 1 and 100_000 < live.monitor_.alarm_.outcome + begun < 100_500
    np.testing.assert_array_equal(made[:100_000], plain[:100_000])
    assert abs(made - truth)[-3000:].mean() < 0.03 < 0.15 < abs(plain - truth)[-3000:].mean()


@pytest.mark.parametrize("name", ["ops", "mixture", "tops", "hobs"])
def test_restarts_come_at_the_same_outcome_in_steps_chunks_and_by_ticket(name):
    p, y = changed(1500, 700, 3.0)
    p[1700], y[1700] = 0.9, 1
    make = lambda: RestartingForecaster(_make_forecaster(name, rng=3), run_length=1000)  # noqa: E731
    whole, chunks = make(), make()
    made = whole.prequential(p, y)
    parts = np.concatenate([chunks.prequential(p[part], y[part]) for part in np.array_split(np.arange(p.size), 9)])
    assert whole.restarts_ == chunks.restarts_
    np.testing.assert_array_equal(made, parts)
    steps = make()
    for t in range(p.size):
        assert steps.forecast(p[t], key=t) == made[t]
        steps.outcome(t, y[t])
    assert steps.restarts_ == whole.restarts_ and steps.monitor_.statistic == whole.monitor_.statistic
    assert whole.restarts_ >= 1


def test_outcomes_of_a_forecaster_that_has_gone_teach_the_new_one_and_ring_nothing():
    p, y = changed(5000, 400, 3.0)
    live = RestartingForecaster(OnlinePlattScaling()).partial_fit(p[:5000], y[:5000])
    live.forecast(p[5000:], key=list(range(400)))
    twin, first = copy.deepcopy(live), 0
    while not twin.restarts_:
        twin.outcome(first, y[5000 + first])
        first += 1
    live.outcome(list(range(300)), y[5000:5300])
    assert first < 100 and live.restarts_ == 1 and live.told_ == 0
    part = slice(5000 + first, 5300)
    assert live.predict(0.3) == pytest.approx(OnlinePlattScaling().partial_fit(p[part], y[part]).predict(0.3))
    live.outcome(list(range(300, 400)), y[5300:])
    assert live.restarts_ == 1 and live.open_keys == []


def test_a_forecaster_that_cannot_be_right_is_restarted_ever_more_rarely():
    class Stubborn(OnlinePlattScaling):
        def prequential(self, p, y): return np.full(len(p), 0.2)
    live = RestartingForecaster(Stubborn())
    live.prequential(np.full(20_000, 0.5), np.random.default_rng(0).random(20_000) < 0.8)
    assert 3 <= live.restarts_ <= 7 and live.rest_ >= 400


def test_a_state_with_a_forecaster_in_it_goes_on():
    p, y = changed(1000, 600, 2.0)
    live = RestartingForecaster(OnlineMixture(), run_length=1000).partial_fit(p[:1300], y[:1300])
    live.forecast(0.4, key="a")
    other = RestartingForecaster.from_dict(json.loads(json.dumps(live.to_dict(), allow_nan=False)))
    np.testing.assert_array_equal(live.prequential(p[1300:], y[1300:]), other.prequential(p[1300:], y[1300:]))
    assert other.outcome("a", 1) == live.outcome("a", 1) and other.restarts_ == live.restarts_


def uniforms(live):
    "The next draws of a hedged forecaster, wherever it stands."
    return copy.deepcopy(live.forecaster_.rng_).random(5).tolist()


@pytest.mark.parametrize("seed", [3, None, "generator"])
@pytest.mark.parametrize(("name", "begun"), [("hops", False), ("hobs", True), pytest.param("hops", True, marks=pytest.mark.slow), pytest.param("hobs", False, marks=pytest.mark.slow)])
def test_draws_go_on_after_a_restart(name, seed, begun):
    """Those after it are not those after the start, and those of the generator that was there, with any seed, and where the state to begin from had drawn already."""
    p, y = changed(1500, 700, 3.0)
    live = RestartingForecaster(_make_forecaster(name, rng=np.random.default_rng(5) if seed == "generator" else seed), run_length=1000)
    if begun: live.partial_fit(p[:200], y[:200]).begin_here()
    live.predict(0.5)
    first, at = uniforms(live), 0
    while not live.restarts_:
        live.forecast(p[at], key=at)
        ahead = uniforms(live)
        live.outcome(at, y[at])
        at += 1
    assert uniforms(live) == ahead != first
    other = RestartingForecaster.from_dict(json.loads(json.dumps(live.to_dict(), allow_nan=False)))
    np.testing.assert_array_equal(live.prequential(p[at:], y[at:]), other.prequential(p[at:], y[at:]))


def test_draws_of_an_expert_within_go_on_too():
    p, y = changed(1500, 700, 3.0)
    live = RestartingForecaster(Tracking(hops(rng=4)), run_length=1000)
    live.partial_fit(p[:1], y[:1])
    first = copy.deepcopy(live.forecaster_.expert_.rng_).random(3)
    live.partial_fit(p, y)
    assert live.restarts_ and not np.array_equal(live.forecaster_.expert_.rng_.random(3), first)


@pytest.mark.parametrize("learn", ["partial_fit", "ticket"])
def test_a_run_length_that_is_set_later_is_obeyed(learn):
    p, y = changed(1500, 700, 3.0)
    live, strict = (RestartingForecaster(_make_forecaster("ops"), run_length=length) for length in (1000, 10**15))

    def through(live, part):
        if learn == "partial_fit": live.partial_fit(p[part], y[part])
        else:
            keys = list(range(p[part].size))
            live.forecast(p[part], key=keys)
            live.outcome(keys, y[part])
    for one in (live, strict): through(one, slice(0, 1000))
    live.set_params(run_length=10**15)
    strict.set_params(run_length=1000)
    for one in (live, strict): through(one, slice(1000, None))
    assert strict.restarts_ and strict.monitor_.alarm_.run_length == 1000
    assert not live.restarts_ or live.monitor_.alarm_.run_length == 10**15
    if learn == "partial_fit":
        always = RestartingForecaster(_make_forecaster("ops"), run_length=10**15).partial_fit(p, y)
        assert live.restarts_ == always.restarts_ < strict.restarts_ + 1 and live.predict(0.3) == always.predict(0.3)
    with pytest.raises(ValueError, match="run_length"): live.set_params(run_length=0).partial_fit(0.5, 1)
    with pytest.raises(ValueError, match="forecaster can't be set after the start"): live.set_params(forecaster=_make_forecaster("tops"))


@pytest.mark.parametrize("make, setting", [(lambda: _make_forecaster("ops"), {"gamma": 0.5}), (lambda: _make_forecaster("tops"), {"bin_width": 0.2}),
                                           (lambda: _make_forecaster("mixture"), {"share": 0.01}), (lambda: _make_forecaster("hops", rng=1), {"rng": 2}),
                                           (lambda: OnlinePlattScaling(clip=1e-3), {"clip": None})], ids=["ops", "tops", "mixture", "hops", "clip"])
def test_settings_are_settled_at_the_start_and_free_before(make, setting):
    fresh = make().set_params(**setting)
    assert fresh.get_params()[next(iter(setting))] == next(iter(setting.values()))
    live = make().partial_fit(0.4, 1)
    before = live.get_params()
    with pytest.raises(ValueError, match=f"{next(iter(setting))} can't be set after the start"): live.set_params(**setting)
    assert live.get_params() == before and clone(live).set_params(**setting)


def test_what_is_no_online_forecaster_is_refused():
    with pytest.raises(TypeError, match="forecaster must be an online forecaster"): RestartingForecaster(None).predict(0.5)
    with pytest.raises(ValueError, match="on_alarm"): _make_forecaster("ops", on_alarm="stop")
    with pytest.raises(ValueError, match="run_length"): _make_forecaster("ops", run_length=0)
    assert isinstance(_make_forecaster("tops", on_alarm="restart", run_length=500), RestartingForecaster)
    assert type(_make_forecaster("tops")) is type(tops())


def test_a_classifier_begins_anew_from_what_its_fit_taught():
    from sklearn.linear_model import LogisticRegression
    rng = np.random.default_rng(0)
    X = rng.normal(size=(4000, 2))
    y = rng.random(4000) < sigmoid(2 * X[:, 0] + np.where(np.arange(4000) < 2000, 0, -3))
    model = RecalibratedClassifier(LogisticRegression(), "ops", on_alarm="restart").fit(X[:1000], y[:1000])
    taught = model.forecaster_.forecaster_.predict(0.3)
    assert model.forecaster_.monitor_.outcomes_ == 0 and model.forecaster_.start_.predict(0.3) == taught != 0.3
    model.partial_fit(X[1000:], y[1000:])
    assert model.forecaster_.restarts_ >= 1 and model.predict_proba(X[-50:])[:, 1].mean() == pytest.approx(y[2000:].mean(), abs=0.1)


def test_one_odd_case_is_not_where_a_fault_is_clearest():
    stated, n, happened = np.array([0.009, 0.065, 0.15]), np.array([1, 40, 60]), np.array([1, 11, 9])
    bins = np.flatnonzero(np.isin(np.round(np.r_[0, _EDGES], 6), (0.003, 0.03, 0.1)))
    sums = np.column_stack([bins, n, n * stated, happened, n * stated * (1 - stated)])
    alarm = Alarm(outcome=101, since=1, likelier=1e5, run_length=1000, sums=sums)
    assert "Clearest at 0.03 to 0.1 (0.0650 predicted, 11 of 40 observed)" in alarm.sentence


@pytest.mark.parametrize("happened, second", [(34, False), (18, True), (26, False)])
def test_a_second_bin_is_named_only_where_it_is_beyond_three(happened, second):
    "Mutation: the two largest bins are named whatever they hold; 34 and 26 of 153 are 0.9 and 2.5 standard deviations off, 18 more than 4."
    stated, n = np.array([0.25, 0.55, 0.75]), np.array([153, 100, 148])
    sums = np.column_stack([[6, 9, 11], n, n * stated, [happened, 55, 78], n * stated * (1 - stated)])
    alarm = Alarm(outcome=401, since=1, likelier=1e5, run_length=1000, sums=sums)
    assert alarm.clearest["low"].tolist() == [0.7, 0.2][:1 + second] and "Clearest at 0.7 to 0.8 (0.750 predicted, 78 of 148 observed)" in alarm.sentence
    assert (f"and at 0.2 to 0.3 (0.250 predicted, {happened} of 153 observed)" in alarm.sentence) is second


def test_a_run_length_beyond_all_numbers_of_outcomes_is_refused():
    with pytest.raises(ValueError, match="run_length must be an integer from 1 to 1000000000000000"): CalibrationMonitor(run_length=10**400).partial_fit([0.5], [1])
