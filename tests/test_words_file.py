"""What the file itself shows, in words: each sentence is tried with each of its cases, for its numbers, its length and its words."""
import re

import numpy as np
import pandas as pd
import pytest

from uqcal._words import file
from uqcal.errors import column_causes
from uqcal.errors.known_causes import _CONSTANTS, Cause
from uqcal.errors.causes import _causes_of, _describe_rows, find_causes
from uqcal.reports import Caution, Step
from uqcal._sample.repeats import Repeats, find_repeats, related_cases, related_members, repeated_cases
from uqcal._sample.sample import Sample

NEVER = re.compile(r"\b(mend\w*|as stated|stated|alike|could be|settle|belong together|like scores|too timid|too extreme|errs|by lot|whoever|somebody|nobody|of their own|"
                   r"right ones|fairly|undecided|not decided|event ratio|told|taught|learnt|nan|None)\b")
READINGS = {one.reading for one in _CONSTANTS} | {(looks, ()) for _, looks, _ in column_causes._POWERS} | {("few_members", (3,))}


def checked(text):
    "A text that is fit to print: whole sentences of at most 28 words, none of them on the list."
    assert text.endswith(".") and "  " not in text and not NEVER.search(text), text
    for sentence in re.split(r"(?<=[.?]) (?=[A-Z|u])", text): assert len(sentence.split()) <= 28, sentence
    return text


def cause(name, strength="likely", rows=(), **facts):
    return Cause(name=name, strength=strength, rows=np.array(rows, dtype=np.int64), facts=facts)


def row(name="1,020", column=None, factors=()):
    return {"name": name, "error": -0.169, "uncertainty": 0.00214, "scaled": -79.0, "column": column, "factors": factors}


