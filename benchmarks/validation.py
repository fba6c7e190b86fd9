"""What a full validation costs: time and memory of uqcal, beside the same computation in plain numpy and scipy.

    python benchmarks/validation.py             nine data sets by the published protocol, conclusions, the plain twin, first-call compile time
    python benchmarks/validation.py --million   a million points, a thousand resamples and simulated sets

The protocol: ZMS, CC, ENCE and ZMSE in 20 bins, BCa intervals from 5,000 resamples, references from 10,000 simulated sets for each
of two distributions. Every measurement is made in a process of its own, so that none inherits another's memory; this one imports nothing
heavy, since Linux counts a parent's memory as its child's. Data sets come from UQCAL_DATA_DIR, the cache or the network.
"""
import argparse
import json
import sys
import tempfile

from timing import JOBS, against, measured, seconds


def peak_megabytes():
    "The most memory that this process has held at any time."
    import resource
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / (2**20 if sys.platform == "darwin" else 1024)


def first_call():
    "Seconds of a validation too small to take any time, apart from imports: what compiling or loading the kernels costs."
    import numpy as np

    from uqcal.errors.validation import validate_errors
    error, uncertainty = np.random.default_rng(0).normal(size=(2, 100))
    return {"seconds": seconds(lambda: validate_errors(error, np.exp(uncertainty), n_bins=5, n_boot=2, n_resamples=3, n_mc=2, rng=0), 1)}


def protocol():
    "Seconds for each of the nine sets, and the memory of the whole process."
    from uqcal.sample.datasets import catalogue, load_errors
    from uqcal.errors.validation import validate_errors
    first_call()
    sets = {name: load_errors(name) for name in catalogue().index}
    taken = {name: seconds(lambda d=d: validate_errors(d.error, d.uncertainty, conclusions=False, rng=1, n_jobs=JOBS), 1) for name, d in sets.items()}
    return {"seconds": taken, "points": {name: len(d) for name, d in sets.items()}, "megabytes": peak_megabytes(), "pyarrow": "pyarrow" in sys.modules}


def with_conclusions():
    "Seconds for the smallest set by the published protocol, and with the conclusions that need no assumed distribution."
    from uqcal.sample.datasets import catalogue, load_errors
    from uqcal.errors.validation import validate_errors
    data = load_errors(catalogue().index[0])
    taken = {}
    for drawn in (False, True):
        def work(drawn=drawn):
            validate_errors(data.error, data.uncertainty, conclusions=drawn, rng=1, n_jobs=JOBS)
        work()
        taken[f"{'with' if drawn else 'without'} conclusions"] = seconds(work, 3)
    return {"points": len(data), "seconds": taken}


def protocol_without_pyarrow():
    "The same where pyarrow is not installed: pandas imports it if it can, though nothing here uses it."
    sys.modules["pyarrow"] = None
    return protocol()


def twin():
    "Microseconds for each replicate on the smallest set: uqcal on one core and on all, and plain numpy."
    import numpy as np

    from uqcal.statistics.bootstrap import bca_intervals
    from uqcal.sample.datasets import catalogue, load_errors
    from uqcal.statistics.references import _references_of
    from uqcal._sample.sample import bin_starts
    first_call()
    table = catalogue()
    data = load_errors(table["points"].idxmin())
    error, uncertainty, start = data.error, data.uncertainty, bin_starts(len(data), 20)
    names, rng = ("zms", "cc", "ence", "zmse"), np.random.default_rng(1)

    def ours(n, which, jobs):
        if which == "bootstrap":      # with the jackknife, which each interval needs once
            return lambda: bca_intervals(names, error, uncertainty, n_boot=n, rng=1, n_jobs=jobs)
        return lambda: _references_of(names, data, (which,), n_mc=n, rng=1, n_jobs=jobs)

    def plain(n, which):
        return (lambda: plain_bootstrap(error, uncertainty, start, n, rng)) if which == "bootstrap" else \
               (lambda: plain_reference(uncertainty, start, which, n, rng))

    found = {}
    for which, n in (("bootstrap", 5000), ("normal", 10_000), ("t6", 10_000)):
        found[which] = {"plain": 1e6 * seconds(plain(500, which), 3) / 500,
                        "one core": 1e6 * seconds(ours(n, which, 1), 3) / n, "all cores": 1e6 * seconds(ours(n, which, JOBS), 3) / n}
    return {"points": len(data), "microseconds": found}


