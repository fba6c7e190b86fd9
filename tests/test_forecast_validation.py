"""`validate` for quantiles, ensembles and cdfs: what is found in files with planted faults, the screens, pictures and refusals."""
import json

import numpy as np
import pandas as pd
import pytest
from notebooks import ROOT
from scipy import special, stats

import uqcal
from uqcal._command.cli import main
from uqcal.options import ValidateOptions
from uqcal.predictive.forecast_validation import forecast_report
from uqcal.statements import Distribution, MeanStd, Quantiles, Samples

TASKS = ROOT.parent / "shared" / "tasks"
NINE = (.05, .1, .25, .4, .5, .6, .75, .9, .95)
FILES = {"load_quantiles_a.csv": ["--quantiles", "q*"], "load_quantiles_b.csv": ["--quantiles", "q*"], "load_members.csv": ["--samples", "m*"]}
needs_tasks = pytest.mark.skipif(not TASKS.exists(), reason="the files of the tasks are not here")


def nine(y, shift=0.0, scale=1.0, levels=NINE): return Quantiles(np.broadcast_to(shift + scale * special.ndtri(levels), (len(y), len(levels))), levels)


def said(capsys, *words):
    with pytest.raises(SystemExit) as end: main([str(word) for word in words])
    read = capsys.readouterr()
    return end.value.code, read.out, read.err


@pytest.fixture(scope="module")
def right(): return np.random.default_rng(1).normal(size=1500)


@needs_tasks
@pytest.mark.parametrize("file", FILES)
def test_one_command_says_what_is_true_of_a_file(file, capsys):
    code, text, _ = said(capsys, "validate", TASKS / file, "--observed", "load", *FILES[file])
    lines = text.rstrip("\n").split("\n")
    assert code == 0 and len(lines) <= 24 and max(map(len, lines)) <= 80
    words = " ".join(text.split())
    assert "✗ Bias forecasts too low" in words and "Biased: too low" in words
    is_narrow = "overconfident (too narrow)" in words
    assert is_narrow == (file != "load_quantiles_a.csv")
    since = int(words.split("from about row ")[1].split()[0])
    assert "✗ In time too low from about row" in words and 450 <= since <= 700
    assert "quantile % 5 10 25" in words and "observed %" in words
    assert "NEXT The fault depends on time: correct it as outcomes arrive. uqcal monitor" in words
    assert f"--observed load {FILES[file][0]} '{FILES[file][1]}'" in words.replace("\\ ", "")


@needs_tasks
def test_the_first_six_hundred_days_are_right(capsys):
    frame = pd.read_csv(TASKS / "load_quantiles_a.csv").iloc[:600]
    found = uqcal.validate(frame["load"], Quantiles.from_frame(frame, "q*"), rng=0)
    assert found.verdict in ("valid", "inconclusive") and not any(one.shows_fault for one in found.findings)
    independent = uqcal.validate(frame["load"], Quantiles.from_frame(frame, "q*"), in_time=False, rng=0)
    assert independent["bias"].pvalue < 0.05  # as if rows were independent


@needs_tasks
@pytest.mark.parametrize(("file", "text"), [("load_quantiles_a.csv", "Biased: too low; drifting along day."),
                                            ("load_members.csv", "Biased: too low; overconfident (too narrow); drifting along day.")])
