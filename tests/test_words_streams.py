"""What is said of streams: each template is tried with each of its cases, and checked for its numbers and for plain English."""
import html
import itertools
import math
import re

import numpy as np
from every_case import every_case
import pytest
from scipy import stats
from test_language import FORBIDDEN

import uqcal
from uqcal._words.streams import (CAUTIONS, STEPS, counts_text, coverage_sentence, curve_lines, guarantee_text, rate_text, reading_sentence, scaling_sentence, since_text,
                                  stream_conclusion)
from uqcal.adapters.error_streams import BoundStreamSummary, CoverageAlarm, ErrorStreamSummary
from uqcal.adapters.rows import StreamSummary
from uqcal._adapters.lines import alarm_finding, false_alarms, stream_step
from uqcal.online.error_monitor import UncertaintyAlarm, UncertaintyMonitor
from uqcal.online.monitor import _EDGES, Alarm, CalibrationMonitor
from uqcal.online.online_scaling import _gain_finding
from uqcal.reports import Caution, Step


def check(text):
    "Plain English: none of the words that mislead, short sentences, no number that is none."
    assert text and not FORBIDDEN.search(text), text
    assert not re.search(r"\b(nan|None|inf)\b|[{}]|  |\.\.", text), text
    assert all(len(sentence.split()) <= 28 for sentence in re.split(r"(?<=[.:;]) ", text)), text
    return text


def probability_alarm(*rows):
    sums = np.array([[np.searchsorted(_EDGES, q), n, n * q, k, n * q * (1 - q)] for q, n, k in rows])
    n = int(sums[:, 1].sum())
    return Alarm(outcome=1000 + n, since=1001, likelier=200.0, run_length=1_000_000, sums=sums)


def uncertainty_alarm(direction, side):
    return UncertaintyAlarm(outcome=1234, since=1200, likelier=500.0, run_length=10_000, kurtosis=9.0, n=35, square=3.57, direction=direction, side=side, middle=0.876)


def coverage_alarm(covered): return CoverageAlarm(level=0.9, outcome=89, since=63, covered=covered, run_length=10_000)


PROBABILITY_ALARMS = [probability_alarm(*rows) for rows in (
    [(0.45, 100, 61), (0.55, 100, 61)], [(0.45, 100, 58), (0.55, 100, 61)], [(0.45, 100, 62), (0.55, 100, 41)], [(0.45, 100, 31), (0.55, 100, 70)],
    [(0.35, 100, 52), (0.45, 100, 28), (0.55, 100, 69), (0.65, 100, 51)], [(0.005, 1000, 0)], [(0.25, 1000, 150), (0.55, 100, 75)], [(0.001, 1, 1)])]
ALARMS = [*PROBABILITY_ALARMS, *itertools.starmap(uncertainty_alarm, itertools.product(("too small", "too large"), ("all", "small", "large"))), *map(coverage_alarm, (0.5926, 1.0))]


@every_case("alarm", ALARMS)
def test_an_alarm_says_when_since_when_and_how_often_it_would_be_false(alarm):
    text = check(alarm.sentence)
    assert text.startswith(f"Alarm at outcome {alarm.outcome:,}: {alarm.line}") and f"at most 1 per {alarm.run_length:,} outcomes" in text
    assert alarm.n == 1 or since_text(alarm) in check(alarm.line)


def test_alarms_say_which_way():
    assert len({alarm.direction for alarm in PROBABILITY_ALARMS}) == 6
    assert PROBABILITY_ALARMS[0].line.endswith("too low since about outcome 1,001") and since_text(CalibrationMonitor().partial_fit(1.0, 0).alarm_) == "from the start"
    assert "overconfident (errors too large for u) where u is above 0.876" in uncertainty_alarm("too small", "large").line and "underconfident (errors too small for u) since" in uncertainty_alarm("too large", "all").line
    assert "59.3 % are covered (90 % claimed)" in coverage_alarm(0.5926).sentence and coverage_alarm(1.0).line.startswith("overcoverage")
    impossible = CalibrationMonitor().partial_fit(1.0, 0).alarm_
    assert check(impossible.sentence) == "Alarm at outcome 1: a probability of 1 was predicted and the event did not occur. One such case is enough: a calibrated model has none."


def test_a_false_alarm_rate_names_its_condition_where_there_is_one():
    assert check(rate_text(1_000_000)) == rate_text(1_000_000, math.inf) == "False-alarm rate: at most 1 per 1,000,000 outcomes"
    assert rate_text(500, 9.0) == "False-alarm rate: at most 1 per 500 outcomes, if scaled errors have a kurtosis up to 9"
    quiet, loud = UncertaintyMonitor(kurtosis=6).prequential(np.ones(1), np.ones(1)), CalibrationMonitor(run_length=10).prequential([0.0] * 3, [1] * 3)
    assert check(reading_sentence(quiet)) == "No alarm in 1 outcome. False-alarm rate: at most 1 per 1,000,000 outcomes, if scaled errors have a kurtosis up to 6."
    assert check(loud.sentence).endswith("2 more alarms followed.")


