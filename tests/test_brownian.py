"""The distributions of max|B| and of the range: fifty digits, inverses, and every kind of input."""

import mpmath as mp
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from uqcal._chance.brownian import kolmogorov_smirnov_null, kuiper_null

DISTRIBUTIONS = {"max |B|": kolmogorov_smirnov_null, "range": kuiper_null}
GRID = np.concatenate([np.geomspace(0.0302, 38.4, 400), np.linspace(1.1, 1.6, 101)])
TINY = np.finfo(float).tiny


def images(distribution, x):
    "P(X > x) by the alternating series of normal tails."
    total = mp.mpf(0)
    for k in range(1, 100_000):
        if distribution is kolmogorov_smirnov_null:
            term = 4 * (-1)**(k - 1) * mp.erfc((2 * k - 1) * x / mp.sqrt(2)) / 2
        else:
            term = 8 * (-1)**(k - 1) * k * mp.erfc(k * x / mp.sqrt(2)) / 2
        total += term
        if abs(term) < mp.eps * abs(total): return total
    raise AssertionError(x)


def waves(distribution, x):
    "P(X ≤ x) by the series of exponentials in 1/x²."
    total = mp.mpf(0)
    for j in range(100_000):
        a = (2 * j + 1) * mp.pi
        if distribution is kolmogorov_smirnov_null:
            term = 4 * (-1)**j / a * mp.exp(-(a / x)**2 / 8)
        else:
            term = 8 * (1 / x**2 + 1 / a**2) * mp.exp(-(a / x)**2 / 2)
        total += term
        if abs(term) < mp.eps * abs(total): return total
    raise AssertionError(x)


@pytest.mark.parametrize("name", DISTRIBUTIONS)
def test_both_sides_and_their_logarithms_agree_with_fifty_digits(name):
    distribution = DISTRIBUTIONS[name]
    with mp.workdps(50):
        for x in GRID:
            exact = mp.mpf(float(x))
            sf, cdf = (images(distribution, exact), None) if x > 1 else (None, waves(distribution, exact))
            sf, cdf = (sf, 1 - sf) if cdf is None else (1 - cdf, cdf)
            for got, true in ((distribution.cdf(x), cdf), (distribution.sf(x), sf)):
                if true >= TINY: assert abs(mp.mpf(float(got)) / true - 1) < 1e-12, (x, got)
            logs = (mp.log1p(-sf), mp.log(sf)) if x > 1 else (mp.log(cdf), mp.log1p(-cdf))
            for got, true in zip((distribution.logcdf(x), distribution.logsf(x)), logs):
                if abs(true) >= TINY: assert abs(mp.mpf(float(got)) / true - 1) < 1e-12, (x, got)


@pytest.mark.parametrize("name", DISTRIBUTIONS)
def test_the_two_series_are_the_same_function(name):
    with mp.workdps(120):
        for x in (0.2, 1.0, 1.5, 4.0, 20.0):
            assert abs(images(DISTRIBUTIONS[name], mp.mpf(x)) + waves(DISTRIBUTIONS[name], mp.mpf(x)) - 1) < mp.mpf(10)**-110


@pytest.mark.parametrize("name", DISTRIBUTIONS)
def test_logarithms_go_on_where_probabilities_underflow(name):
    distribution = DISTRIBUTIONS[name]
    with mp.workdps(50):
        for x in (40.0, 1e3, 1e8):
            true = mp.log(4 if distribution is kolmogorov_smirnov_null else 8) + mp.log(mp.ncdf(-x)) if x < 1e4 else -mp.mpf(x)**2 / 2
            assert abs(distribution.logsf(x) / true - 1) < 1e-12 and distribution.sf(x) == 0 and distribution.cdf(x) == 1
        for x in (0.02, 1e-4, 1e-8):
            assert abs(distribution.logcdf(x) / mp.log(waves(distribution, mp.mpf(x))) - 1) < 1e-12 and distribution.cdf(x) == 0 and distribution.sf(x) == 1


