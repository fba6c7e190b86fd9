"""What comparing models costs: two models of a few and of a million points. Scores beside those of other packages are in side_by_side.py.

    python benchmarks/models.py
"""
import numpy as np
from timing import JOBS, against, seconds

from uqcal.comparison.model_comparison import compare_scores

POINTS, SECONDS, FEW = 1_000_000, 20.0, 5000


def main():
    rng = np.random.default_rng(1)
    u = np.exp(rng.normal(0, 0.5, POINTS))
    error = u * rng.standard_normal(POINTS)
    for n in (FEW, POINTS):
        models = {"a": (error[:n], u[:n]), "b": (error[:n], 1.3 * u[:n])}
        taken = seconds(lambda models=models: compare_scores(None, models, rng=1, n_jobs=JOBS), 1)
        print(f"two models, {n:9,} points: {taken:5.1f} s ({against(taken, SECONDS, False)})")


if __name__ == "__main__":
    main()