MEASURES = {"probabilities": ({"calibrated": 0.0335},), "uncertainties": ({"largest": 0, "rest": None}, {"largest": 401, "rest": 1.02}, {"largest": 401, "rest": None}),
            "intervals": ({"level": 0.9, "infinite": 0, "width": 2.41}, {"level": 0.9, "infinite": 3, "width": math.inf})}
FIRST = {"probabilities": PROBABILITY_ALARMS[0], "uncertainties": uncertainty_alarm("too small", "all"), "intervals": coverage_alarm(0.5926)}
CASES = [(of, facts, alarms) for of, several in MEASURES.items() for facts in several for alarms in (0, 1, 3)]


@every_case("of, facts, alarms", CASES)
def test_what_a_monitor_found_is_a_line_and_a_sentence(of, facts, alarms):
    finding = alarm_finding("as it was", FIRST[of] if alarms else None, alarms, 5000, of, 0.742, restarts=2 * (alarms > 1), **facts)
    line, sentence = check(finding.line), check(finding.sentence)
    number = "74.2 % covered (90 % claimed)" if of == "intervals" else "0.742"
    assert number in line and number in sentence and len(line) <= 190
    assert ("no alarm in 5,000 outcomes" in line) is (alarms == 0) and ("(the first of 3)" in line) is (alarms == 3) and ("restarted 2 times" in sentence) is (alarms == 3)
    assert finding.status == ("invalid" if alarms else "fact")


GAINS = [(0.0122, 0.0035, False, "better by 0.012", "[0.005, 0.019]"), (-0.0122, 0.0035, False, "worse by 0.012", "[0.005, 0.019]"), (0.003, 0.004, False, "better by 0.003", "within chance"),
         (0.37, 0.01, True, "better by 0.37", "tails too heavy"), (0.0, 0.0, False, "unchanged", "Brier score")]


@pytest.mark.parametrize("gain, error, is_heavy, size, more", GAINS)
@pytest.mark.parametrize("score", ["brier", "log"])
def test_a_gain_has_its_size_and_limits(gain, error, is_heavy, size, more, score):
    finding = _gain_finding(gain, error, is_heavy, score=score, n=600)
    line = check(finding.line)
    assert size in line and (more in line or score == "log" and more == "Brier score") and check(finding.sentence)
    assert ("nats per row" in line) is (score == "log" and gain != 0)


def summaries():
    "A summary of each kind, with each outcome."
    for (of, several), alarms, gain in itertools.product(MEASURES.items(), ((0, 0), (3, 0), (1, 2)), (0.5, -0.5, 0.01)):
        findings = tuple(alarm_finding(name, FIRST[of] if count else None, count, 5000, of, 0.742, **several[0]) for name, count in zip(("as it was", "corrected"), alarms))
        if of != "intervals": findings = (*findings, _gain_finding(gain, 0.1, False, score="log", n=5000))
        shared = dict(method="m", rows=5000, learnt=5000, alarms=alarms[0], alarms_after=alarms[1], curve=tuple((k, 0.1, 0.05) for k in range(1, 5001, 50)) + ((5000, 0.1, 0.05),), findings=findings,
                      step=stream_step(findings), cautions=(false_alarms(10_000, alarms[0]),), alarm=findings[0].facts["alarm"], alarm_after=findings[1].facts["alarm"])
        if of == "probabilities": yield StreamSummary(brier_before=0.2, brier_after=0.1, brier_error=0.1, right=(0.1, 0.1), **shared)
        elif of == "uncertainties": yield ErrorStreamSummary(zms_before=2.0, zms_after=1.0, gain=gain, gain_error=0.1, is_heavy=False, largest=((1.0, 1), (1.0, 1)), **shared)
        else: yield BoundStreamSummary(level=0.9, coverage_before=0.7, coverage_after=0.742, width_before=1.0, width_after=2.0, infinite_before=0, infinite=0, bound=None, one_sided=False, **shared)


@every_case("summary", [*summaries()], ids=lambda summary: f"{summary.what} {summary.alarms} {summary.alarms_after}")
def test_a_summary_is_a_screen_with_a_conclusion_and_a_next_step(summary):
    screen = str(summary).splitlines()
    assert len(screen) <= 24 and max(map(len, screen)) <= 80 and screen[0].startswith(f"{summary.what} in file order, 5,000 rows")
    conclusion = check(stream_conclusion(summary.findings))
    assert conclusion == summary.conclusion == summary.sentence and ("since about outcome" in conclusion) is (summary.alarms > 0) is (summary.outcome == "alarm")
    assert ("does not remove every fault" in conclusion) is (summary.alarms_after > 0 and (summary.what == "intervals" or summary["gain"].status == "valid"))
    assert check(summary.step.sentence) and all(map(check, summary.details())) and summary.to_dict()["outcome"] == summary.outcome
    assert any("outcomes so far" in line and "5,000" in line for line in screen) and ("CAUTION" in str(summary)) is (summary.alarms > 0)
    with pytest.raises(TypeError): bool(summary)


