"""Rare events: maps follow their formula for every score between 0 and 1, in batch and on streams, and exactly 0 and 1 have a rule."""
import io

import numpy as np
import pytest
from scipy.special import expit, log1p, logit

from uqcal.online.calibeating import tops
from uqcal._chance.logistic import inner_ends, inner_scores
from uqcal.online.mixture import OnlineMixture
from uqcal.online.online import OnlineBetaScaling, OnlinePlattScaling
from uqcal.corrections.probability_recalibration import recalibrate_probabilities
from uqcal.probabilities.recalibration import BetaScaling, PlattScaling, TemperatureScaling
from uqcal.adapters.rows import recalibrate_rows

TINY = np.array([1e-300, 1e-30, 1e-12, 1e-9, 1e-6, 1e-3, 0.3])


def rare(n=200_000, low=-9.0, times=5.0, seed=21):
    "Scores over many decades, and events `times` as frequent as they say."
    rng = np.random.default_rng(seed)
    p = 10**rng.uniform(low, -2, n)
    return p, (rng.random(n) < np.minimum(1, times * p)).astype(int)


def test_the_map_of_rare_events_is_the_one_of_its_sentence():
    p, y = rare(50_000)
    platt = PlattScaling().fit(p, y)
    a, b = platt.coef_
    np.testing.assert_allclose(platt.predict(TINY), expit(a * logit(TINY) + b), rtol=1e-9)
    low = p < 1e-5
    assert 0.2 < platt.predict(p[low]).sum() / (5 * p[low].sum()) < 5
    np.testing.assert_allclose(y.mean(), platt.predict(p).mean(), rtol=1e-6)
    beta = BetaScaling().fit(p, y)
    np.testing.assert_allclose(beta.predict(TINY[:-1]), expit(np.column_stack([np.log(TINY), log1p(-TINY), np.ones(7)]) @ beta.coef_)[:-1], rtol=1e-9, atol=1e-300)


def test_next_to_one_the_map_is_the_same_from_the_other_side():
    p, y = rare(20_000, -6)
    below, above = PlattScaling().fit(p, y), PlattScaling().fit(1 - p, 1 - y)
    np.testing.assert_allclose(1 - above.predict(1 - 10.0**np.arange(-9, 0)), below.predict(10.0**np.arange(-9, 0)), rtol=1e-6)
    assert above.predict(1 - 2**-53) < 1


def test_recalibrated_probabilities_of_rare_events_are_not_flat():
    p, y = rare(4_000, -6, times=50)
    made = recalibrate_probabilities(y, p, rng=1, n_boot=99, n_resamples=99)
    assert made.is_recalibrated and made.predict([1e-9])[0] < 1e-7
    assert (np.diff(made.predict(np.sort(p))) >= 0).all()


@pytest.mark.parametrize("least", [0.3, 1e-3, 1e-9])
@pytest.mark.parametrize("kind", [PlattScaling, BetaScaling, OnlinePlattScaling, OnlineBetaScaling, OnlineMixture])
def test_exactly_zero_and_one_count_as_the_outermost_score_or_a_hundred_thousand_to_one(kind, least):
    p = np.r_[np.linspace(least, 0.9, 50), 0.0, 1.0]
    y = (np.arange(52) % 3 == 0).astype(int)
    made = kind().fit(p, y) if hasattr(kind, "fit") else kind().partial_fit(p, y)
    ends = inner_ends(p)
    np.testing.assert_array_equal(ends, [min(least, 1e-5), 1 - 1e-5])
    np.testing.assert_array_equal(made.predict([0.0, 1.0]), made.predict(ends))
    np.testing.assert_array_equal(inner_scores(p, ends, False)[-2:], ends)


@pytest.mark.parametrize("make", [OnlinePlattScaling, OnlineBetaScaling, OnlineMixture, tops])
def test_what_zero_counts_as_is_the_same_step_by_step_at_once_and_from_a_state(make):
    p = np.r_[0.0, 1e-3, 0.0, 1e-7, 0.0, 1 - 1e-9, 1.0, np.random.default_rng(0).random(40)]
    y = (np.arange(p.size) % 3 == 0).astype(int)
    at_once, steps, live = make().prequential(p, y), [], make()
    for one, outcome in zip(p, y):
        steps.append(live.forecast(one, key="a"))
        live.outcome("a", outcome)
        live = make.from_dict(live.to_dict()) if isinstance(make, type) else live
    np.testing.assert_array_equal(steps, at_once)


STREAMS = {"one in forty million": np.full(50_000, 2.5e-8), "nine decades": 10**np.random.default_rng(3).uniform(-9, -2, 100_000),
           "twelve decades": 10**np.random.default_rng(4).uniform(-12, -1, 50_000)}


@pytest.mark.parametrize("p", STREAMS.values(), ids=STREAMS)
@pytest.mark.parametrize("side", ["rare", "nearly certain"])
def test_a_stream_of_rare_events_that_is_right_stays_right(p, side):
    y = (np.random.default_rng(1).random(p.size) < p).astype(int)
    if side == "rare": made = OnlineMixture().prequential(p, y)
    else: made = 1 - OnlineMixture().prequential(1 - p, 1 - y)
    assert 0.5 < made.sum() / p.sum() < 2
    score = -np.log(np.where(y == 1, p, 1 - p)).sum()
    assert -np.log(np.where(y == 1, made, 1 - made)).sum() < score + 5


def test_online_platt_scaling_of_rare_events_follows_its_formula_and_clips_where_asked():
    p, y = rare(50_000)
    live = OnlinePlattScaling()
    live.prequential(p, y)
    np.testing.assert_allclose(live.predict(TINY), expit(live.coef_[0] * logit(TINY) + live.coef_[1]), rtol=1e-9)
    clipped = OnlinePlattScaling(clip=1e-5)
    np.testing.assert_array_equal(clipped.prequential(p, y), OnlinePlattScaling().prequential(np.maximum(p, 1e-5), y))
    assert clipped.predict(1e-9) == clipped.predict(1e-5)


def test_rows_of_rare_events_are_written_as_rare():
    lines, out = [f"{p!r},0" for p in (10**np.random.default_rng(0).uniform(-9, -6, 3000)).tolist()], []
    recalibrate_rows(io.BytesIO("\n".join(["p,y", *lines, ""]).encode()), out.append, score="p", y_true="y", rng=0)
    written = np.array([line.split(",") for line in "".join(out).splitlines()[1:]], float)
    assert 0.8 < np.median(written[:, 2] / written[:, 0]) < 1.3


def test_a_temperature_follows_its_formula_below_1e_30_too():
    P = np.array([[1e-40, 1 - 1e-40], [0.3, 0.7], [0.6, 0.4], [0.0, 1.0]])
    fit = TemperatureScaling().fit(P, [1, 0, 0, 1])
    q = fit.predict(P)
    np.testing.assert_allclose(np.log(q[0, 0] / q[0, 1]), np.log(1e-40) / fit.temperature_, rtol=1e-9)
    np.testing.assert_array_equal(q[3], fit.predict([[1e-40, 1.0]])[0])
