"""The words on intervals and label sets: every template with each of its cases, its numbers, no word that is never printed, no sentence over 28 words."""
import dataclasses
import re

import numpy as np
import pytest

import uqcal
from uqcal._words.intervals import findings as words
from uqcal.intervals.coverage import interval_report
from uqcal.reports import Caution, Finding, Place, Step

NEVER = ("mend", "as stated", "stated uncert", "alike", "could be there", "settle it", "belong together", "like scores", "undecided", "not decided", "by lot", "nobody", "somebody",
         "whoever", "errs", "of their own", "learnt from", "taught by", "is told by", "told apart", "too timid", "too extreme", "fairly", "event ratio")


def is_sound(text):
    "No word of the first list of words, and no sentence over 28 words."
    assert not [word for word in NEVER if re.search(rf"\b{word}", text.replace("(.mend)", ""))], text
    for sentence in re.split(r"(?<=[.?!]) (?=[A-Z])|; |: ", text): assert len(re.findall(r"\w[\w.,%]*", sentence)) <= 28, sentence
    assert "None" not in text and "nan" not in text and "  " not in text
    return text


def whole(status, **changes):
    "A finding on the coverage: 80 of 100 rows, 90 % claimed."
    facts = {"level": 0.9, "promised": 0.9, "covered": 80, "n_calibration": None, "needs_calibrations": False, "allowed": (0.88, 0.92), "null": "binomial", "single_pvalue": 0.004,
             "at_bound": None} | changes.pop("facts", {})
    return Finding(**{"name": "coverage", "kind": "coverage", "status": status, "direction": "too small" if status in ("invalid", "minor") else None, "estimate": 0.8, "low": 0.708, "high": 0.873,
                      "pvalue": 0.008, "unit": "share", "tolerance": 1.5, "rows_needed": 3264.0, "n": 100, "facts": facts, "test": object()} | changes)


def place(first, last, count=40, by_group=False): return Place(along="site" if by_group else "width", first=first, last=last, count=count, of=200, by_group=by_group)


def along(status, by_group=False, **facts):
    "A finding on the coverage in parts, 78 to 98 %."
    ends = [place("north", "north", by_group=True), place("south", "south", by_group=True)] if by_group else [place(0.3, 0.9), place(2.1, 5.0)]
    told = {"level": 0.9, "overall": 0.9, "allowed": (0.88, 0.92), "span": (0.7, 0.99), "lowest": ends[0], "highest": ends[1], "highest_coverage": 0.98, "in_fifths": not by_group, "small": (), "small_covered": 0,
            "n_empty": 0, "null": "rows"} | facts
    return Finding(name="by site" if by_group else "by width", kind="coverage_by", status=status, scope="place", by=ends[0].along, by_group=by_group, estimate=0.78, low=0.7, high=0.85, pvalue=0.003,
                   unit="share", tolerance=1.5, n=200, facts=told, test=object())


def sides(status, null="binomial", **changes):
    "A finding on the sides: 30 of 40 misses above."
    return Finding(**{"name": "sides", "kind": "sides", "status": status, "direction": "above" if status in ("invalid", "minor") else None, "estimate": 0.75, "low": 0.6, "high": 0.86,
                      "pvalue": 0.004, "unit": "share", "tolerance": 0.25, "rows_needed": 900.0, "n": 400,
                      "facts": {"level": 0.9, "above": 30, "misses": 40, "null": null, "single_pvalue": 0.002}, "test": object()} | changes)


