"""The monitor of Z²: a slow twin, bets that are fair, false alarms within the promise, restarts and states."""
import json

import numpy as np
import pytest

from uqcal.online.error_monitor import _RATES, _SHARES, _SIDES, _WAYS, UncertaintyMonitor


def slow(u, error, run_length, kurtosis=9.0):
    "Sums and alarms in plain Python."
    wealth, best = np.zeros(len(_RATES)), np.zeros(len(_RATES))
    logs, path, rang = [], [], []
    for t, (scale, e) in enumerate(zip(u, error)):
        square, side = (e / scale)**2, 1
        if logs and np.log(scale) < np.mean(logs) - 1e-9: side = -1
        for k, (rate, way, which) in enumerate(zip(_RATES, _WAYS, _SIDES)):
            bet = 1.0
            if which in (0, side): bet = 1 + rate * (min(square, 25) - 1) if way > 0 else np.exp(-rate * square) / (1 - (1 - np.exp(-rate * kurtosis)) / kurtosis)
            wealth[k], best[k] = (wealth[k] + 1) * bet, max(best[k], 1) * bet
        logs.append(np.log(scale))
        path.append(wealth @ _SHARES)
        if path[-1] >= run_length and best.max() >= 100:
            rang.append(t + 1)
            wealth[:], best[:], logs = 0, 0, []
    return np.array(path), rang


@pytest.mark.parametrize("size", [0.4, 1.0, 1.6])
def test_a_plain_twin_agrees(size):
    rng = np.random.default_rng(3)
    u = rng.gamma(3, 1, 900)
    error = size * u * rng.standard_t(5, 900) * 0.6**0.5
    path, rang = slow(u, error, 3000.0)
    reading = UncertaintyMonitor(run_length=3000).prequential(u, error)
    np.testing.assert_allclose(reading.total, path, rtol=1e-9)
    assert [alarm.outcome for alarm in reading.alarms] == rang and (size == 1.0 or len(rang) > 1)


@pytest.mark.parametrize("kurtosis", [1.0, 3.0, 9.0, 400.0])
def test_bets_are_fair_for_the_worst_errors_and_no_better_constant_exists(kurtosis):
    "Z² of kurtosis in one case of kurtosis, else 0: Eq. 3 holds with equality; any three-point errors with the same moments stay below."
    fair = UncertaintyMonitor(kurtosis=kurtosis).fresh(0)[2]
    down = np.flatnonzero(_WAYS < 0)
    np.testing.assert_allclose((np.exp(-_RATES[down] * kurtosis) / kurtosis + 1 - 1 / kurtosis) / fair[down], 1, rtol=1e-12)
    rng = np.random.default_rng(0)
    for _ in range(200):
        low, high = np.sort(rng.uniform(0, 1, 1)).item(), 1 + rng.exponential(kurtosis)
        chance = (1 - low) / (high - low)  # of the larger one, mean 1
        if chance * high**2 + (1 - chance) * low**2 <= kurtosis:
            assert (chance * np.exp(-_RATES[down] * high) + (1 - chance) * np.exp(-_RATES[down] * low) <= fair[down] * (1 + 1e-12)).all()


@pytest.mark.parametrize("size, way", [(1.0, "too small"), (0.5, "too large")])
def test_the_mean_square_of_an_alarm_is_that_of_the_errors_as_they_are(size, way):
    "Mutation: squares are cut at 25 in the mean that the alarm names. It lies on the side that the alarm names, by whatever errors."
    rng = np.random.default_rng(2)
    z = size * rng.standard_normal(30_000)
    wild = rng.random(30_000) < 0.05 * (way == "too small")
    z[wild] *= 1000
    if way == "too large": z[::400] = 6.0
    reading = UncertaintyMonitor(run_length=10_000).prequential(np.ones(30_000), z)
    assert len(reading.alarms) > 5
    for alarm in reading.alarms:
        of = z[alarm.since - 1:alarm.outcome]**2
        if alarm.side == "all": np.testing.assert_allclose(alarm.square, of.mean(), rtol=1e-9)
        assert alarm.direction == way and (alarm.square > 1) == (way == "too small")
    assert max(alarm.square for alarm in reading.alarms) > 1000 or way == "too large"


