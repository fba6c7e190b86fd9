"""Conclusions without an assumed distribution: each p-value against a slow twin, Holm's guarantee, what is undecided and why, features of every kind, bad input."""
import dataclasses
import html
import json

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from uqcal import bootstrap, distributions, validate
from uqcal.conclusions import Conclusion, _bca_pvalue, conclusions_of, draw_conclusions, headline_of, read_features
from uqcal.consistency import consistency_test
from uqcal.resampling import holm
from uqcal.sample import Sample

THREE = ["average calibration", "consistency", "error-uncertainty link"]


def sample(seed=1, n=300, spread=0.5):
    rng = np.random.default_rng(seed)
    uncertainty = np.exp(spread * rng.standard_normal(n))
    return uncertainty * rng.standard_normal(n), uncertainty


@pytest.mark.parametrize("name, reference", [("zms", 1.0), ("zms", 0.8), ("cc", 0.4), ("correlation", 0.0), ("rce", 0.1)])
@pytest.mark.parametrize("seed", [1, 2, 3])
def test_interval_at_the_pvalue_of_a_reference_ends_there(name, reference, seed):
    error, uncertainty = sample(seed)
    p = _bca_pvalue(bootstrap.bca_interval(name, error, uncertainty, n_boot=999, rng=seed), reference)
    if 0.002 < p < 0.9999:
        touching = bootstrap.bca_interval(name, error, uncertainty, n_boot=999, rng=seed, confidence=1 - p).confidence_interval
        assert min(abs(touching.low - reference), abs(touching.high - reference)) < 1e-9


@given(seed=st.integers(0, 2**32 - 1), confidence=st.sampled_from([0.5, 0.8, 0.9, 0.95]))
def test_average_is_invalid_where_its_pvalue_is_below_the_level(seed, confidence):
    error, uncertainty = sample(seed, n=40)
    interval = bootstrap.bca_interval("zms", error, uncertainty, n_boot=400, rng=seed, confidence=confidence)
    found = conclusions_of(Sample(error, uncertainty), {}, average=interval, n_resamples=9, confidence=confidence, rng=1)["average calibration"]
    assert (found.status == "invalid") == (not interval.confidence_interval.holds(1))
    assert (found.status == "invalid") == (found.pvalue <= 1 - confidence) or abs(found.pvalue - 1 + confidence) < 1e-9
    assert found.result is interval


def test_holm_adjusts_the_features_and_nothing_else():
    error, uncertainty = sample(5)
    rng = np.random.default_rng(1)
    features = {"a": rng.random(300), "b": rng.random(300), "c": rng.choice(["x", "y"], 300)}
    found = draw_conclusions(error, uncertainty, features=features, n_resamples=999, rng=7)
    assert list(found) == [*THREE, "adaptivity: a", "adaptivity: b", "adaptivity: c"]
    tests = [found[f"adaptivity: {name}"] for name in features]
    np.testing.assert_allclose([t.pvalue for t in tests], holm([t.result.pvalue for t in tests]))
    assert all("adjusted for 3 features" in t.sentence and f"{t.pvalue:.2g}" in t.sentence for t in tests)
    one = draw_conclusions(error, uncertainty, features={"a": features["a"]}, n_resamples=999, rng=7)["adaptivity: a"]
    assert one.pvalue == one.result.pvalue and "adjusted" not in one.sentence
    assert found["consistency"].pvalue == found["consistency"].result.pvalue == consistency_test(error, uncertainty, n_resamples=999, rng=_after(error, uncertainty, 7)).pvalue


def _after(error, uncertainty, seed):
    "The generator as it stands after the interval of the ZMS."
    rng = np.random.default_rng(seed)
    bootstrap.bca_interval("zms", error, uncertainty, rng=rng)
    return rng


