"""What a step of online recalibration costs: uqcal beside plain numpy loops that do the same steps, in one run.

    python benchmarks/online.py              ratios to the loops, cost along the stream, ten million rows
    python benchmarks/online.py --quick      a tenth of the rows

The loops are written as one would write them without compiling: numpy for the vectors and matrices, one step at a time, each with
the same results as uqcal, which is checked. Times are those of one core. Each is the shortest of a few runs.
"""
import argparse
import csv
import io
import math
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

os.environ.setdefault("OMP_NUM_THREADS", "1")

import numpy as np
from scipy.optimize import brentq
from timing import against, seconds

from uqcal.online.calibeating import FosterForecaster, tops
from uqcal.online.error_monitor import UncertaintyMonitor
from uqcal.adapters.error_streams import recalibrate_bound_rows
from uqcal.online.interval_streams import AdaptiveConformal, AggregatedAdaptive, OnlineIntervals
from uqcal.online.mixture import OnlineMixture
from uqcal.online.online import Aioli, OnlinePlattScaling
from uqcal.online.online_scaling import OnlineScaling


def stream(n, seed=0):
    rng = np.random.default_rng(seed)
    p = rng.beta(0.6, 0.6, n)
    return p, (rng.random(n) < p**1.5).astype(float)


def loop_ops(p, y):
    "Online Newton steps on (logit p, 1), in numpy."
    theta, A, out = np.array([1.0, 0.0]), 100 * np.eye(2), np.empty(p.size)
    for t in range(p.size):
        held = min(max(p[t], 1e-5), 1 - 1e-5)
        x = np.array([np.log(held / (1 - held)), 1.0])
        out[t] = 1 / (1 + np.exp(-(theta @ x)))
        g = (out[t] - y[t]) * x
        A += np.outer(g, g)
        theta = theta - np.linalg.solve(A, g) / 0.1
        if theta @ theta > 100**2: raise AssertionError("the stream was chosen so that no projection is needed")
    return out


def loop_aioli(p, y):
    "AIOLI with its past in a matrix and a vector, and a bracketed root of the scalar equation, in numpy and scipy."
    H, b, out = 2 * np.eye(2), np.zeros(2), np.empty(p.size)
    for t in range(p.size):
        held = min(max(p[t], 1e-5), 1 - 1e-5)
        x = np.array([np.log(held / (1 - held)), 1.0])
        u, v = np.linalg.solve(H, b), np.linalg.solve(H, x)
        c, kappa = x @ u, x @ v
        z = brentq(lambda z, c=c, kappa=kappa: z + kappa * np.tanh(z / 2) - c, c - kappa - 1, c + kappa + 1, xtol=1e-13)
        out[t] = 1 / (1 + np.exp(-z))
        curvature = 0.1 * out[t] * (1 - out[t])
        b = b + (curvature * z - (out[t] - y[t])) * x
        H = H + curvature * np.outer(x, x)
    return out


def loop_foster(y, u, m=10, pivot=5):
    "Foster's game, in numpy."
    ones, plays, out = np.zeros(m), np.zeros(m), np.empty(y.size)
    left, right, middle = np.arange(m) / m, np.arange(1, m + 1) / m, (np.arange(m) + 0.5) / m
    for t in range(y.size):
        mean = np.where(plays > 0, ones / np.maximum(plays, 1), middle)
        deficit, excess = left - mean, mean - right
        good = (np.arange(m) * plays <= ones * m) & (ones * m <= np.arange(1, m + 1) * plays)
        if good[pivot]: i = pivot
        elif good.any(): i = int(np.argmax(good))
        else:
            i = int(np.argmax(np.arange(m) * plays > ones * m)) - 1
            if u[t] > deficit[i + 1] / (deficit[i + 1] + excess[i]): i += 1
        out[t] = middle[i]
        plays[i] += 1
        ones[i] += y[t]
    return out


def loop_tops(p, y):
    "The steps of `loop_ops`, and the mean outcome of the bin."
    edges = np.arange(1, 11) / 10
    count, ones, expert, out = np.zeros(10), np.zeros(10), loop_ops(p, y), np.empty(p.size)
    for t in range(p.size):
        b = np.searchsorted(edges, expert[t])
        out[t] = ones[b] / count[b] if count[b] else edges[b] - 0.05
        count[b] += 1
        ones[b] += y[t]
    return out


