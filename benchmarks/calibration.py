"""What judging probabilities costs: uqcal beside MAPIE, in one run.

    python benchmarks/calibration.py

The three tests of calibration at 100,000 points, the calibration error, and the top-label calibration error of ten classes, each
against MAPIE's; each test beside numpy's argsort of the same scores, at 100,000 and a million points, in CPU time; the tests with
outcomes drawn afresh, 9,999 sets of 10,000 points. Every measurement is made in a process of its
own. MAPIE is taken from this interpreter if it is installed there, otherwise it is installed into .cache/mapie once.
"""
import argparse
import functools
import json
import time

from timing import JOBS, MAPIE, against, measured, python_with_mapie, seconds

TARGETS = {"three tests": 2.5, "ECE": 20, "top-label ECE": 15, "Spiegelhalter": 1}


def binary(n):
    "Calibrated outcomes and their probabilities."
    import numpy as np
    rng = np.random.default_rng(1)
    p = rng.uniform(size=n)
    return (rng.uniform(size=n) < p).astype(int), p


def classes(n, k=10):
    "Labels drawn from the stated probabilities of k classes."
    import numpy as np
    rng = np.random.default_rng(2)
    prob = rng.dirichlet(np.full(k, 0.3), size=n)
    return (prob.cumsum(axis=1) < rng.uniform(size=(n, 1))).sum(axis=1).clip(0, k - 1), prob


def with_mapie(n=100_000):
    "Seconds and values of MAPIE; its 51 edges make 50 bins."
    from mapie.metrics import calibration as m
    (y, p), (label, prob) = binary(n), classes(n)
    tests = (m.kolmogorov_smirnov_p_value, m.kuiper_p_value, m.spiegelhalter_p_value)
    return {"three tests": seconds(lambda: [test(y, p) for test in tests], 5, warm=True), "Spiegelhalter": seconds(lambda: m.spiegelhalter_p_value(y, p), 15, warm=True),
            "ECE": seconds(lambda: m.expected_calibration_error(y, p, 51, "uniform"), 5, warm=True),
            "top-label ECE": seconds(lambda: m.top_label_ece(label, prob, num_bins=51, split_strategy="uniform"), 5, warm=True),
            "values": [float(m.expected_calibration_error(y, p, 51, "uniform")), float(m.top_label_ece(label, prob, num_bins=51, split_strategy="uniform"))]}


def with_uqcal(n=100_000):
    "The same for uqcal, and the tests with drawn outcomes."
    from uqcal.probabilities.calibration_tests import binary_calibration_tests, kuiper_test, spiegelhalter_test
    from uqcal.probabilities.reliability import expected_calibration_error, top_label_ece
    (y, p), (label, prob) = binary(n), classes(n)
    few, score = binary(10_000)
    return {"three tests": seconds(lambda: binary_calibration_tests(y, p), 15, warm=True), "ECE": seconds(lambda: expected_calibration_error(y, p, n_bins=50), 15, warm=True),
            "top-label ECE": seconds(lambda: top_label_ece(label, prob, n_bins=50), 15, warm=True), "one test": seconds(lambda: kuiper_test(y, p), 15, warm=True),
            "Spiegelhalter": seconds(lambda: spiegelhalter_test(y, p), 15, warm=True), "beside a sort": {n: beside_a_sort(n) for n in (100_000, 1_000_000)},
            "exact": seconds(lambda: binary_calibration_tests(few, score, method="exact", rng=1, n_jobs=JOBS), 3, warm=True),
            "values": [expected_calibration_error(y, p, n_bins=50), top_label_ece(label, prob, n_bins=50)]}


def beside_a_sort(n):
    "CPU time of each test, and of all three, in units of numpy's argsort of the scores."
    import numpy as np
    from uqcal.probabilities.calibration_tests import binary_calibration_tests, kolmogorov_smirnov_test, kuiper_test, spiegelhalter_test
    y, p = binary(n)
    sort = seconds(lambda: np.argsort(p), 25, warm=True, clock=time.process_time)
    return {name: seconds(functools.partial(test, y, p), 15, warm=True, clock=time.process_time) / sort for name, test in (
        ("Kolmogorov–Smirnov", kolmogorov_smirnov_test), ("Kuiper", kuiper_test), ("Spiegelhalter", spiegelhalter_test), ("all three", binary_calibration_tests))}


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--child", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.child:
        print(json.dumps(globals()[options.child]()))
        return
    python, reason = python_with_mapie()
    ours, theirs = measured(__file__, "with_uqcal"), measured(__file__, "with_mapie", python) if python else None
    for name, target in TARGETS.items():
        line = f"{name:14s} 100,000 points: uqcal {1e3 * ours[name]:7.2f} ms"
        if theirs:
            ratio = theirs[name] / ours[name]
            line += f", MAPIE {1e3 * theirs[name]:8.1f} ms, ratio {ratio:5.1f}    {against(ratio, target, True)}"
        print(line)
    if theirs: print(f"values of ECE and top-label ECE agree to {max(abs(a / b - 1) for a, b in zip(ours['values'], theirs['values'])):.0e}")
    else: print(f"{MAPIE} can't be installed, so that no ratio was measured: {reason}")
    print(f"one test alone, 100,000 points: {1e3 * ours['one test']:.2f} ms")
    for n, ratios in ours["beside a sort"].items():
        print(f"{int(n):,} points, in units of numpy's argsort: " + ", ".join(f"{name} {ratio:.2f}" for name, ratio in ratios.items())
              + f"    {against(max(ratios.values()), 1.6, False)}")
    print(f"drawn outcomes, 10,000 points, 9,999 sets: {ours['exact']:.2f} s on {JOBS} cores    {against(ours['exact'], 2, False)}")


if __name__ == "__main__":
    main()
