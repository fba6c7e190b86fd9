"""What mends of uncertainties cost: maps of a million points beside numpy, statsmodels and scikit-learn, in one run.

    python benchmarks/recalibration.py

Each peer does the same fit, at 10,000 and at 1,000,000 points; seconds are the processor's, and the largest relative difference of what they find
stands behind the times. The whole, from two columns to a correction that is chosen and judged, has no peer. The factors of groups are drawn towards the common one, which the plain loop over groups does not do: the difference is the shrinkage.
"""
from time import process_time

import numpy as np
import statsmodels.api as sm
from sklearn.isotonic import IsotonicRegression
from timing import against, seconds

from uqcal.corrections.error_recalibration import recalibrate_errors
from uqcal.corrections.scaling import FactorScaling, GammaScaling, GroupScaling, IsotonicScaling, LogLinearScaling, _isotonic_blocks

POINTS, SECONDS = (10_000, 1_000_000), 2.0


def regression(u, error):
    "The gamma regression of Z² on log u."
    design = sm.add_constant(np.log(u) - np.log(u).mean())
    return sm.GLM((error / u)**2, design, family=sm.families.Gamma(sm.families.links.Log())).fit(tol=1e-12).params


def two_columns(u, error, feature):
    "The gamma regression of Z² on log u, its square and a feature."
    design = sm.add_constant(np.column_stack([np.log(u), np.log(u)**2, feature]))
    return sm.GLM((error / u)**2, design, family=sm.families.Gamma(sm.families.links.Log())).fit(tol=1e-12).predict(design)


def rows(n):
    "The candidates at one number of points, each beside its peer."
    rng = np.random.default_rng(1)
    u, kind, heat = np.exp(rng.normal(0, 0.5, n)), rng.integers(0, 20, n), rng.uniform(0, 1, n)
    error = 1.3 * u**0.8 * (1 + 0.02 * kind) * rng.standard_normal(n)
    named = {"kind": np.array([f"k{k}" for k in range(20)], dtype=object)[kind]}
    steps = IsotonicRegression().fit(u, error**2).predict(np.sort(u))
    blocks = _isotonic_blocks(u, error**2)
    found = {
        "factor": (FactorScaling(), lambda: np.sqrt(np.mean((error / u)**2)), lambda one, peer: one.factor_ / peer - 1),
        "power": (LogLinearScaling(), lambda: regression(u, error), lambda one, peer: one.coef_[1] / (1 + peer[1] / 2) - 1),
        "rising curve": (IsotonicScaling(), lambda: IsotonicRegression().fit(u, error**2),
                         lambda one, peer: np.max(np.abs(np.repeat(blocks["variance"], blocks["count"]) / steps - 1))),
        "groups": (GroupScaling(), lambda: np.array([np.sqrt(np.mean((error[kind == k] / u[kind == k])**2)) for k in range(20)])[kind],
                   lambda one, peer: np.max(np.abs(one.transform(u, named) / u / peer - 1))),
        "gamma": (GammaScaling(), lambda: two_columns(u, error, heat), lambda one, peer: np.max(np.abs((one.transform(u, {"heat": heat}) / u)**2 / peer - 1)))}
    print(f"{n:,} points, seconds")
    for name, (scaling, peer, difference) in found.items():
        features = named if name == "groups" else {"heat": heat} if name == "gamma" else None
        ours = seconds(lambda scaling=scaling, features=features: scaling.fit(u, error, features), clock=process_time)
        theirs = seconds(peer, clock=process_time)
        print(f"{name:13s} uqcal {ours:6.3f} ({against(ours, SECONDS, False)})   peer {theirs:6.3f}   ratio {ours / theirs:5.2f}   difference {abs(difference(scaling.fit(u, error, features), peer())):.1e}")


def main():
    for n in POINTS: rows(n)
    rng = np.random.default_rng(1)
    u = np.exp(rng.normal(0, 0.5, POINTS[-1]))
    error = 1.3 * u**0.8 * rng.standard_normal(u.size)
    features = {"heat": rng.uniform(0, 1, u.size), "kind": rng.choice(["metal", "oxide", "salt"], u.size)}
    for n in (5000, POINTS[-1]):
        for what, more in (("", {}), (", two features", {"by": {name: one[:n] for name, one in features.items()}})):
            took = seconds(lambda n=n, more=more: recalibrate_errors(error[:n], u[:n], rng=1, **more), 1, clock=process_time)
            print(f"choice and judgement of {n:,} points{what}: {took:.1f}", flush=True)


if __name__ == "__main__":
    main()
