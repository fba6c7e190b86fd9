"""Words on groups and on tables in parts: each template is called with each of its cases, and is short, plain and has its numbers."""

import re

import numpy as np
from every_case import every_case
import pytest

from uqcal._base.results import Interval
from uqcal._words import groups
from uqcal._words.probabilities import findings as probabilities
from uqcal._words.errors import conclusion
from uqcal.reports import Caution, Finding, Step
from uqcal.subgroups.screening import _findings_of_pair, _pair_report, screen
from uqcal.subgroups.two_groups import comparison_graph

NEVER = ("mend", "alike", "stated", "could be there", "settle", "belong together", "like scores", "timid", "extreme", "errs", "whoever", "somebody", "nobody", "by lot",
         "of their own", "undecided", "decided", "told apart", "is told", "taught", "learnt", "points")
SIDES = {"a": "north", "b": "south", "n_a": 40, "n_b": 50}


def plain(text):
    "A text after it was looked through."
    for word in NEVER: assert not re.search(rf"\b{word}\b", text.lower()), (word, text)
    for sentence in re.split(r"(?<=[.;:])\s+", text): assert len(sentence.split()) <= 28, sentence
    assert "nan" not in text and "None" not in text and "  " not in text, text
    return text


def both(finding):
    "Its line and its sentence."
    assert not finding.line.endswith(".") and finding.sentence.endswith(".")
    return f"{plain(finding.line)} {plain(finding.sentence)}"


@pytest.mark.parametrize("b", ["south", None])
@pytest.mark.parametrize("status, reason", [("invalid", None), *(("inconclusive", reason) for reason in ("scores", "shuffles", "few", "steps", "precision"))])
def test_one_of_many_comparisons(status, reason, b):
    facts = SIDES | {"b": b, "n_asked": 12, "n_resamples": 999}
    finding = Finding(name="group north", kind="group_difference", status=status, reason=reason, estimate=-0.123, pvalue=0.04, n=90, facts=facts)
    text = both(finding)
    assert "−0.12" in text and ("everyone" in text) == (b is None) and "40" in text
    assert ("999 shuffles" in text) == (reason == "shuffles") and ("adjusted for 12 comparisons" in text) == (reason not in ("few", "steps"))
    conclusion = plain(groups.groups_conclusion([finding] * 3, 0.2, "north" if b else None))
    assert ("0.20 are not excluded" in conclusion) == (reason is not None) and (reason is None) == conclusion.startswith("3 of 3")
    for count, kind in ((1, "invalid"), (5, "inconclusive")):
        others = Finding(name=f"{count} more", kind="other_groups", status=kind, facts={"count": count, "largest": (finding, finding)[:count], "inconclusive": count - 1})
        assert f"{count} more" in both(others)


@pytest.mark.parametrize("b", ["south", None])
@pytest.mark.parametrize("kuiper, average, explained, says", [
    (0.001, 0.001, False, "At equal scores"), (0.001, 0.5, False, "but no difference on average is shown"), (0.001, 0.5, True, "which may explain it"),
    (0.5, 0.001, False, "no range of scores shows it"), (None, 0.001, False, "differ on average."), (None, 0.5, False, "No difference"), (0.04, 0.5, False, "No clear difference"), (0.5, 0.5, False, "No difference")])
def test_a_pair(kuiper, average, explained, says, b):
    facts = {"steepest": 0.3, "score_low": 0.1, "score_high": 0.2, "method": "permutation", "n_resamples": 99}
    findings = _findings_of_pair(SIDES | {"b": b}, kuiper, (0.12, Interval(-0.02, 0.26), average), is_explained=explained, facts=facts)
    assert says in plain(groups.pair_conclusion(*findings)) and "+0.12 [−0.02, +0.26]" in groups.pair_conclusion(*findings)
    assert ("+0.30" in both(findings[0])) == (kuiper is not None) and "95 % limits" in both(findings[1])


def test_every_caution_and_step():
    facts = {"count": 1, "everyone": True, "clusters": True, "why": "scores", "repeated": 3, "n": 1000, "blocks": 40, "length": 5, "still": True, "groups": 12, "pairs": 66,
             "left_out": ["g1", "g2"], "differ": 1, "inconclusive": 2, "of": 10}
    for code in groups.CAUTIONS:
        for more in ({}, {"everyone": False, "count": 1200, "why": "single rows", "still": False, "inconclusive": 0, "left_out": ["g1"]}):
            plain(Caution(code=code, facts=facts | more).sentence)
    for verb, why in groups.STEPS:
        for b in (None, "south"): plain(Step(verb=verb, why=why, facts={"a": "north", "b": b, "excluded_beyond": 0.12}).sentence)