def test_no_more_than_five_percent_of_calibrated_sets_fail_along_any_of_five_features():
    alarms = 0
    for seed in range(200):
        rng = np.random.default_rng(seed)
        error, uncertainty = distributions.simulate_calibrated(100, 6, distribution="t3", rng=rng)
        interval = bootstrap.bca_interval("zms", error, uncertainty, n_boot=20, rng=rng)
        points = Sample(error, uncertainty)
        found = conclusions_of(points, read_features({str(k): rng.random(100) for k in range(5)}, points), average=interval, n_resamples=19, rng=rng)
        assert found["adaptivity: 0"].result.n_resamples == 200      # 2·5/0.05, else nothing could be rejected
        alarms += any(answer.status == "invalid" for answer in found.values() if answer.feature is not None)
    assert 1 <= alarms <= 21          # 10 expected at most, 3.6 standard deviations


def test_each_fault_is_found_and_named():
    error, uncertainty = sample(3, n=3000)
    kind = np.random.default_rng(1).choice(["a", "b"], 3000, p=[0.8, 0.2])
    cases = {"average calibration": (1.3 * error, "too small: the errors are 1.3"), "consistency": (np.where(uncertainty > 1, 1.5, 1) * error, "times as large as stated where the uncertainty is"),
             "adaptivity: kind": (np.where(kind == "b", 1.4, 1) * error, "times as large as stated in group b")}
    for question, (wrong, said) in cases.items():
        found = draw_conclusions(wrong, uncertainty, features={"kind": kind}, n_resamples=999, rng=1)
        assert found[question].status == "invalid" and said in found[question].sentence, question
        assert f"p = {found[question].pvalue:.2g}" in found[question].sentence
    assert "in group b" in found["adaptivity: kind"].sentence
    fine = draw_conclusions(error, uncertainty, features={"kind": kind}, n_resamples=999, rng=1)
    assert {answer.status for answer in fine.values()} == {"valid"}


def test_link_is_invalid_only_where_perfect_uncertainties_would_have_one():
    error, uncertainty = sample(4, n=1000)
    moved = np.random.default_rng(1).permutation(uncertainty)
    assert draw_conclusions(error, uncertainty, n_resamples=999, rng=1)["error-uncertainty link"].status == "valid"
    found = draw_conclusions(error, moved, n_resamples=999, rng=1)["error-uncertainty link"]
    assert found.status == "invalid" and "would show it" in found.sentence and found.pvalue > 0.05
    error, flat = sample(6, n=1000, spread=0.001)
    found = draw_conclusions(error, flat, n_resamples=999, rng=1)["error-uncertainty link"]
    assert found.status == "undecided" and "might not show it" in found.sentence


@pytest.mark.parametrize("error, uncertainty, open_questions", [
    (np.sin(np.arange(50.0)), np.ones(50), {"consistency", "error-uncertainty link"}), (np.zeros(50), np.arange(1.0, 51), {"consistency", "error-uncertainty link", "adaptivity: x"}),
    (np.arange(1.0, 51), np.arange(1.0, 51), {"consistency", "error-uncertainty link", "adaptivity: x"}), (np.ones(50), np.arange(1.0, 51), {"error-uncertainty link"}),
    (np.array([1.0, -2, 3]), np.array([1.0, 2, 1]), {"consistency", "error-uncertainty link", "adaptivity: x"}),
])
def test_what_cannot_be_asked_is_undecided_and_says_why(error, uncertainty, open_questions):
    found = draw_conclusions(error, uncertainty, features={"x": np.arange(error.size)}, n_resamples=99, rng=1)
    assert {name for name, answer in found.items() if answer.status == "undecided" and answer.pvalue is None} == open_questions
    for name in open_questions:
        assert found[name].sentence.startswith("Not decided: ") and found[name].result is None
        with pytest.raises(ValueError, match="nothing was tested"):
            found[name].plot()


COLUMN = np.arange(300.0)
TEXT = ["a", "b", "c"] * 100


@pytest.mark.parametrize("features", [{"x": COLUMN, "t": TEXT}, pd.DataFrame({"x": COLUMN, "t": TEXT}), pd.DataFrame({"x": COLUMN, "t": pd.Categorical(TEXT)}, index=np.arange(300)[::-1]),
                                      pd.DataFrame({"x": COLUMN, "t": pd.array(TEXT, dtype="string")})])
