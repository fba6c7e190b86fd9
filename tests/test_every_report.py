"""Every report can do the same: a headline, a page, tables, numbers, a picture and JSON, whatever it is about."""
import json
import re

import every_report
import matplotlib.pyplot as plt
import pandas as pd
from every_case import every_case
import pytest

from uqcal._base.results import Interval
from uqcal.reports import Finding
from uqcal._words.headlines import headline

UNDRAWN = {"errors in parts"}  # sums of a table in parts, of which nothing is drawn
MORE = {"validation": {"statistics"}, "scores": {"statistics"}, "intervals": {"corrections"}, "probabilities": {"statistics"}, "recalibrated errors": {"candidates"}, "recalibrated quantiles": {"candidates", "reliability"},
        "recalibrated probabilities": {"candidates"}, "models": {"models", "pairs"}, "screening": {"comparisons"}, "probability stream": {"curve", "alarms"}}


@pytest.mark.parametrize("name", every_report.MAKERS)
def test_every_report_keeps_one_protocol(name, tmp_path):
    found = every_report.report(name)
    assert len(found.headline.split()) <= 12 and found.headline[0].isupper() and not found.headline.endswith(".")
    assert found.n > 0 and (found.n_groups is None or found.n_groups > 1)
    assert all(isinstance(value, float) for value in found.numbers.values())
    told = json.loads(found.to_json(tmp_path / "report.json"), parse_constant=pytest.fail)
    assert told == json.loads((tmp_path / "report.json").read_text(encoding="utf-8")) and told["conclusion"] == found.conclusion
    assert list(found.to_frame()["name"]) == [one.name for one in found.findings]
    assert {"findings", "parts"} | MORE.get(name, set()) <= set(found.tables())
    for what, table in found.tables().items(): pd.testing.assert_frame_equal(found.to_frame(what), table)
    with pytest.raises(ValueError, match="what must be"): found.to_frame("rows")
    if name in UNDRAWN:
        assert found.picture is None
        with pytest.raises(ValueError, match="nothing to draw"): found.plot()
    else:
        ax = plt.subplots()[1]
        assert found.plot(ax) is ax and found.plot(finding=found.deciding.name).figure is not ax.figure
        assert found.picture.alt and found.picture.caption
    with pytest.raises(KeyError): found.plot(finding="no such question")


@pytest.mark.parametrize("name", every_report.MAKERS)
def test_every_page_begins_with_the_verdict_and_folds_the_rest(name, tmp_path, request):
    if name in ("validation", "scores"): request.getfixturevalue("undrawn")  # ten pictures, which tests/test_report.py draws
    found = every_report.report(name)
    page = found.to_html(tmp_path / "report.html", details={"Seed": "7", "On the command line": "uqcal next FILE"})
    assert page == (tmp_path / "report.html").read_text(encoding="utf-8") and page.count("<h1>") == page.count('class="headline"') == 1
    order = [page.index(part) for part in ('class="headline"', *(["<img"] if name not in UNDRAWN else []), 'class="findings"', "Next: ", "uqcal next FILE", "<details>", "<footer>", "<dt>Date", "<dt>Seed", "<dt>Rows", "<dt>Python")]
    assert order == sorted(order) and page.count("<img") - page.count("<img", page.index("<details>")) == (name not in UNDRAWN)
    assert page.count("<details>") == page.count("</details>") >= 1 and not re.search(r">(?:nan|None|inf)<", page)
    assert ("badge" in page[:page.index("findings\">")].split("<main>")[1]) == (not hasattr(found, "outcome"))


@every_case("name", every_report.MAKERS)
def test_a_notebook_shows_the_screen_and_the_picture(name):
    found = every_report.report(name)
    shown = found._repr_html_()
    assert shown.startswith("<pre>") and ("data:image/svg+xml" in shown) == (name not in UNDRAWN) and len(shown) < 100_000 and found.picture is found.picture
    assert "VERDICT" in shown and "NEXT" in shown


def test_titles_are_given_or_asked():
    found = every_report.report("probabilities")
    assert "<h1>Are these probabilities calibrated?</h1>" in found.to_html() and "<h1>Rain</h1>" in found.to_html(title="Rain")
    with pytest.raises(TypeError, match="title must be text, got int"): found.to_html(title=3)


LONG = "a column with a very long name of many words"


@every_case("kind", ["bias", "average", "size", "ranking", "coverage_by", "calibration_by", "locally", "slope", "overall", "sides"])
def test_headlines_are_short_whatever_names_are(kind):
    from uqcal.reports import Place
    part = Place(along=LONG, first=LONG, last=LONG, count=3, of=9, by_group=True)
    if kind == "locally": part = Place(along="probability", first=0.001, last=0.99999, count=3, of=9)
    one = Finding(name=f"{kind} by {LONG}", kind=kind, status="invalid", direction="too small", by=LONG, by_group=True, part=part, estimate=1.23456, facts={"level": 0.9})
    for number in (1, 2, 5): assert len(headline([one] * number).split()) <= 12, headline([one] * number)


@pytest.mark.parametrize("status, scope, pvalue, says", [("valid", "whole", 0.5, "Calibrated: any fault beyond the tolerance is excluded"), ("minor", "whole", 0.01, "Small faults only, all within the tolerance"),
    ("inconclusive", "whole", 0.5, "Inconclusive: no fault found, and none excluded"), ("inconclusive", "place", 0.5, "Calibrated on the whole; local faults are not all excluded"),
    ("inconclusive", "whole", None, "Inconclusive: these rows could not be tested")])
def test_headlines_without_a_fault(status, scope, pvalue, says):
    assert headline([Finding(name="bias", kind="bias", status=status, scope=scope, pvalue=pvalue)]) == says


def test_the_finding_that_decides_is_the_one_that_the_headline_names_first():
    found = every_report.report("validation")
    assert found.deciding.name == "on average" and found.headline.startswith("Overconfident: errors 1.30 × the predicted std")
    assert isinstance(found.deciding.confidence_interval, Interval)


def test_estimators_show_what_they_were_fitted_to():
    from uqcal.probabilities.recalibration import PlattScaling
    found = every_report.report("recalibrated errors")
    shown = found.model._repr_mimebundle_()["text/html"]
    assert "<svg" not in shown and "<script" not in shown and found.model.sentence in shown.replace("&#x27;", "'")
    assert "not fitted yet" in PlattScaling()._repr_mimebundle_()["text/html"] and PlattScaling()._repr_mimebundle_()["text/plain"] == "PlattScaling()"