@pytest.mark.parametrize("against", ["pairs", "all"])
def test_a_screen_fits_its_terminal(against):
    rng = np.random.default_rng(5)
    group = np.repeat([f"g{k:02}" for k in range(14)], 60)
    response = (rng.random(840) < np.where(group == "g03", 0.9, 0.1)) * 1
    found = screen({"y": response, "s": rng.random(840), "g": group}, y_true="y", score="s", by="g", reference=against, n_resamples=99, rng=1)
    lines = str(found).splitlines()
    assert len(lines) <= 24 and max(map(len, lines)) <= 80 and any(line.startswith("VERDICT") for line in lines) and len(found.findings) == (91 if against == "pairs" else 14)
    for paragraph in found.details(): plain(paragraph)
    kept = found.to_dict()
    assert kept["outcome"] == "differ" and "verdict" not in kept and len(kept["comparisons"]) == len(found.findings)
    graph = comparison_graph(response[:60], np.arange(60), response[60:120], np.arange(60), rng=1, n_resamples=99)
    pair = _pair_report(graph, {"a": "g00", "b": "g01", "n_a": 60, "n_b": 60})
    assert max(map(len, str(pair).splitlines())) <= 80
    for text in (*pair.details(), graph.sentence, graph.slope().sentence, groups.bins_sentence("noise")): plain(text)


def of_parts(kind, status, reason, **facts):
    shared = {"confidence": 0.95, "cases": 50, "copied": False, "side_changes": False, "changes": False, "as_is": None}
    return Finding(name=kind, kind=kind, status=status, reason=reason, estimate=1.1, low=0.9, high=1.3, pvalue=0.02, tolerance=1.25, n=500, facts=shared | facts,
                   direction="too small" if status == "invalid" else None)


@every_case("status, reason", [("invalid", None), ("valid", None), *(("inconclusive", reason) for reason in
                                            ("precision", "adjusted", "few", "single_row", "nothing_left", "same_size", "equal_uncertainties"))])
def test_errors_in_parts(status, reason):
    findings = [of_parts(f"{kind}_in_parts", "inconclusive" if status == "valid" and kind != "average" else status, reason, **more)
                for kind, more in (("bias", {"changes": True}), ("average", {"as_is": 1.4}), ("size", {}))]
    for finding in findings: both(finding)
    both(of_parts("bias_in_parts", findings[0].status, reason, side_changes=True, copied=True))
    plain(conclusion.errors_in_parts_conclusion(findings))
    for code in ("copies_in_parts", "errors_in_parts"): plain(Caution(code=code, facts={"copies": 3.2}).sentence)
    for why in ("sample", "memory"): plain(Step(verb="validate", why=why).sentence)


@every_case("status, reason, contradicted, rare", [("invalid", None, 0, 0.01), ("invalid", None, 1, None), ("invalid", None, 1234, None), ("valid", None, 0, 0.01),
                                                                ("inconclusive", "precision", 0, None), ("inconclusive", "few", 0, None)])
def test_calibration_in_parts(status, reason, contradicted, rare):
    for is_off in (True, False):
        facts = {"contradicted": contradicted, "partition": 2, "row": 100, "n_bets": 19.8, "fewest": 100, "predicted": 0.5, "observed": 0.43, "confidence": 0.95, "is_off": is_off,
                 "ece": 0.05, "ece_low": 0.04, "ece_high": 0.06, "ece_limit": 0.07, "n_bins": 15, "rare": rare}
        finding = Finding(name="calibration", kind="calibration_in_parts", status=status, reason=reason, pvalue=0.01, tolerance=0.05, excluded_beyond=0.08, n=2000, facts=facts)
        both(finding)
        plain(probabilities.calibration_in_parts_conclusion(finding))
    for code in ("spiegelhalter_in_parts", "calibration_in_parts"): plain(Caution(code=code).sentence)
    plain(Step(verb="check", why="certain_in_parts").sentence)
