"""Rows of equal uncertainty are shared among the bins they straddle, whatever their order in the file; `ties="order"` is the published reading."""
import numpy as np
import pytest

from uqcal.errors.validation import validate_errors
from uqcal.metrics import conditional_calibration, ence, zmse
from uqcal.statistics.bin_scaling import extrapolate
from uqcal.statistics.bootstrap import bca_intervals
from uqcal.statistics.consistency import consistency_test
from uqcal.statistics.references import simulated_reference
from uqcal._sample.sample import bin_starts

FEW = dict(n_boot=99, n_mc=99, n_resamples=99, rng=3)


def tied(seed=14, n=400, levels=(0.5, 1.0, 2.0)):
    rng = np.random.default_rng(seed)
    u = rng.choice(levels, n)
    return rng.normal(size=n) * u * 1.3, u


def orders(error, seed=0):
    rng = np.random.default_rng(seed)
    return [np.argsort(np.abs(error), kind="stable"), np.argsort(-np.abs(error), kind="stable"), rng.permutation(error.size), np.arange(error.size)[::-1]]


@pytest.mark.parametrize("levels", [(0.5, 1.0, 2.0), (0.3,) + (1.0,) * 9, tuple(np.arange(1, 60) / 10)])
@pytest.mark.parametrize("statistic", [ence, zmse])
def test_the_order_of_the_rows_plays_no_part(statistic, levels):
    "Sorted by |E| within equal uncertainties, ENCE of 400 rows went from 0.27 to 0.54."
    error, u = tied(levels=levels)
    found = [statistic(error[o], u[o]) for o in orders(error)]
    np.testing.assert_allclose(found, statistic(error, u), rtol=1e-12)
    worst = orders(error)[0]
    assert abs(statistic(error[worst], u[worst], ties="order") - statistic(error, u, ties="order")) > 0.003
    feature = np.random.default_rng(1).integers(0, 4, u.size)
    np.testing.assert_allclose([statistic(error[o], u[o], by=feature[o]) for o in orders(error)], statistic(error, u, by=feature), rtol=1e-12)


def test_ties_are_shared_as_a_plain_twin_shares_them():
    "Each row is cut into as many equal pieces as there are bins times rows of its value; the pieces are dealt out in turn."
    error, u = tied(n=60)
    for n_bins in (1, 4, 7, 20):
        start, sort = bin_starts(60, n_bins), np.argsort(u, kind="stable")
        z2, e2, u2 = np.zeros((3, n_bins))
        for place, row in enumerate(sort):
            b = np.searchsorted(start, place, side="right") - 1
            alike = u == u[row]
            z2[b] += np.mean((error[alike] / u[alike])**2)
            e2[b] += np.mean(error[alike]**2)
            u2[b] += u[row]**2
        np.testing.assert_allclose(ence(error, u, n_bins=n_bins), np.mean(np.abs(1 - np.sqrt(e2 / u2))), rtol=1e-12)
        np.testing.assert_allclose(zmse(error, u, n_bins=n_bins), np.mean(np.abs(np.log(z2 / np.diff(start)))), rtol=1e-12)


def test_bins_hold_what_random_orders_hold_on_average():
    "The mean squares of a bin are those of rows in random order, on average; of 2,000 orders four standard errors are 2 % of a bin."
    error, u = tied()
    rng = np.random.default_rng(2)
    shared = conditional_calibration(error, u, n_bins=7).bins
    drawn = np.array([conditional_calibration(error[o], u[o], n_bins=7, ties="order").bins["zms"] for o in (rng.permutation(400) for _ in range(500))])
    assert np.all(np.abs(drawn.mean(axis=0) - shared["zms"]) < 4 * drawn.std(axis=0) / 500**0.5 + 1e-12)


def test_without_ties_both_readings_agree_exactly():
    rng = np.random.default_rng(5)
    u = np.exp(rng.normal(0, 0.5, 300))
    error = u * rng.standard_t(5, 300)
    for statistic in (ence, zmse): assert statistic(error, u) == statistic(error, u, ties="order")
    one, two = (conditional_calibration(error, u, ties=ties) for ties in ("share", "order"))
    assert one == two
    names = ("zms", "rce", "ence", "zmse")
    one, two = (bca_intervals(names, error, u, n_boot=200, ties=ties, rng=1) for ties in ("share", "order"))
    for name in names:
        np.testing.assert_allclose(one[name].confidence_interval, two[name].confidence_interval, rtol=1e-9)
        np.testing.assert_allclose(one[name].acceleration, two[name].acceleration, rtol=1e-6)
    for name in names:
        one, two = (simulated_reference(name, u, n_mc=50, ties=ties, rng=1) for ties in ("share", "order"))
        np.testing.assert_array_equal(one.simulated, two.simulated)


def test_simulated_references_are_those_of_the_statistic():
    "References of tied uncertainties are what the statistic gives for the same errors, in either reading."
    _, u = tied(n=80)
    u = np.sort(u)
    for statistic in (ence, zmse):
        for ties in ("share", "order"):
            found = simulated_reference(statistic.__name__, u, n_mc=30, n_bins=7, ties=ties, rng=4)
            epsilon = np.random.default_rng(4)
            assert found.n_mc == 30 and np.isfinite(found.simulated).all()
            by_hand = [statistic(u * epsilon.standard_normal(80), u, n_bins=7, ties=ties) for _ in range(400)]
            assert abs(np.mean(by_hand) - found.value) < 5 * np.std(by_hand) / 30**0.5


def test_a_validation_does_not_depend_on_the_order_of_tied_rows():
    error, u = tied()
    one = validate_errors(error, u, **FEW)
    assert one.settings["ties"] == "share"
    assert not any(caution.code == "few_distinct_uncertainties" for caution in one.cautions)
    for o in orders(error)[2:]:
        two = validate_errors(error[o], u[o], **FEW)
        for name in ("ence", "zmse"):
            np.testing.assert_allclose(one.scores[name].estimate, two.scores[name].estimate, rtol=1e-12)
            np.testing.assert_allclose([r.value for r in one.scores[name].references.values()], [r.value for r in two.scores[name].references.values()], rtol=1e-12)
    published = validate_errors(error, u, ties="order", conclusions=False, **FEW)
    assert any(caution.code == "few_distinct_uncertainties" for caution in published.cautions)
    assert published.scores["ence"].estimate == ence(error, u, ties="order")


def test_shuffles_and_statistics_read_ties_alike():
    error, u = tied()
    for name, statistic in (("zmse", zmse), ("ence", ence)):
        scaled = error / np.sqrt(np.mean((error / u)**2))
        np.testing.assert_allclose(consistency_test(error, u, statistic=name, n_resamples=9, rng=1).statistic, statistic(scaled, u), rtol=1e-10)
    rng = np.random.default_rng(0)
    u = rng.choice(np.arange(1, 30) / 10, 1500)
    error = u * rng.normal(size=1500)
    scaled = error / np.sqrt(np.mean((error / u)**2))
    points = extrapolate(error, u, n_bins=range(10, 71, 10), n_resamples=9, rng=1).points
    np.testing.assert_allclose(points["value"], [zmse(scaled, u, n_bins=k) for k in points["n_bins"]], rtol=1e-10)


def test_other_readings_are_refused():
    error, u = tied(n=40)
    for call in (ence, zmse, conditional_calibration, lambda *data, **o: bca_intervals(("ence",), *data, **o), lambda e, u, **o: simulated_reference("ence", u, **o), lambda *data, **o: validate_errors(*data, **FEW, **o)):
        with pytest.raises(ValueError, match="ties"): call(error, u, ties="random")