SOME = {"count": 3, "n": 1200, "row_names": ("7 (line 9)", "8 (line 10)", "9 (line 11)")}
FIFTY = {"rows": range(50), "row_names": tuple(f"{k:,} (line {k + 2:,})" for k in range(5000, 5005))}
LEVEL = {"variant": "level", "ratio": 0.489, "low": 0.467, "high": 0.511, "reading": ("expanded_2", ()), "others": (("half_width_95", ()), ("power_of_ten", (2,)))}
POWERS = {"variance", "root", "precision", "inverse", "logarithm"}
CASES = [  # a cause, and what its sentence must hold
    (cause("outlier", "seen", [1020], variant=None, row_names=("1,020",), shown=(row(),)), ["Row 1,020 (E = −0.169, u = 0.00214, Z = −79) is far from all other rows."]),
    (cause("outlier", "seen", [3, 5], variant=None, row_names=("3", "5"), shown=(row("3"), row("5"))), ["2 rows are far from all others.", "See rows 3 and 5.", "For instance row 3 (E"]),
    (cause("outlier", "seen", [1020], variant="out_of_line", row_names=("1,020",), shown=(row(column="uncertainty", factors=(0.01,)),)), [
        "Possible cause: a wrong unit. Its u looks divided by 100."]),
    (cause("outlier", "seen", [3, 5], variant="ratio", row_names=("3", "5"), shown=(row("3"),), reading=("power_of_ten", (2,)), others=(("power_of_ten", (3,)),)), [
        "For instance row 3 (E", "Possible cause: the units", "It also fits if the units of the two columns differ by a factor of 10^3."]),
    (cause("unit_in_a_row", rows=[1020], variant="out_of_line", row_names=("1,020",), shown=(row(column="uncertainty", factors=(0.01,)),)), ["Its u looks divided by 100."]),
    (cause("unit_in_a_row", rows=[1020], variant="out_of_line", row_names=("1,020",), shown=(row(column="error", factors=(1e4, 57.29578, 0.01, 1e6)),)), [
        "Its E looks multiplied by 10,000 or 57.3 or divided by 100."]),
    (cause("unit_in_a_row", variant="out_of_line", **FIFTY, shown=(row("5,000 (line 5,002)", "error", (1e3,)), row("5,001 (line 5,003)", "uncertainty", (4.184,)))), [
        "50 rows are far", "5,004 (line 5,006) and 45 more.", "E looks multiplied by 1,000.", "u looks multiplied by 4.184."]),
    (cause("unit_in_a_row", rows=[7, 8, 9], variant="ratio", **SOME, ratio=4.56, reading=("units", ("kJ/mol", "kcal/mol", 4.184)), others=()), [
        "In 3 of 1,200 rows (0.25 %) the observed value is about 4.56 times", "rows 7 (line 9), 8 (line 10) and 9 (line 11)", "kJ/mol, the other in kcal/mol (a factor of 4.184)"]),
    (cause("mixed_units", **FIFTY, column="uncertainty", count=50, n=600, ratio=985.0, is_high=True, unit_factor=1e3), [
        "u forms two clusters", "50 of 600 rows (8.3 %) it is about 985 times as large", "another unit (a factor of 1,000)"]),
    (cause("mixed_units", **FIFTY, column="error", count=50, n=600, ratio=17.0, is_high=False, unit_factor=None), ["E forms", "17 times as small", "another group of rows"]),
    (cause("duplicate_rows", "seen", **FIFTY, count=50, n=100, times=2), ["50 of 100 rows (50 %)", "Each row occurs 2 times.", "joined or stacked twice"]),
    (cause("duplicate_rows", "seen", **FIFTY, count=50, n=1000, times=None), ["50 of 1,000 rows (5 %) repeat the error and u"]),
    (cause("zero_errors", "seen", [7, 8, 9], **SOME, below=None), ["exactly zero", "See rows"]),
    (cause("zero_errors", rows=[7, 8, 9], **SOME, below=2.5e-5), ["below 2.5e−05 u"]),
    (cause("code_for_missing", rows=[7, 8, 9], **SOME, column="error", value=999.0), ["have |E| = 999,"]),
    (cause("code_for_missing", rows=[7, 8, 9], **SOME, column="uncertainty", value=99999.0), ["have u = 99,999,"]),
    (cause("floored_uncertainty", "seen", count=60, n=100, value=0.268), ["60 of 100 rows (60 %) have u = 0.268, the smallest", "raised to a floor"]),
    (cause("capped_uncertainty", "seen", count=60, n=100, value=0.268), ["have u = 0.268, the largest", "cut to a cap"]),
    (cause("clipped_errors", "seen", count=60, n=100, value=1.37), ["have |E| = 1.37, the largest", "clipped"]),
    (cause("rounded_uncertainty", "seen", distinct=12, change=0.07, step=None), ["takes only 12 values, with one digit each", "up to 7 %"]),
    (cause("rounded_uncertainty", "seen", distinct=6, change=0.33, step=0.05), ["multiples of 0.05", "up to 33 %"]),
    (cause("rounded_errors", "seen", step=0.6, ratio=2.02), ["multiples of 0.6, which is 2.02 times the median u"]),
    (cause("truncated_errors", of="scaled", end=1.7), ["|E|/u ends at 1.7 without a tail"]),
    (cause("truncated_errors", of="error", end=0.404), ["|E| ends at 0.404"]),
    (cause("outcomes_as_errors", "seen", count=1990, n=2000), ["In 1,990 of 2,000 rows (99.5 %) u² equals", "predicted probability", "uqcal validate --prob"]),
    (cause("constant_uncertainty", "seen", n=2000, value=0.35), ["All 2,000 rows have u = 0.35."]),
    (cause("uncertainty_from_error", "seen", variant="multiple", count=400, n=400, ratio=1.0), ["400 of 400 rows (100 %) u is 1 × |E|."]),
    (cause("uncertainty_from_error", variant="close", spread=1.65, one_sided=False), ["within a factor of 1.65", "from the errors themselves."]),
    (cause("uncertainty_from_error", variant="close", spread=1.65, one_sided=True), ["or all predictions are off by the same multiple of u."]),
    (cause("sorted_columns", "seen", variant="ranks"), ["u ranks the errors perfectly"]),
    (cause("sorted_columns", "seen", variant="order"), ["both in sorted order"]),
    (cause("swapped_columns", sign="positive", count=300, n=300), ["All errors are positive and few are small", "swapped"]),
    (cause("squared_errors", "possible", sign="negative", count=300, n=300), ["All errors are negative", "Possible cause: the column holds squared errors."]),
    (cause("absolute_errors", sign="positive", count=300, n=300), ["All 300 errors are positive", "bias cannot be tested"]),
    (cause("absolute_errors", sign="negative", count=1198, n=1200), ["1,198 of 1,200 errors are negative"]),
    (cause("reversed", correlation=-0.37), ["rank correlation −0.37"]),
    (cause("shifted_rows", lag=1, correlation=0.52, within_rows=-0.03), ["u 1 row below (rank correlation 0.52; −0.03 within rows)"]),
    (cause("shifted_rows", lag=-2, correlation=0.52, within_rows=0.13), ["u 2 rows above", "0.13 within rows"]),
    (cause("reversed_rows", correlation=0.47), ["reverse order of rows (rank correlation 0.47)"]),
    (cause("unrelated_uncertainty", correlation=0.15, expected=0.58, is_weak=True), ["u barely ranks", "0.15", "about 0.58"]),
    (cause("unrelated_uncertainty", correlation=0.0, expected=0.58, is_weak=False), ["u does not rank"]),
    (cause("unit", variant="shift", shift=-273.1), ["about 273 below the predicted", "in K"]),
    (cause("unit", variant="ratio", ratio=958.4, reading=("power_of_ten", (3,))), ["about 958 times the predicted", "10^3"]),
    (cause("offset", mean=0.6, share=0.26, shift=0.168), ["Z averages +0.60 instead of 0 (26 %", "shifted by +0.168."]),
    (cause("offset", mean=-0.6, share=0.26, shift=None), ["Z averages −0.60", "are shifted."]),
    (cause("bias_growing_with_u", mean=-0.67, share=0.32, shift=None), ["32 %", "a systematic part of −0.67 u"]),
    (cause("change_in_the_file", row_name="998 (line 1,000)", ratio=2.1), ["From row 998 (line 1,000) on, Z is 2.1 times as large as before."]),
    (cause("drift", row_name="866", ratio=0.49), ["after row 866 it is 0.49 times"]),
    (cause("two_populations", share=0.31, ratio=5.13), ["about 31 % of the rows it is 5.13 times"]),
    (cause("skewed_errors", ratio=5.39, is_up=True), ["5.39 times as far above its median as below it", "no fault of u"]),
    (cause("skewed_errors", ratio=5.39, is_up=False), ["as far below its median as above it"]),
    (cause("few_members", members=3, ratio=1.41, expected=4 / 3, others=()), ["about 3 values: mean E² is 1.41 times mean u² (1.33 expected)", "2 degrees of freedom"]),
    (cause("detection_limit", "seen", [7, 8], count=126, n=400, value=-1.0, at="least", clear=190), [
        "126 of 400 rows (32 %) have the smallest observed value, −1.", "a limit of detection, or values that are truly equal", "190 rows are predicted more than 2 u above it."]),
    (cause("detection_limit", "seen", [7, 8], count=126, n=400, value=1.0, at="most", clear=190), ["the largest observed value, 1.", "a limit of the scale", "2 u below it."]),
    (cause("relative_uncertainty", power=1.01, feature="size"), ["|Z| grows as size to the power 1.01", "divided by size, so it is relative"]),
    (cause("relative_uncertainty", power=-0.98, feature="size"), ["to the power −0.98", "multiplied by size"]),
    (cause("unit_in_a_group", rows=[1], group="B", feature="lab", ratio=3.94, reading=("units", ("kJ/mol", "kcal/mol", 4.184)), others=(("units", ("cm", "inches", 2.54)),)), ["In lab B, the median |Z| is 3.94 times", "kcal/mol", "It also fits if one column is in cm"]),
    (cause("bias_by_group", rows=[1], group="C", feature="lab", count=2, groups=5, mean=0.969), ["in 2 of 5 groups of lab (in C, Z averages +0.97)"]),
]
for named in ("unit", *sorted({one.name for one in _CONSTANTS} - {"unit"} | {name for name, *_ in column_causes._POWERS})):
    CASES += [(cause(named, "possible", **LEVEL), ["errors are 0.489 × u [0.467, 0.511]." if named not in POWERS else "Errors change along u as if u held another quantity.", "Possible cause: u is an expanded uncertainty (k = 2).", "It also fits if u is the half-width of a 95 %", "10^2"])]