def plain_bootstrap(error, uncertainty, start, n, rng):
    "Bootstrap values of the four statistics as one would write them with numpy and scipy."
    import numpy as np
    from scipy.stats import rankdata
    out = np.empty((n, 4))
    for r in range(n):
        draw = rng.integers(0, error.size, error.size)
        e, u = error[draw], uncertainty[draw]
        order = np.argsort(u, kind="stable")
        correlation = np.corrcoef(rankdata(np.abs(e)), rankdata(u))[0, 1]
        out[r] = *plain_binned(e[order]**2, u[order]**2, start), correlation
    return out


def plain_reference(uncertainty, start, distribution, n, rng):
    "Simulated values of the four statistics; what does not change between sets is computed once."
    import numpy as np
    from scipy.stats import rankdata
    u = np.sort(uncertainty)
    u2, rank_u, out = u**2, rankdata(u), np.empty((n, 4))
    for r in range(n):
        epsilon = rng.standard_normal(u.size) if distribution == "normal" else np.sqrt(2 / 3) * rng.standard_t(6, u.size)
        e = u * epsilon
        out[r] = *plain_binned(e**2, u2, start), np.corrcoef(rankdata(np.abs(e)), rank_u)[0, 1]
    return out


def plain_binned(e2, u2, start):
    "ZMS, ENCE and ZMSE of points sorted by uncertainty."
    import numpy as np
    z2, size = e2 / u2, np.diff(start)
    mse, mv, zms = (np.add.reduceat(values, start[:-1]) / size for values in (e2, u2, z2))
    return z2.mean(), np.mean(np.abs(1 - np.sqrt(mse / mv))), np.mean(np.abs(np.log(zms)))


def million():
    "Seconds and memory for a million points, which themselves are 16 MB."
    from uqcal._chance.distributions import simulate_calibrated
    from uqcal.errors.validation import validate_errors
    first_call()
    error, uncertainty = simulate_calibrated(1_000_000, 4, rng=1)
    before = peak_megabytes()
    taken = seconds(lambda: validate_errors(error, uncertainty, conclusions=False, n_boot=1000, n_mc=1000, rng=1, n_jobs=JOBS), 1)
    return {"seconds": taken, "megabytes": peak_megabytes(), "before": before}


def report_protocol():
    warm_up = measured(__file__, "first_call")["seconds"]       # fills the cache, if need be
    with tempfile.TemporaryDirectory() as empty:
        compiling = measured(__file__, "first_call", NUMBA_CACHE_DIR=empty)["seconds"]
    loading = measured(__file__, "first_call")["seconds"]
    print(f"first call, kernels compiled: {compiling:.1f} s; kernels loaded from the cache: {loading:.1f} s (the first in this run: {warm_up:.1f} s)\n")
    found = measured(__file__, "protocol")
    for name, taken in found["seconds"].items():
        print(f"{name:25s} {found['points'][name]:6d} points {taken:7.2f} s")
    total = sum(found["seconds"].values())
    print(f"{'nine sets':25s} {sum(found['points'].values()):6d} points {total:7.2f} s on {JOBS} cores    {against(total, 30, False)}")
    memory = measured(__file__, "protocol_without_pyarrow")["megabytes"] if found["pyarrow"] else found["megabytes"]
    print(f"peak memory {memory:.0f} MB    {against(memory, 300, False)}" + (f" ({found['megabytes']:.0f} MB with pyarrow, which pandas imports)" if found["pyarrow"] else ""))


def report_conclusions():
    found = measured(__file__, "with_conclusions")
    without, drawn = found["seconds"].values()
    print(f"\nset 1, {found['points']} points: {without:.2f} s without conclusions, {drawn:.2f} s with them, ratio {drawn / without:.2f}    {against(drawn / without, 3, False)}")


def report_twin():
    found = measured(__file__, "twin")
    print(f"\nmicroseconds for each replicate of all four statistics, {found['points']} points")
    for which, times in found["microseconds"].items():
        ratio, target = times["plain"] / times["one core"], 30 if which == "bootstrap" else 10
        label = "bootstrap" if which == "bootstrap" else f"reference, {which}"
        print(f"{label:18s} plain numpy {times['plain']:6.0f}   uqcal {times['one core']:6.1f} on one core, {times['all cores']:6.1f} on {JOBS}   "
              f"ratio {ratio:5.1f} and {times['plain'] / times['all cores']:5.1f}    {against(times['plain'] / times['all cores'], target, True)}")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--million", action="store_true", help="a million points instead")
    parser.add_argument("--child", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.child:
        print(json.dumps(globals()[options.child]()))
    elif options.million:
        found = measured(__file__, "million")
        print(f"1,000,000 points, n_boot=1000, n_mc=1000: {found['seconds']:.0f} s on {JOBS} cores, "
              f"peak memory {found['megabytes']:.0f} MB ({found['before']:.0f} MB before the call)")
    else:
        report_protocol()
        report_conclusions()
        report_twin()


if __name__ == "__main__":
    main()