def test_features_come_as_a_frame_or_a_dict(features):
    found = draw_conclusions(*sample(), features=features, n_resamples=99, rng=1)
    assert list(found)[3:] == ["adaptivity: x", "adaptivity: t"]
    assert found["adaptivity: x"].result.by == "feature" and found["adaptivity: t"].result.by == "groups"
    assert found == draw_conclusions(*sample(), features={"x": COLUMN, "t": TEXT}, n_resamples=99, rng=1)


def test_polars_frames_hold_features():
    polars = pytest.importorskip("polars")
    found = draw_conclusions(*sample(), features=polars.DataFrame({"x": COLUMN, "t": TEXT}), n_resamples=99, rng=1)
    assert found == draw_conclusions(*sample(), features={"x": COLUMN, "t": TEXT}, n_resamples=99, rng=1)


@pytest.mark.parametrize("arguments, message", [
    (dict(features=[COLUMN]), "features must be a DataFrame or a dict"), (dict(features=COLUMN), "features must be a DataFrame or a dict"),
    (dict(features={"x": [None, *TEXT[1:]]}), r"features\['x'\] must not hold missing values: 1 of 300"), (dict(features={"x": np.ones(300)}), r"features\['x'\] must not be constant"),
    (dict(features={"x": ["a"] * 300}), r"features\['x'\] must hold at least two groups"), (dict(features={"x": [str(i) for i in range(300)]}), r"features\['x'\] must hold groups"),
    (dict(features={1: COLUMN, "1": COLUMN}), "features must have different names"),
    (dict(features=pd.DataFrame(np.ones((300, 2)), columns=["x", "x"])), "features must have different names"),
])
def test_bad_features_and_settings_are_refused_by_name(arguments, message):
    with pytest.raises((ValueError, TypeError), match=message):
        draw_conclusions(*sample(), **arguments)


@pytest.mark.parametrize("call, message", [
    (lambda: draw_conclusions([1.0], [1.0]), "two points"),
])
def test_bad_settings_are_refused_by_name(call, message):
    with pytest.raises((ValueError, TypeError), match=message):
        call()


@given(data=st.data())
def test_any_floats_give_conclusions_or_a_clear_error(data):
    n = data.draw(st.integers(2, 12))
    numbers = st.one_of(st.floats(), st.sampled_from([0.0, 1.0, -1.0, 1e-160, 1e120, 3.0]))
    error, uncertainty = data.draw(st.lists(numbers, min_size=n, max_size=n)), data.draw(st.lists(st.one_of(st.floats(1e-150, 1e150), st.just(1.0)), min_size=n, max_size=n))
    with np.errstate(all="raise", under="ignore"):
        try:
            found = draw_conclusions(error, uncertainty, features={"x": np.arange(n)}, n_resamples=39, rng=1)
        except (ValueError, TypeError) as message:
            assert str(message)
        else:
            assert list(found) == [*THREE, "adaptivity: x"]
            for answer in found.values():
                assert answer.status in ("valid", "invalid", "undecided") and "nan" not in answer.sentence
                assert answer.pvalue is None or 0 < answer.pvalue <= 1


def test_a_seed_fixes_the_result_whatever_n_jobs():
    error, uncertainty = sample(1, n=2000)
    one, two = (draw_conclusions(error, uncertainty, features={"x": np.arange(2000)}, n_resamples=2000, rng=4, n_jobs=jobs) for jobs in (1, 2))
    assert one == two


def test_results_show_themselves():
    import matplotlib.pyplot as plt
    error, uncertainty = sample(1)
    found = draw_conclusions(error, uncertainty, features={"t": TEXT}, n_resamples=99, rng=1)
    for answer in found.values():
        assert isinstance(answer, Conclusion) and html.escape(answer.sentence) in answer._repr_html_() and len(answer.to_frame()) == 1
        figure, ax = plt.subplots()
        assert answer.plot(ax) is ax and ax.get_xlabel()
    plt.close("all")


# in validate

