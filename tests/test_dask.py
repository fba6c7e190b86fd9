"""Whatever is drawn again and again runs on a dask cluster unchanged: the same seed gives the same numbers there, and a worker that dies costs time only."""
import os
import signal
import threading
import time

import joblib
import numpy as np
import pandas as pd
import pytest

from uqcal.errors.bias import bias_test
from uqcal.statistics.bin_scaling import extrapolate
from uqcal.statistics.bootstrap import bca_interval
from uqcal.probabilities.calibration import calibration_report
from uqcal.statistics.confidence_curves import confidence_curve
from uqcal.statistics.consistency import consistency_test
from uqcal.subgroups.two_groups import comparison_graph
from uqcal.errors.factors import average_test
from uqcal.errors.stretches import factors_along
from uqcal.intervals.dependence import hsic_test
from uqcal.comparison.model_comparison import compare_scores
from uqcal.statistics.references import simulated_reference
from uqcal.probabilities.calibration_errors import ece_test
from uqcal.subgroups.screening import screen
from uqcal.errors.validation import validate_errors

distributed = pytest.importorskip("distributed", reason="dask[distributed] is not installed")

rng = np.random.default_rng(3)
u = np.exp(0.4 * rng.standard_normal(300))
e = u * rng.standard_normal(300)
p = rng.uniform(size=300)
y = (rng.uniform(size=300) < p).astype(float)
who = np.arange(300) // 3
wards = pd.DataFrame({"y": y, "s": p, "ward": np.arange(300) % 3})
bounds = np.column_stack([-u, u])

CALLS = {
    "bca_interval": lambda **more: bca_interval("zmse", e, u, n_boot=900, n_bins=4, **more),
    "simulated_reference": lambda **more: simulated_reference("ence", u, n_mc=900, n_bins=4, **more),
    "consistency_test": lambda **more: consistency_test(e, u, n_resamples=499, **more),
    "bias_test": lambda **more: bias_test(e, u, n_resamples=499, **more),
    "average_test": lambda **more: average_test(e, u, groups=who, n_boot=499, **more),
    "factors_along": lambda **more: factors_along(e, u, n_boot=499, **more),
    "confidence_curve": lambda **more: confidence_curve(e, u, n_boot=200, n_resamples=199, **more),
    "extrapolate": lambda **more: extrapolate(e, u, n_bins=[5, 8, 10, 12], fit_above=4, n_resamples=199, **more),
    "ece_test": lambda **more: ece_test(y, p, n_resamples=499, **more),
    "comparison_graph": lambda **more: comparison_graph(y[:150], p[:150], y[150:], p[150:], n_resamples=499, **more),
    "screen": lambda **more: screen(wards, y_true="y", score="s", by="ward", n_resamples=499, **more).table,
    "hsic_test": lambda **more: hsic_test(e, bounds, n_resamples=199, **more),
    "compare_models": lambda **more: compare_scores(e, {"a": (0 * e, u), "b": (0 * e, 1.3 * u)}, n_boot=499, **more),
    "calibration_report": lambda **more: calibration_report(y, p, n_boot=199, n_resamples=199, **more),
    "validate": lambda **more: validate_errors(e, u, n_boot=199, n_resamples=199, n_mc=199, n_bins=4, **more),
}


def same(one, other): return one.equals(other) if isinstance(one, pd.DataFrame) else one == other


@pytest.fixture(scope="module", params=[1, pytest.param(4, marks=pytest.mark.slow)])
def cluster(request):
    with distributed.LocalCluster(n_workers=request.param, threads_per_worker=1, processes=True, dashboard_address=None, silence_logs=50) as made, distributed.Client(made):
        yield made


QUICK = ("bca_interval", "simulated_reference", "consistency_test", "factors_along", "compare_models")


@pytest.mark.parametrize("name", [name if name in QUICK else pytest.param(name, marks=pytest.mark.slow) for name in CALLS])
def test_a_cluster_gives_the_same_numbers(cluster, name):
    "Mutation: seeding chunks by worker, or taking rows in the order in which they come."
    local = CALLS[name](rng=2)
    with joblib.parallel_config(backend="dask"): remote = CALLS[name](rng=2, n_jobs=2)
    assert same(local, remote)


@pytest.mark.slow
def test_a_worker_that_dies_costs_time_and_no_result():
    "The death is in the middle of the run: the worker has taken chunks by then."
    call = CALLS["simulated_reference"]
    expected = simulated_reference("ence", np.tile(u, 400), n_mc=4000, rng=2)
    with distributed.LocalCluster(n_workers=2, threads_per_worker=1, processes=True, dashboard_address=None, silence_logs=50) as made, distributed.Client(made) as client:
        with joblib.parallel_config(backend="dask"):
            call(rng=1, n_jobs=2)  # kernels are loaded
            victims = []

            def strike():
                "End a worker that has results."
                while not victims:
                    time.sleep(0.02)
                    for address, keys in client.has_what().items():
                        if keys: victims.append(client.scheduler_info()["workers"][address]["id"])
                os.kill(next(worker.pid for worker in made.workers.values() if worker.name == victims[0]), signal.SIGKILL)

            thread = threading.Thread(target=strike, daemon=True)
            thread.start()
            found = simulated_reference("ence", np.tile(u, 400), n_mc=4000, rng=2, n_jobs=2)
            thread.join(30)
    assert victims and found == expected
