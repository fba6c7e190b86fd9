"""How far the costliest calls are from what the machine allows: each beside the simplest loop that reads, sorts or draws as much.

    python benchmarks/limits.py            twelve calls, a factor each; at most 2, or 3 where a sort or draws dominate
    python benchmarks/limits.py --write    the same, and writes limits.csv beside this file

The bound of a call is measured in the same process: a pass over the columns that it reads, numpy's argsort of the column that it
orders, or a loop that draws the random numbers it needs and adds up what they point to, without any of the statistics. CPU time of
one thread, so that other work on the machine counts little; the shortest of several runs each, after one that isn't counted.
"""
import argparse
import functools
import sys
import time
from pathlib import Path

import numpy as np
import pandas as pd
from timing import against, seconds

import numba as nb
from uqcal._chance.resampling import shuffle, shuffle_state

STORED = Path(__file__).resolve().parent / "limits.csv"
READ, SORTED = 2, 3
WHY = {
    "spiegelhalter_test": "The pass reads two columns and adds up two sums. uqcal looks for impossible values first, one pass more over each column; and it keeps a column "
                          "of weights and five numbers more, on which the choice between a table and drawn outcomes rests.",
    "expected_calibration_error, 10 bins": "The pass puts a point on an edge into either bin and adds up one sum. uqcal looks for impossible values, compares each point with its "
                                           "edges, and adds up counts, probabilities and outcomes apart.",
    "comparison_graph": "numpy sorts one column by instructions that compare many numbers at once. uqcal checks four columns, joins two of them, and keeps the order of equal scores.",
    "screen, 190 pairs of 20 groups": "Half of it is the search for rows that repeat each other, once for the whole table, which 190 small sorts do not contain.",
    "OnlinePlattScaling.prequential": "The bare step divides by a determinant that may vanish. uqcal's keeps the parameters in a ball, and projects in the norm of its own matrix.",
}


@nb.njit(nogil=True)
def bets(y, p):
    "Spiegelhalter's sum and its variance."
    total = variance = 0.0
    for k in range(p.size):
        tilt = 1 - 2 * p[k]
        total += (y[k] - p[k]) * tilt
        variance += p[k] * (1 - p[k]) * tilt * tilt
    return total / np.sqrt(variance)


@nb.njit(nogil=True)
def binned(y, p):
    "Sums of differences in ten bins of equal width, whichever bin an edge belongs to."
    sums = np.zeros(10)
    for k in range(p.size): sums[min(int(10 * p[k]), 9)] += y[k] - p[k]
    return np.abs(sums).sum() / p.size


@nb.njit(nogil=True)
def shuffled(x, times, state):
    "Shuffles of a column, and the range of its sums in each."
    top = 0.0
    for _ in range(times):
        shuffle(x, state)
        total = low = high = 0.0
        for value in x:
            total += value
            low, high = min(low, total), max(high, total)
        top = max(top, high - low)
    return top


@nb.njit(nogil=True)
def resampled(x, y, rng, times):
    "Resamples of two columns, by rows drawn with replacement, and the sum of each."
    top, n = 0.0, x.size
    for _ in range(times):
        total = 0.0
        for _ in range(n):
            k = int(rng.random() * n)
            total += x[k] + y[k]
        top = max(top, total)
    return top


@nb.njit(nogil=True)
def drawn(u, rng, times):
    "Normal errors of given sizes, and the sum of their squares."
    top = 0.0
    for _ in range(times):
        total = 0.0
        for size in u: total += (size * rng.standard_normal())**2
        top = max(top, total)
    return top


@nb.njit(nogil=True)
def drawn_student(u, rng, times):
    "Student's errors as a normal over the root of a gamma variate."
    top = 0.0
    for _ in range(times):
        total = 0.0
        for size in u: total += (size * rng.standard_normal() / np.sqrt(rng.standard_gamma(3.0)))**2
        top = max(top, total)
    return top


@nb.njit(nogil=True)
def outcomes(p, rng, times):
    "Outcomes drawn from their probabilities, and the range of the sums of their differences."
    top = 0.0
    for _ in range(times):
        total = low = high = 0.0
        for chance in p:
            total += (rng.random() < chance) - chance
            low, high = min(low, total), max(high, total)
        top = max(top, high - low)
    return top


@nb.njit(nogil=True)
def online(y, score):
    "The logit of each score and a Newton step of two parameters, without any safeguard."
    a, b, h00, h01, h11, total = 1.0, 0.0, 1.0, 0.0, 1.0, 0.0
    for k in range(y.size):
        x = np.log(score[k] / (1 - score[k]))
        p = 1 / (1 + np.exp(-(a * x + b)))
        total += p
        g, w = p - y[k], p * (1 - p)
        h00, h01, h11 = h00 + w * x * x, h01 + w * x, h11 + w
        d = h00 * h11 - h01**2
        a, b = a - (h11 * x - h01) * g / d, b - (h00 - h01 * x) * g / d
    return total