@pytest.mark.parametrize(("found", "held"), CASES, ids=lambda value: value.name if isinstance(value, Cause) else "")
def test_a_cause_says_what_is_seen_and_what_it_may_come_from(found, held):
    text = checked(found.sentence)
    for part in held: assert part in text, (part, text)
    checked(Caution(code="cause", facts={"cause": found}).sentence)
    assert Step(verb="check", why="file", facts={"cause": found}).sentence == f"Check the file first. {text}"
    assert Step(verb="check", why="drift", facts={"cause": found}).sentence.endswith(text)


def test_every_cause_has_its_words_and_each_of_them_is_tried():
    assert {found.name for found, _ in CASES} == set(file.CAUSES)
    assert {looks for looks, _ in READINGS} == set(file._READINGS)


def test_what_a_column_may_hold_names_its_numbers():
    for reading in sorted(READINGS, key=str):
        text = checked(cause("unit", **LEVEL | {"reading": reading, "others": (reading, reading)}).sentence)
        for detail in reading[1]: assert (detail if isinstance(detail, str) else f"{detail:.6g}") in text, reading


def test_labels_of_rows_stand_beside_their_positions():
    rng = np.random.default_rng(1)
    u = np.exp(0.3 * rng.normal(size=400))
    error = pd.Series(u * rng.normal(size=400), index=pd.RangeIndex(2, 402, name="line"))
    error.iloc[[5, 9]] = 1e5
    sample = Sample(error, pd.Series(u, index=error.index))
    (first, second) = _describe_rows(sample, [5, 9])
    assert first.sentence.startswith("Row 5 (line 7) (E = 100,000, ") and "Row 9 (line 11)" in second.sentence
    (both,) = (one for one in _causes_of(sample) if 5 in one.rows)
    assert "See rows 5 (line 7) and 9 (line 11)." in checked(both.sentence)


