"""What shuffled references cost: uqcal beside the same shuffles in plain numpy and scipy, in one run.

    python benchmarks/consistency.py

9,999 shuffles of 5,000 points for each statistic. The plain loop permutes the scaled errors with numpy and computes the statistic
from what does not change between shuffles, as one would write it; it runs 500 shuffles, and its time for 9,999 is in proportion.
"""
import numpy as np
from scipy.stats import rankdata
from timing import JOBS, seconds

from uqcal.statistics.consistency import _STATISTICS, consistency_test
from uqcal._chance.distributions import simulate_calibrated
from uqcal._sample.sample import equal_count_bins

POINTS, SHUFFLES, PLAIN_SHUFFLES, N_BINS = 5000, 9999, 500, 20
TARGETS = {"correlation": 20, "cc": 20}     # for the others 3
SECONDS = 0.5


def plain(name, error, uncertainty, n, rng):
    "Statistics of n shuffles in numpy and scipy."
    order = np.argsort(uncertainty, kind="stable")
    u, z = uncertainty[order], (error / uncertainty)[order]
    z = z / np.sqrt(np.mean(z**2))
    start = equal_count_bins(u.size, N_BINS)
    size, u2, rank_u = np.diff(start), u**2, rankdata(u)
    rank_z = rankdata(np.abs(z))

    def binned(values):
        return np.add.reduceat(values, start[:-1])

    def value():
        "One shuffle."
        if name == "kuiper-rank":
            path = np.cumsum(rng.permutation(rank_z) / z.size - 0.5)
            return (max(path.max(), 0) - min(path.min(), 0)) / z.size
        shuffled = rng.permutation(z)
        if name == "kuiper":
            path = np.cumsum(shuffled**2 - 1)
            return (max(path.max(), 0) - min(path.min(), 0)) / z.size
        if name == "correlation":
            return np.corrcoef(rankdata(np.abs(shuffled)), rank_u)[0, 1]
        if name == "cc":
            return np.corrcoef(rankdata(np.abs(shuffled * u)), rank_u)[0, 1]
        if name == "zmse":
            return np.mean(np.abs(np.log(binned(shuffled**2) / size)))
        return np.mean(np.abs(1 - np.sqrt(binned(u2 * shuffled**2) / binned(u2))))

    return np.array([value() for _ in range(n)])


def main():
    error, uncertainty = simulate_calibrated(POINTS, 4, rng=1)
    print(f"{SHUFFLES:,} shuffles of {POINTS:,} points, seconds (plain: from {PLAIN_SHUFFLES} shuffles)\n")
    for name in _STATISTICS:
        def ours(jobs, name=name, n=SHUFFLES):
            return consistency_test(error, uncertainty, statistic=name, n_bins=N_BINS, n_resamples=n, rng=1, n_jobs=jobs)
        first = ours(1, n=19)          # compiles or loads the kernel
        assert abs(first.null_mean) < 1
        one, all_cores = (seconds(lambda jobs=jobs: ours(jobs)) for jobs in (1, JOBS))
        loop = seconds(lambda name=name: plain(name, error, uncertainty, PLAIN_SHUFFLES, np.random.default_rng(1))) * SHUFFLES / PLAIN_SHUFFLES
        target = TARGETS.get(name, 3)
        print(f"{name:12s} plain {loop:7.2f}   uqcal {one:5.2f} on one core, {all_cores:5.2f} on {JOBS} (target < {SECONDS}: {'met' if all_cores < SECONDS else 'MISSED'})   "
              f"ratio {loop / one:6.1f} and {loop / all_cores:6.1f} (target ≥ {target}: {'met' if loop / all_cores >= target else 'MISSED'})")


if __name__ == "__main__":
    main()