def rows():
    "Name, points, what bounds it, the factor allowed, the call and its bound."
    from uqcal.statistics.bootstrap import bca_interval
    from uqcal.probabilities.calibration_tests import kuiper_test, spiegelhalter_test
    from uqcal.statistics.consistency import consistency_test
    from uqcal.subgroups.two_groups import comparison_graph
    from uqcal.online.online import OnlinePlattScaling
    from uqcal.statistics.references import simulated_reference
    from uqcal.probabilities.reliability import expected_calibration_error
    from uqcal.subgroups.screening import screen
    from uqcal.statistics.statistics import ence

    rng = np.random.default_rng(1)
    state = shuffle_state(rng)

    def errors(n):
        u = np.exp(0.5 * rng.standard_normal(n))
        return u * rng.standard_normal(n), u

    def cases(n):
        p = rng.uniform(size=n)
        return (rng.uniform(size=n) < p).astype(float), p
    (e, u), (y, p) = errors(1_000_000), cases(1_000_000)
    e5, u5, y5, p5 = e[:100_000].copy(), u[:100_000].copy(), y[:100_000].copy(), p[:100_000].copy()
    e4, u4 = e[:10_000].copy(), u[:10_000].copy()
    member = rng.uniform(size=p5.size) < 0.5
    wards = pd.DataFrame({"y": y5, "p": p5, "ward": rng.integers(0, 20, p5.size)})
    yield "spiegelhalter_test", p.size, "a pass", READ, lambda: spiegelhalter_test(y, p), lambda: bets(y, p)
    yield "expected_calibration_error, 10 bins", p.size, "a pass", READ, lambda: expected_calibration_error(y, p), lambda: binned(y, p)
    yield "ence, 20 bins", e5.size, "a sort", SORTED, lambda: ence(e5, u5, n_bins=20), lambda: np.argsort(u5)
    yield "kuiper_test", p.size, "a sort", SORTED, lambda: kuiper_test(y, p, method="asymptotic"), lambda: np.argsort(p)
    yield "comparison_graph", p5.size, "a sort", SORTED, lambda: comparison_graph(y5[member], p5[member], y5[~member], p5[~member], method="asymptotic"), lambda: np.argsort(p5)
    yield ("consistency_test, 999 shuffles", e5.size, "shuffles", SORTED, lambda: consistency_test(e5, u5, n_resamples=999, rng=1),
           lambda: shuffled(e5.copy(), 999, state))
    yield ("kuiper_test, 999 sets of outcomes", p5.size, "draws", SORTED, lambda: kuiper_test(y5, p5, method="exact", n_resamples=999, rng=1),
           lambda: outcomes(p5, rng, 999))
    yield ("bca_interval of ence, 1,000 resamples", e4.size, "draws", SORTED, lambda: bca_interval("ence", e4, u4, n_boot=1000, rng=1),
           lambda: resampled(e4, u4, rng, 1000))
    yield ("simulated_reference of ence, 1,000 sets", u4.size, "draws", SORTED, lambda: simulated_reference("ence", u4, n_mc=1000, rng=1),
           lambda: drawn(u4, rng, 1000))
    yield ("the same, errors of t6", u4.size, "draws", SORTED, lambda: simulated_reference("ence", u4, distribution="t6", n_mc=1000, rng=1),
           lambda: drawn_student(u4, rng, 1000))
    yield ("screen, 190 pairs of 20 groups", p5.size, "190 sorts of pairs", SORTED, lambda: screen(wards, y_true="y", score="p", by="ward", method="asymptotic"),
           lambda: [np.argsort(p5[:10_000]) for _ in range(190)])
    yield "OnlinePlattScaling.prequential", p.size, "a Newton step each", READ, lambda: OnlinePlattScaling().prequential(p, y), lambda: online(y, p)


def stored():
    "The stored table, with the reason of each call that takes longer than allowed."
    table = pd.read_csv(STORED)
    return table.assign(why=[WHY.get(one.call, "") if one.ratio > one.allowed else "" for one in table.itertuples()])


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--write", action="store_true", help="write limits.csv")
    options = parser.parse_args()
    found = []
    clock = functools.partial(seconds, warm=True, clock=time.process_time)
    for name, n, kind, allowed, call, bound in rows():
        least = clock(bound, 5)
        took = clock(call, 5 if least < 1 else 2)
        found.append({"call": name, "points": n, "bound": kind, "ratio": round(took / least, 2), "allowed": allowed})
        print(f"{name:40s} {n:9,} points: {took / least:5.2f} times {kind:18s} {against(took / least, allowed, False)}", flush=True)
    if options.write: pd.DataFrame(found).to_csv(STORED, index=False)
    return 0


if __name__ == "__main__":
    sys.exit(main())
