"""The words on errors, scores and the file: each template with each of its cases has its numbers, no word that is never printed, and no sentence of more than 28 words."""
import re
from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pandas as pd
from every_case import every_case
import pytest
from published import diffusion

from uqcal.errors.known_causes import Cause
from uqcal.errors.validation import validate_errors
from uqcal._words import file, scores
from uqcal._words.errors import findings as errors
from uqcal._words.errors.conclusion import errors_conclusion, parts_lines
from uqcal._words.scores import score_sentence
from uqcal.reports import Caution, Finding, Place, Step

NEVER = re.compile(r"\b(mend\w*|alike|as stated|stated uncertaint\w+|could be there|(might|would) settle|belong together|at like scores|too timid|too extreme|errs|by lot|whoever|somebody|"
                   r"nobody|on (points|errors) of their own|where right ones|fairly|undecided|not decided|event ratio|told (by|apart)|taught by|learnt from)\b", re.IGNORECASE)
TEST = SimpleNamespace(method="random signs")
RANGE = Place(along="u", first=0.1, last=0.25, count=408, of=2040)
GROUP = Place(along="kind", first="wood", last="wood", count=20, of=1460, by_group=True)
FIFTHS, GROUPS, SMALL, WHOLE = {"kind": "fifths"}, {"kind": "groups", "n_small": 0}, {"kind": "groups", "n_small": 3}, {"kind": "whole"}


def check(text, *numbers):
    "Plain English, with these numbers in it."
    assert text and not NEVER.search(text), text
    assert not re.search(r"\bnan\b|\bNone\b(?! of)|\binf\b|  |\(\)|\.\.|\{|\}", text), text
    for sentence in re.split(r"(?<=[.?!])\s", text): assert len(sentence.split()) <= 28, sentence
    for number in numbers: assert str(number) in text, (number, text)
    return text


def both(finding, *numbers):
    "The line, the sentence and the method of a finding."
    line, sentence = check(finding.line, *numbers), check(finding.sentence, *numbers)
    assert not line.endswith(".") and sentence.endswith(".") and len(line) <= 170, line
    if finding.test is not None: check(finding.method)
    return line, sentence


def bias(status, part=None, by=None, **more):
    facts = dict(mean=-0.26, mean_low=-0.42, mean_high=-0.1, n_asked=1, place_unknown=False, covers=FIFTHS, is_skewed=False, skewed_misses="ten", n_resamples=9999, n_planned=9999, opposite=None, whole_too=False,
                 depends_on_u=False, largest=None, confidence=0.95)
    facts |= {name: more.pop(name) for name in list(more) if name in facts}
    given = dict(estimate=-0.26, low=-0.42, high=-0.1, pvalue=0.0123, tolerance=0.25, excluded_beyond=0.314, rows_needed=3333.0, n=2040, test=TEST)
    return Finding(name="bias" if by is None else f"bias by {by}", kind="bias", by=by, status=status, part=part, by_group=part is GROUP or more.pop("by_group", False), facts=facts,
                   **given | more)


def average(status, **more):
    facts = dict(pvalue_if_heavy=None, unseen=None, tails=None, open_end=None, fit_decides=False, n_calibration=None, confidence=0.95)
    facts |= {name: more.pop(name) for name in list(more) if name in facts}
    given = dict(estimate=1.58, low=1.49, high=1.68, pvalue=0.0123, tolerance=1.25, rows_needed=3333.0, n=2040, test=TEST, direction="too small" if status == "invalid" else None)
    return Finding(name="on average", kind="average", status=status, facts=facts, **given | more)


def size(status, part=RANGE, by=None, **more):
    facts = dict(relative_low=0.69, relative_high=1.43, doubt="", tails=None, n_asked=1, covers=FIFTHS, n_resamples=9999, n_planned=9999, elsewhere=None, place_is_sure=True,
                 elsewhere_is_surer=False, confidence=0.95)
    facts |= {name: more.pop(name) for name in list(more) if name in facts}
    given = dict(estimate=0.78, low=0.69, high=0.92, pvalue=0.0123, tolerance=1.25, rows_needed=3333.0, n=2040, test=TEST)
    return Finding(name="along u" if by is None else f"size by {by}", kind="size", by=by, status=status, part=part, by_group=part is GROUP or more.pop("by_group", False), facts=facts,
                   **given | more)


