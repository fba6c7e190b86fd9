"""The benchmark beside other packages: what its page and README say is what the stored table holds, with a reason for each row that needs one."""
import re
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "benchmarks"))
import costs
import limits
import side_by_side

TABLE, RUN = side_by_side.stored()


def test_the_readme_says_what_the_table_holds():
    assert (ROOT / "benchmarks" / "README.md").read_text("utf-8") == side_by_side.readme(TABLE, RUN), "run `python benchmarks/side_by_side.py --write`"


@pytest.mark.parametrize("found, reasons", [(side_by_side.behind(TABLE), side_by_side.BEHIND), (side_by_side.differing(TABLE), side_by_side.DIFFERS)], ids=["slower", "different"])
def test_each_row_that_is_slower_or_different_has_a_reason_and_no_reason_lacks_its_row(found, reasons):
    "Which rows are slower differs between machines, so a reason may wait for one of them."
    assert set(zip(found["what"], found["peer"])) <= set(reasons) <= set(zip(TABLE["what"], TABLE["peer"]))


def test_each_call_that_is_farther_from_its_limit_than_allowed_has_a_reason():
    table = limits.stored()
    far = set(table.loc[table["ratio"] > table["allowed"], "call"])
    assert far <= set(limits.WHY) <= set(table["call"]) and len(table) == 12


def test_no_row_ends_early_without_a_reason():
    last = TABLE.loc[TABLE.groupby(["what", "peer"])["n"].idxmax()]
    assert last.loc[last["n"] < TABLE["n"].max(), "ends"].notna().all()


def test_the_lowest_ratio_of_a_row_is_told():
    "A made table: faster at first and at last, slower between."
    rows = TABLE[(TABLE["what"] == "CRPS") & (TABLE["peer"] == "scoringrules")].sort_values("n")[:4].assign(ratio=[0.2, 3.0, 0.5, 2.0])
    (one,) = side_by_side.behind(rows).itertuples()
    assert (one.n, one.ratio) == (10**5, 0.5)


@pytest.mark.parametrize("ratio, told", [(0.0312, "0.031"), (0.996, "1"), (9.94, "9.9"), (9.96, "10"), (32310.0, "32,000")])
def test_ratios_are_told_to_two_digits(ratio, told):
    assert side_by_side.two_digits(ratio) == told


def test_make_bench_runs_it_first():
    assert re.search(r"for script in benchmarks/side_by_side\.py \$\(filter-out [^)]*%/side_by_side\.py", (ROOT / "Makefile").read_text("utf-8"))


def test_costs_are_stored_for_every_verb_and_kind_and_reports_stay_small():
    table = costs.stored()
    assert list((table["verb"] + ", " + table["kind"]).drop_duplicates()) == costs.NAMES and not table.duplicated(["verb", "kind", "n"]).any()
    assert set(table.groupby(["verb", "kind"])["n"].min()) == {costs.SIZES[0]} and set(table["n"]) <= {*costs.SIZES, 500_000}
    assert table[["json_megabytes", "report_megabytes"]].max().max() < 3
