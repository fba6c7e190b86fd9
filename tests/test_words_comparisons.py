"""Words on comparisons: every template with each of its cases, its numbers, and the words it may not hold."""
import itertools
import re

import numpy as np
from every_case import every_case
import pytest

from uqcal._words.comparisons import CAUTIONS, LINES, SENTENCES, STEPS, correction_text, tolerance_text
from uqcal.comparison.model_comparison import compare_scores
from uqcal.reports import Caution, Finding, Step

NEVER = ("mend", "as stated", "could be there", "settle", "belong together", "like scores", "timid", "extreme", "errs", "by lot", "somebody", "nobody",
         "undecided", "not decided", "event ratio", "told", "taught", "learnt", "alike")
BASE = {"best": "forest", "model": "process", "verdict": "better", "score_name": "log score", "score": 1.65, "best_score": 1.41, "standard_error": 0.027, "n_resamples": 4999,
        "pvalue_is_bound": False, "tolerance_of": ("std", 1.25), "deciders": {"kind": "rows", "number": 0, "names": (), "count": 0, "n": 300}, "seen": -1.0, "moved": (), "cause": {}}
ROWS = {"kind": "rows", "number": 2, "names": ("3 (line 5)", "17 (line 19)"), "count": 2, "n": 300}
GROUPS = {"kind": "groups", "number": 1, "names": ("north",), "count": 2000, "n": 3000}


def difference(status, reason=None, low=0.16, high=0.32, needed=None, **facts):
    return Finding(name="process", kind="model_difference", status=status, reason=reason, estimate=0.241, low=low, high=high, pvalue=0.012, unit="log score",
                   tolerance=0.0506, rows_needed=needed, n=300, facts=BASE | facts)


WITHOUT = {"difference": -0.12, "standard_error": 0.02, "verdict": "better"}
CASES = {"better": (difference("invalid"), "[0.160, 0.320]"), "in every row": (difference("invalid", standard_error=0.0), "0.241"), "harmless": (difference("minor", low=0.01, high=0.04), "0.0506"),
         "equivalent": (difference("valid", verdict="equivalent", low=-0.01, high=0.04), "0.0506"), "the same": (difference("valid", verdict="the same"), "same log score"),
         "precision": (difference("inconclusive", "precision", low=-0.02, needed=3300.0), "about 3,300 rows would decide"), "open": (difference("inconclusive", "precision", low=-0.02), "[−0.020, 0.320]"),
         "few rows": (difference("inconclusive", "few rows", low=-np.inf, high=np.inf), "too few"), "equal rows": (difference("inconclusive", "equal rows", standard_error=0.0), "too few"),
         "few resamples": (difference("inconclusive", "few resamples", low=-np.inf, high=np.inf), "resamples"),
         "rows": (difference("inconclusive", "rows", deciders=ROWS, without=WITHOUT), "rows 3 (line 5) and 17 (line 19) decide alone"),
         "group": (difference("inconclusive", "rows", deciders=GROUPS, without=WITHOUT | {"verdict": "equivalent"}), "group north (2,000 of 3,000 rows) decides alone"),
         "unseen": (difference("inconclusive", "unseen", low=-0.4, seen=0.0), "forest"), "unseen the other way": (difference("inconclusive", "unseen", low=0.1, seen=2.0), "process")}


def plain(text):
    "No word that is never printed, and no sentence of more than 28 words."
    assert not [word for word in NEVER if re.search(rf"\b{word}", text)], text
    for sentence in re.split(r"(?<=[.:?]) (?=[A-Z])", text): assert len(sentence.split()) <= 28, sentence
    assert "None" not in text and "nan" not in text


@every_case("case", CASES)
def test_each_difference_has_its_line_and_its_sentence(case):
    finding, number = CASES[case]
    line, sentence = LINES["model_difference"](finding), SENTENCES["model_difference"](finding)
    plain(line), plain(sentence)
    assert number.lower() in line.lower() and not line.endswith(".") and sentence.endswith(".") and "forest" in sentence and "process" in sentence
    assert len(line) < 160


PARTS = ("none", "little", "possible", "against", "all", "nearly all", "most", "part")
RESTS = ({}, {"state": "recalibrated", "by": (0.213, 0.028), "parts": ()}, {"state": "best", "by": (-0.213, 0.028), "parts": ()})


@pytest.mark.parametrize(("part", "rest"), itertools.product(PARTS, RESTS))
def test_each_cause_has_its_words(part, rest):
    cause = {"code": "calibration", "part": part, "calibration": (-0.126 if part == "against" else 0.126, 0.033), "correction": (("factor", 1.9), ("curve", None)), "rest": rest}
    sentence = SENTENCES["model_difference"](difference("invalid", cause=cause))
    plain(sentence)
    assert ("0.126 ± 0.033" in sentence) == (part != "none") and ("a factor of 1.90" in sentence) == (part in ("all", "nearly all", "most", "part"))
    if rest: assert f"{'forest' if rest['by'][0] > 0 else 'process'} would lead by 0.213 ± 0.028" in sentence