@pytest.mark.parametrize("shape", ["normal", "Laplace", "uniform"])
def test_false_alarms_keep_the_promise(shape):
    "At most n/A in the mean: 40 in 400,000 errors at one in 10,000."
    rng = np.random.default_rng(6)
    z = {"normal": rng.standard_normal, "Laplace": lambda n: rng.laplace(0, 0.5**0.5, n), "uniform": lambda n: rng.uniform(-3**0.5, 3**0.5, n)}[shape](400_000)
    u = np.exp(rng.normal(0, 0.7, 400_000))
    assert len(UncertaintyMonitor(run_length=10_000).prequential(u, u * z).alarms) <= 40


@pytest.mark.parametrize("factor, way", [(2.0, "too small"), (0.5, "too large")])
def test_an_alarm_says_which_way_and_since_when(factor, way):
    rng = np.random.default_rng(1)
    u, z = np.exp(rng.normal(0, 0.5, 4000)), rng.standard_normal(4000)
    alarm = UncertaintyMonitor().prequential(u, u * z * np.where(np.arange(4000) < 3000, 1, factor)).alarm
    assert alarm.direction == way and 3000 < alarm.outcome < 3400 and abs(alarm.since - 3001) < 40
    assert {"too small": "overconfident (errors too large for u)", "too large": "underconfident (errors too small for u)"}[way] in alarm.sentence


def test_a_fault_of_one_end_of_u_is_placed_there():
    rng = np.random.default_rng(2)
    u = np.exp(rng.normal(0, 0.5, 3000))
    alarm = UncertaintyMonitor().prequential(u, u * np.where(u > 1, 1.8, 1) * rng.standard_normal(3000)).alarm
    assert (alarm.direction, alarm.side) in (("too small", "large"), ("too small", "all")) and "overconfident" in alarm.sentence


def test_one_wild_error_does_not_ring_and_infinite_kurtosis_hears_only_too_small():
    rng = np.random.default_rng(0)
    error = rng.standard_normal(2000)
    error[1000] = 1e9
    assert UncertaintyMonitor(run_length=10_000).prequential(np.ones(2000), error).alarm is None
    deaf = UncertaintyMonitor(kurtosis=np.inf)
    assert deaf.prequential(np.full(20_000, 10.0), rng.standard_normal(20_000)).alarm is None
    assert deaf.prequential(np.full(500, 0.5), rng.standard_normal(500)).alarm is not None and "kurtosis" not in deaf.alarm_.sentence


def test_parts_states_and_restarts():
    rng = np.random.default_rng(5)
    u, error = np.full(600, 0.3), rng.standard_normal(600)
    whole, parts = UncertaintyMonitor(run_length=100).prequential(u, error), UncertaintyMonitor(run_length=100)
    for part in np.split(np.arange(600), [1, 250, 251]):
        np.testing.assert_array_equal(parts.prequential(u[part], error[part]).total, whole.total[part])
        parts = UncertaintyMonitor.from_dict(json.loads(json.dumps(parts.to_dict())))
    assert parts.alarms_ == len(whole.alarms) > 3 and parts.first_alarm_ == whole.alarms[0] and parts.alarm_ == whole.alarms[-1] and parts.outcomes_ == 600
    assert parts.restart().statistic == 0 and parts.partial_fit(1.0, 0.5).statistic > 0
    assert UncertaintyMonitor(run_length=100).until_alarm(u, error) == whole.alarm.outcome - 1


@pytest.mark.parametrize("kurtosis, fault", [(0.5, ValueError), (np.nan, ValueError), ("9", TypeError), (True, TypeError), (None, TypeError)])
def test_an_impossible_kurtosis_is_refused(kurtosis, fault):
    with pytest.raises(fault, match="kurtosis must"): UncertaintyMonitor(kurtosis=kurtosis).partial_fit(1.0, 1.0)
