"""What mends of uncertainties cost: maps of a million points beside numpy, statsmodels and scikit-learn, in one run.

    python benchmarks/mending.py

Each peer does the same fit; the largest relative difference of what they find stands behind the times.
"""
import numpy as np
import statsmodels.api as sm
from sklearn.isotonic import IsotonicRegression
from timing import JOBS, against, seconds

from uqcal.mending import mend
from uqcal.scaling import FactorScaling, IsotonicScaling, LogLinearScaling, isotonic_blocks

POINTS, SECONDS = 1_000_000, 2.0


def regression(u, error):
    "The gamma regression of Z² on log u."
    design = sm.add_constant(np.log(u) - np.log(u).mean())
    return sm.GLM((error / u)**2, design, family=sm.families.Gamma(sm.families.links.Log())).fit(tol=1e-12).params


def main():
    rng = np.random.default_rng(1)
    u = np.exp(rng.normal(0, 0.5, POINTS))
    error = 1.3 * u**0.8 * rng.standard_normal(POINTS)
    steps = IsotonicRegression().fit(u, error**2).predict(np.sort(u))
    blocks = isotonic_blocks(u, error**2)
    found = {
        "factor": (FactorScaling(), lambda: np.sqrt(np.mean((error / u)**2)), lambda one, peer: one.factor_ / peer - 1),
        "power": (LogLinearScaling(), lambda: regression(u, error), lambda one, peer: one.coef_[1] / (1 + peer[1] / 2) - 1),
        "rising curve": (IsotonicScaling(), lambda: IsotonicRegression().fit(u, error**2),
                         lambda one, peer: np.max(np.abs(np.repeat(blocks["variance"], blocks["count"]) / steps - 1)))}
    print(f"{POINTS:,} points, seconds")
    for name, (scaling, peer, difference) in found.items():
        ours, theirs = seconds(lambda scaling=scaling: scaling.fit(u, error)), seconds(peer)
        print(f"{name:13s} uqcal {ours:6.3f} ({against(ours, SECONDS, False)})   peer {theirs:6.3f}   difference {abs(difference(scaling.fit(u, error), peer())):.1e}")
    few = slice(0, 5000)
    print(f"choice and judgement of {5000:,} points: {seconds(lambda: mend(error[few], u[few], rng=1, n_jobs=JOBS), 1):.1f}")


if __name__ == "__main__":
    main()
