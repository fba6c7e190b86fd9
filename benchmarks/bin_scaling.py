"""What the published grid of scaling laws costs: uqcal beside the loop that shares nothing, in one run.

    python benchmarks/bin_scaling.py

Five numbers of points, five numbers of bins, six spreads of the uncertainties, 5,000 calibrated sets for each cell: 6.3 billion errors
for each distribution and statistic where each cell draws its own. The loop draws, sorts and bins each set of each cell in numpy; it runs a few
sets for each number of points, and its time for the grid is in proportion. Below the times stand slopes and intercepts beside the
published ones.
"""
import time

import numpy as np
from timing import JOBS

from uqcal.statistics.bin_scaling import simulate_bin_scaling
from uqcal._chance.distributions import standard_distribution
from uqcal._sample.sample import equal_count_bins

GRID = {"n": [2000, 4000, 8000, 12000, 16000], "n_bins": [10, 20, 30, 40, 50], "dof": [6, 8, 10, 12, 24, 48]}
SETS, PLAIN_SETS = 5000, 12
MINUTES, RATIO = 5, 10
PUBLISHED = {("normal", "ence"): (0.56, 0), ("normal", "zmse"): (1.14, 0), ("t6", "ence"): (0.779, 0.004), ("t6", "zmse"): (1.577, 0.006)}


def plain(statistic, distribution, n, n_bins, dof, n_sets, rng):
    "Mean of one statistic over calibrated sets of one cell."
    start, values = equal_count_bins(n, n_bins)[:-1], []
    for _ in range(n_sets):
        u2 = np.sort(1 / rng.gamma(dof / 2, 2 / dof, size=n))
        e2 = u2 * distribution.rvs(size=n, random_state=rng)**2          # the errors are independent of u, so they can be drawn in its order
        if statistic == "ence":
            values.append(np.mean(np.abs(1 - np.sqrt(np.add.reduceat(e2, start) / np.add.reduceat(u2, start)))))
        else:
            values.append(np.mean(np.abs(np.log(np.add.reduceat(e2 / u2, start) / np.diff(start, append=n)))))
    return np.mean(values)


def plain_seconds(statistic, distribution):
    "What the loop takes for the grid, from a few sets for each number of points."
    rng, frozen, total = np.random.default_rng(0), standard_distribution(distribution), 0.0
    for n in GRID["n"]:
        start = time.perf_counter()
        plain(statistic, frozen, n, 30, 10, PLAIN_SETS, rng)
        total += (time.perf_counter() - start) / PLAIN_SETS
    return total * SETS * len(GRID["n_bins"]) * len(GRID["dof"])


def main():
    simulate_bin_scaling(n=100, n_bins=5, dof=6, n_mc=2, rng=0)          # compiles, or loads what was compiled
    print(f"{JOBS} processor{'s' * (JOBS > 1)}, {SETS:,} sets for each cell")
    found, whole, slow = {}, 0.0, {}
    for distribution in ("normal", "t6"):
        start = time.perf_counter()
        found[distribution] = simulate_bin_scaling(**GRID, distribution=distribution, n_mc=SETS, rng=2, n_jobs=JOBS)
        taken = time.perf_counter() - start
        whole += taken
        slow[distribution] = sum(plain_seconds(statistic, distribution) for statistic in ("ence", "zmse"))
        print(f"{distribution:7} both statistics {taken:7.1f} s, the loop {slow[distribution] / 60:7.1f} min on one processor, ratio {slow[distribution] / taken:6.0f}"
              f" ({slow[distribution] / JOBS / taken:.0f} if the loop ran on {JOBS})")
    print(f"the whole grid, both distributions and statistics: {whole:.1f} s, at most {MINUTES} min: {'yes' if whole < 60 * MINUTES else 'NO'}")
    ratio = sum(slow.values()) / JOBS / whole
    print(f"against the loop on as many processors: {ratio:.0f} times, at least {RATIO}: {'yes' if ratio >= RATIO else 'NO'}")
    for (distribution, statistic), (slope, intercept) in PUBLISHED.items():
        line = found[distribution].fit()["estimate"][statistic]
        print(f"{distribution:7} {statistic}: slope {line['slope']:.3f}, intercept {line['intercept']:+.4f}, exponent of M {line['exponent of M']:.3f}"
              f" (published {slope}, {intercept:+.3f})")


if __name__ == "__main__":
    main()