@pytest.mark.parametrize(("finding", "line", "sentence"), [
    (whole("invalid"), "undercoverage: 80.0 % of 100 rows covered [70.8, 87.3], 90 % claimed (p = 0.008)", "80 of 100 rows are covered: 80.0 % [70.8, 87.3] where 90 % is claimed. That is undercoverage."),
    (whole("invalid", direction="too large"), "overcoverage: 80.0 %", "That is overcoverage."),
    (whole("invalid", high=0.8998), "[70.8, 89.98], 90 % claimed", "[70.8, 89.98] where 90 % is claimed"),  # a limit never looks like the claim that it leaves out
    (whole("invalid", is_beyond=True), "undercoverage", "It is beyond the tolerance of 88.0 to 92.0 %."),
    (whole("minor"), "90 % claimed; within the tolerance: outside 88.0 to 92.0 % is excluded (p = 0.008)", "It is within the tolerance: a coverage outside 88.0 to 92.0 % is excluded."),
    (along("minor"), "coverage depends on width within the tolerance (p = 0.003): 78.0 % [70.0, 85.0]", "In a fifth of the rows, a coverage outside 88.0 to 92.0 % is excluded."),
    (sides("valid"), "75 % of 40 misses above [60, 86]; outside 25 to 75 % is excluded", "30 of 40 misses lie above the interval, 10 below: 75 % above [60, 86] where half is expected. A share outside 25 to 75 %"),
    (sides("minor"), "50 % expected; within the tolerance (p = 0.004)", "Misses lie too often above it. A share outside"),
    (sides("invalid", direction="below", estimate=0.25), "25 % of 40 misses above [60, 86], 50 % expected (p = 0.004)", "Misses lie too often below it."),
    (sides("inconclusive"), "75 % of 40 misses above [60, 86]; about 900 rows would decide", "No fault is found, but 60 to 86 % is not excluded; about 900 rows would decide."),
    (whole("invalid", direction="too large", facts={"at_bound": 0.123, "n_calibration": 50}), "overcoverage", "12.3 % of the values equal a bound; values in steps can raise the coverage above the claim. A calibrated"),
    (whole("inconclusive", reason="coarse", facts={"at_bound": 0.123}), "90 % claimed; too coarse to tell: 12 % of the values equal a bound", "values in steps can raise the coverage above the claim. So no fault is shown."),
    (whole("valid"), "90 % claimed; outside 88.0 to 92.0 % is excluded", "A coverage outside 88.0 to 92.0 % is excluded."),
    (whole("inconclusive"), "90 % claimed; about 3,300 rows would decide", "No fault is found, but 70.8 to 87.3 % is not excluded; about 3,300 rows would decide."),
    (whole("inconclusive", rows_needed=None), "many more rows would be needed", "many more rows would be needed."),
    (whole("inconclusive", rows_needed=320_000.0), "90 % claimed; it lies at the tolerance, so how many rows would decide is unknown", "not excluded; it lies at the tolerance, so how many rows would decide is unknown."),
    (whole("inconclusive", facts={"needs_calibrations": True, "n_calibration": 200}), "only other calibrations would decide", "The limits are those of the method, calibrated on 200 rows."),
    (along("invalid"), "coverage depends on width (p = 0.003): 78.0 % [70.0, 85.0] where width is 0.3 to 0.9, 98.0 % where width is 2.1 to 5", "It is lowest where width is 0.3 to 0.9: 78.0 % [70.0, 85.0]."),
    (along("invalid", by_group=True), "78.0 % [70.0, 85.0] in site north, 98.0 % in site south", "It is highest in site south: 98.0 %."),
    (along("valid"), "no dependence found; outside 88.0 to 92.0 % in a fifth of the rows is excluded", "No dependence on width is found (p = 0.003)."),
    (along("inconclusive", by_group=True), "no dependence found; 70.0 to 99.0 % in a group is not excluded", "In a group, a coverage of 70.0 to 99.0 % is not excluded."),
    (along("valid", in_fifths=False, small=(place(9, 9, 3),), small_covered=2), "in a part of the rows is excluded (1 small part left out)", "Rows where width is 9 are too few for limits: 2 of 3 are covered."),
    (along("valid", by_group=True, small=(place("a", "a", 3, True), place("b", "b", 4, True)), small_covered=6), "(2 small groups left out)", "2 small groups are too small for limits: 6 of 7 rows are covered."),
    (along("inconclusive", n_empty=3), "is not excluded", "Empty sets are left out.")])
def test_a_finding_has_a_line_and_a_sentence(finding, line, sentence):
    assert line in is_sound(finding.line) and not finding.line.endswith(".") and len(finding.line) <= 170
    assert sentence in is_sound(finding.sentence) and finding.sentence.endswith(".")