def test_the_screens_of_a_month_as_a_cluster(file, text, tmp_path, capsys, monkeypatch):
    frame = pd.read_csv(TASKS / file).drop(columns="date").assign(day=np.arange(900), month=np.arange(900) // 30)
    monkeypatch.chdir(tmp_path)
    frame.to_csv("ens.csv", index=False)
    code, screen, _ = said(capsys, "validate", "ens.csv", "--observed", "load", *(["--samples", "m[0-9]*"] if "members" in file else FILES[file]), "--groups", "month", "--by", "day", "--report", "r.html", "--json", "r.json", "--figure", "r.png")
    words = " ".join(screen.split())
    assert code == 0 and "900 rows in 30 clusters" in words and f"VERDICT {text}" in words and "✗ By day bias rises along day" in words
    assert len(screen.split("Report:")[0].strip().split("\n")) <= 24
    assert "NEXT The fault depends on time" in words and "uqcal monitor ens.csv --observed load" in words
    told = json.loads((tmp_path / "r.json").read_text())
    assert told["verdict"] == "invalid" and len(told["levels"]) >= 7 and told["numbers"]["mean_pit"] > 0.55
    page = (tmp_path / "r.html").read_text()
    assert "Are these forecasts calibrated?" in page and "too low" in page and (tmp_path / "r.png").stat().st_size > 1000


def test_python_and_the_command_line_agree(capsys, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(2)
    frame = pd.DataFrame(nine(np.zeros(300), scale=0.8).values, columns=[f"q{100 * one:02.0f}" for one in NINE]).assign(y=rng.normal(size=300))
    frame.to_csv("t.csv", index=False)
    found = uqcal.validate(frame["y"], Quantiles.from_frame(frame, "q*"), in_time=False, rng=0, options=ValidateOptions(n_resamples=299))
    code, text, _ = said(capsys, "validate", "t.csv", "--observed", "y", "--quantiles", "q*", "--independent", "--n-resamples", 299, "--json", "-")
    told = json.loads(text)
    assert code == 0 and told["verdict"] == found.verdict
    assert [one["pvalue"] for one in told["findings"]] == [one.pvalue for one in found.findings]
    one_by_one = said(capsys, "validate", "t.csv", "--observed", "y", *[word for level in NINE for word in ("--quantile", f"{level:g}=q{100 * level:02.0f}")], "--independent", "--n-resamples", 299, "--json", "-")[1]
    assert json.loads(one_by_one)["findings"] == told["findings"]


def test_with_a_level_the_interval_is_validated_as_before(capsys):
    code, text, _ = said(capsys, "validate", "demo", "--observed", "temperature", "--quantiles", "q*", "--level", 0.9, "--n-resamples", 99)
    assert code == 0 and "90 % intervals" in text
    code, text, _ = said(capsys, "validate", "demo", "--observed", "temperature", "--quantiles", "q*")
    assert code == 0 and "9 quantiles, 730 rows" in text


@pytest.mark.parametrize(("shift", "scale", "name", "direction"), [(-0.5, 1, "bias", "too low"), (0.5, 1, "bias", "too high"), (0, 0.6, "spread", "too small"), (0, 1.6, "spread", "too large")])
@pytest.mark.parametrize("form", ["quantiles", "members", "cdf"])
def test_faults_are_named(right, shift, scale, name, direction, form):
    n = right.size
    statement = {"quantiles": lambda: nine(right, shift, scale), "members": lambda: Samples(np.random.default_rng(2).normal(shift, scale, (n, 30))),
                 "cdf": lambda: Distribution(stats.norm(np.full(n, shift), scale))}[form]()
    found = uqcal.validate(right, statement, in_time=False, rng=1, options=ValidateOptions(n_resamples=199))
    assert found.verdict == "invalid" and found[name].status == "invalid" and found[name].direction == direction and found[name].is_beyond
    assert found["tails"].status == "fact"
    if name == "spread": assert abs(found["spread"].estimate * scale - 1) < 0.1 and found["bias"].status != "invalid"
    else: assert found["spread"].status == "valid" and abs(found["bias"].facts["std"] + shift) < 0.1


def test_calibrated_forecasts_are_valid(right):
    found = uqcal.validate(right, nine(right), in_time=False, rng=1)
    assert found.verdict == "valid" and found.step.verb == "use" and found.everywhere in ("valid", "inconclusive")
    for one in found.findings: assert one.low <= one.estimate <= one.high


def test_tails_are_named_where_bias_and_spread_are_right():
    y = np.random.default_rng(3).standard_t(3, 3000)
    levels = np.array([0.02, 0.05, 0.5, 0.95, 0.98])
    values = stats.t(3).ppf(levels) * np.array([0.7, 1, 1, 1, 0.7])
    values = np.where(np.arange(5) == 0, -3.0, np.where(np.arange(5) == 4, 3.0, values))
    found = uqcal.validate(y, Quantiles(np.broadcast_to(values, (3000, 5)), tuple(levels)), in_time=False, rng=1)
    assert not found["bias"].shows_fault
    if not found["spread"].shows_fault: assert found.findings[2].name == "tails" and found.findings[2].direction == "heavier"


def test_a_group_that_is_off_is_named_and_recalibrated_by():
    rng = np.random.default_rng(4)
    kind = np.array(["oak", "pine", "fir"])[np.arange(900) % 3]
    y = rng.normal(0.9 * (kind == "pine"), 1)
    found = uqcal.validate(y, nine(y, shift=0.3), by=pd.Series(kind, name="kind"), in_time=False, rng=1)
    one = found["by kind"]
    assert one.status == "invalid" and one.part.first == "pine" and one.by_group and found.step.verb == "recalibrate" and found.step.facts["by"] == ("kind",)
    assert "bias differs" in one.line and "kind pine" in one.line and len(found.to_frame("parts")) == 3


def test_a_spread_that_grows_along_a_column_is_named():
    rng = np.random.default_rng(5)
    x = rng.uniform(size=1200)
    y = rng.normal(0, 0.5 + x)
    found = uqcal.validate(y, nine(y), by={"x": x}, in_time=False, rng=1)
    assert found["by x"].status == "invalid" and found["by x"].facts["component"] == "spread" and found["by x"].direction == "rises"
    assert "within the central 90 %" in found["by x"].line


def test_values_too_coarse_are_said_to_be():
    y = np.round(np.random.default_rng(6).normal(size=400))
    found = uqcal.validate(y, Quantiles(np.round(nine(y).values), NINE), in_time=False, rng=1)
    assert found.verdict == "inconclusive" and found["bias"].reason == "coarse" and "too coarse to tell" in found["bias"].line.lower()
    assert found.conclusion.startswith("Too coarse to tell") and found.step.why == "forecast_coarse"
    fine = np.round(np.random.default_rng(6).normal(size=3000), 1)
    assert uqcal.validate(fine, Quantiles(np.round(nine(fine).values, 1), NINE), in_time=False, rng=1).verdict != "invalid"
    assert uqcal.validate(fine, Quantiles(np.round(nine(fine, scale=0.7).values, 1), NINE), in_time=False, rng=1)["spread"].status == "invalid"


def test_cautions_say_what_could_mislead():
    rng = np.random.default_rng(7)
    error = rng.normal(size=300)
    for t in range(1, 300): error[t] = 0.6 * error[t - 1] + 0.8 * error[t]
    found = uqcal.validate(error, nine(error), rng=1)
    assert found.in_time and [one.code for one in found.cautions if one.decides] == ["forecast_series"] and "in time order" in found.title
    codes = {one.code for one in uqcal.validate(rng.poisson(1, 200), Samples(rng.poisson(1, (200, 9))), in_time=False, rng=1).cautions}
    assert codes == {"forecast_ties", "forecast_exchangeable"}
    few = uqcal.validate(error[:60], nine(error[:60]), in_time=True, rng=1)
    assert "forecast_few_outside" in {one.code for one in few.cautions}
    assert uqcal.validate(error, nine(error), horizon=4, rng=1).in_time


@pytest.mark.parametrize("levels", [(0.5,), (0.9,), (0.1, 0.9), (0.1, 0.5, 0.8)])
def test_few_quantiles_are_validated(right, levels):
    found = uqcal.validate(right, nine(right, shift=-0.6, levels=levels), in_time=False, rng=1)
    assert found["bias"].status == "invalid" and len(found.findings) == min(len(levels), 3) and str(found)


@pytest.mark.parametrize("form", ["quantiles", "members", "cdf"])
def test_every_finding_has_words_and_a_picture(right, form):
    y = right[:200]
    statement = {"quantiles": nine(y), "members": Samples(np.random.default_rng(2).normal(size=(200, 60))), "cdf": Distribution(stats.norm(np.zeros(200), 1))}[form]
    found = uqcal.validate(y, statement, by={"x": np.arange(200) % 7 / 1.0, "g": np.array(list("ab"))[np.arange(200) % 2]}, in_time=True, rng=1)
    for one in found.findings:
        assert one.line and one.sentence.endswith(".") and one.method and found.plot(finding=one.name) is not None
        assert max(len(part.split()) for part in one.sentence.replace("; ", ". ").split(". ")) <= 28
    assert found.picture is not None and found.to_html() and json.loads(found.to_json())["findings"]
    assert len(str(found).split("\n")) <= 24 and set(found.tables()) == {"findings", "parts", "levels"}


def test_the_same_seed_gives_the_same_report(right):
    statement = Samples(np.round(np.random.default_rng(2).normal(size=(1500, 10))))
    a, b = (uqcal.validate(np.round(right), statement, rng=5).to_json() for _ in range(2))
    assert a == b


def test_calibrated_forecasts_rarely_show_a_fault():
    rng, wrong = np.random.default_rng(8), 0
    for _ in range(60):  # a level of 5 % exceeds 10 of 60 sets with a chance of 0.0004
        y = rng.normal(size=120)
        wrong += any(one.shows_fault for one in forecast_report(y, nine(y), by={"x": rng.normal(size=120)}, n_resamples=199, rng=rng).findings)
    assert wrong <= 10


@pytest.mark.parametrize(("call", "error", "text"), [
    (lambda y: uqcal.validate(y, MeanStd(0 * y, 1.0), horizon=2), TypeError, "horizon is known for Quantiles, Samples and Distribution only"),
    (lambda y: uqcal.validate(y, MeanStd(0 * y, 1.0), in_time=True), TypeError, "in_time is known for"),
    (lambda y: uqcal.validate(y, nine(y), sample_weight=np.ones(y.size)), TypeError, "sample_weight is known for Probabilities only"),
    (lambda y: uqcal.validate(y, nine(y), groups=np.arange(y.size) // 2, in_time=True), ValueError, "exclude each other"),
    (lambda y: uqcal.validate(y, nine(y), horizon=0), ValueError, "horizon"),
    (lambda y: uqcal.validate(y, nine(y), tolerance=1.0), ValueError, "factor above 1"),
    (lambda y: uqcal.validate(y, nine(y), confidence=95), ValueError, "confidence"),
    (lambda y: uqcal.validate(y[:5], nine(y[:5])), ValueError, "at least ten"),
    (lambda y: uqcal.validate(np.r_[y[:-1], np.nan], nine(y)), ValueError, "y_true"),
    (lambda y: uqcal.validate(y, nine(y), by={"x": np.ones(y.size)}), ValueError, "constant"),
    (lambda y: uqcal.validate(y, nine(y).values), TypeError, "must say what it holds"),
    (lambda y: forecast_report(y, MeanStd(0 * y, 1.0)), TypeError, "Quantiles, Samples or Distribution")])
def test_bad_input_is_refused(right, call, error, text):
    with pytest.raises(error, match=text): call(right[:40])


@pytest.mark.parametrize(("words", "text"), [
    (["--quantiles", "q*", "--weight", "rain"], "of no use for quantiles"), (["--quantiles", "q*", "--horizon", "500"], "horizon must be at most"),
    (["--quantiles", "q*", "--quantile", "0.1=q10"], "give either --quantiles or --quantile"), (["--quantiles", "temperature*"], "--quantile 0.05=q05"),
    (["--predicted", "temperature_mean", "--std", "temperature_std", "--in-time"], "of no use for mean ± std")])
def test_bad_options_are_refused(words, text, capsys):
    code, _, told = said(capsys, "validate", "demo", "--observed", "temperature", *words)
    assert code == 2 and text in told


def test_a_spread_that_no_outcome_measures_has_no_factor():
    "Independent outcomes: no correlation is read from components that do not vary."
    rng = np.random.default_rng(3)
    y, size = rng.normal(size=600), stats.norm.ppf([0.05, 0.25, 0.5, 0.75, 0.95])
    for factor, told in ((1e-6, "spread too large to be measured"), (1e3, "spread too small to be measured")):
        report = uqcal.validate(y, uqcal.Quantiles(np.tile(factor * size, (600, 1)), [0.05, 0.25, 0.5, 0.75, 0.95]), rng=0)
        assert told in " ".join(str(report).split()) and not report.cautions


def test_one_level_says_nothing_of_the_spread():
    y = np.random.default_rng(4).normal(size=400)
    report = uqcal.validate(y, uqcal.Quantiles(np.zeros((400, 1)), [0.5]), rng=0)
    assert report.verdict == "valid" and "spread" not in report.conclusion


def test_the_mean_score_is_among_the_numbers():
    "Of quantiles, members and distributions."
    rng = np.random.default_rng(0)
    y, levels = rng.standard_normal(60), [0.1, 0.5, 0.9]
    for one in (uqcal.Quantiles(np.tile(stats.norm.ppf(levels), (60, 1)), levels), uqcal.Samples(rng.standard_normal((60, 8))), uqcal.Distribution(stats.norm(np.zeros(60), 1.0))):
        assert uqcal.validate(y, one, rng=1).numbers["crps"] == pytest.approx(one.crps(y).mean(), rel=1e-12)


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize(("shift", "scale"), [(0.8, 1.0), (0.0, 1.8)])
def test_of_two_groups_the_one_that_is_wrong_is_named(seed, shift, scale):
    rng = np.random.default_rng(seed)
    group = rng.choice(["a", "b"], 800)
    y = rng.standard_normal(800) * np.where(group == "b", scale, 1) + shift * (group == "b")
    found = uqcal.validate(y, nine(y), by={"sex": group}, in_time=False, rng=1, options=ValidateOptions(n_resamples=199))
    assert found["by sex"].status == "invalid" and found["by sex"].part.first == "b" and "in sex b" in found["by sex"].line


def test_a_spread_that_changes_is_told_beside_what_is_predicted():
    y = np.random.default_rng(8).standard_normal(600) * np.where(np.arange(600) > 300, 2, 1)
    found = uqcal.validate(y, nine(y), in_time=True, rng=1, options=ValidateOptions(n_resamples=999))
    assert found["in time"].status == "invalid" and found["in time"].line.startswith("too narrow from about row")