def ranking(status, **more):
    facts = dict(expected_low=0.35, expected_high=0.42, is_less=False, digits=2, rises=False, n_resamples=499, n_planned=9999, confidence=0.95)
    facts |= {name: more.pop(name) for name in list(more) if name in facts}
    return Finding(name="ranking", kind="ranking", status=status, estimate=0.5, pvalue=0.0123, n=2040, test=TEST, facts=facts, **more)


# --- bias

def test_a_bias_that_is_shown_has_its_size_its_limits_and_its_side():
    line, sentence = both(bias("invalid"), "0.26", "0.42", "0.10", "p = 0.012")
    assert "too high by 0.26 u" in sentence and "−0.26 u" in line
    assert "too low" in both(bias("invalid", estimate=0.26, low=0.1, high=0.42))[1]
    for part, place in ((RANGE, "where u is 0.1 to 0.25"), (GROUP, "in kind wood")):
        line, sentence = both(bias("invalid", part, by="kind" if part is GROUP else None), "0.26", place, f"{part.count} ")
        assert f"{part.count:,} of {part.of:,} rows" in sentence
    for by_group, said in ((True, "differs between groups of kind"), (False, "changes along kind")):
        assert said in both(bias("invalid", by="kind", by_group=by_group, place_unknown=True))[0]


def test_what_goes_with_a_bias_is_said_in_sentences_of_its_own():
    other = dict(mean=0.12, low=0.02, high=0.23, part=RANGE)
    assert "too low by 0.12 u where u is 0.1 to 0.25" in both(bias("invalid", RANGE, opposite=other))[1]
    check(bias("invalid", RANGE, whole_too=True, mean=-0.05, mean_low=-0.08, mean_high=-0.02).sentence, "Over all rows", "−0.05")
    check(bias("invalid", depends_on_u=True, largest=other).sentence, "depends on u", "+0.12")
    check(bias("invalid", RANGE, is_skewed=True).sentence, "look skewed")
    check(bias("invalid", n_asked=3).line, "adjusted for 3 columns")


@pytest.mark.parametrize(("covers", "place", "worst"), [(FIFTHS, "in any fifth of the rows", "in the worst fifth of the rows"), (WHOLE, "over all rows", "over all rows"),
                                                        (GROUPS, "in any group", "in any group"), (SMALL, "in any group but the 3 smallest", "in any group but the 3 smallest")])
def test_no_bias_comes_with_what_is_not_excluded(covers, place, worst):
    assert place in both(bias("valid", covers=covers, mean=0.01, mean_low=-0.05, mean_high=0.06, excluded_beyond=0.06), "0.06")[0]
    near = dict(mean=0.1, mean_low=-0.05, mean_high=0.25, estimate=0.1, low=-0.05, high=0.25)
    for status in ("valid", "inconclusive"):  # the whole may be valid where a part is open
        line, _ = both(bias(status, covers=covers, reason="precision", **near), "0.32 u", "about 3,300 rows would decide"[6:], worst[3:])
        assert "+0.10 u" in line
    assert "any size" in both(bias("inconclusive", covers=covers, excluded_beyond=np.inf, rows_needed=None), "many more rows would be needed"[5:])[0]
    both(bias("inconclusive", by="T", covers=covers, **near), "0.32 u")


@pytest.mark.parametrize("shown", [bias, size])
def test_a_part_within_the_tolerance_is_so_relative_to_all_rows(shown):
    "Mutation: errors 1.42 times as large, within a tolerance of 1.25, where those of all rows are 1.33 times as large."
    line, sentence = both(shown("minor", RANGE))
    assert "difference from all rows is within the tolerance" in line and "difference from all rows is within the tolerance" in sentence


