"""The stored tables of the study on real drift: how often they were run, what the authors' means say, and the code that made them."""
import io
import os
from pathlib import Path

import notebooks
import numpy as np
import pandas as pd
import pytest
from nbformat.v4 import new_code_cell

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


@pytest.mark.slow
@pytest.mark.skipif("UQCAL_DATA_DIR" not in os.environ, reason="UQCAL_DATA_DIR names no folder with the data sets")
def test_twenty_fresh_repetitions_of_the_bank_agree_with_the_stored_ones():
    study = notebooks.read(STUDIES / "drift_real_data.ipynb")
    defined = next(k for k, cell in enumerate(study.cells) if cell.cell_type == "code" and "def repetition(" in cell.source)
    study.cells[defined + 1:] = [new_code_cell('print(pd.concat([repetition("bank", "iid", 1000 + seed) for seed in range(20)]).to_csv(index=False))')]
    printed = notebooks.execute(study, STUDIES).cells[-1].outputs
    fresh = pd.read_csv(io.StringIO("".join(output.text for output in printed))).query("bin_width == 0.1")
    fresh = fresh[fresh["time"] == fresh["time"].max()].groupby("method")["ce"].agg(["mean", "std"])
    stored = final().query("table == 'bank' and order == 'iid' and bin_width == 0.1").set_index("method")
    for method in PRINTED:
        se = np.hypot(fresh.loc[method, "std"] / np.sqrt(20), stored.loc[method, "ce_sd"] / np.sqrt(stored.loc[method, "repetitions"]))
        assert abs(fresh.loc[method, "mean"] - stored.loc[method, "ce"]) < 4 * se
