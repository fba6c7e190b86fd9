"""What was found, as data, for some three hundred seeded inputs: judges, recalibrations, comparisons, screens, streams, commands.

    .venv/bin/python tools/golden.py make            write tests/golden/findings.jsonl, and sentences.jsonl beside it, to be read only
    .venv/bin/python tools/golden.py compare [PART]  run the cases whose name holds PART again, and say what differs

A case's findings are a flat table: `conclusions.bias.status`, `pairs.p-value`, … Names that have changed since the file was made stand in
`tests/golden/renames.json`: patterns of old names and what they are called now, old values and new ones, and names that no longer exist.
"""
import contextlib
import dataclasses
import functools
import io
import json
import math
import re
import sys
import tempfile
from pathlib import Path

import numpy as np
import pandas as pd

ROOT = Path(__file__).resolve().parent.parent
FOLDER = ROOT / "tests" / "golden"
QUICK = {"n_boot": 199, "n_resamples": 199}
FINDING = ("name", "by", "status", "reason", "direction", "pvalue", "estimate", "low", "high", "centred", "rows", "parts")  # what is kept of a finding
LEFT_OUT = {"sample", "walk", "given", "null_distribution", "bootstrap_distribution", "simulated", "result", "graph", "band", "model"}
KEPT_PROPERTIES = ("verdict", "faults", "is_recalibrated", "pvalue_if_heavy", "side_pvalues", "is_shown", "n_calibration", "is_reversed")


# ---------------------------------------------------------------- inputs