def test_along_a_column_a_bias_is_a_distance_from_the_mean():
    "Mutation: more than 0.08 u in any group is excluded, where all groups have a bias of 0.5 u."
    line, sentence = both(bias("valid", by="g", covers=GROUPS, excluded_beyond=0.08), "0.08 u from the mean")
    assert line.startswith("no difference found") and sentence.startswith("No difference in bias is found along g")


# --- average, size, ranking

def test_the_average_has_its_factor_and_limits():
    for direction, kind in (("too small", "overconfident"), ("too large", "underconfident")):
        line, sentence = both(average("invalid", direction=direction), kind, "1.58 ×", "[1.49, 1.68]")
        assert "tolerance 1.25" in line and "p = 0.012" in sentence
    line, sentence = both(average("invalid", estimate=5.6, low=3.7, high=88, open_end="upper"), "overconfident", "upper limit", "unknown")
    assert "at least 3.7" in sentence
    assert "at most 0.20" in both(average("invalid", direction="too large", estimate=0.1, low=0.001, high=0.2, open_end="lower"), "lower limit")[1]
    rare = dict(rate=0.01, size=4.56, of="rows")
    check(average("invalid", direction="too large", unseen=rare, pvalue_if_heavy=0.078).sentence, "One in 100 rows", "4.6 u", "0.08", "t3")
    both(average("valid", estimate=1.02, low=0.9, high=1.1), "1.02", "[0.90, 1.10]")
    both(average("inconclusive"), "3,300 rows would decide")
    both(average("inconclusive", rows_needed=None), "any more rows would be needed")
    both(average("inconclusive", tails="few")), both(average("inconclusive", tails="heavy"))
    both(average("inconclusive", fit_decides=True, n_calibration=10, rows_needed=None), "fitted to")
    both(average("inconclusive", low=0, high=np.inf), "[no limits]")
    line, sentence = both(average("valid", centred=True), "bias removed")
    assert sentence.startswith("With the bias removed, errors are")


@pytest.mark.parametrize(("part", "by", "place"), [(RANGE, None, "where u is 0.1 to 0.25"), (GROUP, "kind", "wood")])
def test_a_size_that_differs_has_its_place(part, by, place):
    line, sentence = both(size("invalid", part, by), "0.78 ×", "[0.69, 0.92]", place, "p = 0.012")
    assert f"{part.count:,} of {part.of:,} rows" in sentence and "uncertain" not in sentence
    line, sentence = both(size("invalid", part, by, place_is_sure=False, elsewhere=dict(factor=1.02, low=0.93, high=1.3)), "0.78 ×", place)
    assert "clearest" in line and "uncertain" in sentence and "Elsewhere they are 1.02 × [0.93, 1.30]" in sentence
    both(size("invalid", None, by), "p = 0.012")
    both(size("invalid", part, by, centred=True))


def test_no_dependence_comes_with_the_factors_that_are_not_excluded():
    for covers in (FIFTHS, WHOLE, GROUPS, SMALL):
        both(size("valid", covers=covers, relative_low=0.9, relative_high=1.2), "1.2")
        both(size("inconclusive", covers=covers), "0.69 to 1.43", "3,300 rows would decide")
        both(size("inconclusive", covers=covers, relative_low=0, relative_high=np.inf, rows_needed=None))
    for tails in ("few", "heavy"): both(size("inconclusive", tails=tails))
    both(size("inconclusive", GROUP, "kind", doubt="shape"), "p = 0.012"), both(size("inconclusive", doubt="unequal groups"), "p = 0.012")


def test_a_ranking_has_its_correlation_and_what_perfect_uncertainties_give():
    for finding in (ranking("valid"), ranking("valid", is_less=True), ranking("invalid"), ranking("invalid", direction="reversed"), ranking("invalid", direction="reversed", rises=True),
                    ranking("inconclusive")):
        both(finding, "0.50")
        check(finding.sentence, "0.35 to 0.42", "p = 0.012")
        check(finding.method, "499 draws", "9,999")
    assert "less well" in ranking("valid", is_less=True).line and "not on average" in ranking("invalid", direction="reversed", rises=True).sentence


# --- what is the same for every question