@pytest.mark.parametrize(("null", "method"), [("binomial", "exact binomial test, p = 0.004 before"), ("beta-binomial", "exact beta-binomial test"), ("clusters", "from whole clusters")])
def test_the_test_of_the_whole_is_named(null, method): assert method in is_sound(whole("valid", facts={"null": null}).method)


@pytest.mark.parametrize(("null", "method"), [("binomial", "exact binomial test of the misses, p = 0.002 before"), ("clusters", "effective number of misses")])
def test_the_test_of_the_sides_is_named(null, method): assert method in is_sound(sides("valid", null).method)


@pytest.mark.parametrize(("null", "method"), [("rows", "shuffled over the rows"), ("clusters", "whole clusters"), ("blocks", "random signs of blocks"), (None, "cumulative misses along width")])
def test_the_test_of_parts_is_named(null, method): assert is_sound(along("valid", null=null).method).endswith(method) or method in along("valid", null=null).method


@pytest.mark.parametrize(("findings", "conclusion"), [
    ([whole("valid", estimate=0.9)], "Coverage as claimed: 90.0 % of rows (90 % claimed)."),
    ([whole("valid", estimate=0.9), along("valid")], "No dependence on width found."),
    ([whole("valid", estimate=0.9), along("valid", small=(place(9, 9, 3),))], "Too few rows to tell where width is 9."),
    ([whole("valid", estimate=0.9), along("valid", small=(place(9, 9, 3), place(8, 8, 3)))], "Too few rows to tell in 2 small parts."),
    ([whole("invalid")], "Overconfident: 80.0 % covered, 90 % claimed."),
    ([whole("invalid", direction="too large")], "Underconfident: 80.0 % covered, 90 % claimed."),
    ([whole("invalid"), along("invalid", by_group=True)], "Coverage depends on site: 78.0 % in site north, 98.0 % in site south."),
    ([whole("inconclusive"), along("invalid"), along("invalid", by_group=True)], "Coverage depends on width and site. Inconclusive: coverage."),
    ([whole("inconclusive"), along("inconclusive")], "No fault found; coverage 70.8 to 87.3 % is not excluded (about 3,300 rows would decide)."),
    ([whole("valid", estimate=0.9), along("inconclusive")], "No dependence on width found; 70.0 to 99.0 % in a fifth of the rows is not excluded."),
    ([whole("valid", estimate=0.9), along("inconclusive"), along("inconclusive", by_group=True)], "No dependence on width and site found; 70.0 to 99.0 % in a part of the rows is not excluded."),
    ([whole("minor", estimate=0.89), sides("minor"), along("minor")], "Covers 89.0 % instead of 90 %, within the tolerance. 75 % of 40 misses lie above the interval, within the tolerance. It depends on width within the tolerance: 78.0 %"),
    ([whole("valid"), sides("invalid", direction="below", estimate=0.0), along("valid")], "100 % of 40 misses lie below the interval."),
    ([whole("inconclusive", reason="coarse", facts={"at_bound": 0.2})], "Too coarse to tell: 80.0 % covered, 90 % claimed, and values often equal a bound."),
    ([whole("valid"), sides("inconclusive")], "No fault of the coverage found on the whole. Inconclusive: sides.")])
def test_the_conclusion_is_made_from_findings(findings, conclusion): assert conclusion in is_sound(words.conclusion(findings))


