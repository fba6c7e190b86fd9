"""Tables too large for memory: time and memory of `validate(Parts(…))` on probabilities and errors, and of a comparison of two groups in parts, against the number of
rows, beside the numbers of the first and the last in memory.

    python benchmarks/partitions.py                      10⁶ and 10⁷ rows
    python benchmarks/partitions.py 1e8 2e8              other numbers; a row takes some 25 bytes of the folder for temporary files
    python benchmarks/partitions.py --json 1e6           a table as JSON on standard output, the words on standard error

Two workers of Dask, one thread each, with at most 4 GB together; then one and two threads of a single process, on probabilities and errors (not with --json). Memory is the resident memory of all processes, watched 20 times in a second. CPU seconds are
those of all processes together, so that others on the machine hardly change them."""
import functools
import json
import os
import sys
import tempfile
import threading
import time
from pathlib import Path

import numpy as np
import pandas as pd

from timing import measured

GROUP = 500_000  # rows of a row group
FILE = 20 * GROUP
IN_MEMORY = 1e8  # rows up to which the table is also judged in memory
LIMIT = 4e9


def write_rows(folder, rows):
    "Parquet files of outcomes and probabilities that are right, most of them small, and of errors and uncertainties that are right, and two groups that are alike."
    import pyarrow as pa
    from pyarrow import parquet

    for k, start in enumerate(range(0, rows, FILE)):
        rng, n = np.random.default_rng([17, k]), min(FILE, rows - start)
        score = 1 / (1 + np.exp(1.0 - 1.5 * rng.standard_normal(n)))
        outcome = rng.random(n) < score
        uncertainty = np.exp(0.5 * rng.standard_normal(n))
        error = uncertainty * rng.standard_normal(n)
        group = np.where(rng.random(n) < 0.4, "a", "b")
        parquet.write_table(pa.table({"outcome": outcome.astype(np.int8), "score": score, "error": error, "uncertainty": uncertainty, "group": group}), Path(folder) / f"part-{k:05d}.parquet", row_group_size=GROUP, compression="none",
                            use_dictionary=False)


def watched(work):
    "What the work returns, the seconds it takes, the CPU seconds and the largest memory of all processes."
    import psutil

    own, peak, done = psutil.Process(), [0], threading.Event()

    def sum_over(take):
        "Of this process and those below it; one that ends meanwhile counts nothing."
        total = 0.0
        for one in [own, *own.children(recursive=True)]:
            try: total += take(one)
            except psutil.Error: pass
        return total

    def watch():
        "Look at the memory until the work is done."
        while not done.wait(0.05): peak[0] = max(peak[0], sum_over(lambda one: one.memory_info().rss))
    cpu = functools.partial(sum_over, lambda one: sum(one.cpu_times()[:2]))
    threading.Thread(target=watch, daemon=True).start()
    before, start = cpu(), time.perf_counter()
    found = work()
    taken, after = time.perf_counter() - start, cpu()
    done.set()
    return found, {"seconds": taken, "cpu_seconds": after - before, "peak_gb": peak[0] / 1e9}


def of_workers(folder, columns, judge):
    "What two workers find in these columns, and what it costs."
    import dask.dataframe as dd
    from distributed import Client, LocalCluster

    with LocalCluster(n_workers=2, threads_per_worker=1, memory_limit=int(0.45 * LIMIT), dashboard_address=None, silence_logs=50) as cluster, Client(cluster):
        found, cost = watched(lambda: judge(dd.read_parquet(folder, columns=columns, split_row_groups=2)))
    return found, {"partitions": found.n_partitions, "passes": found.n_passes, **cost}


def by_partitions(folder):
    "The answer on probabilities."
    from uqcal import validate
    from uqcal.large import Parts

    found, cost = of_workers(folder, ["outcome", "score"], lambda frame: validate(Parts(frame=frame, observed="outcome", prob="score"), rng=1))
    return {"numbers": found.to_frame("statistics")["value"].to_dict(), **cost}


def errors_by_partitions(folder):
    "The answer on errors."
    from uqcal import validate
    from uqcal.large import Parts

    found, cost = of_workers(folder, ["error", "uncertainty"], lambda frame: validate(Parts(frame=frame, error="error", std="uncertainty")))
    return {"numbers": {"zms": found.zms, "kuiper of errors": found.kuiper}, **cost}


def groups_by_partitions(folder):
    "Two groups at like scores."
    from uqcal.subgroups.partition_comparison import _comparison_of_partitions

    found, cost = of_workers(folder, ["outcome", "score", "group"], functools.partial(_comparison_of_partitions, a="a", b="b", y_true="outcome"))
    return {"numbers": {name: getattr(found, name) for name in COMPARED}, **cost}


