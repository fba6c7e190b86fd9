"""MAPIE's calibration metrics: the same numbers where it is right, and the differences that the pages name."""

import json
import subprocess
import textwrap
import venv

import numpy as np
import pytest

from uqcal.probabilities import calibration_tests as ct
from uqcal.probabilities import reliability as rel
from uqcal.probabilities import walk as wk
from uqcal._chance.brownian import kolmogorov_smirnov_null, kuiper_null

pytestmark = pytest.mark.slow
MAPIE = "mapie==1.6.0"
PEER = textwrap.dedent("""
    import json, sys
    import numpy as np
    from mapie.metrics import calibration as m
    data = np.load(sys.argv[1])
    def argument(a): return data[a[1:]] if isinstance(a, str) and a[0] == "$" else a
    cases = json.loads(sys.argv[2])
    print(json.dumps([np.asarray(getattr(m, f)(*map(argument, args), **options), dtype=float).tolist() for f, args, options in cases]))
""")


@pytest.fixture(scope="module")
def mapie(tmp_path_factory):
    "A function that runs MAPIE's functions, in an environment of its own."
    folder = tmp_path_factory.mktemp("mapie")
    venv.create(folder / "env", with_pip=True)
    python = folder / "env" / "bin" / "python"
    done = subprocess.run([python, "-m", "pip", "--quiet", "--disable-pip-version-check", "install", MAPIE], capture_output=True, text=True)
    if done.returncode: pytest.skip(f"{MAPIE} can't be installed: {(done.stderr.strip().splitlines() or ['no reason given'])[-1]}")

    def run(*cases, **data):
        np.savez(folder / "data.npz", **data)
        done = subprocess.run([python, "-c", PEER, folder / "data.npz", json.dumps(cases)], capture_output=True, text=True, check=True)
        return json.loads(done.stdout)

    return run


def sample(n=2000):
    rng = np.random.default_rng(1)
    p = rng.uniform(size=n)
    prob = rng.dirichlet(np.full(5, 0.5), size=n)
    return (rng.uniform(size=n) < p).astype(int), p, rng.integers(0, 5, n), prob


def test_numbers_agree_where_both_mean_the_same(mapie):
    y, p, label, prob = sample()
    right = (label == prob.argmax(axis=1)).astype(int)
    theirs = mapie(
        ["cumulative_differences", ["$y", "$p"], {"noise_amplitude": 0.0}], ["length_scale", ["$p"], {}], ["spiegelhalter_statistic", ["$y", "$p"], {}],
        ["spiegelhalter_p_value", ["$y", "$p"], {}], ["expected_calibration_error", ["$y", "$p", 21, "uniform"], {}],
        ["expected_calibration_error", ["$right", "$prob", 16, "uniform"], {}], ["top_label_ece", ["$label", "$prob"], {"num_bins": 16, "split_strategy": "uniform"}],
        ["kolmogorov_smirnov_cdf", [1.3], {}], ["kuiper_cdf", [1.7], {}],
        ["top_label_ece", ["$label", "$top", "$chosen"], {"num_bins": 16, "split_strategy": "uniform"}],
        y=y, p=p, label=label, prob=prob, right=right, top=prob.max(axis=1), chosen=prob.argmax(axis=1))
    ours = [wk.cumulative_differences(y, p), wk.length_scale(p), ct.spiegelhalter_test(y, p, method="asymptotic").statistic,
            ct.spiegelhalter_test(y, p, method="asymptotic", alternative="greater").pvalue, rel.expected_calibration_error(y, p, n_bins=20),
            rel.expected_calibration_error(label, prob), rel.top_label_ece(label, prob), kolmogorov_smirnov_null.cdf(1.3), kuiper_null.cdf(1.7),
            rel.top_label_ece(label, prob.max(axis=1), prob.argmax(axis=1))]
    for mine, other in zip(ours, theirs): np.testing.assert_allclose(mine, other, rtol=1e-10, atol=1e-13)


def test_random_tie_breaking_enters_their_sums(mapie):
    y, p, _, _ = sample()
    ks, kuiper, rounded = mapie(["kolmogorov_smirnov_statistic", ["$y", "$p"], {}], ["kuiper_statistic", ["$y", "$p"], {}], ["kuiper_statistic", ["$y", "$r"], {}],
                                y=y, p=p, r=p.round(1))
    found = ct.binary_calibration_tests(y, p, method="asymptotic")
    low = wk.cumulative_differences(y, p) / wk.length_scale(p)
    without_start = np.ptp(low)
    np.testing.assert_allclose([ks, kuiper], [found.kolmogorov_smirnov.statistic, without_start], rtol=1e-5)
    assert abs(ks / found.kolmogorov_smirnov.statistic - 1) > 1e-12
    assert rounded > ct.kuiper_test(y, p.round(1), method="asymptotic").statistic * 1.001


def test_differences_are_what_the_tables_say(mapie):
    one, bins, two, p_ks, p_zero, low = mapie(
        ["kuiper_statistic", ["$y1", "$p1"], {}], ["expected_calibration_error", ["$y2", "$p2", 2, "uniform"], {}],
        ["expected_calibration_error", ["$y3", "$p3", 3, "uniform"], {}], ["kolmogorov_smirnov_cdf", [7.25], {}], ["spiegelhalter_p_value", ["$y4", "$p4"], {}],
        ["kuiper_statistic", ["$y5", "$p5"], {}],
        y1=np.array([1]), p1=np.array([0.1]), y2=np.array([1, 0]), p2=np.array([0.2, 0.8]), y3=np.array([1, 0]), p3=np.array([0.0, 0.4]),
        y4=np.tile([1, 0], 500), p4=np.tile([0.7, 0.3], 500), y5=np.array([1, 0, 0]), p5=np.array([0.1, 0.2, 0.3]))
    assert one == 0
    np.testing.assert_allclose(ct.kuiper_test([1], [0.1], rng=1).statistic, 3)          # the range starts at C = 0
    np.testing.assert_allclose(bins, 0, atol=1e-12)                                     # two "bins" there are one
    np.testing.assert_allclose(rel.expected_calibration_error([1, 0], [0.2, 0.8], n_bins=2), 0.8)
    np.testing.assert_allclose(two, (1 + 0.4) / 2)                                      # a score of 0 has a bin of its own there
    np.testing.assert_allclose(rel.expected_calibration_error([1, 0], [0.0, 0.4], n_bins=2), abs(1 - 0.4) / 2)
    assert 1 - p_ks < 0 < kolmogorov_smirnov_null.sf(7.25)                              # one minus a distribution function
    assert p_zero > 0.999 and ct.spiegelhalter_test(np.tile([1, 0], 500), np.tile([0.7, 0.3], 500), rng=1).pvalue < 0.001   # too timid
    assert low < ct.kuiper_test([1, 0, 0], [0.1, 0.2, 0.3], rng=1).statistic