def quick(error, uncertainty, **options):
    return validate(error, uncertainty, **{"n_boot": 200, "n_resamples": 399, "n_mc": 100, "n_bins": 5, "rng": 3, **options})


def test_validate_draws_conclusions_and_changes_nothing_else():
    error, uncertainty = sample(1)
    with_them, without = quick(error, uncertainty, features={"t": TEXT}), quick(error, uncertainty, conclusions=False)
    assert list(with_them.conclusions) == [*THREE, "adaptivity: t"] and [one.feature for one in with_them.conclusions.values()] == [None, None, None, "t"]
    assert without.conclusions == {} and with_them.answers == list(with_them.conclusions.values())
    assert with_them.to_frame().equals(without.to_frame()) and with_them.scores == without.scores and with_them.cautions == without.cautions
    assert with_them.conclusions["average calibration"].result is with_them.scores["zms"].interval
    assert with_them.conclusions["consistency"].result.n_resamples == with_them.settings["n_resamples"] == 399
    assert quick(error, uncertainty, features={"t": TEXT}, n_jobs=2).conclusions == with_them.conclusions


def test_conclusions_do_not_need_the_statistic_zms():
    error, uncertainty = sample(1)
    for statistics, distribution in ((("cc",), None), (("nll",), "normal"), (("correlation",), None)):
        assert list(quick(error, uncertainty, statistics=statistics, distribution=distribution).conclusions) == THREE


def test_conclusions_are_in_json_and_html_escaped():
    error, uncertainty = sample(1)
    result = quick(error, uncertainty, features={"<script>alert(1)</script>": TEXT, "x": COLUMN})
    said = json.loads(result.to_json())
    assert list(said)[:3] == ["headline", "conclusions", "scores"] and said["headline"] == result.headline == result.sentence
    for name, one in result.conclusions.items():
        assert said["conclusions"][name] == {"feature": one.feature, "status": one.status, "sentence": one.sentence, "test": one.test, "pvalue": one.pvalue}
    assert said["scores"]["zms"] == {"status": result.scores["zms"].status, "sentence": result.scores["zms"].sentence}
    for page in (result._repr_html_(), *(one._repr_html_() for one in result.conclusions.values())):
        assert "<script" not in page
    page = result._repr_html_()
    assert "adaptivity: &lt;script&gt;" in page and page.index("consistency") < page.index("ZMS:")


@pytest.mark.parametrize("names", [[], ["x"], ["a" * 3000], [f"feature\n{k} <script>" for k in range(40)], ["wide " * 200 + str(k) for k in range(40)]])
def test_a_validation_fits_a_screen_and_begins_with_its_conclusions(names):
    error, uncertainty = sample(1)
    features = {name: np.roll(COLUMN, k) for k, name in enumerate(names)}
    every = ("zms", "nll", "rce", "cc", "correlation", "ence", "zmse")
    for options in (dict(), dict(statistics=every, distribution="normal")):
        result = quick(np.where(uncertainty > 1, 1.5, 1) * error, uncertainty, features=features or None, n_resamples=99, **options)
        lines = repr(result).split("\n")
        assert len(lines) <= 24 and max(map(len, lines)) <= 100 and lines[0].startswith("The stated uncertainties")
        assert any(line.startswith("average calibration: ") for line in lines) and any(line.startswith("ZMS = ") for line in lines)


def test_headline_counts_features_and_knows_no_prose():
    error, uncertainty = sample(1)
    found = draw_conclusions(error, uncertainty, features={str(k): np.roll(COLUMN, k) for k in range(5)}, n_boot=99, n_resamples=99, rng=1)
    silent = [dataclasses.replace(one, sentence="", test="") for one in found.values()]
    assert headline_of(silent) == headline_of(list(found.values())) and "5 features" in headline_of(silent)


