"""What each verb costs as rows grow: processor time, memory, and the size of the report, for each kind of prediction.

    python benchmarks/costs.py                                  measures all rows that are not stored yet, and stores each in costs.csv
    python benchmarks/costs.py --only "validate, mean ± std"    the rows of this name again, and stores them
    python benchmarks/costs.py --quick                          up to 10,000 rows, and stores nothing

Each call is made with its defaults, with perfect predictions, in a process of its own for each name, once before without counting at a
thousand rows. Time is the processor's, all threads together. A name ends at the size after which a call would take longer than `--limit`
seconds, if time grew as it did over the last decade, or where its columns would fill more than 2 GB. Memory is the peak of the process.
"""
import argparse
import contextlib
import io
import json
import math
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent
STORED = HERE / "costs.csv"
SIZES, FIRST, LIMIT = (10**3, 10**4, 10**5, 10**6, 10**7), 10**3, 100.0
LEVELS, MEMBERS, CLASSES = 9, 20, 10
KEPT = {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1", "NUMBA_CACHE_DIR": os.environ.get("NUMBA_CACHE_DIR", str(ROOT / ".cache" / "numba"))}


def columns(n):
    "Perfect predictions of every kind, what happened, and groups; those are made that are asked for."
    import numpy as np
    from scipy import stats

    import uqcal
    rng = np.random.default_rng(n)
    u = rng.lognormal(0, 0.5, n)
    y, p = u * rng.standard_normal(n), rng.uniform(size=n)
    levels = np.linspace(0.05, 0.95, LEVELS)

    def chances():
        made = rng.exponential(size=(n, CLASSES))**2
        made /= made.sum(axis=1, keepdims=True)
        return made

    def classes():
        made = chances()
        return (made.cumsum(axis=1) < rng.uniform(size=(n, 1))).sum(axis=1).clip(0, CLASSES - 1), uqcal.Probabilities(made)

    def sets():
        made = chances()
        label = (made.cumsum(axis=1) < rng.uniform(size=(n, 1))).sum(axis=1).clip(0, CLASSES - 1)
        most = np.sort(made, axis=1)[:, ::-1]
        return label, uqcal.LabelSets(made >= most[:, [2]], level=float(most[:, :3].sum(axis=1).mean()))
    return {
        "mean ± std": lambda: (y, uqcal.MeanStd(0, u)),
        "intervals": lambda: (y, uqcal.Intervals(-1.6448536269514722 * u, 1.6448536269514722 * u, level=0.9)),
        f"{LEVELS} quantiles": lambda: (y, uqcal.Quantiles(np.outer(u, stats.norm.ppf(levels)), levels=levels)),
        f"{MEMBERS} members": lambda: (y, uqcal.Samples(u[:, None] * rng.standard_normal((n, MEMBERS)))),
        "probabilities": lambda: ((rng.uniform(size=n) < p).astype(int), uqcal.Probabilities(p)),
        f"{CLASSES} classes": classes,
        "label sets": sets,
        "14 groups": lambda: ((rng.uniform(size=n) < p).astype(int), p, dict(by=rng.integers(0, 14, n))),
        "14 groups, clusters and weights": lambda: ((rng.uniform(size=n) < p).astype(int), p, dict(
            by=rng.integers(0, 14, n), groups=rng.integers(0, n // 4, n), sample_weight=rng.uniform(0.5, 2, n))),
    }


WIDE = {f"{LEVELS} quantiles": LEVELS, f"{MEMBERS} members": MEMBERS, f"{CLASSES} classes": CLASSES, "label sets": CLASSES}
VERBS = {
    "validate": ("mean ± std", "intervals", "9 quantiles", "20 members", "probabilities", "10 classes", "label sets"),
    "recalibrate": ("mean ± std", "intervals", "9 quantiles", "20 members", "probabilities", "10 classes"),
    "conformalize": ("mean ± std", "intervals", "9 quantiles", "10 classes"),
    "compare_models": ("mean ± std", "intervals", "9 quantiles", "20 members", "probabilities", "10 classes"),
    "compare_groups": ("14 groups", "14 groups, clusters and weights"),
    "monitor": ("mean ± std", "intervals", "9 quantiles", "20 members", "probabilities", "10 classes"),
    "command line, validate": ("mean ± std", "probabilities"),
    "numpy.argsort": ("mean ± std",),
}
NAMES = [f"{verb}, {kind}" for verb, kinds in VERBS.items() for kind in kinds]


def call_of(verb, made):
    "The call that is measured."
    import numpy as np

    import uqcal
    y, statement, *more = made
    if verb == "validate": return lambda: uqcal.validate(y, statement, rng=1)
    if verb == "recalibrate": return lambda: uqcal.recalibrate(y, statement, rng=1)
    if verb == "conformalize": return lambda: uqcal.conformalize(y, statement, level=0.9, rng=1)
    if verb == "monitor": return lambda: uqcal.monitor(y, statement)
    if verb == "compare_groups": return lambda: uqcal.compare_groups(y, statement, rng=1, **more[0])
    if verb == "compare_models": return lambda: uqcal.compare_models(y, {"one": statement, "other": noisier(statement)}, rng=1)
    if verb == "numpy.argsort": return lambda: np.argsort(y)
    return None


def noisier(statement):
    "A second model, a little worse than the first."
    import numpy as np

    import uqcal
    if isinstance(statement, uqcal.MeanStd): return uqcal.MeanStd(statement.mean, 1.1 * statement.std)
    if isinstance(statement, uqcal.Intervals): return uqcal.Intervals(1.1 * statement.lower, 1.1 * statement.upper, level=0.9)
    if isinstance(statement, uqcal.Quantiles): return uqcal.Quantiles(1.1 * statement.values, levels=statement.levels)
    if isinstance(statement, uqcal.Samples): return uqcal.Samples(1.1 * statement.values)
    if statement.prob.ndim == 1: return uqcal.Probabilities(statement.prob**1.1)
    powers = np.asarray(statement.prob)**1.1
    return uqcal.Probabilities(powers / powers.sum(axis=1, keepdims=True))


def command(kind, made, folder):
    "The command that validates a CSV file of these columns."
    import pandas as pd
    y, statement = made
    path = Path(folder) / "table.csv"
    if kind == "probabilities":
        pd.DataFrame({"y": y, "p": statement.prob}).to_csv(path, index=False)
        how = ["--observed", "y", "--prob", "p"]
    else:
        pd.DataFrame({"error": y, "std": statement.std}).to_csv(path, index=False)
        how = ["--error", "error", "--std", "std"]
    return [Path(sys.executable).parent / "uqcal", "validate", path, *how, "--report", Path(folder) / "report.html", "--seed", "1"]


def user_seconds(line):
    "Processor seconds of a process."
    before = os.times()
    subprocess.run(line, check=True, capture_output=True)
    after = os.times()
    return after.children_user + after.children_system - before.children_user - before.children_system


def peak(): return int(next(line for line in Path("/proc/self/status").read_text().splitlines() if line.startswith("VmHWM")).split()[1]) / 1024


def one_size(verb, kind, n):
    "Seconds, memory and what the report weighs."
    made = columns(n)[kind]()
    if verb.startswith("command"):
        with tempfile.TemporaryDirectory() as folder:
            line = command(kind, made, folder)
            return {"seconds": user_seconds(line), "report_megabytes": (Path(folder) / "report.html").stat().st_size / 1e6}
    call = call_of(verb, made)
    start = time.process_time()
    report = call()
    found = {"seconds": time.process_time() - start, "megabytes": peak()}
    if hasattr(report, "to_json"):
        for name, write in (("json", report.to_json), ("report", report.to_html)):
            start = time.process_time()
            found[f"{name}_megabytes"] = len(write().encode()) / 1e6
            found[f"{name}_seconds"] = time.process_time() - start
    return found


def measured(name, largest, limit):
    "A name at every size, one JSON line each."
    verb, kind = next((verb, kind) for verb, kinds in VERBS.items() for kind in kinds if f"{verb}, {kind}" == name)
    with contextlib.redirect_stderr(io.StringIO()): one_size(verb, kind, FIRST)   # kernels, imports, fonts
    last = None
    sizes = [n for n in SIZES if n <= largest]
    if verb == "compare_groups" and largest >= 500_000: sizes = sorted([*sizes, 500_000])
    for n in sizes:
        if n * WIDE.get(kind, 1) * 8 > 2e9: break
        found = {"verb": verb, "kind": kind, "n": n} | one_size(verb, kind, n)
        print(json.dumps(found), flush=True)
        growth = 10.0 if last is None else max(found["seconds"] / last[1], 1.0)**(1 / math.log10(n / last[0]))
        if found["seconds"] * growth > limit: break
        last = n, found["seconds"]


def stored():
    "The stored table, in the order of the names."
    import pandas as pd
    table = pd.read_csv(STORED)
    place = (table["verb"] + ", " + table["kind"]).map(NAMES.index)
    return table.assign(place=place).sort_values(["place", "n"]).drop(columns="place").reset_index(drop=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--only", default="", metavar="WORDS", help="names that hold these words, measured again")
    parser.add_argument("--quick", action="store_true", help="up to 10,000 rows; nothing is stored")
    parser.add_argument("--largest", type=int, default=SIZES[-1], help=f"rows at most, {SIZES[-1]:,} unless given")
    parser.add_argument("--limit", type=float, default=LIMIT, help=f"seconds that a call may take, {LIMIT:g} unless given")
    parser.add_argument("--child", help=argparse.SUPPRESS)
    options = parser.parse_args()
    largest = 10**4 if options.quick else options.largest
    if options.child:
        measured(options.child, largest, options.limit)
        return
    import pandas as pd
    table = pd.read_csv(STORED) if STORED.exists() else pd.DataFrame(columns=["verb", "kind", "n"])
    known = set(table["verb"] + ", " + table["kind"])
    for name in NAMES:
        if options.only not in name or not (options.only or options.quick) and name in known: continue
        with subprocess.Popen([sys.executable, __file__, "--child", name, "--largest", str(largest), "--limit", str(options.limit)], env={**os.environ, **KEPT}, stdout=subprocess.PIPE, text=True) as child:
            found = []
            for line in child.stdout:
                found.append(json.loads(line))
                print(f"{name:48s} {found[-1]['n']:10,} {found[-1]['seconds']:9.3f} s {found[-1].get('megabytes', 0):8.0f} MB", flush=True)
        if child.returncode: sys.exit(f"{name} failed")
        if options.quick: continue
        table = table[table["verb"] + ", " + table["kind"] != name]
        table = pd.concat([table, pd.DataFrame(found)], ignore_index=True) if len(table) else pd.DataFrame(found)
        table.to_csv(STORED, index=False, float_format="%.6g")


if __name__ == "__main__":
    main()
