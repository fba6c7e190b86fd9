"""Whatever comes in, the functions on errors and uncertainties give finite results or a clear error, and keep their identities."""
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy import stats

from uqcal.statistics import bootstrap, references, statistics
from uqcal._chance import distributions
from uqcal.errors import validation
from uqcal._sample.sample import Ordering, Sample, bin_starts, eleven_digits

PAIR = {
    "zms": statistics.zms,
    "nll": statistics.nll,
    "rce": statistics.rce,
    "cc": statistics.cc,
    "scaled_error_correlation": statistics.scaled_error_correlation,
    "scaled_error_correlation by a feature": lambda e, u: statistics.scaled_error_correlation(e, u, by=np.arange(np.size(u))),
    "ence": lambda e, u: statistics.ence(e, u, n_bins=2),
    "zmse": lambda e, u: statistics.zmse(e, u, n_bins=2),
    "conditional_calibration": lambda e, u: statistics.conditional_calibration(e, u, n_bins=2).to_frame(),
    "bca_interval": lambda e, u: bootstrap.bca_interval("zms", e, u, n_boot=20, rng=1),
    "bca_intervals": lambda e, u: bootstrap.bca_intervals(("zms", "cc", "correlation"), e, u, n_boot=20, rng=1),
    "bca_interval of a function": lambda e, u: bootstrap.bca_interval(lambda a, b: float(np.mean(np.abs(a / b))), e, u, n_boot=20, rng=1),
    "validate": lambda e, u: validation.validate_errors(e, u, statistics=("zms", "cc", "correlation", "ence", "zmse"), n_bins=2, n_boot=20, n_mc=20, rng=1),
}
ONE = {
    "nll_reference": statistics.nll_reference,
    "simulate_errors": lambda u: distributions.simulate_errors(u, rng=1),
    "fit_inverse_gamma": distributions.fit_inverse_gamma,
    "simulated_reference": lambda u: references.simulated_reference("zmse", u, n_mc=20, n_bins=2, rng=1),
}
SHAPE = {
    "skewness_gm": statistics.skewness_gm,
    "kurtosis_cs": statistics.kurtosis_cs,
    "fit_student": distributions.fit_student,
    "fit_fisher_dof": distributions.fit_fisher_dof,
}
GOOD = np.array([0.3, -0.2, 1.1, 0.4, -2.0, 0.7])
U = np.array([0.5, 0.7, 0.9, 1.1, 1.3, 1.5])


def finite(result):
    "Whether no number in a result is NaN."
    if isinstance(result, validation.Validation):
        numbers = result.to_frame().select_dtypes("number").astype("Float64")
        return not any(np.isnan(v) for v in numbers.to_numpy(object).ravel() if isinstance(v, float))
    if hasattr(result, "to_frame"):
        return not result.to_frame().select_dtypes("number").isna().any(axis=None)
    if isinstance(result, dict):
        return all(map(finite, result.values()))
    return not np.isnan(np.asarray(result, dtype=float)).any()


ANY = st.floats(allow_nan=True, allow_infinity=True)
TAME = st.sampled_from([0.0, 1.0, -1.0, 0.5, 1e-160, 1e-120, 1e120, -1e149, 3.0])


@pytest.mark.parametrize("name", PAIR)
@given(data=st.data())
def test_any_floats_give_a_result_without_nan_or_a_clear_error(name, data):
    n = data.draw(st.integers(0, 12))
    error = data.draw(arrays(float, n, elements=st.one_of(ANY, TAME)))
    uncertainty = data.draw(arrays(float, n, elements=st.one_of(st.floats(1e-150, 1e150), st.sampled_from([1.0, 2.0, 0.0]))))
    with np.errstate(all="raise", under="ignore"):
        try:
            result = PAIR[name](error, uncertainty)
        except (ValueError, TypeError) as message:
            assert str(message)
        else:
            assert finite(result)


@pytest.mark.parametrize("name", [*ONE, *SHAPE])
@given(values=st.lists(st.one_of(ANY, TAME), max_size=10))
def test_any_values_give_a_result_without_nan_or_a_clear_error(name, values):
    with np.errstate(all="raise", under="ignore"):
        try:
            result = (ONE | SHAPE)[name](values)
        except (ValueError, TypeError) as message:
            assert str(message)
        else:
            assert finite(result)