@pytest.mark.parametrize("name", DISTRIBUTIONS)
def test_quantiles_undo_probabilities(name):
    distribution = DISTRIBUTIONS[name]
    q = np.unique(np.concatenate([10.0**np.arange(-300, 0), np.linspace(0.001, 0.999, 999), 1 - 10.0**-np.arange(1, 10), distribution.cdf(np.linspace(1.1, 1.6, 501))]))
    np.testing.assert_allclose(distribution.cdf(distribution.ppf(q)), q, rtol=1e-9)
    np.testing.assert_allclose(distribution.sf(distribution.isf(q)), q, rtol=1e-9)
    assert (np.diff(distribution.ppf(q)) > -1e-13).all() and (np.diff(distribution.isf(q)) < 1e-13).all()


@pytest.mark.parametrize("name", DISTRIBUTIONS)
def test_values_keep_order_and_shape_and_never_leave_the_unit_interval(name):
    distribution = DISTRIBUTIONS[name]
    x = np.concatenate([[-np.inf, -1e300, -1, 0, 5e-324, 1e-200, 1e-20], np.linspace(0.02, 45, 20_001), [1e20, 1e160, 1e300, np.inf]])
    cdf, sf = distribution.cdf(x), distribution.sf(x)
    assert (np.diff(cdf) >= -1e-15).all() and (np.diff(sf) <= 1e-15).all() and (np.diff(distribution.logsf(x)[np.isfinite(distribution.logsf(x))]) <= 1e-13).all()
    assert (cdf >= 0).all() and (cdf <= 1).all() and (sf >= 0).all() and (sf <= 1).all()
    np.testing.assert_allclose(cdf + sf, 1, rtol=1e-15)
    assert cdf[0] == cdf[3] == 0 and cdf[-1] == 1 and sf[-1] == 0 and distribution.logsf(np.inf) == -np.inf and distribution.logcdf(0) == -np.inf
    assert distribution.cdf(np.ones((2, 3))).shape == (2, 3) and np.ndim(distribution.cdf(1)) == 0 and distribution.ppf([0, 1]).tolist() == [0, np.inf]
    assert distribution.isf([0, 1]).tolist() == [np.inf, 0]


@settings(max_examples=100, deadline=None)
@given(x=st.floats(allow_nan=False, allow_infinity=True))
def test_any_number_gives_probabilities_without_a_warning(x):
    with np.errstate(all="raise", under="ignore"):
        for distribution in DISTRIBUTIONS.values():
            assert 0 <= distribution.cdf(x) <= 1 and 0 <= distribution.sf(x) <= 1 and distribution.logcdf(x) <= 0 and distribution.logsf(x) <= 0


@given(q=st.floats(0, 1))
def test_any_probability_has_its_quantile(q):
    for distribution in DISTRIBUTIONS.values():
        x = distribution.ppf(q)
        assert x >= 0 and (abs(distribution.cdf(x) - q) <= 1e-9 * q + 1e-320)


@pytest.mark.parametrize("bad", [-0.1, 1.1, [0.5, 2.0], np.inf])
def test_what_is_no_probability_is_refused(bad):
    for method in ("ppf", "isf"):
        with pytest.raises(ValueError, match=r"q must lie in \[0, 1\]"): getattr(kuiper_null, method)(bad)


@pytest.mark.parametrize("name", DISTRIBUTIONS)
def test_random_numbers_follow_the_distribution_and_the_seed(name):
    distribution = DISTRIBUTIONS[name]
    draws = distribution.rvs((200, 50), rng=1)
    assert draws.shape == (200, 50) and (draws == distribution.rvs((200, 50), rng=np.random.default_rng(1))).all()
    assert abs(draws.mean() - distribution.mean()) < 4 * distribution.std() / 100 and abs(draws.std() / distribution.std() - 1) < 0.03
    assert isinstance(float(distribution.rvs(rng=2)), float)