def test_nothing_is_said_where_no_outcome_came():
    findings = (*(alarm_finding(name, None, 0, 0, "probabilities", 0.0, calibrated=0.0) for name in ("as it was", "corrected")), _gain_finding(0.0, 0.0, False, score="brier", n=0))
    assert check(stream_conclusion(findings)) == "No outcome yet, so nothing was recalibrated." and {finding.line for finding in findings} == {"no outcome yet"}
    assert all(check(finding.sentence) for finding in findings) and stream_step(findings).verb == "collect"


@pytest.mark.parametrize("step", STEPS, ids=" ".join)
def test_each_step_is_a_sentence(step): assert check(Step(verb=step[0], why=step[1]).sentence).endswith(".")


@pytest.mark.parametrize("facts, said", [({"booked": 3, "bound": None}, "No coverage is guaranteed"), ({"booked": 0, "bound": None}, "The method dtaci has no"), ({"booked": 0, "bound": 0.95}, "So few outcomes"),
                                         ({"booked": 0, "bound": 0.229}, "coverage within 22.9 points of 90 %"), ({"booked": 0, "bound": 0.229, "one_sided": True}, "coverage at most 22.9 points below 90 %")])
def test_a_guarantee_says_how_far_coverage_can_be(facts, said):
    caution = Caution(code="coverage_guarantee", facts={"level": 0.9, "one_sided": False, "method": "dtaci"} | facts)
    assert said in check(caution.sentence) and set(CAUTIONS) == {"false_alarms", "coverage_guarantee"}
    assert guarantee_text(0.229, 0.9, False) == "Worst-case guarantee for this length: coverage within 22.9 points of 90 %"


def test_trackers_and_scalings_say_what_they_did():
    text = check(coverage_sentence(3569, 4000, 0.9, bound=0.0607, one_sided=False, infinite=1, empty=2))
    assert text.startswith("3,569 of 4,000 outcomes covered (89.2 %, 90 % claimed). Worst-case") and text.endswith("1 interval infinite. 2 intervals empty.")
    assert check(coverage_sentence(0, 0, 0.9, bound=None, one_sided=False, infinite=0, empty=0)) == "No outcome yet, 90 % claimed."
    gain = _gain_finding(0.37, 0.01, False, score="log", n=1454)
    assert check(scaling_sentence(1454, 1.13, 1.38, "line .99", gain)).startswith("u × 1.13 where it is 1.38 (most weight: line .99). Over 1,454 outcomes: normal log score better by 0.37 nats")
    assert check(scaling_sentence(0, 1.0, 1.0, "unchanged", gain)) == "u unchanged: no outcome yet."


def test_counts_say_what_is_awaited_and_what_was_left_out():
    class Counts: rows, learnt, booked, waiting, skipped, left_out = 10, 8, 0, 2, 1, 3
    assert check(counts_text(Counts)) == "10 rows, 8 with an outcome, 2 awaiting theirs, 1 row skipped, 3 without a prediction left out"
    assert [len(line) for line in curve_lines([(100_000, 0.1, 0.2)] * 6, "probabilities")] == [80] * 3


@pytest.mark.parametrize("kind", ["mean_std", "intervals", "probabilities", "classes", "quantiles", "samples", "distribution"])
def test_a_stream_of_each_kind_has_a_page(kind):
    rng = np.random.default_rng(0)
    y, levels = rng.standard_normal(60), [0.1, 0.5, 0.9]
    prob = rng.dirichlet([1, 1, 1], 60)
    statement = {"mean_std": lambda: uqcal.MeanStd(0, np.ones(60)), "intervals": lambda: uqcal.Intervals(np.full(60, -2), np.full(60, 2), level=0.9),
                 "probabilities": lambda: uqcal.Probabilities(np.full(60, 0.5)), "classes": lambda: uqcal.Probabilities(prob, classes=[0, 1, 2]),
                 "quantiles": lambda: uqcal.Quantiles(np.tile(stats.norm.ppf(levels), (60, 1)), levels),
                 "samples": lambda: uqcal.Samples(rng.standard_normal((60, 10))), "distribution": lambda: uqcal.Distribution(stats.norm(np.zeros(60), 1))}[kind]()
    if kind == "probabilities": y = y > 0
    if kind == "classes": y = rng.integers(0, 3, 60)
    made = uqcal.monitor(y, statement)
    assert made.conclusion in re.sub(r"\s+", " ", html.unescape(re.sub("<[^>]+>", "", made.to_html())))