def errors(kind, seed):
    "Errors, uncertainties, and what else the judge is told of them."
    rng = np.random.default_rng([seed, 1])
    n = int(rng.choice([30, 120, 400]))
    u = np.exp(0.4 * rng.standard_normal(n))
    z = rng.standard_normal(n)
    more = {}
    if kind == "t4": z = rng.standard_t(4, n) / np.sqrt(2)
    if kind == "large": z = 1.5 * z
    if kind == "small": z = 0.7 * z
    if kind == "biased": z = z + 0.4
    if kind == "sloped": z = z * np.where(u > np.median(u), 1.5, 0.8)
    if kind == "blind": z = z / u
    if kind == "ties": u = rng.choice([0.5, 1.0, 2.0], n)
    if kind == "outlier": z[n // 2] = 25.0
    if kind == "clustered": more["groups"] = np.arange(n) // 3
    if kind == "grouped":
        material = rng.choice(["glass", "steel", "wood"], n)
        z = z * np.where(material == "wood", 1.8, 1.0)
        more["by"] = {"material": material, "depth": rng.normal(size=n)}
    if kind == "variance": u = u**2
    if kind == "few": more["n_calibration"] = 40
    return u * z, u, more


def intervals(kind, seed):
    "True values, bounds, what is claimed, and what else the judge is told."
    rng = np.random.default_rng([seed, 2])
    n = int(rng.choice([60, 300]))
    width = np.exp(0.3 * rng.standard_normal(n))
    y = width * rng.standard_normal(n)
    half = 1.645 * width
    more = {}
    if kind == "narrow": half = 0.7 * half
    if kind == "wide": half = 1.5 * half
    if kind == "shifted": y = y + 0.8
    if kind == "clustered": more["groups"] = np.arange(n) // 4
    if kind == "grouped":
        site = rng.choice(["north", "south"], n)
        y = y * np.where(site == "north", 1.8, 1.0)
        more["by"] = {"site": site}
    if kind == "one width": half = np.full(n, np.quantile(np.abs(y), 0.9))
    if kind == "calibrated": more["n_calibration"] = 200
    return y, np.column_stack([-half, half]), more


def sets(seed):
    "Classes, and sets of labels."
    rng = np.random.default_rng([seed, 3])
    prob = rng.dirichlet(np.ones(4), 200)
    y = np.array([rng.choice(4, p=row) for row in prob])
    return y, prob > 0.1


def probabilities(kind, seed):
    "Outcomes, probabilities, and what else the judge is told."
    rng = np.random.default_rng([seed, 4])
    n = int(rng.choice([150, 800]))
    logit = rng.normal(-0.5, 1.2, n)
    prob, true = 1 / (1 + np.exp(-logit)), 1 / (1 + np.exp(-logit))
    more = {}
    if kind == "overconfident": true = 1 / (1 + np.exp(-0.6 * logit))
    if kind == "underconfident": true = 1 / (1 + np.exp(-1.6 * logit))
    if kind == "too high": true = 1 / (1 + np.exp(0.7 - logit))
    if kind == "rare": prob = true = 1 / (1 + np.exp(4 - logit))
    if kind == "rounded": prob = true = np.round(prob, 1)
    if kind == "clustered": more["groups"] = np.arange(n) // 3
    if kind == "weighted": more["sample_weight"] = rng.uniform(0.5, 2, n)
    if kind == "reversed": true = 1 - prob
    return (rng.random(n) < true).astype(int), prob, more


def screened(seed):
    "A table of responses, scores and groups."
    rng = np.random.default_rng([seed, 5])
    n = 900
    group = rng.choice(["a", "b", "c", "d"], n, p=[0.5, 0.3, 0.15, 0.05])
    score = rng.random(n)
    response = (rng.random(n) < np.clip(score + 0.12 * (group == "c"), 0, 1)).astype(int)
    return pd.DataFrame({"response": response, "score": score, "group": group, "weight": rng.uniform(0.5, 2, n), "home": np.arange(n) // 2})


# ---------------------------------------------------------------- cases

ERRORS = ("normal", "t4", "large", "small", "biased", "sloped", "blind", "ties", "outlier", "clustered", "grouped", "variance", "few")
INTERVALS = ("right", "narrow", "wide", "shifted", "clustered", "grouped", "one width", "calibrated")
PROBABILITIES = ("right", "overconfident", "underconfident", "too high", "rare", "rounded", "clustered", "weighted", "reversed")


def cases():
    "Each case's name and what makes its result."
    for kind in ERRORS:
        for seed in range(6): yield f"validate {kind} {seed}", lambda k=kind, s=seed: judged_errors(k, s)
        for seed in range(2): yield f"mend {kind} {seed}", lambda k=kind, s=seed: recalibrated_errors(k, s)
    for kind in INTERVALS:
        for seed in range(5): yield f"intervals {kind} {seed}", lambda k=kind, s=seed: judged_intervals(k, s)
    for seed in range(4): yield f"sets {seed}", lambda s=seed: judged_sets(s)
    for kind in PROBABILITIES:
        for seed in range(5): yield f"calibration {kind} {seed}", lambda k=kind, s=seed: judged_probabilities(k, s)
    for kind in PROBABILITIES[:7]:
        for seed in range(3): yield f"mend probabilities {kind} {seed}", lambda k=kind, s=seed: recalibrated_probabilities(k, s)
    for score in ("log", "crps", "log loss", "brier", "interval"):
        for seed in range(5): yield f"models {score} {seed}", lambda c=score, s=seed: compared_models(c, s)
    for seed in range(4):
        yield f"screen pairs {seed}", lambda s=seed: screen_of(s, reference="pairs")
        yield f"screen everyone {seed}", lambda s=seed: screen_of(s, reference="all")
        yield f"screen clustered {seed}", lambda s=seed: screen_of(s, reference="pairs", groups="home")
        yield f"screen weighted {seed}", lambda s=seed: screen_of(s, reference="all", sample_weight="weight")
        yield f"graphs {seed}", lambda s=seed: graphs_of(s)
        yield f"rates {seed}", lambda s=seed: rates_of(s)
        yield f"parts {seed}", lambda s=seed: parts_of(s)
        yield f"stream probabilities {seed}", lambda s=seed: probability_stream(s)
        yield f"stream errors {seed}", lambda s=seed: error_stream(s)
        yield f"stream bounds {seed}", lambda s=seed: bound_stream(s)
        yield f"monitors {seed}", lambda s=seed: monitors(s)
    for command in COMMANDS: yield f"command {' '.join(command)}", lambda c=command: commanded(c)


def judged_errors(kind, seed):
    from uqcal.errors.validation import validate_errors
    error, uncertainty, more = errors(kind, seed)
    return validate_errors(error, uncertainty, rng=seed, n_mc=99, **QUICK, **more)


def recalibrated_errors(kind, seed):
    from uqcal.corrections.error_recalibration import recalibrate_errors
    error, uncertainty, more = errors(kind, seed + 100)
    more.pop("n_calibration", None)
    return recalibrate_errors(error, uncertainty, rng=seed, **QUICK, **more)


def judged_intervals(kind, seed):
    from uqcal.intervals.coverage import interval_report
    y, bounds, more = intervals(kind, seed)
    return interval_report(y, bounds, 0.9, rng=seed, n_resamples=199, **more)


def judged_sets(seed):
    from uqcal.intervals.coverage import interval_report
    y, members = sets(seed)
    return interval_report(y, members, 0.9, rng=seed, n_resamples=199)


def judged_probabilities(kind, seed):
    from uqcal.probabilities.calibration import calibration_report
    y, prob, more = probabilities(kind, seed)
    return calibration_report(y, prob, rng=seed, **QUICK, **more)


def recalibrated_probabilities(kind, seed):
    from uqcal.corrections.probability_recalibration import recalibrate_probabilities
    y, prob, more = probabilities(kind, seed + 100)
    if "cluster" in more: more["groups"] = more.pop("cluster")
    return recalibrate_probabilities(y, prob, rng=seed, **QUICK, **more)


def compared_models(score, seed):
    from uqcal.comparison.model_comparison import compare_scores
    rng = np.random.default_rng([seed, 6])
    n = 300
    if score in ("log loss", "brier"):
        y, prob, _ = probabilities("overconfident", seed + 200)
        noisy = 1 / (1 + np.exp(-np.log(prob / (1 - prob)) - 0.5 * rng.standard_normal(prob.size)))
        return compare_scores(y, {"first": prob, "second": noisy, "base rate": np.full(y.size, y.mean())}, score=score, n_boot=199, rng=seed)
    u = np.exp(0.3 * rng.standard_normal(n))
    y = u * rng.standard_normal(n)
    if score == "interval":
        models = {"narrow": (-u, u), "right": (-1.645 * u, 1.645 * u), "one width": (np.full(n, -1.8), np.full(n, 1.8))}
        return compare_scores(y, models, score=score, level=0.9, n_boot=199, rng=seed)
    models = {"right": (np.zeros(n), u), "small": (np.zeros(n), 0.7 * u), "blind": (0.1 * rng.standard_normal(n), np.full(n, u.mean()))}
    return compare_scores(y, models, score=score, n_boot=199, rng=seed)


def screen_of(seed, **options):
    from uqcal.groups import screen
    return screen(screened(seed), y_true="response", score="score", by="group", n_resamples=199, rng=seed, **options)


def graphs_of(seed):
    from uqcal.groups import calibration_graph, comparison_graph, subpopulation_graph
    frame, options = screened(seed), {"n_resamples": 199, "rng": seed}
    a, c = frame[frame.group == "a"], frame[frame.group == "c"]
    return {"calibration": calibration_graph(frame.response, frame.score, **options),
            "two groups": comparison_graph(a.response, a.score, c.response, c.score, **options),
            "against everyone": subpopulation_graph(frame.response, frame.score, frame.group == "c", **options)}


def rates_of(seed):
    from uqcal.groups import rate_difference
    frame = screened(seed)
    a, c = frame[frame.group == "a"], frame[frame.group == "c"]
    return {"plain": rate_difference(a.response, c.response),
            "weighted": rate_difference(a.response, c.response, sample_weight_a=a.weight, sample_weight_b=c.weight)}


def parts_of(seed):
    import dask.dataframe
    frame = screened(seed)
    error, uncertainty, _ = errors("biased", seed)
    y, bounds, _ = intervals("narrow", seed)
    halves = functools.partial(dask.dataframe.from_pandas, npartitions=2)
    from uqcal.parts.errors_in_parts import _errors_of_partitions
    from uqcal.parts.partitions import _calibration_of_partitions, _coverage_of_partitions
    from uqcal.subgroups.partition_comparison import _comparison_of_partitions, _comparisons_of_partitions
    return {"errors": _errors_of_partitions(halves(pd.DataFrame({"error": error, "uncertainty": uncertainty}))),
            "coverage": _coverage_of_partitions(halves(pd.DataFrame({"value": y, "lower": bounds[:, 0], "upper": bounds[:, 1]})), level=0.9),
            "calibration": _calibration_of_partitions(halves(frame.rename(columns={"response": "outcome"})), n_boot=199, rng=seed),
            "comparison": _comparison_of_partitions(halves(frame), "a", "c"),
            "comparisons": _comparisons_of_partitions(halves(frame))}


def as_file(frame):
    return io.BytesIO(frame.to_csv(index=False).encode())


def probability_stream(seed):
    from uqcal.adapters.rows import recalibrate_rows
    rng = np.random.default_rng([seed, 7])
    prob = rng.random(600)
    y = (rng.random(600) < np.where(np.arange(600) > 300, prob**2, prob)).astype(int)
    written = []
    summary = recalibrate_rows(as_file(pd.DataFrame({"p": prob, "y": y})), written.append, score="p", y_true="y", run_length=10_000)
    return {"summary": summary, "recalibrated": last_column(written)}


def error_stream(seed):
    from uqcal.adapters.error_streams import recalibrate_error_rows
    error, uncertainty, _ = errors("large", seed)
    written = []
    summary = recalibrate_error_rows(as_file(pd.DataFrame({"E": error, "u": uncertainty})), written.append, uncertainty="u", error="E", run_length=10_000)
    return {"summary": summary, "recalibrated": last_column(written)}


def bound_stream(seed):
    from uqcal.adapters.error_streams import recalibrate_bound_rows
    y, bounds, _ = intervals("narrow", seed)
    written = []
    frame = pd.DataFrame({"y": y, "low": bounds[:, 0], "high": bounds[:, 1]})
    summary = recalibrate_bound_rows(as_file(frame), written.append, lower="low", upper="high", y_true="y", level=0.9, run_length=10_000)
    return {"summary": summary, "recalibrated": last_column(written)}


def last_column(written):
    return pd.read_csv(io.StringIO("".join(written))).iloc[:, -1].to_numpy(float)


def monitors(seed):
    from uqcal.streams import CalibrationMonitor, OnlineMixture, OnlineScaling, UncertaintyMonitor
    rng = np.random.default_rng([seed, 8])
    prob = rng.random(800)
    y = (rng.random(800) < np.where(np.arange(800) > 400, prob**2, prob)).astype(int)
    error, uncertainty, _ = errors("large", seed)
    mixture, scaling = OnlineMixture(), OnlineScaling()
    watch = CalibrationMonitor(run_length=10_000).partial_fit(prob, y)
    watched = UncertaintyMonitor(run_length=10_000).partial_fit(uncertainty, error)
    return {"probabilities": watch.alarm_, "alarms": watch.alarms_,
            "errors": watched.alarms_, "mixture": mixture.prequential(prob, y), "scaling": scaling.prequential(uncertainty, error)}


COMMANDS = (("validate", "errors.csv", "--error", "E", "--std", "u"),
            ("validate", "errors.csv", "--error", "E", "--std", "u", "--by", "material"),
            ("validate", "demo"),
            ("recalibrate", "errors.csv", "--error", "E", "--std", "u"),
            ("validate", "bounds.csv", "--observed", "y", "--lower", "low", "--upper", "high", "--level", "0.9"),
            ("validate", "probs.csv", "--observed", "y", "--prob", "p"),
            ("compare-groups", "groups.csv", "--observed", "response", "--score", "score", "--by", "group"),
            ("compare-groups", "groups.csv", "--observed", "response", "--score", "score", "--by", "group", "--reference", "a"),
            ("compare-models", "probs.csv", "--observed", "y", "--model", "one=prob:p", "--model", "two=prob:q"))


def commanded(words):
    "What a command prints as JSON; its exit code where it prints none."
    from typer.testing import CliRunner
    from uqcal._command.cli import app
    with tempfile.TemporaryDirectory() as folder, contextlib.chdir(folder):
        error, uncertainty, more = errors("grouped", 3)
        pd.DataFrame({"E": error, "u": uncertainty, "material": more["by"]["material"]}).to_csv("errors.csv", index=False)
        y, bounds, _ = intervals("narrow", 3)
        pd.DataFrame({"y": y, "low": bounds[:, 0], "high": bounds[:, 1]}).to_csv("bounds.csv", index=False)
        y, prob, _ = probabilities("overconfident", 3)
        pd.DataFrame({"y": y, "p": prob, "q": np.clip(prob + 0.1, 0, 1)}).to_csv("probs.csv", index=False)
        screened(3).to_csv("groups.csv", index=False)
        done = CliRunner().invoke(app, [*words, "--seed", "0", *([] if words[0] == "recalibrate" else ["--json", "-"])])
    try: return json.loads(done.stdout)
    except json.JSONDecodeError: return {"exit": done.exit_code, "printed": done.output + " " * 41}


# ---------------------------------------------------------------- a result as a flat table

def flat(value, name=""):
    "Each number, name and sentence of a result, by its place in it; findings by their names."
    if are_findings(value): value = {part.name if not isinstance(part, dict) else part["name"]: part for part in value}
    if is_finding(value): value = of_finding(value)
    elif dataclasses.is_dataclass(value) and not isinstance(value, type):
        fields = {field.name: getattr(value, field.name) for field in dataclasses.fields(value)}
        fields |= {kept: getattr(value, kept) for kept in KEPT_PROPERTIES if kept not in fields and hasattr(value, kept)}
        value = fields
    elif hasattr(value, "_asdict"): value = value._asdict()
    if isinstance(value, dict):
        for key, part in value.items():
            if str(key).startswith("_") or key in LEFT_OUT: continue
            yield from flat(part, f"{name}.{key}" if name else str(key))
    elif isinstance(value, pd.DataFrame):
        for column in value.columns: yield from flat(value[column].to_numpy(), f"{name}.{column}")
    elif isinstance(value, (list, tuple)) and not all(isinstance(part, (int, float)) for part in value):
        for position, part in enumerate(value[:12]): yield from flat(part, f"{name}.{position}")
        if len(value) > 12: yield f"{name}.count", len(value)
    elif isinstance(value, (list, tuple, np.ndarray, pd.Series)): yield from numbers(np.asarray(value), name)
    elif value is None or isinstance(value, (str, bool, np.bool_)): yield name, value if not isinstance(value, np.bool_) else bool(value)
    elif isinstance(value, (int, float, np.integer, np.floating)): yield name, rounded(value)


def is_finding(value):
    "Whether this is a finding, or what JSON knows of one."
    names = value.keys() if isinstance(value, dict) else vars(value).keys() if dataclasses.is_dataclass(value) and not isinstance(value, type) else ()
    return {"name", "status", "centred", "rows_needed"} <= set(names)


def are_findings(value):
    return isinstance(value, (list, tuple)) and len(value) > 0 and all(map(is_finding, value))


def of_finding(value):
    "What is kept of a finding; the range of perfect uncertainties stands for the limits of a ranking."
    fields = value if isinstance(value, dict) else vars(value)
    kept = {name: fields[name] for name in FINDING}
    facts = fields.get("facts", {})
    if "expected_low" in facts: kept |= {"low": facts["expected_low"], "high": facts["expected_high"]}
    return kept


def numbers(values, name):
    "Up to twelve values one by one; of more their count, sum and ends."
    if values.dtype == object or values.dtype.kind in "US": values = np.array([str(value) for value in values.ravel()[:12]], dtype=object)
    elif values.size > 12:
        values = values.astype(float).ravel()
        yield from ((f"{name}.{what}", rounded(number)) for what, number in
                    (("count", values.size), ("sum", values.sum()), ("first", values[0]), ("last", values[-1])))
        return
    for position, value in enumerate(np.ravel(values)): yield f"{name}.{position}", str(value) if isinstance(value, str) else rounded(value)


def rounded(value):
    "Ten digits; what JSON has no number for is a word."
    value = float(value)
    return float(f"{value:.10g}") if math.isfinite(value) else str(value)


def is_sentence(value):
    return isinstance(value, str) and (len(value) > 40 or value.count(" ") > 3)


def found(make):
    "A case's findings, and its sentences."
    try: table = dict(flat(make()))
    except (ValueError, TypeError) as refusal: table = {"refused": type(refusal).__name__, "refusal": str(refusal) + " " * 41}
    return ({name: value for name, value in table.items() if not is_sentence(value)},
            {name: value.strip() for name, value in table.items() if is_sentence(value)})


# ---------------------------------------------------------------- the file

def make():
    FOLDER.mkdir(exist_ok=True)
    with open(FOLDER / "findings.jsonl", "w", encoding="utf-8") as findings, open(FOLDER / "sentences.jsonl", "w", encoding="utf-8") as sentences:
        for name, result in cases():
            values, said = found(result)
            print(json.dumps({"case": name, **values}, ensure_ascii=False), file=findings)
            print(json.dumps({"case": name, **said}, ensure_ascii=False), file=sentences)
            print(f"{name}: {len(values)} values, {len(said)} sentences", flush=True)


def stored():
    "Each stored case by its name, under the names of today."
    renames = json.loads((FOLDER / "renames.json").read_text(encoding="utf-8"))
    for line in (FOLDER / "findings.jsonl").read_text(encoding="utf-8").splitlines():
        values = json.loads(line)
        name = values.pop("case")
        yield name, {new: renames["values"].get(value, value) if isinstance(value, str) else value
                     for old, value in values.items() if (new := renamed(old, renames)) is not None}


def renamed(name, renames):
    "What a stored name is called today; None where it no longer exists."
    if any(re.search(pattern, name) for pattern in renames["gone"]): return None
    for pattern, new in renames["names"].items(): name = re.sub(pattern, new, name)
    return name


def differences(old, new, relative=1e-6):
    "What a case holds otherwise than the file says."
    for name, before in old.items():
        after = new.get(name, "absent")
        numeric = isinstance(before, float) and isinstance(after, float)
        if numeric and math.isclose(before, after, rel_tol=relative, abs_tol=1e-9): continue
        if before != after: yield f"{name}: {before} is now {after}"


def compare(part=""):
    "Say what differs; the number of cases that do."
    today, wrong = dict(cases()), 0
    for name, old in stored():
        if part not in name: continue
        faults = list(differences(old, found(today[name])[0]))
        wrong += bool(faults)
        for fault in faults[:10]: print(f"{name}: {fault}", flush=True)
    print(f"{wrong} cases differ")
    return wrong


if __name__ == "__main__":
    if sys.argv[1:2] == ["make"]: make()
    elif sys.argv[1:2] == ["compare"]: sys.exit(bool(compare(*sys.argv[2:3])))
    else: sys.exit(__doc__)