@pytest.mark.parametrize("make", [bias, average, size])
def test_what_was_not_tested_says_why(make):
    for reason, facts in (("nothing to test", {"nothing": "all errors are 0"}), ("signs", {"share": "nearly all", "sign": "positive"})):
        empty = Finding(name="x", kind=make("valid").kind, status="inconclusive", reason=reason, facts=facts)
        both(empty, *(value for value in facts.values() if value != "nearly all"))
        assert empty.method == ""
    both(Finding(name="bias by y", kind="bias", by="y", status="inconclusive", reason="outcome"), "y seems to hold the observed values")
    coarse = Finding(name="size by y", kind="size", by="y", status="inconclusive", reason="shuffles", pvalue=0.075, facts={"n_shuffles": 199})
    both(coarse, "199", "0.075")


def test_rows_that_decide_are_named_with_what_is_found_without_them():
    with_, without = average("invalid"), average("valid", estimate=1.02, low=0.9, high=1.1)
    for rows, names, said in (((7,), ("7 (line 9)",), "ow 7 (line 9) alone decides"), ((3, 5), ("3", "5"), "ows 3 and 5 alone decide")):
        decided = average("inconclusive", reason="rows", rows=rows)
        decided = replace(decided, facts={**decided.facts, "row_names": names, "without": without, "with": with_})
        line, sentence = both(decided, said)
        assert without.line in line and without.sentence in sentence and with_.sentence in sentence
    facts = {**with_.facts, "row_names": ("7",), "moved_by": (7,), "without_rows": without, "as_is": average("inconclusive")}
    check(replace(with_, facts=facts).sentence, "Without row 7: ", "With the bias left in: ")


# --- statistics alone, and the conclusion

def statistics(name, status, direction=None, reason=None, **more):
    return Finding(name=name, kind="scores", status=status, direction=direction, reason=reason, estimate=1.3 if direction else None, test=(SimpleNamespace(status=status, reason=reason),),
                   facts={"statistics": {"ZMS": status, "RCE": "valid"}}, **more)


def test_statistics_alone_are_named_with_their_status():
    for name in ("on average", "along u", "ranking"):
        for status, reason in (("valid", None), ("invalid", None), ("inconclusive", "distribution"), ("inconclusive", "fitted")):
            both(statistics(name, status, reason=reason), f"ZMS: {status}")
            assert ("distribution of the errors" in statistics(name, status, reason=reason).sentence) == (reason == "distribution")
            check(errors_conclusion([statistics(name, status, reason=reason)]))
    for direction, kind in (("too small", "verconfident"), ("too large", "nderconfident")):
        both(statistics("on average", "invalid", direction), kind), check(errors_conclusion([statistics("on average", "invalid", direction)]), kind)


AVERAGES = [average("valid"), average("invalid"), average("invalid", direction="too large"), average("inconclusive"), Finding(name="on average", kind="average", status="inconclusive", reason="nothing to test")]
BIASES = [bias("valid"), bias("invalid"), bias("invalid", RANGE), bias("invalid", place_unknown=True), bias("inconclusive"), bias("inconclusive", excluded_beyond=np.inf),
          Finding(name="bias", kind="bias", status="inconclusive", reason="signs")]
SIZES = [size("valid"), size("invalid"), size("inconclusive"), size("inconclusive", tails="heavy"), size("inconclusive", relative_low=0, relative_high=np.inf)]
RANKINGS = [ranking("valid"), ranking("invalid"), ranking("invalid", direction="reversed"), ranking("inconclusive")]


@every_case("bias_", BIASES)
def test_the_conclusion_is_a_sentence_or_two(bias_):
    for average_ in AVERAGES:
        for size_ in SIZES:
            for ranking_ in RANKINGS:
                text = check(errors_conclusion([bias_, average_, size_, ranking_]))
                assert text[0].isupper() and text.endswith(".") and len(text) <= 260, text
                assert ("biased" in text) == (bias_.status == "invalid") and ("verconfident" in text) == (average_.direction == "too small")


