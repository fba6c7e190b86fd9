from __future__ import annotations

from typing import Any

import numpy as np
from uqcal._base.inputs import printable
from uqcal._base.results import enumerated, three_digits
from uqcal._words.text import counted, p_text


def _moved(what, shift, factor):
    "Up or down by a share of the std, and the factor of the spread."
    if abs(shift) < 0.005: way = f"{what} not moved"
    else: way = f"{what} moved {'up' if shift > 0 else 'down'} by {abs(shift):.2f} std of the row"
    return f"{way}, spread × {three_digits(factor)}"


def _by_group(groups):
    "What groups get on top; empty where they have no maps."
    if groups is None: return ""
    moved = _moved("it is", groups["shift"], groups["factor"])
    return (f"; then a line for each of {counted(groups['count'], 'group')}, the largest in "
            f"{printable(groups['most'])[:40]} ({moved.removeprefix('it is ')})")


def map_text(effect: Any,  # what a map does: `kind` and its numbers
             ) -> str:  # "conformal PIT: median moved up by 0.52 std of the row, spread × 1.68"
    """What a map does to quantiles or members."""
    kind = effect["kind"]
    if kind == "shift by level":
        low, high = (f"{one:+.2f}".replace("-", "−") for one in (effect["low"], effect["high"]))
        return f"each level shifted, by {low} to {high} of a row's outer width"
    what = "members" if kind.startswith("members") else "median"
    told = _moved(what, effect["shift"], effect["factor"])
    if kind == "members, line in the mean":
        told += f", mean × {three_digits(effect['slope'])} about its average"
    if kind == "conformal PIT": told = f"conformal PIT: {told}"
    return told + _by_group(effect["groups"])


def _method_line(finding): return map_text(finding.facts["effect"])


def _method_sentence(finding):
    told = map_text(finding.facts["effect"])
    text = f"{told[:1].upper()}{told[1:]}."
    if finding.facts["effect"]["kind"] not in ("conformal PIT", "shift by level"): return text
    return (f"{text} Each level keeps the rank of one of {finding.facts['n']:,} outcomes. On new "
            f"rows it covers at most 1/{finding.facts['n'] + 1:,} further out than claimed, on "
            "average.")


def _gain(finding):
    "A gain with its limits, and the share of the score."
    error = max(finding.facts["standard_error"], 1e-12)
    k = int(np.clip(1 - np.floor(np.log10(error)), 0, 8))
    value, low, high = (f"{one:.{k}f}".replace("-", "−")
                        for one in (finding.estimate, finding.low, finding.high))
    share = 100 * finding.estimate / max(finding.facts["score"], 1e-300)
    return f"CRPS lower by {value} [{low}, {high}] per row ({share:.2g} %)"


def _gain_line(finding): return f"{_gain(finding)}, cross-validated"


def _gain_sentence(finding):
    return (f"{_gain(finding)} in cross-validation. The same rows chose the map, so this is "
            "optimistic.")


_WAYS = {"bias": ("too low", "too high"), "spread": ("too narrow", "too wide"),
         "skew": ("upper side too short", "lower side too short"),
         "tails": ("tails too light", "tails too heavy")}


def _state(finding, when):
    "What is shown of a fault before or after, with its p-value."
    facts = finding.facts
    if facts[when] >= facts["alpha"]: return "none shown"
    t = facts["t_before" if when == "before" else "t_after"]
    return f"{_WAYS[finding.name][t < 0]}, {p_text(facts[when])}"


def _covered(finding, name):
    "The share within the outermost levels; empty where it is not known."
    share = finding.facts.get(name)
    if share is None: return ""
    return f"; {100 * share:.3g} % within the outer levels"


def _fault_line(finding):
    facts = finding.facts
    claimed = ""
    if facts.get("claimed") is not None: claimed = f" ({100 * facts['claimed']:.3g} % claimed)"
    before = f"before: {_state(finding, 'before')}{_covered(finding, 'covered')}{claimed}"
    if facts["after"] is None: return before
    return f"{before}. After: {_state(finding, 'after')}{_covered(finding, 'covered_after')}"