def ratios(quick):
    n, slow = 500_000 if quick else 1_000_000, 5000 if quick else 20_000
    p, y = stream(n)
    u = np.random.default_rng(1).random(n)
    pairs = {"OPS": (lambda k: loop_ops(p[:k], y[:k]), lambda k: OnlinePlattScaling().prequential(p[:k], y[:k])),
             "AIOLI": (lambda k: loop_aioli(p[:k], y[:k]), lambda k: OnlinePlattScaling(optimizer=Aioli((1.0, 0.0))).prequential(p[:k], y[:k])),
             "F99": (lambda k: loop_foster(y[:k], u[:k]), lambda k: FosterForecaster(10, 5).prequential(y[:k], uniforms=u[:k])),
             "TOPS": (lambda k: loop_tops(p[:k], y[:k]), lambda k: tops().prequential(p[:k], y[:k]))}
    print("microseconds a step       numpy loop    uqcal     ratio")
    for name, (loop, ours) in pairs.items():
        ours(10)
        took = seconds(lambda loop=loop: loop(slow), 3, clock=time.process_time)
        np.testing.assert_allclose(ours(slow), loop(slow), atol=1e-9)
        fast = seconds(lambda ours=ours: ours(n), 5, clock=time.process_time)
        ratio = (took / slow) / (fast / n)
        print(f"{name:22s} {1e6 * took / slow:12.2f} {1e6 * fast / n:8.3f} {ratio:9.0f}    {against(ratio, 100, True)}")
    ops, mixture = (seconds(lambda made=made: made().prequential(p, y), 5, warm=True, clock=time.process_time) for made in (OnlinePlattScaling, OnlineMixture))
    print(f"mixture: {1e6 * mixture / n:.3f} µs a step, {mixture / ops:.1f} times that of OPS    {against(mixture / ops, 12, False)}")
    engine, blocks = OnlinePlattScaling(optimizer=Aioli((1.0, 0.0))), np.array_split(np.arange(n), 10)
    cost = [seconds(lambda part=part: engine.prequential(p[part], y[part]), 1, clock=time.process_time) / part.size for part in blocks]
    print(f"AIOLI along the stream: {1e9 * cost[1]:.0f} ns a step in the second tenth, {1e9 * cost[-1]:.0f} ns in the last")


def long_stream(quick):
    n = 1_000_000 if quick else 10_000_000
    p, y = stream(n, 3)
    for name, make in [("OPS", OnlinePlattScaling), ("TOPS", tops), ("mixture", OnlineMixture)]:
        start = time.perf_counter()
        make().prequential(p, y)
        took = time.perf_counter() - start
        print(f"{n:,} rows through {name}: {took:.2f} s    at most 10 s: {'met' if took <= 10 else 'NOT met'}")


def loop_monitor(u, error):
    "The sum over changes of bets on Z², without the alarms, in numpy."
    rate = np.array([0.05, 0.15, 0.5, 0.03, 0.08, 0.2] + 2 * [0.1, 0.3, 0.05, 0.15])
    up, side = np.array([1, 1, 1, 0, 0, 0] + 2 * [1, 1, 0, 0], bool), np.repeat([0, -1, 1], [6, 4, 4])
    fair, share = 1 - (1 - np.exp(-9 * rate)) / 9, np.where(side == 0, 0.5 / 6, 0.5 / 8)
    wealth, path, total = np.zeros(14), np.empty(u.size), 0.0
    for t in range(u.size):
        square, at = (error[t] / u[t])**2, -1 if t and np.log(u[t]) < total / t - 1e-9 else 1
        bet = np.where(up, 1 + rate * (min(square, 25.0) - 1), np.exp(-rate * square) / fair)
        wealth = (wealth + 1) * np.where((side == 0) | (side == at), bet, 1.0)
        path[t], total = share @ wealth, total + np.log(u[t])
    return path


def errors_and_intervals():
    "Uncertainties and intervals along a million errors."
    error, ones = np.random.default_rng(5).normal(size=1_000_000), np.ones(1_000_000)
    for name, make in [("OnlineIntervals", OnlineIntervals), ("adaptive conformal", lambda: OnlineIntervals(AdaptiveConformal())),
                       ("aggregated", lambda: OnlineIntervals(AggregatedAdaptive())), ("OnlineScaling", OnlineScaling), ("UncertaintyMonitor", UncertaintyMonitor)]:
        make().prequential(ones[:9], error[:9])
        took = seconds(lambda make=make: make().prequential(ones, error), 1, clock=time.process_time)
        print(f"1,000,000 errors through {name}: {took:.2f} s    at most 5 s: {'met' if took <= 5 else 'NOT met'}")
    u, part = np.random.default_rng(6).gamma(3, 0.3, 20_000), error[:20_000]
    slow = seconds(lambda: loop_monitor(u, u * part), 1, clock=time.process_time)
    np.testing.assert_allclose(UncertaintyMonitor(run_length=10**15).prequential(u, u * part).total, loop_monitor(u, u * part), rtol=1e-9)
    fast = seconds(lambda: UncertaintyMonitor().prequential(ones, error), 3, clock=time.process_time) / 1e6
    print(f"UncertaintyMonitor: {1e6 * fast:.3f} µs an error, numpy loop {1e6 * slow / u.size:.1f}    {against(slow / u.size / fast, 20, True)}")


