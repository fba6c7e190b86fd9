"""What the study of figures stores, references and grids, is what its functions give."""
import numpy as np
import pandas as pd
import pytest
from notebooks import ROOT
from uqcal.statistics.bin_scaling import simulate_bin_scaling
from uqcal.sample.datasets import load_errors
from uqcal.statistics.references import simulated_reference

STORED = pd.read_csv(ROOT / "nbs" / "studies" / "simref_references.csv").set_index(["set", "distribution", "statistic"])


def check(name, distribution):
    data = load_errors(name.partition(" ")[2])
    for statistic in ("zms", "cc", "ence", "zmse"):
        found, row = simulated_reference(statistic, data.uncertainty, distribution=distribution, n_bins=50, ties="order", rng=1, n_jobs=2), STORED.loc[(name, distribution, statistic)]
        assert found.n_mc == 10_000 and row["points"] == len(data)
        np.testing.assert_allclose([found.value, found.standard_error], row[["value", "standard_error"]].astype(float), rtol=1e-9)


def test_stored_references_cover_both_figures():
    sets = STORED.index.get_level_values("set").unique()
    assert [name.split()[0] for name in sets] == list("123456789") and len(STORED) == 4 * (9 + 2 * 10) and STORED.index.is_unique
    assert np.isfinite(STORED.to_numpy(float)).all() and (STORED["standard_error"] > 0).all()


def test_stored_references_of_set_1_are_reproduced():
    check("1 Diffusion_RF", "normal")


@pytest.mark.slow
@pytest.mark.parametrize("name", [name for name in STORED.index.get_level_values("set").unique()])
def test_stored_normal_references_are_reproduced(name):
    check(name, "normal")


@pytest.mark.slow
@pytest.mark.parametrize("distribution", ["t3", "t6", "t20"])
def test_stored_student_references_are_reproduced(distribution):
    check("8 logP_10k_a_LS-GCN", distribution)


GRIDS = pd.read_csv(ROOT / "nbs" / "studies" / "simref_grids.csv").set_index("distribution")


def check_grid(distribution, sizes):
    found = simulate_bin_scaling(distribution=distribution, n=sizes, n_bins=(10, 20, 30, 40, 50), dof=(6, 8, 10, 12, 24, 48), n_mc=5000, rng=1, n_jobs=2).to_frame()
    stored = GRIDS.loc[distribution].query("n in @sizes").reset_index(drop=True)
    pd.testing.assert_frame_equal(found, stored, rtol=1e-9, check_dtype=False)


@pytest.mark.parametrize("distribution", ["normal", "t6"])
def test_stored_means_of_2000_points_are_reproduced(distribution):
    check_grid(distribution, (2000,))


@pytest.mark.slow
@pytest.mark.parametrize("distribution", ["normal", "t6"])
def test_stored_grids_are_reproduced(distribution):
    check_grid(distribution, (2000, 4000, 8000, 12000, 16000))