COMPARED = ("kuiper", "kolmogorov_smirnov", "null_scale", "average_difference")


def groups_in_memory(folder):
    "The same in memory."
    from uqcal.subgroups.two_groups import comparison_graph

    def work():
        "Read, compare."
        table = pd.read_parquet(folder, columns=["outcome", "score", "group"])
        sides = [table[table["group"] == label] for label in ("a", "b")]
        graph = comparison_graph(*(part[name].to_numpy(float) for part in sides for name in ("outcome", "score")), method="asymptotic")
        return {name: getattr(graph, name) for name in COMPARED}
    found, cost = watched(work)
    return {"numbers": found, **cost}


def in_memory(folder):
    "The same numbers of a table that is read as a whole."
    from uqcal.probabilities.calibration_tests import binary_calibration_tests
    from uqcal.probabilities.calibration_errors import calibration_error_interval

    def work():
        "Read, judge."
        table = pd.read_parquet(folder, columns=["outcome", "score"])
        y, p = table["outcome"].to_numpy(float), table["score"].to_numpy()
        tests = binary_calibration_tests(y, p, method="asymptotic")
        error = calibration_error_interval(y, p, rng=1)
        return {one: getattr(tests, one).statistic for one in ("kolmogorov_smirnov", "kuiper", "spiegelhalter")} | {
            "ece": error.ece, "ece limit": error.ece_limit, "brier": float(np.mean((y - p)**2))}
    found, cost = watched(work)
    return {"numbers": found, **cost}


def by_threads(folder, number=1):
    "Probabilities and errors in this process, by so many threads, twice; the second run counts."
    import dask
    import dask.dataframe as dd
    from uqcal import validate
    from uqcal.large import Parts

    def work():
        "Probabilities, then errors."
        validate(Parts(frame=dd.read_parquet(folder, columns=["outcome", "score"], split_row_groups=2), observed="outcome", prob="score"), rng=1)
        return validate(Parts(frame=dd.read_parquet(folder, columns=["error", "uncertainty"], split_row_groups=2), error="error", std="uncertainty"))
    with dask.config.set(scheduler="threads", num_workers=number):
        for _ in range(2): found, cost = watched(work)
    return {"partitions": found.n_partitions, **cost}


HOW = {"partitions": by_partitions, "errors": errors_by_partitions, "groups": groups_by_partitions, "in memory": in_memory, "groups in memory": groups_in_memory}
THREADS = {"1 thread": 1, "2 threads": 2}


def main(arguments):
    "Write the rows, measure, print, and delete the rows."
    as_json, sizes = "--json" in arguments, [int(float(one)) for one in arguments if one != "--json"] or [10**6, 10**7]
    made, say = [], functools.partial(print, file=sys.stderr if as_json else sys.stdout, flush=True)
    for rows in sizes:
        with tempfile.TemporaryDirectory() as folder:
            write_rows(folder, rows)
            found = {how: measured(__file__, f"{how}|{folder}") for how in HOW if "in memory" not in how or rows <= IN_MEMORY}
            if not as_json: found |= {how: measured(__file__, f"{how}|{folder}") for how in THREADS}
        for how, one in found.items():
            say(f"{rows:>13,} rows, {how:16}: {one['seconds']:7.1f} s, {one['cpu_seconds']:7.1f} CPU s, {one['peak_gb']:5.2f} GB at most"
                + (f", read {one['passes']} times in {one['partitions']} parts" if "passes" in one else ""))
            if how in THREADS: continue
            made.append({"how": how, "rows": rows, "cpu_seconds": round(one["cpu_seconds"], 1), "peak_gb": round(one["peak_gb"], 2),
                         "partitions": one.get("partitions", 1), "passes": one.get("passes", 1)})
        if not as_json: say(f"{'':13} two threads of one process are {found['1 thread']['seconds'] / found['2 threads']['seconds']:.2f} times as fast as one")
        if "in memory" in found:
            apart = max(abs(value - found[how]["numbers"][name]) for how, whole in (("partitions", "in memory"), ("groups", "groups in memory"))
                        for name, value in found[whole]["numbers"].items())
            say(f"{'':13} largest difference of a number: {apart:.1e}")
    if as_json: print(json.dumps(made))


if __name__ == "__main__":
    if "--child" in sys.argv:
        how, folder = sys.argv[-1].split("|", 1)
        print(json.dumps(by_threads(folder, THREADS[how]) if how in THREADS else HOW[how](folder)))
        sys.stdout.flush()
        os._exit(0)
    main(sys.argv[1:])