def loop_rows(text):
    "The tracker's bounds for each row of a table, as one would write it with csv: no summary, no checks, no state."
    g, out = 0.0, []
    for row in csv.DictReader(io.StringIO(text)):
        low, high, y = float(row["lo"]), float(row["hi"]), float(row["y"])
        middle, half = (low + high) / 2, (high - low) / 2
        out.append([middle - math.exp(g) * half, middle + math.exp(g) * half])
        g += 0.05 * ((math.log(max(abs(y - middle) / half, 1e-9)) > g) - 0.1)
    return np.array(out)


def rows_of_intervals():
    "What judging, summing up and watching cost beside the bare loop."
    rng, n, out = np.random.default_rng(7), 100_000, []
    middle, half = rng.normal(size=n), rng.gamma(3, 0.3, n)
    y = middle + half * rng.standard_normal(n)
    text = "lo,hi,y\n" + "".join(f"{a:.5f},{b:.5f},{c:.5f}\n" for a, b, c in zip(middle - half, middle + half, y))
    options = {"lower": "lo", "upper": "hi", "y_true": "y", "level": 0.9}
    recalibrate_bound_rows(io.BytesIO(text.encode()), out.append, **options)
    made = np.array([line.split(",")[3:] for line in "".join(out).splitlines()[1:]], float)
    np.testing.assert_allclose(made, loop_rows(text), atol=2e-4, rtol=1e-4)
    ours = seconds(lambda: recalibrate_bound_rows(io.BytesIO(text.encode()), lambda text: None, **options), 3, clock=time.process_time)
    bare = seconds(lambda: loop_rows(text), 3, clock=time.process_time)
    print(f"rows of intervals: {1e6 * ours / n:.1f} µs a row, bare csv loop {1e6 * bare / n:.1f}, {ours / bare:.1f} times")


KINDS = {"probabilities": ("p,y", ["--outcome", "y", "--score", "p"]), "uncertainties": ("u,e", ["--uncertainty", "u", "--error", "e"]),
         "intervals": ("lo,hi,y", ["--lower", "lo", "--upper", "hi", "--observed", "y", "--level", "0.9"])}


def block_of(kind):
    "A hundred thousand rows."
    p, y = stream(100_000, 4)
    if kind == "probabilities": return "\n".join(f"{a:.6f},{int(b)}" for a, b in zip(p, y)) + "\n"
    rng = np.random.default_rng(8)
    u, z = rng.gamma(3, 0.3, p.size), rng.standard_normal(p.size)
    if kind == "uncertainties": return "\n".join(f"{a:.6f},{a * b:.6f}" for a, b in zip(u, z)) + "\n"
    return "\n".join(f"{-1.645 * a:.6f},{1.645 * a:.6f},{a * b:.6f}" for a, b in zip(u, z)) + "\n"


def command_line(quick):
    "Rows through `uqcal recalibrate`, with the peak memory of a short and a long file."
    for kind, n in [("probabilities", 100_000), ("probabilities", 1_000_000 if quick else 10_000_000),
                    *((kind, n) for kind in ("uncertainties", "intervals") for n in (100_000, 1_000_000))]:
        with tempfile.TemporaryDirectory() as folder:
            source, target = Path(folder) / "stream.csv", Path(folder) / "out.csv"
            (head, options), block = KINDS[kind], block_of(kind)
            with open(source, "w") as file:
                file.write(head + "\n")
                for _ in range(n // 100_000): file.write(block)
            code = ("import resource, sys, time; from uqcal._command.cli import main; start = time.perf_counter()\n"
                    f"try: main(['recalibrate', {str(source)!r}, *{options!r}, '--out', {str(target)!r}])\n"
                    "except SystemExit as end: assert not end.code, end\n"
                    "print(time.perf_counter() - start, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024)")
            said = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.strip().splitlines()[-1]
            took, memory = map(float, said.split())
            print(f"{n:,} rows of {kind} through the command line: {took:.1f} s, {1e6 * took / n:.2f} µs a row, peak memory {memory:.0f} MB")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="a tenth of the rows")
    quick = parser.parse_args().quick
    command_line(quick)          # first, since Linux counts the memory of the process that starts another as the other's
    ratios(quick)
    long_stream(quick)
    errors_and_intervals()
    rows_of_intervals()


if __name__ == "__main__":
    main()
