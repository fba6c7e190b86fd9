"""What a first call loads: only what the question asked needs."""
import os
import subprocess
import sys

import pytest

DATA = """
import sys
import numpy as np, uqcal
rng = np.random.default_rng(1)
n = 300
mean, u = rng.normal(size=n), rng.uniform(1, 2, n)
y = mean + u * rng.normal(size=n)
"""
CALLS = {
    "mean and std": "uqcal.MeanStd(mean, u)",
    "intervals": "uqcal.Intervals(mean - 2 * u, mean + 2 * u, level=0.95)",
    "quantiles": "uqcal.Quantiles(mean[:, None] + u[:, None] * np.array([-1.0, 0.0, 1.0]), (0.16, 0.5, 0.84))",
    "probabilities": "uqcal.Probabilities(1 / (1 + np.exp(-mean)))",
}
SLOW = {"sklearn", "statsmodels", "matplotlib.pyplot", "joblib", "dask", "river", "uqcal.online.online", "uqcal.adapters.monitors", "uqcal.parts.partitions"}


def loaded(code):
    "Modules that a new process has after running it."
    done = subprocess.run([sys.executable, "-c", DATA + code + "\nprint(*sys.modules)"], capture_output=True, text=True, env=os.environ | {"OMP_NUM_THREADS": "1"})
    assert done.returncode == 0, done.stderr
    return set(done.stdout.splitlines()[-1].split())


@pytest.mark.parametrize("kind", ["mean and std", "probabilities", *(pytest.param(kind, marks=pytest.mark.slow) for kind in ("intervals", "quantiles"))])
def test_a_first_validation_loads_what_its_question_needs(kind):
    if kind == "probabilities": outcome = "rng.random(n) < 1 / (1 + np.exp(-mean))"
    else: outcome = "y"
    found = loaded(f"print(uqcal.validate({outcome}, {CALLS[kind]}, rng=1))")
    assert not found & SLOW
    if kind == "mean and std": assert not found & {"scipy.stats", "scipy.optimize"}


def test_the_package_by_itself_loads_nothing():
    assert not loaded("") & {"pandas", "scipy", "numba", "uqcal.verbs"}