@pytest.mark.parametrize("code", ["better", "equal", "worse", "unclear"])
def test_what_stays_says_whether_predictions_or_uncertainties_make_it(code):
    rest = {"state": "recalibrated", "by": (0.213, 0.028), "parts": (("predictions", code, 0.0173, 0.009), ("discrimination", code, 0.196, 0.029))}
    cause = {"code": "calibration", "part": "none", "calibration": (0.0, 0.03), "correction": (), "rest": rest}
    sentence = SENTENCES["model_difference"](difference("invalid", cause=cause))
    plain(sentence)
    assert "0.0173 ± 0.0090" in sentence and "0.196 ± 0.029" in sentence


@pytest.mark.parametrize("cause", [{"code": "no gain"}, {"code": "ahead", "front": "process", "other": "forest", "by": (0.35, 0.01), "both": True, "correction": (("factor", 2.01),)}])
def test_a_model_that_recalibration_would_put_in_front_is_named(cause):
    sentence = SENTENCES["model_difference"](difference("invalid", cause=cause, moved=(0.2, 0.02), deciders=ROWS))
    plain(sentence)
    assert "Without rows 3 (line 5) and 17 (line 19) the lead is 0.200 ± 0.020." in sentence and (cause["code"] == "no gain" or "a factor of 2.01, process would be better than forest by 0.350 ± 0.010" in sentence)


FACTS = {"models_repeat": {"repeated": 900, "n": 1000, "what": "rows"}, "models_apart": {"lag": 200, "n": 600, "correlation": 0.4}, "models_duplicates": {"repeated": 90, "n": 1000, "what": "rows"},
         "models_blocks": {"number": 20}, "models_short": {"n": 90, "near": 0.3}, "models_levels": {"count": 3, "first": 0.1, "last": 0.9}, "models_members": {"members": {"a": 5, "b": 50}},
         "models_unlike": {"count": 9, "first": 0.05, "last": 0.95, "kinds": {"a": "quantiles", "b": "members"}}, "models_normal": {"models": ("a", "b")}, "models_zero": {"models": ("a", "b")}, "models_left_out": {"count": 3, "n": 300, "infinite": {"b": 3}}, "models_one_bound": {"infinite": "lower", "scored": "upper", "share": 90.0, "divisor": 0.1},
         "models_one_row": {"row": "17 (line 19)", "share": 0.44, "best": "a", "model": "b"}, "models_few": {"n": 90, "one_of": "eight"}, "models_other_score": {"score_name": "CRPS", "best": "a", "model": "b", "by": (0.15, 0.01)}}


@every_case("code", CAUTIONS)
def test_each_caution_has_its_sentence(code):
    said = Caution(code=code, facts=FACTS.get(code, {})).sentence
    plain(said)
    assert said.endswith(".") and len(said) > 20


@pytest.mark.parametrize(("verb", "models", "more", "said"), [
    ("use", ("a",), {}, "Use a."), ("use", ("a", "b"), {}, "a and b do equally well: choose by what they cost."),
    ("use", ("a",), {"recalibrate": ("a",)}, "Recalibrate it first: a factor of 1.60 gains 0.100 ± 0.020 in log score on held-out rows."),
    ("recalibrate", ("b",), {"over": ("a",), "rivals": ("c",)}, "Recalibrate b first (a factor of 1.60): it would then be better than a."),
    ("collect", ("a", "b"), {"n_needed": 3000}, "about 3,000 rows would decide"), ("collect", ("a", "b"), {}, "many more rows would be needed"),
    ("check", ("a", "b"), {}, "Check rows 3 (line 5) and 17 (line 19) first"), ("separate", ("a", "b"), {}, "Compare on")])
def test_each_step_has_its_sentence(verb, models, more, said):
    arguments = {"models": models, "recalibrate": (), "over": (), "rivals": (), "n_needed": None} | more
    facts = {"shown": dict(zip("abc", "abc")), "score_name": "log score", "n": 300, "deciders": ROWS, "corrections": dict.fromkeys("abc", (("factor", 1.6),)), "gains": dict.fromkeys("abc", (0.1, 0.02))}
    step = Step(verb=verb, why="models", arguments=arguments, facts=facts)
    plain(step.sentence)
    assert said in step.sentence and (verb, "models") in STEPS


def test_corrections_and_tolerances_are_named():
    assert correction_text((("shift", 0.1), ("factor", 1.9), ("curve", None))) == "a shift of 0.100, a factor of 1.90 and isotonic regression"
    assert correction_text((("line", None),)) == "Platt scaling" and correction_text(()) == ""
    for kind in ("std", "width", "bound", "probability", "given"): plain(tolerance_text(kind, 1.25))


@pytest.mark.parametrize("n", [2, 3, 5])
def test_screens_of_real_comparisons_fit_and_are_plain(n):
    rng = np.random.default_rng(n)
    u = np.exp(rng.normal(0, 0.5, 200))
    error = u * rng.standard_normal(200)
    models = {f"m{k}": (error + 0.02 * k * rng.standard_normal(200), (1 + k // 2) * u) for k in range(n)}
    found = compare_scores(None, models, n_boot=99, rng=0)
    lines = str(found).splitlines()
    assert len(lines) <= 24 and max(map(len, lines)) <= 80 and found.outcome in ("better", "no difference", "inconclusive")
    for text in (found.conclusion, found.step.sentence, *found.details()): plain(text)
    with pytest.raises(TypeError, match="neither true nor false"): bool(found)
