"""What comparing models costs: scores of a million points beside scoringrules, and a comparison of two models, in one run.

    python benchmarks/models.py

The largest difference from the peer's scores stands behind the times.
"""
import numpy as np
import scoringrules
from timing import JOBS, against, seconds

from uqcal.model_comparison import compare_models
from uqcal.scores import crps, negative_log_density

POINTS, SECONDS, FEW = 1_000_000, 20.0, 5000


def main():
    rng = np.random.default_rng(1)
    u = np.exp(rng.normal(0, 0.5, POINTS))
    error = u * rng.standard_normal(POINTS)
    scale = u * np.sqrt(4 / 6)
    found = {"CRPS": (lambda: crps(error, u), lambda: scoringrules.crps_normal(error, 0.0, u)),
             "CRPS, t6": (lambda: crps(error, u, dof=6.0), lambda: scoringrules.crps_t(error, 6.0, 0.0, scale)),
             "log score": (lambda: negative_log_density(error, u), lambda: scoringrules.logs_normal(error, 0.0, u))}
    print(f"{POINTS:,} points, seconds")
    for name, (ours, theirs) in found.items():
        print(f"{name:9s} uqcal {seconds(ours):6.3f}   scoringrules {seconds(theirs):6.3f}   difference {np.max(np.abs(ours() - theirs())):.1e}")
    for n in (FEW, POINTS):
        models = {"a": (error[:n], u[:n]), "b": (error[:n], 1.3 * u[:n])}
        taken = seconds(lambda models=models: compare_models(None, models, rng=1, n_jobs=JOBS), 1)
        print(f"two models, {n:9,} points: {taken:5.1f} ({against(taken, SECONDS, False)})")


if __name__ == "__main__":
    main()
