"""The stored tables of the study on real drift: how often they were run, what the authors' means say, and the code that made them."""
import os
import re
from pathlib import Path

import nbformat
import numpy as np
import pandas as pd
import pytest

STUDIES = Path(__file__).parent.parent / "nbs" / "studies"
PRINTED = {"BM": .0316, "FPS": .0331, "WPS": .0306, "OPS": .0302, "TOPS": .0069, "HOPS": .0178, "OBS": .0185, "TOBS": .0077, "HOBS": .0162, "WHB": .0097, "TWHB": .0088}


def final():
    results = pd.read_csv(STUDIES / "drift_real_data.csv")
    return results[results["time"] == results.groupby("table")["time"].transform("max")]


def test_at_least_ten_repetitions_of_each():
    assert final()["repetitions"].min() >= 10 and pd.read_csv(STUDIES / "drift_synthetic.csv")["repetitions"].min() >= 10


@pytest.mark.parametrize("method", PRINTED)
def test_bank_agrees_with_the_authors_means(method):
    started = f"{method} released" if method in ("TOPS", "TOBS", "TWHB") else method          # as the code that made the printed means begins
    last = final().query("table == 'bank' and order == 'iid' and bin_width == 0.1").set_index("method").loc[started]
    assert abs(last["ce"] - PRINTED[method]) < 3 * last["ce_sd"] / np.sqrt(last["repetitions"])


def test_orderings_are_the_authors():
    wide = final().query("bin_width == 0.1").pivot(index=["table", "order"], columns="method", values="ce")
    for name in ("bank", "credit", "churn"):
        for order in ("iid", "drift"): assert wide.loc[(name, order), ["BM", "FPS", "WPS", "OPS", "TOPS", "HOPS"]].idxmin() == "TOPS"
    drift = wide.xs("drift", level="order")
    assert (drift["OPS"] <= drift["FPS"]).all() and (drift["OPS"] <= drift["BM"]).all()


def cells(name):
    notebook = nbformat.read(STUDIES / f"{name}.ipynb", as_version=4)
    return [c.source for c in notebook.cells if c.cell_type == "code" and re.search(r"^(?:def |import |from |TREES|STORED|TIMES)", c.source, re.M)]


@pytest.mark.slow
@pytest.mark.skipif("UQCAL_DATA_DIR" not in os.environ, reason="UQCAL_DATA_DIR names no folder with the data sets")
def test_twenty_fresh_repetitions_of_the_bank_agree_with_the_stored_ones(monkeypatch):
    monkeypatch.chdir(STUDIES)
    space = {}
    for source in cells("drift_real_data"):
        if "def arrange" in source or "def calibeaten" in source or source.startswith("#| code-fold"): exec(source, space)
        if "def uncalibeaten" in source: exec(source.split("if REPETITIONS")[0], space)
    fresh = pd.concat([space["repetition"]("bank", "iid", 1000 + seed) for seed in range(20)]).query("bin_width == 0.1")
    fresh = fresh[fresh["time"] == fresh["time"].max()].groupby("method")["ce"].agg(["mean", "std"])
    stored = final().query("table == 'bank' and order == 'iid' and bin_width == 0.1").set_index("method")
    for method in PRINTED:
        se = np.hypot(fresh.loc[method, "std"] / np.sqrt(20), stored.loc[method, "ce_sd"] / np.sqrt(stored.loc[method, "repetitions"]))
        assert abs(fresh.loc[method, "mean"] - stored.loc[method, "ce"]) < 4 * se