def test_the_conclusion_names_at_most_three_faults_and_columns():
    whole = [bias("valid"), average("valid"), size("valid"), ranking("valid")]
    text = check(errors_conclusion([*whole, bias("invalid", GROUP, "kind"), size("invalid", GROUP, "kind"), size("invalid", None, "T")]))
    assert "In kind wood: biased by −0.26 u; in kind wood: errors 0.78 × std; along T: error/std varies." in text
    many = [size("invalid", None, f"f{k}") for k in range(7)] + [bias("inconclusive", by=f"g{k}") for k in range(4)]
    assert "4 more along columns" in (text := check(errors_conclusion([*whole, *many]))) and "Inconclusive along 4 columns." in text
    assert "Inconclusive along g0 and g1." in errors_conclusion([*whole, *many[-4:-2]])
    assert "along T: bias differs" in errors_conclusion([*whole, bias("invalid", by="T", place_unknown=True)]).replace("Along", "along")


def test_rows_of_numbers_fit_a_screen():
    for by, first in ((None, np.linspace(0.1, 0.5, 5)), ("kind", ["a", "b" * 30, "\x1bc"])):
        parts = pd.DataFrame({"first": first, "estimate": np.linspace(0.5, 20, len(first))})
        lines = parts_lines(size("invalid", by=by, by_group=by is not None, parts=parts), bias("invalid", by=by, parts=parts))
        assert len(lines) == 3 and max(map(len, lines)) <= 80 and "error/std" in lines[1] and "bias/std" in lines[2] and "\x1b" not in "".join(lines)
    assert parts_lines(None, None) == [] == parts_lines(size("valid"), None)


# --- cautions, steps, scores

ON_ERRORS = {
    "equal_uncertainties": {}, "few_distinct_uncertainties": dict(distinct=12, n=2040), "small_bins": dict(in_bin=12),
    "references_ignore_groups": {}, "unstable_interval": dict(statistic="ENCE", z0=-0.77), "interval_misses_estimate": dict(statistic="ENCE"),
    "undefined_in_resamples": dict(statistic="CC", dropped=12, n_boot=5000), "columns_not_tested": dict(columns="T, kind and 4 more"), "copies_in_parts": dict(copies=3.0), "errors_in_parts": {}}
ON_FILE = {
    "correlated_rows": dict(lag=1, correlation=0.089, pvalue=0.0001), "shared_uncertainty": {}, "fitted_errors": {}, "fitted_uncertainties": {"total": 119}, "fitted_levels": {}, "fitted_events": {}, "counted_once": dict(repeated=12, n=26, of="rows"), "copies": dict(repeated=12, n=26, of="errors"),
    "cause": dict(cause=Cause(name="absolute_errors", strength="likely", facts=dict(sign="positive", count=30, n=30))), "repeated_members": dict(repeated=12, n=26),
    "members_correlated": dict(blocks=20, length=50, still=True), "off_limits": dict(n=400, clear=190, judged=True, at_limit=126, not_asked=()), "members_periodic": dict(period=240, times=10),
    "stretches_as_groups": dict(sign="nearby", stretches=25, correlation=0.05, pvalue=0.0001), "groups_correlated": dict(correlation=0.3, pvalue=0.0001)}


def shown(facts):
    return [f"{value:,}" for value in facts.values() if isinstance(value, int) and value != 1]


@pytest.mark.parametrize("room, given", [(errors, ON_ERRORS), (file, ON_FILE)])
def test_each_caution_has_its_numbers(room, given):
    assert set(room.CAUTIONS) == {*given, "skewed_squares"} if room is errors else set(room.CAUTIONS) == set(given)
    for code, facts in given.items(): check(Caution(code=code, facts=facts).sentence, *shown(facts))
    for of in ("u²", "E²", "Z²"): check(Caution(code="skewed_squares", facts=dict(of=of, skewness=0.82, limit=0.8)).sentence, of, "0.82", "0.8")
    check(Caution(code="correlated_rows", facts=dict(lag=40, correlation=0.3, pvalue=0.02)).sentence, "ows 40 apart", "0.30", "p = 0.02")