CAUTIONS = [
    ("levels_cross", dict(rows=3, n=1_200), "In 3 of 1,200 rows the interval of a lower level is not within that of a higher one."),
    ("repeated_intervals", dict(what="rows", repeated=40, n=200, lag=None, counted_once=True), "40 of 200 rows repeat an earlier one. Each set of repeats counts once."),
    ("repeated_intervals", dict(what="scaled errors", repeated=40, n=200, lag=None, counted_once=False), "40 of 200 scaled errors repeat an earlier one. The p-values treat all rows as independent."),
    ("repeated_intervals", dict(what="blocks", repeated=0, n=300, lag=100, counted_once=True), "Rows 100 apart have correlated errors: the file may hold the same rows 3 times."),
    ("equal_intervals", dict(different=7, equal=50, n=400), "Only 7 of 400 rows differ in value and bounds."),
    ("equal_intervals", dict(different=None, equal=50, n=400), "50 of 400 rows are equal in value and bounds."),
    ("correlated_intervals", dict(blocks=20, is_calibrated=False), "20 blocks of the file count as clusters."),
    ("correlated_intervals", dict(blocks=20, is_calibrated=True), "tested as if rows were independent."),
    ("correlated_intervals", dict(blocks=None, is_calibrated=False), "The p-values treat all rows as independent."),
    ("swapped_bounds", dict(crossed=2, n=100), "2 of 100 pairs of bounds were crossed and have been swapped."),
    ("infinite_bounds", dict(infinite=1, n=100), "1 of 100 intervals has no bound"), ("infinite_bounds", dict(infinite=9, n=100), "9 of 100 intervals have no bound"),
    ("row_decides_score", dict(row=1017, share=0.84), "Row 1,017 (counted from 0) makes up 84 % of the interval score."),
    ("row_decides_score", dict(row=17, share=0.84, name="line 19"), "Row 17 (line 19) makes up"),
    ("few_clusters_for_coverage", dict(clusters=11.7), "worth about 12 clusters"),
    ("empty_sets", dict(empty=1, n=100), "1 of 100 sets is empty. It counts as missed and is left out"), ("empty_sets", dict(empty=3, n=100), "3 of 100 sets are empty. They count")]


@pytest.mark.parametrize(("code", "facts", "sentence"), CAUTIONS)
def test_a_caution_has_its_numbers(code, facts, sentence): assert sentence in is_sound(Caution(code=code, facts=facts).sentence)


GAIN = dict(by=None, level=0.9, coverage=0.903, before=5.23, after=4.36, gain=0.87, gain_error=0.24, is_correlated=False, has_infinite=False)
WHY = dict(level=0.99, by_cluster=False, scaled=True, row=17, name=None)
STEPS = [
    ("correct", "levels", dict(level=0.8), "Recalibrate each level by itself, as in recalibrate(y_true, statement.at(0.8));"),
    ("look", "repeated_intervals", {}, "leave them out, or pass groups= (--groups)."), ("look", "repeated_blocks", {}, "leave copies out"),
    ("look", "row_decides_score", dict(row=17), "Check row 17 (counted from 0) first, then validate again."),
    ("conformalize", "sets", {}, "Make new sets from the probabilities"), ("conformalize", "set_size", {}, 'ConformalSets(score="adaptive")'),
    ("recalibrate", "score", GAIN | dict(candidate="shift"), "Recalibrate by shifting both bounds by one length, then validate on rows not used for it."),
    ("recalibrate", "score", GAIN | dict(candidate="scale"), "Held out, that covers 90.3 % and lowers the interval score from 5.23 to 4.36 (gain 0.87 ± 0.24)."),
    ("recalibrate", "score", GAIN | dict(candidate="shift", has_infinite=True), "lowers the score of finite bounds from 5.23"),
    ("recalibrate", "score", GAIN | dict(candidate="power", is_correlated=True), "Its guarantee assumes independent rows."),
    ("recalibrate", "score", GAIN | dict(candidate="shift by", by="kind"), "by a length per group of kind,"),
    ("collect", "few_to_recalibrate", WHY | dict(code="few_rows"), "since there are fewer than 50 rows."),
    ("collect", "few_to_recalibrate", WHY | dict(code="few_for_level", by_cluster=True), "too few clusters for bounds of 99 %."),
    ("use", "steps", {}, "where overcoverage does no harm"), ("refit", "no_gain", WHY, "Neither shifting nor scaling the bounds lowers"), ("refit", "no_gain", WHY | dict(scaled=False), "No shift of the bounds lowers"),
    ("collect", "coverage", dict(by_cluster=False, needs_calibrations=False, open=[("coverage", 3000.0, 900), ("sides", None, 900)]), "Collect more rows"),
    ("collect", "coverage", dict(by_cluster=True, needs_calibrations=False, open=[("coverage", np.inf, 900)]), "Collect more clusters"),
    ("collect", "coverage", dict(by_cluster=False, needs_calibrations=False, open=[("coverage", 320_000.0, 900), ("sides", 1600.0, 900)]),
     "Coverage lies at the tolerance: consider whether that is enough. More rows would decide on sides."),
    ("collect", "coverage", dict(by_cluster=False, needs_calibrations=False, open=[("coverage", 320_000.0, 900)]), "How many rows would decide is unknown."),
    ("collect", "coverage", dict(by_cluster=False, needs_calibrations=True), "Calibrate on more rows"),
    ("use", "coverage", dict(has_small=True, has_ranges=True), "Validate small groups or parts on more of their rows. A fault in fewer rows"), ("use", "coverage", dict(has_small=False, has_ranges=False), "Use them for rows like these.")]


