"""Scores of predictive distributions beside scoringrules and properscoring: the peer's CPU time over uqcal's, one thread, and the largest difference.

    python benchmarks/forecasts.py            scoringrules is needed; properscoring is left out where it is not installed

Measured with scoringrules 0.10.0 (numba) and properscoring 0.1, 5 means that uqcal takes a fifth of the peer's time:

                                       10,000   100,000   1,000,000
    20 members, scoringrules (qd)         4.0       2.8         2.8
    20 members, scoringrules (nrg)        1.4       1.4
    20 members, fair, scoringrules (pwm)  3.4       2.8         3.1
    20 members, properscoring             2.2       1.4         1.4
    50 members, scoringrules (qd)         5.5       3.2
    50 members, scoringrules (nrg)        3.2       3.5
    50 members, fair, scoringrules (pwm)  8.0       2.9
    50 members, properscoring             3.0       1.7
    9 quantiles, scoringrules             1.2       1.3         1.6

Of quantiles uqcal also looks for missing and infinite values, and whether any cross; the peer does not.
"""
import time
import warnings

import numpy as np

from uqcal.scores import crps_of_quantiles, crps_of_samples

LEVELS = np.array([0.05, 0.1, 0.25, 0.4, 0.5, 0.6, 0.75, 0.9, 0.95])
SIZES, MOST = (10_000, 100_000, 1_000_000), 20_000_000


def timed(call):
    "The shortest of three calls after one that is not counted, and what it returns."
    call()
    found = []
    for _ in range(3):
        start = time.process_time()
        result = call()
        found.append(time.process_time() - start)
    return min(found), result


def row(what, n, ours, theirs):
    "One line: the ratio of times and the largest difference."
    (mine, one), (other, two) = timed(ours), timed(theirs)
    print(f"{what:38} {n:9,} rows {other / mine:6.2f}   {np.abs(one - two).max():.0e}", flush=True)


def main():
    import scoringrules as sr
    try: import properscoring as ps
    except ImportError: ps = None
    rng = np.random.default_rng(0)
    for n in SIZES:
        y = rng.normal(size=n)
        for m in (20, 50):
            if n * m > MOST: continue
            x = rng.normal(size=(n, m))
            for kind, fair in (("qd", False), ("nrg", False), ("pwm", True)):
                if kind == "nrg" and n * m * m > 3e8: continue
                row(f"{m} members, scoringrules ({kind})", n, lambda x=x, y=y, fair=fair: crps_of_samples(y, x, fair=fair),
                    lambda x=x, y=y, kind=kind: sr.crps_ensemble(y, x, estimator=kind, backend="numba"))
            if ps: row(f"{m} members, properscoring", n, lambda x=x, y=y: crps_of_samples(y, x), lambda x=x, y=y: ps.crps_ensemble(y, x))
        q = np.sort(rng.normal(size=(n, LEVELS.size)), axis=1)
        row("9 quantiles, scoringrules", n, lambda q=q, y=y: crps_of_quantiles(y, q, LEVELS, weights="equal"), lambda q=q, y=y: sr.crps_quantile(y, q, LEVELS, backend="numba"))


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    main()
