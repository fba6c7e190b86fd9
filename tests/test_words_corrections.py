"""Words on recalibration: every template with each of its cases, its numbers, and the words it may not hold."""
import re
from types import SimpleNamespace

import numpy as np
from every_case import every_case
import pytest

import uqcal
from uqcal._words.corrections import CAUTIONS, STEPS, map_text, recalibration_conclusion
from uqcal.corrections.error_recalibration import recalibrate_errors
from uqcal.reports import Caution, Step

NEVER = ("mend", "as stated", "could be there", "settle", "belong together", "timid", "extreme", "errs", "by lot", "somebody", "nobody", "undecided", "not decided", "told", "taught", "learnt", "alike")


def plain(text):
    "No word that is never printed, and no sentence of more than 28 words."
    assert not [word for word in NEVER if re.search(rf"\b{word}", text)], text
    for sentence in re.split(r"(?<=[.:?]) (?=[A-Z])", text): assert len(sentence.split()) <= 28, sentence
    assert "None" not in text and "nan" not in text


EFFECTS = [({"kind": "unchanged"}, "u unchanged"), ({"kind": "factor", "factor": 1.5, "standard_error": 0.04, "is_heavy": False}, "u × 1.50 ± 0.04"),
           ({"kind": "factor", "factor": 0.72, "standard_error": 0.04, "is_heavy": False, "limits": [0.63, 0.8]}, "u × 0.720 (errors 0.630 to 0.800 × u)"),
           ({"kind": "odds by group", "most": ("C", 0.7, 0.43), "others": 3, "slopes": (0.98, 1.05), "odds": (1.01, 1.01)}, "slope 0.700 and odds × 0.430 in C; slope 0.980 to 1.05 and odds × 1.01 in 3 others; groups not seen stay as predicted"),
           ({"kind": "factor", "factor": 1.5, "standard_error": 0.04, "is_heavy": True}, "too heavy"), ({"kind": "power", "factor": 0.95, "at": 0.3, "power": 1.2}, "u × 0.950 at u = 0.300, more above it"),
           ({"kind": "power", "factor": 0.95, "at": 0.3, "power": 1}, "u × 0.950"), ({"kind": "isotonic", "first": 0.75, "last": 1.11, "lowest": 0.75, "highest": 1.11, "levels": 22}, "u × 0.750 (smallest) to × 1.11 (largest), isotonic in 22 levels"),
           ({"kind": "isotonic", "first": 0.75, "last": 1.11, "lowest": 0.5, "highest": 1.6, "levels": 22}, "up to × 1.60 between, down to × 0.500 between"), ({"kind": "isotonic", "first": 1, "last": 1, "lowest": 1, "highest": 1, "levels": 1}, "nearly equal"),
           ({"kind": "groups", "factors": (("wood", 1.9), ("steel", 0.97)), "others": 0, "lowest": 1, "highest": 1, "common": 1.1}, "u × 1.90 in wood and × 0.970 in steel; × 1.10 in groups that were not seen"),
           ({"kind": "groups", "factors": (("wood", 1.9),), "others": 12, "lowest": 0.9, "highest": 1.1, "common": 1.1}, "× 0.900 to 1.10 in 12 others"),
           ({"kind": "regression", "factor": 0.946, "along": ("u", "log prediction")}, "u × 0.946 at the median, varying with u and log prediction"), ({"kind": "shift", "low": -0.161, "high": 0.0849, "along": None}, "predictions shifted by −0.161 to +0.0849, depending on u"),
           ({"kind": "shift", "low": 0.1, "high": 0.1, "along": "T"}, "predictions shifted by +0.100")]


@pytest.mark.parametrize(("effect", "said"), EFFECTS)
def test_each_map_says_what_it_does(effect, said):
    text = map_text(effect)
    plain(text)
    assert said in text and not text.endswith(".")


def test_steps_of_a_map_come_in_their_order():
    assert map_text({"kind": "steps", "steps": [EFFECTS[-1][0], EFFECTS[0][0]]}) == "predictions shifted by +0.100; u unchanged"


@pytest.mark.parametrize("reason", ["no fewer faults", "no gain", "rows", "small", "nothing"])
def test_each_reason_to_change_nothing_has_its_words(reason):
    report = SimpleNamespace(outcome="unchanged", reason=reason, faults=(("bias", "along u") if reason.startswith("no ") else (), ()))
    text = recalibration_conclusion(report)
    plain(text)
    assert text.startswith("Unchanged: ") and ("Faults: bias and along u." in text) == reason.startswith("no ")


FACTS = {"recalibration_repeats": {"repeated": 200, "n": 300, "what": "rows"}, "recalibration_apart": {"lag": 200, "correlation": 0.4}, "recalibration_rows": {"rows": (17,), "row_names": ("17 (line 19)",)},
         "recalibration_outcome": {"columns": ("observed",)}, "recalibration_impossible": {"rows": (7, 9), "row_names": ()}}


@every_case("code", CAUTIONS)
def test_each_caution_has_its_sentence(code):
    said = Caution(code=code, facts=FACTS.get(code, {})).sentence
    plain(said)
    assert said.endswith(".") and len(said) > 20


@pytest.mark.parametrize("key", STEPS)
@pytest.mark.parametrize("few", [True, False])
def test_each_step_has_its_sentence(key, few):
    facts = {"n_calibration": 25 if few else 300, "n": 300, "few_groups": few, "faults": ("along u",), "is_unexplained": few, "any_gain": few, "rows": (7,), "row_names": ()}
    said = Step(verb=key[0], why=key[1], facts=facts).sentence
    plain(said)
    assert said.endswith(".")


@pytest.mark.parametrize("factor", [1.0, 2.0])
def test_screens_of_real_recalibrations_fit_and_are_plain(factor):
    rng = np.random.default_rng(1)
    u = np.exp(rng.normal(0, 0.5, 200))
    found = recalibrate_errors(factor * u * rng.standard_normal(200) + 0.3 * factor * u * (factor > 1), u, n_boot=99, n_resamples=99, rng=1)
    lines = str(found).splitlines()
    assert len(lines) <= 24 and max(map(len, lines)) <= 80 and found.outcome == ("recalibrated" if factor > 1 else "unchanged")
    plain(found.conclusion), plain(found.step.sentence)
    assert found.to_dict()["outcome"] == found.outcome
    with pytest.raises(TypeError, match="neither true nor false"): bool(found)


def test_what_is_unchanged_says_once_that_no_fault_was_found():
    rng = np.random.default_rng(5)
    p = 1 / (1 + np.exp(-1.5 * rng.standard_normal(60)))
    found = uqcal.recalibrate(rng.random(60) < p, uqcal.Probabilities(p), rng=1)
    assert found.outcome == "unchanged" and found.conclusion.startswith("Unchanged: no fault found; ") and found.conclusion.count("fault") == 1
    y = rng.standard_normal(100)
    found = uqcal.recalibrate(y, uqcal.Intervals(np.full(100, -1.7), np.full(100, 1.7), level=0.9), rng=1)
    assert found.outcome == "unchanged" and found.conclusion.startswith("Unchanged. No fault found; ") and found.conclusion.count("fault") == 1