@pytest.mark.parametrize(("call", "named"), [
    (lambda: statistics.ence(GOOD, U, n_bins=4), "n_bins"),
    (lambda: statistics.ence(GOOD, U, n_bins=2, by=np.ones(6)), "by"),
    (lambda: statistics.zmse(GOOD * 0, U, n_bins=2), "zero"),
    (lambda: statistics.scaled_error_correlation(GOOD, U * 0 + 1), "uncertainty"), (lambda: statistics.scaled_error_correlation(U * 2, U), "error / uncertainty"),
    (lambda: statistics.scaled_error_correlation(GOOD, U, by=np.ones(6)), "by"),
    (lambda: statistics.scaled_error_correlation([1.0], [1.0]), "error / uncertainty"),
    (lambda: statistics.scaled_error_correlation(GOOD, U, by=list("abcdef")), "by"), (lambda: bootstrap.bca_interval("correlation", GOOD, U * 0 + 1), "uncertainty"),
    (lambda: statistics.cc(GOOD, U * 0 + 1), "uncertainty"), (lambda: statistics.cc(GOOD * 0, U), "error"),
    (lambda: bootstrap.bca_interval("zsm", GOOD, U), "zms"),
    (lambda: bootstrap.bca_interval("zms", [1.0], [1.0]), "two"),
    (lambda: bootstrap.bca_interval(lambda e, u: e, GOOD, U), "statistic"), (lambda: bootstrap.bca_interval(lambda e, u: 1.0, GOOD, U, by=U), "by"),
    (lambda: validation.validate_errors(GOOD, U, n_bins=0), "n_bins"), (lambda: validation.validate_errors(GOOD, U, tolerance=1), "tolerance"),
    (lambda: validation.validate_errors(GOOD, U, groups=list("aaaaaa")), "groups"), (lambda: validation.validate_errors(GOOD, U, statistics=("zms", 1)), "statistics"),
    (lambda: validation.validate_errors(GOOD, U, statistics=("nll",)), "nll"),
    (lambda: validation.validate_errors(GOOD, U, n_bins=2, distributions=("normal",)), "distributions"), (lambda: validation.validate_errors(GOOD, U, n_bins=2, distribution="t2"), "distribution"),
    (lambda: validation.validate_errors(GOOD, U, n_bins=2, by=[1, 2]), "by"),
    (lambda: validation.validate_errors(GOOD, U, n_bins=2, by={"x": [None, *"abbba"[1:]] + ["a"]}), "by"), (lambda: validation.validate_errors(GOOD, U, n_bins=2, conclusions="no"), "conclusions"),
    (lambda: validation.validate_errors(GOOD, U, n_bins=2, conclusions=False, by={"x": U}), "conclusions"), (lambda: references.simulated_reference("correlation", U), "statistic"),
    (lambda: references.simulated_reference("cc", U * 0 + 1), "uncertainty"), (lambda: references.simulated_reference("nll", U), "statistic"),
    (lambda: references.zeta_score(1.0, np.nan, (0.0, 2.0)), "ζ"), (lambda: references.zeta_score(1.0, 1.0, (2.0, 0.0)), "interval"),
    (lambda: distributions.standard_distribution("gauss"), "distribution"), (lambda: distributions.standard_distribution(3), "distribution"), (lambda: distributions.simulate_errors(U, "t1.5"), "distribution"),
    (lambda: distributions.simulate_calibrated(5, 0.1), "dof"),
])
def test_bad_settings_are_refused_by_name(call, named):
    with pytest.raises((ValueError, TypeError), match=named):
        call()


def test_constant_uncertainties_leave_only_the_average_to_be_judged():
    result = validation.validate_errors(np.random.default_rng(1).standard_normal(100), np.ones(100), n_bins=4, n_boot=200, n_mc=100, rng=1)
    assert all(result.scores[name].status == "inconclusive" for name in ("cc", "ence", "zmse"))
    assert result.scores["zms"].status in ("valid", "invalid") and result.scores["cc"].reason == "equal_uncertainties" and finite(result)


@given(seed=st.integers(0, 2**32 - 1), factor=st.floats(1e-20, 1e20))
def test_units_do_not_matter(seed, factor):
    rng = np.random.default_rng(seed)
    e, u = rng.standard_normal(40), rng.uniform(0.5, 2, 40)
    for f in (statistics.zms, statistics.rce, statistics.cc, PAIR["ence"], PAIR["zmse"]):
        np.testing.assert_allclose(f(factor * e, factor * u), f(e, u), rtol=1e-9, atol=1e-12)


