"""What metrics of intervals cost: uqcal beside MAPIE, in one run.

    python benchmarks/intervals.py

HSIC at 2,000 points against MAPIE's; HSIC of uqcal at 100,000 points for kernels from far narrower to far wider than the range of
the widths; the permutation test; the plain metrics at 100,000 points; conformal intervals of a million points, and a report. Every measurement is made in a process of its own. MAPIE is
taken from this interpreter if it is installed there, otherwise it is installed into .cache/mapie once.
"""
import argparse
import json

from timing import JOBS, MAPIE, against, measured, python_with_mapie, seconds

KERNELS = (1e-16, 1e-8, 1e-4, 1e-2, 1.0, 1e4, 1e12)


def intervals(n):
    "True values and bounds, nine in ten covered, widths of a lognormal distribution."
    import numpy as np
    rng = np.random.default_rng(1)
    half = rng.lognormal(0, 0.5, n)
    return half * rng.standard_normal(n), 1.645 * np.column_stack([-half, half])


def hsic_mapie(n=2000):
    "MAPIE's HSIC and its plain metrics: seconds, and values."
    from mapie.metrics import regression
    y, bounds = intervals(n)
    return {"seconds": seconds(lambda: regression.hsic(y, bounds), 3, warm=True), "value": float(regression.hsic(y, bounds)[0]), "plain": plain(regression)}


def plain(metrics, n=100_000):
    "Seconds of the metrics that are sums, from either package."
    y, bounds = intervals(n)
    levels = bounds[:, :, None]
    calls = {"regression_coverage_score": lambda: metrics.regression_coverage_score(y, levels),
             "regression_mean_width_score": lambda: metrics.regression_mean_width_score(levels),
             "regression_ssc, 10 groups": lambda: metrics.regression_ssc(y, levels, 10),
             "coverage_width_based": lambda: metrics.coverage_width_based(y, bounds[:, 0], bounds[:, 1], 1.0, 0.9),
             "regression_mwi_score": lambda: metrics.regression_mwi_score(y, levels, 0.9)}
    return {name: seconds(call, 5, warm=True) for name, call in calls.items()}


def hsic_uqcal(n=2000):
    "The same for uqcal, with larger sets."
    from uqcal.intervals import intervals as ours
    from uqcal.intervals import dependence
    small, large, medium = intervals(n), intervals(100_000), intervals(10_000)
    dependence.hsic(*small)
    by_kernel = {f"{s:g}": seconds(lambda s=s: dependence.hsic(*large, (s, 1)), 15, warm=True) for s in KERNELS}
    dependence.hsic_test(*small, n_resamples=10, rng=1)
    test = seconds(lambda: dependence.hsic_test(*medium, rng=1, n_jobs=JOBS), 2, warm=True)
    return {"seconds": seconds(lambda: dependence.hsic(*small), 20, warm=True), "value": dependence.hsic(*small), "kernels": by_kernel, "test": test, "plain": plain(ours)}


def made_and_judged():
    "Seconds of conformal intervals of a million points, and of a report on a hundred thousand."
    import numpy as np
    from uqcal.intervals.conformal import ConformalBounds, ConformalIntervals
    from uqcal.intervals.coverage import interval_report
    y, bounds = intervals(1_000_000)
    half, few = (bounds[:, 1] - bounds[:, 0]) / 2, slice(0, 100_000)
    one, other, features = ConformalIntervals(0.9), ConformalBounds(0.9), {"x": np.arange(100_000.0)}
    return {"ConformalIntervals, 1,000,000 points": seconds(lambda: one.fit(half, y).predict(y, half), 3, warm=True),
            "ConformalBounds, 1,000,000 points": seconds(lambda: other.fit(y, bounds).predict(bounds), 3, warm=True),
            "interval_report with a feature, 100,000 points": seconds(lambda: interval_report(y[few], bounds[few], 0.9, by=features, rng=1, n_jobs=JOBS), 2, warm=True)}


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--child", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.child:
        print(json.dumps(globals()[options.child]()))
        return
    python, reason = python_with_mapie()
    ours, theirs = measured(__file__, "hsic_uqcal"), measured(__file__, "hsic_mapie", python) if python else None
    print(f"HSIC, 2,000 points: uqcal {1e3 * ours['seconds']:.2f} ms")
    if theirs:
        ratio = theirs["seconds"] / ours["seconds"]
        print(f"HSIC, 2,000 points: MAPIE {1e3 * theirs['seconds']:.0f} ms, ratio {ratio:.0f}    {against(ratio, 300, True)}; "
              f"values agree to {abs(theirs['value'] / ours['value'] - 1):.0e}")
    else:
        print(f"{MAPIE} can't be installed, so that no ratio was measured: {reason}")
    slowest = max(ours["kernels"].values())
    print("\nHSIC, 100,000 points, by kernel size: " + ", ".join(f"{s}: {1e3 * taken:.0f} ms" for s, taken in ours["kernels"].items()))
    print(f"slowest {1e3 * slowest:.0f} ms    {against(1e3 * slowest, 100, False)}")
    print(f"hsic_test, 10,000 points, 9,999 shuffles: {ours['test']:.2f} s on {JOBS} cores\n")
    for name, taken in measured(__file__, "made_and_judged").items(): print(f"{name}: {taken:.2f} s")
    print()
    for name, taken in ours["plain"].items():
        print(f"{name:28s} 100,000 points: uqcal {1e3 * taken:6.2f} ms" + (f", MAPIE {1e3 * theirs['plain'][name]:6.2f} ms" if theirs else ""))


if __name__ == "__main__":
    main()