def test_real_causes_are_fit_to_print():
    rng = np.random.default_rng(2)
    u = 0.3 * np.exp(0.4 * rng.normal(size=600))
    e = u * rng.normal(size=600)
    spoilt = [(e, u**2), (e, 2 * u), (e, u[::-1]), (np.abs(e), u), (e + 0.3, u), (np.where(np.arange(600) > 400, 3, 1) * e, u), (e, np.maximum(u, 0.3)), (np.tile(e, 2), np.tile(u, 2))]
    for columns in spoilt:
        found = find_causes(*columns, least="possible")
        assert found
        for one in found: checked(one.sentence)


# ---------------------------------------------------------------- repeats


def repeats(sign, **facts):
    return Repeats(n=facts.get("n", 2), sign=sign, repeated=facts.get("repeated", 0), repeats=None, lag=facts.get("lag"), correlation=None, pvalue=None, facts=facts)


REPEATS = [
    (repeats("rows", repeated=1000, n=2000, of="rows"), ["1,000 of 2,000 rows repeat an earlier one, with equal error and u."]),
    (repeats("equal rows", repeated=1000, n=2000, of="rows"), ["1,000 of 2,000 rows repeat", "may be copies or different rows"]),
    (repeats("absolute errors", repeated=60, n=120, of="absolute errors"), ["60 of 120 absolute errors repeat an earlier one.", "several predictions of the same rows"]),
    (repeats("scaled errors", repeated=60, n=120, of="scaled errors"), ["60 of 120 scaled errors", "in two units"]),
    (repeats("uncertainties", correlation=0.31, pvalue=1e-9), ["same u have correlated errors (rank correlation 0.31, p < 0.001)"]),
    (repeats("neighbours", n=1000, lag=1, correlation=0.39, pvalue=4e-4), ["Adjacent rows have correlated errors (rank correlation 0.39, p < 0.001)", "sorted by something"]),
    (repeats("blocks", n=1000, lag=200, correlation=0.39, pvalue=1e-9), ["Rows 200 apart have correlated errors", "the same rows 5 times"]),
    (repeats(None, n=1000, lag=2, correlation=0.05, pvalue=0.2), ["No sign of repeats or correlation among 1,000 rows.", "Only their origin can show"]),
    (repeats(None, n=1, lag=None, correlation=None, pvalue=None), ["among 1 row.", "were not compared: rows are few or sorted"]),
    (Repeats(n=600, sign="nearby", repeated=0, repeats=None, lag=2, correlation=0.1, pvalue=0.02, facts={"n": 600, "correlation": 0.05, "pvalue": 0.001}), ["Rows up to 20 apart", "0.05"]),
]


@pytest.mark.parametrize(("found", "held"), REPEATS, ids=lambda value: str(value.sign) if isinstance(value, Repeats) else "")
def test_repeats_say_what_repeats_and_how_often(found, held):
    text = checked(found.sentence)
    for part in held: assert part in text, (part, text)


def test_every_sign_of_repeats_is_tried():
    assert {found.sign for found, _ in REPEATS} == set(file.REPEATS)
    checked(find_repeats([1.0, 2, 1, 2], [1.0, 1, 2, 2]).sentence)


