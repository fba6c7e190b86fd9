"""Words on probabilities: each template is called with each of its cases, and is short, plain and has its numbers."""

import re

import numpy as np
import pytest

from uqcal.probabilities.calibration import calibration_report
from uqcal._words.probabilities import findings as words
from uqcal._words.probabilities import results
from uqcal._words.probabilities.classes import conclusion_text
from uqcal.reports import Caution, Finding, Place, Step

NEVER = ("mend", "alike", "stated", "could be there", "settle", "belong together", "like scores", "timid", "extreme", "errs", "whoever", "somebody", "nobody", "by lot",
         "of their own", "right ones", "fairly", "undecided", "decided", "event ratio", "is told", "told apart", "taught", "learnt", "points")
FEW = dict(n_resamples=199, n_boot=19, rng=1)


def plain(text):
    "A text without the names of functions, after it was looked through."
    text = re.sub(r"\brecalibrate_probabilities\b|uqcal \w+", "", text)
    for word in NEVER: assert not re.search(rf"\b{word}\b", text.lower()), (word, text)
    for sentence in re.split(r"(?<=[.;:])\s+(?=[A-Z])", text): assert len(sentence.split()) <= 28, sentence
    assert "nan" not in text and "None" not in text and "  " not in text
    return text


def logit(p): return np.log(p / (1 - p))