def _fault_sentence(finding):
    line = _fault_line(finding)
    return f"{line[:1].upper()}{line[1:]}."


def reliability_lines(table: Any,  # columns `level`, `before`, `after`
                      has_after: bool,  # whether anything was changed
                      ) -> list[str]:  # two or three rows of at most 80 columns
    """Shares of outcomes at or below each level, in per cent."""
    rows = {"level %": "level", "before %": "before"} | ({"after %": "after"} if has_after else {})
    return [f"  {name:<10}" + "".join(f"{f'{100 * one:.3g}':>7}" for one in table[column])
            for name, column in rows.items()]


_NAMES = {"Quantiles": "quantiles", "Samples": "ensemble", "Distribution": "distributions"}
_UNCHANGED = {True: "no map gains more than its standard error", False: "no fault was found"}


def title(report: Any,  # a `ForecastRecalibration`
          ) -> str:
    """The kind of statement, the number of rows and of clusters."""
    name, clusters = _NAMES[type(report.given).__name__], ""
    if report.is_recalibrated: name = f"recalibrated {name}"
    if report.n_groups is not None: clusters = f" in {report.n_groups:,} clusters"
    return f"{name}, {report.n:,} rows{clusters}"


def headline(report: Any,  # a `ForecastRecalibration`
             ) -> str:  # at most twelve words
    """How many faults there were before and after."""
    before, after = map(len, report.faults)
    if not report.is_recalibrated:
        if before: return "Unchanged: no correction helps"
        return "Unchanged: nothing shows that a correction would help"
    was = counted(before, "fault") if before else "no fault"
    if after: now = f"{after} left"
    else: now = "none shown"
    return f"Recalibrated: {was} before, {now} after"


def conclusion(report: Any,  # a `ForecastRecalibration`
               ) -> str:  # a few sentences
    """What was done, and which faults there were before and after."""
    before, after = report.faults
    if not report.is_recalibrated:
        faults = f" Faults: {enumerated(list(before))}." if before else ""
        return f"Unchanged: {_UNCHANGED[bool(before)]}.{faults}"
    if before: was = f"Faults before: {enumerated(list(before))}."
    else: was = "Groups differed; no fault was shown on the whole."
    now = enumerated(list(after)) if after else "none shown"
    return f"Recalibrated: {map_text(report.model.effect)}. {was} After, cross-validated: {now}."


def _levels(caution):
    "Levels that too few rows reach."
    levels = [f"{one:g}" for one in caution.facts["levels"]]
    if len(levels) > 4: levels = [*levels[:2], *levels[-2:]]
    return (f"Levels {enumerated(levels)} would need {caution.facts['needed']:,} rows. They follow "
            "the fitted line, without a promised coverage.")


def _validate(step):
    "What to do after a recalibration."
    left = " Still a fault: look for a column that explains it." * step.facts["is_left"]
    return ("Apply it to new forecasts, and validate on rows that were not used here; the gain "
            f"above is optimistic.{left}")


LINES: dict[str, Any] = {"forecast_method": _method_line, "forecast_gain": _gain_line,
                         "forecast_fault": _fault_line}
SENTENCES: dict[str, Any] = {"forecast_method": _method_sentence, "forecast_gain": _gain_sentence,
                             "forecast_fault": _fault_sentence}
CAUTIONS: dict[str, Any] = {
    "forecast_levels": _levels,
    "forecast_stretches": lambda caution: (
        "Neighbouring rows are correlated: folds are ranges of rows. Coverage is promised for "
        "exchangeable rows only."),
    "forecast_unseen": lambda caution: (
        "Groups that were not seen here get the common map: validate them before use.")}
STEPS: dict[Any, Any] = {
    ("validate", "recalibrated_forecasts"): _validate,
    ("correct", "forecasts"): lambda step: (
        "No map corrects this. Look for a column that explains it, or refit the model."),
    ("use", "calibrated_forecasts"): lambda step: (
        "Keep the forecasts: nothing shows that a correction would help.")}

__all__=['map_text', 'reliability_lines', 'title', 'headline', 'conclusion']