@pytest.mark.parametrize(("verb", "why", "facts", "sentence"), STEPS)
def test_a_step_has_its_sentence(verb, why, facts, sentence): assert sentence in is_sound(Step(verb=verb, why=why, facts=facts).sentence)


def test_every_template_was_tried():
    assert {code for code, *_ in CAUTIONS} == set(words.CAUTIONS) and {step[:2] for step in STEPS} == set(words.STEPS)


@pytest.mark.parametrize(("code", "reason"), [("label_sets", "made anew"), ("no_fault", "no fault is found"), ("minor", "within the tolerance"), ("row_decides", "row 17 (counted from 0) decides"), ("few_rows", "fewer than 50"),
                                              ("few_for_level", "bounds of 99 %"), ("no_gain", "neither shifting")])
def test_why_there_is_no_correction_is_said(code, reason): assert reason in is_sound(words.why_unchanged(code, WHY))


def judged(groups=2, n=600):
    rng = np.random.default_rng(0)
    kind = np.array([f"kind {k}" for k in range(groups)])[rng.permutation(np.arange(n) % groups)]
    y = rng.standard_normal(n) * np.where(kind == "kind 0", 3.0, 1.0)
    return interval_report(y, np.tile([-1.7, 1.7], (n, 1)), 0.9, by={"kind": kind}, n_resamples=99, rng=0)


def test_a_screen_has_rows_of_numbers_where_they_fit_and_never_more_than_24_lines():
    report = judged()
    lines = str(report).splitlines()
    head, numbers = (line for line in lines if line.startswith(("  kind ", "  covered %")))
    shares = [f"{100 * share:.1f}" for share in report["by kind"].parts["estimate"]]
    assert head.split() == ["kind", "kind", "0", "kind", "1"] and numbers.split() == ["covered", "%", *shares] and head.index("kind 1") + 6 == len(head) == len(numbers)
    assert lines[0].startswith("90 % intervals, 600 rows") and lines[0].endswith("[95 % each; faults joint]") and len(lines) <= 24 and max(map(len, lines)) <= 80
    assert not judged(7).table_lines() and not any(line.startswith("  covered %") for line in str(judged(7)).splitlines())
    full = report.screen(command="\n".join(["uqcal"] * 11))                       # no room: the numbers go, findings stay
    assert len(full.splitlines()) <= 24 and "covered %" not in full and "By kind" in full
    with pytest.raises(TypeError, match="neither true nor false"): bool(report)


def test_a_report_as_data_holds_no_sentence_but_what_words_make_of_it():
    report = judged()
    table = report.to_dict()
    assert [one["name"] for one in table["findings"]] == ["coverage", "sides", "by kind"] and table["step"]["verb"] == "recalibrate" and table["verdict"] == "invalid"
    for finding in report.findings:
        values = [getattr(finding, field.name) for field in dataclasses.fields(finding) if field.name != "test"]
        assert not [text for text in [*values, *finding.facts.values()] if isinstance(text, str) and text.count(" ") > 2]
    for paragraph in report.details(): is_sound(paragraph)
    is_sound(report.conclusion)


def test_one_bound_is_not_called_both():
    rng = np.random.default_rng(8)
    upper = uqcal.Intervals(None, np.full(600, 0.8), level=0.9)
    says = uqcal.validate(rng.standard_normal(600), upper, rng=1).step.sentence
    assert "shifting the finite bounds by one length" in says and "both" not in says