def kinds():
    "Outcomes, predictions and options, by what is to be said of them."
    rng = np.random.default_rng(4)
    p = rng.uniform(0.02, 0.98, 1500)

    def outcomes(true): return (rng.random(1500) < true) * 1

    tilted = 1 / (1 + np.exp(-0.5 * logit(p)))
    yield "overconfident", outcomes(tilted), p, {}
    yield "underconfident", outcomes(1 / (1 + np.exp(-2 * logit(p)))), p, {}
    yield "too low", outcomes(np.clip(p + 0.1, 0, 1)), p.clip(0.02, 0.9), {}
    yield "too high", outcomes(np.clip(p - 0.15, 0, 1)), p, {}
    yield "reversed", 1 - outcomes(p), p, {}
    many = np.random.default_rng(0).uniform(0.02, 0.98, 5000)
    jagged = (many + np.where((many * 15).astype(int) % 2, 0.1, -0.1)).clip(0, 1)
    yield "in parts", np.random.default_rng(5).uniform(size=5000) < jagged, many, {}
    yield "contradicted", np.r_[1, outcomes(p)[1:]], np.r_[0.0, p[1:]], {}
    yield "unseen", outcomes(p), p, {}
    yield "few rows", outcomes(p)[:60], p[:60], {}
    large = np.random.default_rng(6).uniform(0.02, 0.98, 60_000)
    yield "within", (np.random.default_rng(7).random(60_000) < 1 / (1 + np.exp(-0.93 * logit(large)))) * 1, large, {}
    yield "clusters", outcomes(p), p, {"groups": np.arange(1500) // 3}
    yield "weights", outcomes(p), p, {"sample_weight": rng.uniform(1, 2, 1500)}
    yield "valid", outcomes(p), p, {"local_tolerance": 0.4}
    yield "one score", np.arange(200) % 2, np.full(200, 0.5), {}
    yield "rare", np.zeros(300), np.full(300, 0.001), {}
    yield "few events", (np.arange(300) < 7) * 1, np.full(300, 0.001), {}


@pytest.fixture(scope="module")
def reports():
    return {name: calibration_report(y, p, **{**FEW, **more}) for name, y, p, more in kinds()}


def test_every_report_is_plain_and_fits_its_screen(reports):
    for report in reports.values():
        lines = str(report).splitlines()
        assert len(lines) <= 24 and max(map(len, lines)) <= 80 and lines[-1]
        for finding in report.findings: plain(finding.line), plain(finding.sentence)
        for caution in report.cautions: plain(caution.sentence)
        plain(report.conclusion), plain(report.step.sentence), plain(report.title)
        for small in (report.largest, report.error, report.null, report.brier, report.ratio, report.diagram): plain(small.sentence)


@pytest.mark.parametrize(("name", "says"), [
    ("overconfident", "Overconfident: too close to 0 and 1"), ("underconfident", "Underconfident: too far from 0 and 1"), ("too low", "too low by 0.0"), ("too high", "too high by 0.1"),
    ("reversed", "Reversed: events are rarer where predictions are higher."), ("in parts", "Miscalibrated in parts; no difference on average is shown."),
    ("contradicted", "Contradicted: predictions of 0 or 1 were wrong in row 0"), ("unseen", "Calibrated on average; a mean difference of up to 0.1"), ("clusters", "in a fifth of the rows is not excluded."), ("within", "within the tolerance."),
    ("valid", "Calibrated: any fifth of the rows off by at most 0.0"), ("one score", "over all rows is not excluded"), ("rare", "No fault found; O/E of 0 to "), ("few rows", "slopes of ")])
def test_the_conclusion_says_what_was_found(reports, name, says):
    assert says in reports[name].conclusion and reports[name].conclusion.count(".") >= 1


def test_numbers_of_the_findings_are_printed(reports):
    over = reports["overconfident"]
    fifth = over["locally"]
    assert f"({fifth.part.count} rows; p" in fifth.line and f"off by more than {words._at_most(fifth.high)}" in fifth.sentence
    assert f"{round(1500 * over.ratio.observed):,} " in over["overall"].line and "O/E" in over["overall"].line and "in 15 bins" in over["ECE"].line
    assert "a rate of" in reports["weights"]["overall"].line and reports["clusters"].title == "probabilities, 1,500 rows in 500 clusters"
    assert "calibration slope 0.5" in over["slope"].line and "overconfident, too close to 0 and 1" in over["slope"].line and "beyond chance" in over["slope"].sentence
    assert "predicted %" in str(over) and "predicted %" not in str(reports["rare"]) and "beyond 1.25 is excluded" in reports["within"]["slope"].sentence
    assert [len(line) for line in over.table_lines()] == [59, 59]


def test_the_verdict_is_the_worst_of_the_questions(reports):
    for report in reports.values():
        statuses = {finding.status for finding in report.findings if finding.scope == "whole"}
        assert ("invalid" in {one.status for one in report.findings}) == (report.verdict == "invalid") and report["ECE"].status == "fact"
        assert (report.verdict == "inconclusive") <= ("inconclusive" in statuses) and "fact. " not in " ".join(report.details()) and "· " in str(report)
    assert reports["within"].verdict == "minor" and reports["few rows"].verdict == "inconclusive"


def test_a_small_p_value_is_put_beside_the_number_of_tests():
    from uqcal.reports import Finding
    slope = Finding(name="slope", kind="slope", status="inconclusive", estimate=0.8, low=0.5, high=1.1, pvalue=0.14, facts={
        "alone": 0.03, "level": 0.05, "tests": 8, "units_needed": 900, "units": 300, "unit": "row"})
    assert "Taken alone, its p = 0.03; one of 8 tests shows as much in 14 % of calibrated models." in plain(slope.sentence)


@pytest.mark.parametrize(("code", "facts", "says"), [
    ("few_clusters", {"clusters": 40}, "only 40 clusters"), ("ece_from_zero", {}, "begin at 0"), ("cases_in_blocks", {"rows": 1200, "times": 3}, "the same 1,200 rows 3 times"), ("cases_copied", {"again": 2700, "n": 3000}, "2,700 of 3,000 rows"),
    ("cases_few_values", {"values": 1}, "All rows have one probability"), ("cases_few_values", {"values": 7}, "Only 7 probabilities"), ("cases_agreeing", {}, "more often than chance"),
    ("cases_correlated", {"blocks": 30, "length": 20, "still": False}, "30 blocks of 20 rows"), ("cases_correlated", {"blocks": 30, "length": 20, "still": True}, "Even the blocks"),
    ("cases_periodic", {"period": 300, "times": 12}, "Rows 300 apart"), ("cases_far", {"lag": 285}, "Rows about 285 apart"), ("cases_shared", {}, "one person or object"),
    ("clusters_untested", {}, "groups=")])
def test_cautions(code, facts, says):
    assert says in plain(Caution(code=code, facts=facts).sentence)


GIVEN = {"weighted": False, "clustered": True}


@pytest.mark.parametrize(("verb", "why", "facts", "arguments", "says", "python"), [
    ("check", "reversed_outcomes", {}, {}, "how the outcomes are coded", ""), ("check", "impossible_rows", {"rows": (3,), "step": None}, {}, "Look at row 3 first", 'report["locally"].rows'),
    ("check", "impossible_rows", {"rows": (3, 5), "step": 0.1}, {}, "keep them 0.05 away from 0 and 1", 'report["locally"].rows'),
    ("collect", "few_events", {"unit": "row", "outcome": 1, "count": 7}, {}, "there are 7 with the event", ""), ("collect", "few_events", {"unit": "cluster", "outcome": 0, "count": 3}, {}, "ten clusters with the event", ""),
    ("recalibrate", "map_passes", {}, {**GIVEN, "function": "recalibrate_probabilities", "map": "Platt scaling"}, "Platt scaling, fitted in-sample", "recalibrate_probabilities(y_true, y_prob, groups=groups)"),
    ("recalibrate", "no_map_passes", {}, {**GIVEN, "function": "HistogramBinning"}, "Recalibrate in bins", "HistogramBinning().fit(y_prob, y_true)"),
    ("recalibrate", "by_column", {"by": ["ward"]}, {**GIVEN, "function": "recalibrate_probabilities", "by": "ward"}, "Recalibrate by ward, then validate", "recalibrate_probabilities(y_true, y_prob, by=features['ward'], groups=groups)"),
    ("collect", "unseen_ratio", {"more": 3812.0, "unit": "row", "open": ["overall", "slope"], "factor": 1.25}, GIVEN, "that would decide on O/E and the calibration slope (tolerance 1.25)", ""),
    ("collect", "unseen_ratio", {"more": np.inf, "unit": "row", "open": ["overall"], "factor": 1.25}, GIVEN, "O/E cannot be judged yet", ""),
    ("collect", "unseen_difference", {"more": 3812.0, "unit": "cluster", "limit": 0.27}, {**GIVEN, "local_tolerance": 0.1}, "about 3,800 more clusters", "calibration_report(y_true, y_prob, groups=groups, local_tolerance=0.1)"),
    ("collect", "unseen_difference", {"more": None, "unit": "row", "limit": 0.27}, {**GIVEN, "local_tolerance": 0.1}, "beyond 0.27 is excluded", "calibration_report("),
    ("validate", "rare_tolerance", {"tolerance": 0.05, "rare": 0.001, "n_scores": 9}, {**GIVEN, "local_tolerance": 0.0005}, "average 0.001 in a fifth", "calibration_report("),
    ("use", "probabilities", {}, GIVEN, "Use these probabilities", "screen(")])
def test_steps(verb, why, facts, arguments, says, python):
    step = Step(verb=verb, why=why, facts=facts, arguments=arguments)
    assert says in plain(step.sentence) and words.python_line(step).startswith(python)


def test_every_entry_of_the_room_is_tried_here():
    text = open(__file__, encoding="utf-8").read()
    for code in words.CAUTIONS: assert f'"{code}"' in text or code.endswith("_in_parts")  # tests/test_partitions.py tries those
    for verb, why in words.STEPS: assert f'("{verb}", "{why}"' in text or why.endswith("_in_parts")


def test_maps_and_tests_have_a_sentence():
    from uqcal.probabilities.calibration_tests import binary_calibration_tests, multiclass_calibration_tests
    from uqcal.probabilities.recalibration import BetaScaling, IsotonicCalibration, PlattScaling, TemperatureScaling
    rng = np.random.default_rng(2)
    p = rng.uniform(0.02, 0.98, 600)
    y = (rng.random(600) < p**2) * 1
    assert "log-odds times " in plain(PlattScaling().fit(p, y).sentence) and "(kept)" in plain(PlattScaling(fit_slope=False).fit(p, y).sentence)
    assert "a ln p + b ln(1 − p) + c" in plain(BetaScaling().fit(p, y).sentence) and "steps" in plain(IsotonicCalibration().fit(p, y).sentence)
    assert "divided by" in plain(TemperatureScaling().fit(np.column_stack([1 - p, p]), y).sentence)
    assert "reject calibration" in plain(binary_calibration_tests(y, p, rng=1).sentence)
    three = rng.dirichlet(np.ones(3), 300)
    assert "300 rows, 3 classes: " in plain(multiclass_calibration_tests(rng.integers(3, size=300), three, rng=1).sentence)
    assert results.multiclass_text({"rejected": [], "inconclusive": [1], "draws": 99, "untested": [2], "rows": [4], "n": 9, "n_classes": 3}) == (
        "9 rows, 3 classes: inconclusive at 5 % with 99 draws for class 1; no other test rejects at 5 %; nothing to test for class 2; predictions of 0 or 1 were wrong in row 4 (counted from 0)")


def test_a_recalibration_reads_the_findings():
    from uqcal.corrections.probability_recalibration import recalibrate_probabilities
    rng = np.random.default_rng(2)
    p = rng.uniform(0.02, 0.98, 600)
    found = recalibrate_probabilities((rng.random(600) < 0.3 + 0.4 * p) * 1, p, **FEW)
    assert found.is_recalibrated and found.before["slope"].direction == "overconfident"


def test_a_verdict_on_classes_names_what_is_invalid_and_what_was_asked():
    def finding(kind, status, **more):
        name = {"top_label": "top label", "class_slope": "slope", "each_class": "each class", "class_locally": "locally"}[kind]
        return Finding(name=name, kind=kind, status=status, scope="whole" if kind in ("top_label", "class_slope") else "place", **more)

    worst = dict(estimate=1.1, part=Place(along="class", first="1", last="1", count=374, of=1000, by_group=True))
    off, local = finding("each_class", "minor", **worst), finding("class_locally", "invalid")
    assert conclusion_text([off, local]) == "Class 1 is off the most: O/E 1.10 (within the tolerance); miscalibrated in parts."
    assert conclusion_text([off]) == "Class 1 is off the most: O/E 1.10, within the tolerance."
    slope = finding("class_slope", "invalid", direction="overconfident")
    assert conclusion_text([slope, off, local]) == "Overconfident, too close to 0 and 1; class 1 is off the most: O/E 1.10 (within the tolerance)."
    assert conclusion_text([finding("top_label", "valid")]) == "Calibrated: top label is within the tolerance."
    assert conclusion_text([finding("top_label", "valid"), finding("class_slope", "valid")]) == "Calibrated: top label and slope are within the tolerance."


def test_what_rounding_leaves_is_nothing():
    assert words._short(3.6e-15) == "0" and words._short(9.1e-5) == "9.1e−05"