@pytest.mark.parametrize("room", [errors, file])
def test_each_step_is_said_with_what_it_is_about(room):
    one, two = dict(rows=(7,), row_names=("7 (line 9)",)), dict(rows=(3, 5), row_names=("3", "5"))
    given = {("recalibrate", "errors"): [dict(by=()), dict(by=("T", "kind")), dict(by=tuple("abcde"))], ("recalibrate", "ranking"): [dict(by=()), dict(by=("T",))],
             ("check", "rows"): [one, two], ("check", "row"): [one], ("collect", "errors"): [dict(needed=3333.0, n=200, names=("bias", "along u")), dict(needed=np.inf, n=200, names=("bias",) * 4)],
             ("check", "clusters"): [dict(lag=1), dict(lag=40)], ("check", "drift"): [ON_FILE["cause"]], ("check", "file"): [ON_FILE["cause"]],
             ("check", "members"): [dict(cause=Cause(name="few_members", strength="likely", facts=dict(members=3, ratio=2.06, expected=2.0, others=())))]}
    for verb, why in room.STEPS:
        for facts in given.get((verb, why), [{}]):
            said = check(Step(verb=verb, why=why, facts=facts).sentence)
            assert said.endswith(".")
            for name in facts.get("row_names", ()): assert name in said
            if facts.get("needed") == 3333: assert "3,300 rows would decide on bias and size along u." in said
            if 0 < len(facts.get("by", ())) <= 3: assert all(name in said for name in facts["by"])
            if len(facts.get("by", ())) > 3: assert "5 columns" in said


def test_each_status_of_each_score_is_said_with_its_numbers():
    rng = np.random.default_rng(1)
    u = np.exp(0.6 * rng.standard_normal(400))
    every = dict(statistics=("zms", "nll", "rce", "cc", "correlation", "ence", "zmse"), n_boot=99, n_mc=50, n_resamples=19, conclusions=False, rng=1)
    said = {}
    for predicted in (u, 2 * u, 0.5 * u, u**0.3, u**1.8):
        for more in (dict(distribution="normal"), dict(distribution="normal", groups=np.arange(400) // 2), dict(distribution="normal", n_calibration=300)):
            for score in validate_errors(u * rng.standard_normal(400), predicted, **every, **more).scores.values():
                said[score.statistic, score.status, score.reason, score.direction] = check(score.sentence, score.label)
                assert score.sentence == score_sentence(score)
    assert {status for _, status, *_ in said} == {"valid", "invalid", "inconclusive"} and {direction for *_, direction in said} == {None, "too small", "too large"}
    assert {reason for _, _, reason, _ in said} >= {None, "groups", "fitted"}


def test_a_score_without_a_value_says_why():
    assert set(scores._UNDEFINED) == {"few_bins", "zero_bins", "equal_uncertainties", "equal_errors", "equal_scaled"}
    for reason in scores._UNDEFINED:
        facts = dict(n_bins=20, needed=40, n=30, empty=3)
        check(score_sentence(SimpleNamespace(reason=reason, facts=facts)), *{"few_bins": (20, 40, 30), "zero_bins": (3, 20)}.get(reason, ()))


# --- the screen

@pytest.mark.parametrize("kind", ["demo", "columns", "wide", "alone"])
def test_a_screen_has_24_lines_of_80_columns(kind):
    demo, rng = diffusion(), np.random.default_rng(1)
    error, u = demo.error[:600], demo.uncertainty[:600]
    features = None
    if kind == "columns": features = {f"a rather long name {k}": rng.standard_normal(600) for k in range(9)} | {"kind": rng.choice(["a", "b"], 600)}
    if kind == "wide": error, features = error * np.where(np.arange(600) % 2, 1, 3), {"n" * 300: np.arange(600) % 2 > 0}
    found = validate_errors(error, u, by=features, conclusions=kind != "alone", n_boot=99, n_resamples=99, n_mc=50, rng=1)
    lines = repr(found).split("\n")
    assert len(lines) <= 24 and max(map(len, lines)) <= 80 and any(line.startswith("VERDICT ") for line in lines) and lines[-1].strip()
    for text in (*found.details(), found.conclusion, found.step.sentence): check(text.replace("n" * 300, "n"))