def test_validate_checks_its_columns_once_and_sorts_each_once(monkeypatch):
    "The columns by `check_errors`, each order by `Ordering.of`, whatever statistics and tests use it."
    from uqcal import inputs
    from uqcal import sample as room
    seen, sorted_ = [], []
    monkeypatch.setattr(room, "check_errors", lambda *columns: seen.append("both") or inputs.check_errors(*columns))
    plain = room.Ordering.of.__func__
    monkeypatch.setattr(room.Ordering, "of", classmethod(lambda cls, values, *more: sorted_.append(values.tobytes()) or plain(cls, values, *more)))
    error, uncertainty = sample(1)
    quick(error, uncertainty, features={"x": COLUMN[::-1], "t": TEXT}, statistics=("zms", "nll", "rce", "cc", "correlation", "ence", "zmse"), distribution="normal")
    assert seen == ["both"] and len(sorted_) == len(set(sorted_)) == 5       # u, |E|, |Z|, x, t


@pytest.mark.parametrize("n_mc", [100, "auto"])
def test_correlation_is_judged_by_its_known_reference_alone(n_mc):
    error, uncertainty = sample(2, n=1000)
    for stated, verdict, said in ((uncertainty, "valid", "no trend"), (uncertainty**0.5, "invalid", "spread too little"), (uncertainty**1.5, "invalid", "spread too much")):
        result = quick(error, stated, statistics=("correlation", "zms"), n_mc=n_mc)
        score = result.scores["correlation"]
        assert score.status == verdict and said in score.sentence and score.references == {}
        (one,) = score.comparisons
        assert one.is_known and one.reference == 0.0 and (abs(one.zeta) <= 1 or verdict == "invalid")
        assert list(score.to_frame()["distribution"]) == ["known"]
    assert [one.status for one in quick(error, uncertainty, statistics=("correlation",), n_mc=n_mc).scores.values()] == ["valid"]


@pytest.mark.parametrize("error, uncertainty, reason", [(np.sin(np.arange(50.0)), np.ones(50), "equal"), (np.arange(1.0, 51), np.arange(1.0, 51), "same size")])
def test_correlation_without_spread_is_undecided(error, uncertainty, reason):
    result = quick(error, uncertainty, statistics=("zms", "correlation"))
    score = result.scores["correlation"]
    assert score.status == "undecided" and reason in score.sentence and score.estimate is score.interval is None and score.to_frame().empty
    assert result.conclusions["consistency"].status == "undecided"


def test_features_are_refused_before_anything_is_computed(monkeypatch):
    monkeypatch.setattr("uqcal.validation.intervals_of", lambda *args, **options: pytest.fail("computed in vain"))
    error, uncertainty = sample(1)
    for features in ({"x": np.ones(300)}, {"x": [None, *TEXT[1:]]}, {"x": COLUMN[1:]}, [COLUMN]):
        with pytest.raises((ValueError, TypeError), match="features"):
            quick(error, uncertainty, features=features)
    with pytest.raises(ValueError, match="conclusions=True"):
        quick(error, uncertainty, conclusions=False, features={"x": COLUMN})
    with pytest.raises(TypeError, match="conclusions must be"):
        quick(error, uncertainty, conclusions="no")


def test_too_few_shuffles_for_many_features_decide_nothing(monkeypatch):
    "Ten million points are shuffled some 200 times, after which fifteen features could never be found wrong."
    monkeypatch.setattr("uqcal.consistency.affordable", lambda n_resamples, n: min(n_resamples, 199))
    rng = np.random.default_rng(0)
    u = rng.gamma(3, size=100)
    e = u * rng.standard_normal(100)
    features = {f"f{k}": rng.normal(size=100) for k in range(14)} | {"bad": np.abs(e / u)}
    found = draw_conclusions(e, u, features=features, n_boot=99, rng=0)
    bad = found["adaptivity: bad"]
    assert (bad.status, bad.pvalue) == ("undecided", pytest.approx(15 / 200)) and "none of 199 shuffles" in bad.sentence
    assert all(found[f"adaptivity: f{k}"].status == "valid" for k in range(14))
    few = draw_conclusions(e, u, features={"bad": features["bad"]}, n_boot=99, rng=0)
    assert few["adaptivity: bad"].status == "invalid"