CAUTIONS = [
    (Caution(code="members_correlated", facts={"blocks": 20, "length": 1024, "still": True}), ["Adjacent rows have correlated outcomes", "1,024", "Even these blocks"]),
    (Caution(code="repeated_members", facts={"repeated": 800, "n": 1000}), ["800 of 1,000 members repeat an earlier one"]),
    (Caution(code="counted_once", facts={"repeated": 10, "n": 100, "of": "rows"}), ["10 of 100 rows repeat an earlier one, so each set of repeats counts once"]),
    (Caution(code="copies", facts={"repeated": 10, "n": 100, "of": "scaled errors"}), ["10 of 100 scaled errors repeat"]),
    (Caution(code="correlated_rows", facts={"lag": 1, "correlation": 0.39, "pvalue": 1e-9}), ["Adjacent rows", "0.39", "--groups"]),
    (Caution(code="correlated_rows", facts={"lag": 200, "correlation": 0.39, "pvalue": 1e-9}), ["Rows 200 apart"]),
    (Caution(code="off_limits", facts={"n": 400, "clear": 190, "judged": True, "at_limit": 126, "not_asked": ("site", "year")}), [
        "126 rows stand at a limit", "The 190 of 400 rows that are predicted more than 2 u from it are validated.", "Not tested along site, year."]),
    (Caution(code="off_limits", facts={"n": 40, "clear": 9, "judged": False, "at_limit": 26, "not_asked": ()}), ["only 9 are predicted clear of it"]),
    (Caution(code="shared_uncertainty"), ["Rows with the same u"]),
    (Caution(code="fitted_errors"), ["errors sum to zero", "a model was fitted to"]), (Caution(code="fitted_uncertainties", facts={"total": 1119}), ["sum to 1,119", "fitted to"]),
    (Caution(code="fitted_levels"), ["equal the shares of events", "fitted to"]), (Caution(code="fitted_events"), ["As many events occur as are predicted", "fitted to"]),
    (Caution(code="members_periodic", facts={"period": 240, "times": 10}), ["Rows 240 rows apart", "10 times", "--groups"]),
    (Caution(code="stretches_as_groups", facts={"sign": "nearby", "stretches": 25, "correlation": 0.05, "pvalue": 1e-4}), ["Rows up to 20 apart", "25 stretches"]),
    (Caution(code="stretches_as_groups", facts={"sign": "neighbours", "stretches": 25, "correlation": 0.2, "pvalue": 1e-9}), ["Adjacent rows", "0.20"]),
    (Caution(code="groups_correlated", facts={"correlation": 0.31, "pvalue": 1e-4}), ["Adjacent groups", "0.31", "--groups"]),
]


@pytest.mark.parametrize(("caution", "held"), CAUTIONS, ids=lambda value: value.code if isinstance(value, Caution) else "")
def test_cautions_name_their_numbers(caution, held):
    text = checked(caution.sentence)
    for part in held: assert part in text, (part, text)


def test_every_caution_and_step_is_tried():
    assert {caution.code for caution, _ in CAUTIONS} | {"cause"} == set(file.CAUTIONS)
    for lag, where in ((1, "adjacent rows"), (816, "rows 816 apart")):
        assert where in checked(Step(verb="check", why="clusters", facts={"lag": lag}).sentence)


def test_cautions_on_cases_and_members_hold_what_was_counted():
    rng = np.random.default_rng(3)
    p = rng.uniform(0, 1, 400)
    y = (rng.random(400) < p) * 1.0
    assert repeated_cases(y, p) == (None, None) and related_cases(y, p) == (None, None)
    assert repeated_cases(np.tile(y, 3), np.tile(p, 3))[1] == Caution(code="cases_in_blocks", decides=True, facts={"rows": 400, "times": 3})
    assert repeated_cases(y, p.round(1))[1] == Caution(code="cases_few_values", facts={"values": 11})
    assert related_cases(y, p.round(1)) == (None, None)  # is usual, and not said
    rows = rng.permutation(np.repeat(np.arange(400), 2))
    labels, caution = related_members(y[rows], p[rows], np.zeros(800))
    assert np.unique(labels).size == 400 and caution.facts == {"repeated": 400, "n": 800}


@pytest.mark.parametrize(("clear", "said"), [(0, "none is predicted clear"), (1, "only 1 is predicted clear"), (7, "only 7 are predicted clear")])
def test_rows_clear_of_a_limit_are_counted_in_english(clear, said):
    assert said in Caution(code="off_limits", facts={"at_limit": 365, "judged": False, "clear": clear, "n": 600, "not_asked": ()}).sentence
