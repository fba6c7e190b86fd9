"""The stored tables of the study on real drift: how often they were run, what the authors' means say, and the code that made them."""
import ast
import io
import os
from pathlib import Path

import notebooks
import numpy as np
import pandas as pd
from every_case import every_case
import pytest
from joblib import Parallel, delayed
from nbformat.v4 import new_code_cell

STUDIES = Path(__file__).parent.parent / "nbs" / "studies"
PRINTED = {"BM": .0316, "FPS": .0331, "WPS": .0306, "OPS": .0302, "TOPS": .0069, "HOPS": .0178, "OBS": .0185, "TOBS": .0077, "HOBS": .0162, "WHB": .0097, "TWHB": .0088}


MIXED = ["mixture", "offsets"]


def final(measure="ce", bin_width=0.1):
    results = pd.read_csv(STUDIES / "drift_real_data.csv")
    last = results[results["time"] == results.groupby("table")["time"].transform("max")]
    return last[(last["measure"] == measure) & (last["bin_width"] == bin_width)]


def test_how_often_each_setting_was_repeated():
    published = final()[~final()["method"].isin(MIXED)]
    assert published["repetitions"].min() >= 10 and len(published) == 8 * 15
    assert final()["repetitions"].min() >= 10 and set(final("auc", 0.0)["method"]) == set(final()["method"])
    assert pd.read_csv(STUDIES / "drift_synthetic.csv")["repetitions"].min() >= 10


def defined(*names, **known):
    "Functions of the page, by the cells that define them."
    space = {"np": np, "pd": pd, "Parallel": Parallel, "delayed": delayed, "tqdm": list, **known}
    for cell in notebooks.read(STUDIES / "drift_real_data.ipynb").cells:
        for name in names:
            if f"def {name}(" in cell.source:
                tree = ast.parse(cell.source)
                tree.body = [part for part in tree.body if isinstance(part, ast.FunctionDef) and part.name == name]
                exec(compile(tree, name, "exec"), space)
    return space


def test_a_setting_that_is_carried_on_is_as_if_computed_at_a_stretch():
    keys = ["table", "order", "bin_width", "method", "time", "measure"]

    def repetition(name, order, seed):
        values = np.random.default_rng(seed).normal(size=3)
        return pd.DataFrame([(name, order, 0.1, method, 7, "ce", value, seed) for method, value in zip("abc", [*values[:2], np.inf if seed == 4 else values[2]])], columns=[*keys, "value", "seed"])
    carried_on = defined("joined", "carried_on", repetition=repetition, KEYS=keys, SUMMARY=["repetitions", "mean", "sd"])["carried_on"]
    empty = pd.read_csv(STUDIES / "drift_real_data.csv")[:0]
    whole = carried_on(empty, "bank", "iid", 9)
    parts = carried_on(carried_on(carried_on(carried_on(empty, "bank", "iid", 1), "bank", "iid", 4), "bank", "drift", 2), "bank", "iid", 9)
    pd.testing.assert_frame_equal(parts[parts["order"] == "iid"].reset_index(drop=True), whole, check_dtype=False)
    values = np.array([repetition("bank", "iid", seed)["value"] for seed in range(9)], dtype=float)
    np.testing.assert_allclose(whole["mean"], values.mean(axis=0))
    np.testing.assert_allclose(whole["sd"][:2], values[:, :2].std(axis=0, ddof=1))
    uneven = carried_on(whole[whole["method"] != "a"].assign(repetitions=9), "bank", "iid", 9)
    assert len(uneven) == 2 and carried_on(whole, "bank", "iid", 5) is whole


@every_case("method", PRINTED)
def test_bank_agrees_with_the_authors_means(method):
    started = f"{method} released" if method in ("TOPS", "TOBS", "TWHB") else method          # as the code that made the printed means begins
    last = final().query("table == 'bank' and order == 'iid'").set_index("method").loc[started]
    assert abs(last["mean"] - PRINTED[method]) < 3 * last["sd"] / np.sqrt(last["repetitions"])


def test_orderings_are_the_authors():
    wide = final().pivot(index=["table", "order"], columns="method", values="mean")
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
    fresh = pd.read_csv(io.StringIO("".join(output.text for output in printed))).query("bin_width == 0.1 and measure == 'ce'")
    fresh = fresh[fresh["time"] == fresh["time"].max()].groupby("method")["value"].agg(["mean", "std"])
    stored = final().query("table == 'bank' and order == 'iid'").set_index("method")
    for method in PRINTED:
        se = np.hypot(fresh.loc[method, "std"] / np.sqrt(20), stored.loc[method, "sd"] / np.sqrt(stored.loc[method, "repetitions"]))
        assert abs(fresh.loc[method, "mean"] - stored.loc[method, "mean"]) < 4 * se
