"""The verdict on probabilities: its numbers are those of the parts, its page is whole, and bad input is refused."""

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from uqcal import calibration as cal
from uqcal.calibration_tests import binary_calibration_tests
from uqcal.reliability import expected_calibration_error

Y, P = [1, 0, 1, 0, 1, 0], [0.8, 0.3, 0.5, 0.5, 0.7, 0.1]
QUICK = dict(n_resamples=19, n_boot=9, n_bins=2, rng=1)


def data(n=300, shift=0.0):
    rng = np.random.default_rng(1)
    p = rng.uniform(0.05, 0.95, n)
    return (rng.uniform(size=n) < np.clip(p + shift, 0, 1)).astype(float), p, rng.exponential(size=n)


def pool(y, w):
    "Pool adjacent violators, in plain Python."
    blocks = []
    for value, weight in zip(y, w):
        blocks.append([value, weight, 1])
        while len(blocks) > 1 and blocks[-2][0] >= blocks[-1][0]:
            (v1, w1, n1), (v2, w2, n2) = blocks[-2:]
            blocks[-2:] = [[(v1 * w1 + v2 * w2) / (w1 + w2), w1 + w2, n1 + n2]]
    return [value for value, _, count in blocks for _ in range(count)]


@pytest.mark.parametrize("digits", [15, 1])
def test_decomposition_agrees_with_the_slow_twin(digits):
    y, p, w = data()
    p = p.round(digits)
    scores = sorted(set(p))
    means = [np.average(y[p == s], weights=w[p == s]) for s in scores]
    best = dict(zip(scores, pool(means, [w[p == s].sum() for s in scores])))
    score = lambda f: sum(wi * (yi - f(pi))**2 for yi, pi, wi in zip(y, p, w)) / sum(w)  # noqa: E731
    parts, constant = cal.brier_decomposition(y, p, sample_weight=w), score(lambda _: np.average(y, weights=w))
    np.testing.assert_allclose([parts.brier, parts.miscalibration, parts.discrimination, parts.uncertainty],
                               [score(float), score(float) - score(best.get), constant - score(best.get), constant], rtol=1e-12, atol=1e-15)


def test_report_holds_the_numbers_of_its_parts():
    y, p, w = data(shift=0.15)
    report = cal.calibration_report(y, p, sample_weight=w, rng=2, n_boot=199)
    tests = binary_calibration_tests(y, p, sample_weight=w, rng=2)
    assert report.tests == (tests.kolmogorov_smirnov, tests.kuiper, tests.spiegelhalter) and report.verdict == "invalid" and "too small" in report.headline
    frame = report.to_frame()
    assert frame.loc["ece", "value"] == expected_calibration_error(y, p, sample_weight=w) == report.diagram.ece == report.null.statistic
    assert frame.loc["ece", "low"] <= frame.loc["ece", "value"] and (frame["adjusted"].dropna() >= frame["pvalue"].dropna()[:3]).all()
    left, right = report.plot()
    assert left.get_xlabel() and right.get_xlabel()


def test_page_is_whole_and_written_at_once(tmp_path):
    y, p, _ = data()
    report = cal.calibration_report(y, p, n_boot=99, rng=3)
    page = report.to_html(tmp_path / "report.html", details={"File": "<scores>.csv"})
    assert (tmp_path / "report.html").read_text(encoding="utf-8") == page and page.count("data:image/svg") >= 2
    assert "Can these probabilities be believed?" in page and "&lt;scores&gt;.csv" in page
    assert report.verdict == "valid" and "No fault" in page and report.headline in report._repr_html_()
    with pytest.raises(OSError, match="folder"): report.to_html(tmp_path / "missing" / "report.html")


def test_words_for_special_cases():
    impossible = cal.calibration_report([1, 0, 1, 1], [0.0, 0.4, 0.7, 0.2], **QUICK)
    assert impossible.verdict == "invalid" and "impossible" in impossible.headline and "once" in impossible.headline
    halves = cal.calibration_report([1, 0, 1, 0], [0.5] * 4, **QUICK)
    assert [test.name for test in halves.tests] == ["kolmogorov_smirnov", "kuiper"] and halves.verdict == "valid" and halves.to_html()
    crossed = cal.calibration_report(np.repeat([1, 0], 300), np.repeat([0.4, 0.6], 300), **QUICK | dict(n_resamples=999))
    assert crossed.verdict == "invalid" and "overconfident" in crossed.headline


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(data=st.data())
def test_any_input_gives_a_report_without_nan_or_a_clear_error(data):
    n = data.draw(st.integers(0, 9))
    p = data.draw(arrays(float, n, elements=st.one_of(st.floats(0, 1), st.sampled_from([0.0, 1.0, 0.5, 1 / 3, 1e-300, 1 - 1e-16]))))
    y = data.draw(arrays(float, n, elements=st.sampled_from([0.0, 1.0])))
    w = data.draw(st.one_of(st.none(), arrays(float, n, elements=st.one_of(st.floats(0, 1e150), st.sampled_from([0.0, 1.0, 1e-150])))))
    with np.errstate(all="raise", under="ignore"):
        try: report = cal.calibration_report(y, p, sample_weight=w, **QUICK)
        except (ValueError, TypeError) as error: assert str(error)
        else: assert np.isfinite(report.to_frame()["value"]).all() and "nan" not in report.headline