def plain_bins(values, by, start, ties):
    "Means of the values in bins of equal count: of rows in their order, or with rows of equal `by` in proportion in each bin that they straddle."
    sort = np.argsort(by, kind="stable")
    if ties == "order": return [values[sort[a:b]].mean() for a, b in zip(start, start[1:])]
    _, code, size = np.unique(by, return_inverse=True, return_counts=True)
    mean, end = np.bincount(code, values) / size, np.cumsum(size)
    return [np.clip(np.minimum(end, b) - np.maximum(end - size, a), 0, None) @ mean / (b - a) for a, b in zip(start, start[1:])]


@pytest.mark.parametrize("ties", ["share", "order"])
@pytest.mark.parametrize("feature", [False, True])
@settings(max_examples=settings.default.max_examples // 3)
@given(seed=st.integers(0, 2**32 - 1), levels=st.integers(1, 40), n=st.integers(8, 60))
def test_resamples_and_jackknife_equal_the_plain_statistics_with_ties(feature, ties, seed, levels, n):
    rng = np.random.default_rng(seed)
    e, u = rng.integers(-levels, levels + 1, n) + 0.25, 1.0 + rng.integers(0, levels + 1, n)
    by = rng.integers(0, 5, n).astype(float) if feature else u
    if np.ptp(by) == 0:
        return
    names, n_bins = ("zms", "nll", "rce", "cc", "correlation", "ence", "zmse"), 3
    sample = Sample(e, u)
    along = sample.along(by if feature else None)
    data, order = bootstrap._Sorted.of(names, sample, along, n_bins, ties), along.order
    draws = np.random.default_rng(seed).integers(0, n, size=(5, n), dtype=np.int32)
    fast = bootstrap._resample(names, data, 5, np.random.default_rng(seed))
    without = np.column_stack(list(bootstrap._leave_one_out(names, data).values()))

    def plain(index):
        e_i, u_i, by_i = e[order[index]], u[order[index]], by[order[index]]
        start = bin_starts(e_i.size, n_bins)
        z2, e2, u2 = (np.array(plain_bins(values, by_i, start, ties)) for values in ((e_i / u_i)**2, e_i**2, u_i**2))
        vary, scaled = np.ptp(u_i) > 0 and np.ptp(np.abs(e_i)) > 0, np.round(np.abs(e_i / u_i), 12)
        return [statistics.zms(e_i, u_i), statistics.nll(e_i, u_i), statistics.rce(e_i, u_i), statistics.cc(e_i, u_i) if vary else np.nan,
                stats.spearmanr(scaled, by_i).statistic if np.ptp(by_i) * np.ptp(scaled) > 0 else np.nan,
                np.mean(np.abs(1 - np.sqrt(e2 / u2))), np.mean(np.abs(np.log(z2)))]

    np.testing.assert_allclose(fast, [plain(d) for d in draws], rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(without, [plain(np.delete(np.arange(n), i)) for i in range(n)], rtol=1e-8, atol=1e-10)


@given(seed=st.integers(0, 2**32 - 1), factor=st.sampled_from([1e-12, 0.1, 3.0, 1e6]), wrong=st.floats(0.1, 10))
def test_scaled_error_correlation_ignores_units_average_size_and_sign(seed, factor, wrong):
    rng = np.random.default_rng(seed)
    e, u = rng.integers(-9, 10, 30) / 10, rng.integers(1, 5, 30) / 10      # 0.3/0.6 and 0.2/0.4 are ties
    if np.ptp(np.abs(e / u)) == 0 or np.ptp(u) == 0:
        return
    value = statistics.scaled_error_correlation(e, u)
    exact = [abs(int(10 * a + (0.5 if a > 0 else -0.5))) / round(10 * b) for a, b in zip(e, u)]
    np.testing.assert_allclose(value, stats.spearmanr(np.round(exact, 9), u).statistic, atol=1e-12)
    np.testing.assert_allclose(statistics.scaled_error_correlation(-factor * e, factor * wrong * u), value, atol=1e-12)
    np.testing.assert_allclose(statistics.scaled_error_correlation(e, u, by=-u), -value, atol=1e-12)


@pytest.mark.parametrize("distribution", ["normal", "t3", "laplace"])
@pytest.mark.slow
def test_scaled_error_correlation_is_zero_on_average_and_its_interval_says_so(distribution):
    "Mean and spread of 300 sets, and how many of their 95 % intervals hold zero (3.5 standard deviations: 4.4 %)."
    values, inside = [], 0
    for seed in range(300):
        e, u = distributions.simulate_calibrated(300, 6, distribution=distribution, rng=seed)
        interval = bootstrap.bca_interval("correlation", e, u, n_boot=500, rng=seed)
        values.append(interval.estimate)
        inside += interval.confidence_interval.holds(0)
    assert abs(np.mean(values)) < 4 / np.sqrt(300 * 299) and abs(np.std(values) * np.sqrt(299) - 1) < 0.15
    assert 0.9 < inside / 300 < 0.99


@given(z=arrays(float, st.integers(2, 200), elements=st.one_of(st.floats(-1e100, 1e100), st.sampled_from([0.0, 1.0, -1.0, 1e50]))), seed=st.integers(0, 2**31), other=st.booleans())
def test_rank_correlation_of_products_equals_scipys_for_any_numbers_and_any_table(z, seed, other):
    rng = np.random.default_rng(seed)
    u = np.exp(rng.normal(scale=3, size=z.size)).round(seed % 3)+ 0.1
    rank = Ordering.of(u).ranks
    typical = rng.standard_t(3, z.size) if other or not z.any() else z                 # a table made for other numbers gives the same result
    ours = of_products(z, u, rank, typical)
    x = eleven_digits(np.abs(u * z))
    if np.ptp(x) == 0 or np.ptp(u) == 0:
        assert np.isnan(ours)
    else:
        np.testing.assert_allclose(ours, stats.spearmanr(x, u).statistic, rtol=1e-9, atol=1e-12)


def test_crowded_cells_are_ranked_in_reasonable_time():
    z = np.random.default_rng(1).random(200_000)
    u = np.ones(z.size)
    np.testing.assert_allclose(of_products(1 + 1e-9 * z, u, Ordering.of(z).ranks, np.exp(600 * z)), stats.spearmanr(eleven_digits(1 + 1e-9 * z), z).statistic, rtol=1e-12)


def of_products(z, u, rank, typical):
    return statistics._rank_correlations_of_products(z[None], u, rank, rank @ rank, statistics._cell_table(typical, u))[0]


def test_same_seed_same_result_for_any_number_of_jobs():
    rng = np.random.default_rng(3)
    u = rng.uniform(0.5, 2, 300)
    one, two = (validation.validate_errors(u * rng_e, u, n_bins=5, n_boot=700, n_mc=900, rng=5, n_jobs=jobs).to_frame("statistics")
                for jobs, rng_e in ((1, np.sin(np.arange(300.0))), (2, np.sin(np.arange(300.0)))))
    assert one.equals(two)


def test_simulated_mean_squares_have_mean_one_under_every_distribution():
    u = np.linspace(0.1, 3, 200)
    for distribution in ("normal", "t6", "uniform", "laplace"):
        reference = references.simulated_reference("zms", u, distribution=distribution, n_mc=4000, rng=7)
        assert abs(reference.value - 1) < 4.5 * reference.standard_error, distribution      # 4.5 σ: a false alarm in 140,000 runs of the four


def test_validate_rejects_three_quarters_of_size_and_accepts_perfect():
    verdicts = []
    for seed in range(20):
        rng = np.random.default_rng(seed)
        u = rng.lognormal(0, 0.5, 1000)
        e = u * rng.standard_normal(1000)
        verdicts.append([{name: one.status for name, one in validation.validate_errors(e, stated, distribution="normal", conclusions=False, n_boot=400, n_mc=400, rng=seed).scores.items()}
                         for stated in (u, 0.75 * u)])
    for name in ("zms", "ence", "zmse"):
        assert sum(perfect[name] == "valid" for perfect, _ in verdicts) >= 16, name        # 95 % expected: fewer than 16 of 20 has chance 0.3 %
        assert all(small[name] == "invalid" for _, small in verdicts), name


@pytest.mark.parametrize("call", [
    lambda: distributions.fit_fisher_dof([0.0, 1.5e38, 8.6e-271]), lambda: distributions.fit_student([2.2e-311, 3e-287, 0.0, 2.2e-311, -4.2e15]),
    lambda: references.zeta_score(1.0, 0.0, (1.0 - 1e-316, 1.0)), lambda: validation.validate_errors([1e-160, 0.0], [1.0, 1.0], n_bins=2, n_boot=20, n_mc=20, rng=1)])
def test_extreme_ratios_of_scales_stay_finite_or_become_infinite_quietly(call):
    over = "raise" if np.lib.NumpyVersion(np.__version__) >= "2.0.0" else "ignore"  # numpy 1 says so of quotients of two tiny numbers, too
    with np.errstate(all="raise", under="ignore", over=over): assert call() is not None
