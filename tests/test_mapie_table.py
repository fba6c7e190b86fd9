"""The table "Coming from MAPIE" of the page on intervals, line by line: ours always, MAPIE's names, arguments, defaults and values against an installed MAPIE (slow)."""
import importlib
import inspect
import json
import pkgutil
import re
import subprocess
import textwrap
import venv
from pathlib import Path

import numpy as np
import pytest
from sklearn.metrics import roc_auc_score

import uqcal
from uqcal.probabilities import calibration_tests as ct
from uqcal.intervals import intervals as iv
from uqcal.intervals import dependence
from uqcal.intervals import stratified
from uqcal.probabilities import reliability as rel
from uqcal.probabilities import walk as wk
from uqcal._chance.brownian import kolmogorov_smirnov_null, kuiper_null

MAPIE = "mapie==1.6.0"
PAGE = Path(__file__).parents[1] / "nbs" / "intervals/30_intervals.ipynb"
MODULES = ("regression", "classification", "conditional", "uncertainty", "calibration")


def table():
    "MAPIE's signature and ours, None where there is none, for each row."
    text = "\n".join("".join(cell["source"]) for cell in json.loads(PAGE.read_text(encoding="utf-8"))["cells"] if cell["cell_type"] == "markdown")
    lines = text[text.index("| MAPIE | here | meaning |"):].splitlines()[2:]
    rows = [[cell.strip() for cell in line.strip("|").split("|")] for line in lines[:next(i for i, line in enumerate(lines) if not line.startswith("|"))]]
    assert all(len(row) == 4 and row[2] and row[3] for row in rows)
    return [(theirs.strip("`"), None if ours == "–" else ours.strip("`")) for theirs, ours, *_ in rows]


def found(name):
    "The function or method of this name in the modules of this package."
    for module in pkgutil.walk_packages(uqcal.__path__, "uqcal."):
        if module.ispkg or module.name == "uqcal._modidx": continue
        home = importlib.import_module(module.name)
        if hasattr(home, name.split(".")[0]) and name.split(".")[0] in home.__all__:
            for part in name.split("."): home = getattr(home, part)
            return home
    raise AssertionError(f"no {name}")


def written(function):
    "The signature without annotations, as the table writes it."
    shown, star = [], False
    for one in inspect.signature(function).parameters.values():
        if one.name == "self": continue
        if one.kind is one.KEYWORD_ONLY and not star: shown, star = [*shown, "*"], True
        shown.append(one.name if one.default is one.empty else f"{one.name}={one.default!r}")
    return shown


def test_our_column_says_what_the_functions_take():
    rows = table()
    assert len({theirs.split("(")[0] for theirs, _ in rows}) == len(rows)
    for _, ours in rows:
        if ours is None: continue
        name, inside = re.fullmatch(r"([\w.]+)\((.*)\)", ours).groups()
        stated, true = re.split(r", (?![^(]*\))", inside), written(found(name))
        if stated[-1] != "…": assert stated == true, ours
        else:
            assert [one for one in true if one in stated] or stated[-2] == "*", ours
            assert set(stated[:-1]) <= set(true), (ours, true)
            assert stated[:stated.index("*")] == true[:true.index("*")], ours


# --- an installed MAPIE ---------------------------------------------------------------------------------------------------------

PEER = textwrap.dedent("""
    import ast, importlib, json, sys, types, warnings
    from pathlib import Path
    import mapie, numpy as np
    warnings.simplefilter("ignore")
    try: import torch
    except ImportError:                                  # covmetrics asks of an array only whether it is a tensor
        sys.modules["torch"] = types.SimpleNamespace(Tensor=type("Tensor", (), {}), device=str, dtype=str)
    modules, cases = json.loads(sys.argv[2]), json.loads(sys.argv[3])
    data = np.load(sys.argv[1], allow_pickle=True)
    def argument(a): return data[a[1:]] if isinstance(a, str) and a[0] == "$" else a
    def signature(node):
        arguments, defaults = node.args.args, [None] * (len(node.args.args) - len(node.args.defaults)) + node.args.defaults
        shown = [a.arg + ("=" + ast.unparse(d) if d is not None else "") for a, d in zip(arguments, defaults)] + ["*"] * bool(node.args.kwonlyargs)
        shown += [a.arg + ("=" + ast.unparse(d) if d is not None else "") for a, d in zip(node.args.kwonlyargs, node.args.kw_defaults)]
        return node.name + "(" + ", ".join(shown) + ")"
    signatures = {}
    for file in (Path(mapie.__file__).parent / "metrics").glob("*.py"):
        for node in ast.parse(file.read_text()).body:
            if isinstance(node, ast.FunctionDef) and not node.name.startswith("_"): signatures[node.name] = [file.stem, signature(node)]
    def value(name, args, options):
        try: function = getattr(importlib.import_module("mapie.metrics." + signatures[name][0]), name)
        except (ImportError, AttributeError) as error: return {"absent": str(error)}
        made = function(*map(argument, args), **{k: argument(v) for k, v in options.items()})
        return {"value": [np.asarray(part, dtype=float).tolist() for part in made] if isinstance(made, tuple) else np.asarray(made, dtype=float).tolist()}
    print(json.dumps({"signatures": signatures, "values": [value(*case) for case in cases]}))
""")


@pytest.fixture(scope="module")
def mapie(tmp_path_factory):
    "A function that runs MAPIE's functions, in an environment of its own, and returns all of its signatures and these values."
    folder = tmp_path_factory.mktemp("mapie")
    venv.create(folder / "env", with_pip=True)
    python = folder / "env" / "bin" / "python"
    pip = [python, "-m", "pip", "--quiet", "--disable-pip-version-check", "install"]
    done = subprocess.run([*pip, MAPIE], capture_output=True, text=True)
    if done.returncode: pytest.skip(f"{MAPIE} can't be installed: {(done.stderr.strip().splitlines() or ['no reason given'])[-1]}")
    subprocess.run([*pip, "pandas"], capture_output=True)                         # what the metrics of conditional coverage need beside torch
    subprocess.run([*pip, "--no-deps", "covmetrics"], capture_output=True)

    def run(cases, **data):
        np.savez(folder / "data.npz", **data)
        done = subprocess.run([python, "-c", PEER, folder / "data.npz", json.dumps(MODULES), json.dumps(cases)], capture_output=True, text=True, check=True)
        return json.loads(done.stdout)

    return run


def numbers():
    "Small data for every metric."
    rng = np.random.default_rng(1)
    n = 300
    p = rng.uniform(size=n)
    prob = rng.dirichlet(np.full(5, 0.5), size=n)
    label = rng.integers(0, 5, n)
    half = rng.lognormal(0, 0.5, (n, 2))
    sets = rng.random((n, 5, 2)) < 0.6
    return dict(y=(rng.uniform(size=n) < p) * 1, p=p, prob=prob, label=label, right=(label == prob.argmax(axis=1)) * 1, value=rng.standard_normal(n),
                b=np.stack([-half, half], axis=1), sets=sets, first=sets[:, :, 0], low=-half[:, 0], up=half[:, 0], b1=np.stack([-half, half], axis=1)[:, :, :1],
                group=rng.integers(0, 4, n), sure=rng.permutation(n) / n, names=label + 1, columns=np.arange(1, 6), coordinates=rng.standard_normal((n, 2)), top=prob.max(axis=1), chosen=prob.argmax(axis=1))


def in_order(d):
    return np.cumsum(d["right"][np.argsort(-d["sure"])]) / np.arange(1, 301)


# name of the metric: how MAPIE is called, and what this package says to the same data
ROWS = {
    "regression_coverage_score": (["$value", "$b"], {}, lambda d: iv.regression_coverage_score(d["value"], d["b"])),
    "regression_mean_width_score": (["$b"], {}, lambda d: iv.regression_mean_width_score(d["b"])),
    "regression_ssc": (["$value", "$b"], {}, lambda d: stratified.regression_ssc(d["value"], d["b"])),
    "regression_ssc_score": (["$value", "$b", 4], {}, lambda d: stratified.regression_ssc_score(d["value"], d["b"], 4)),
    "hsic": (["$value", "$b"], {}, lambda d: dependence.hsic(d["value"], d["b"])),
    "coverage_width_based": (["$value", "$low", "$up", 2.0, 0.9], {}, lambda d: iv.coverage_width_based(d["value"], d["low"], d["up"], 2.0, 0.9)),
    "regression_mwi_score": (["$value", "$b1", 0.9], {}, lambda d: iv.regression_mwi_score(d["value"], d["b1"], 0.9)[0]),
    "classification_coverage_score": (["$label", "$sets"], {}, lambda d: iv.classification_coverage_score(d["names"], d["sets"], classes=d["columns"])),
    "classification_mean_width_score": (["$sets"], {}, lambda d: iv.classification_mean_width_score(d["sets"])),
    "classification_ssc": (["$label", "$sets", 3], {}, lambda d: stratified.classification_ssc(d["label"], d["sets"], 3)),
    "classification_ssc_score": (["$label", "$sets", 3], {}, lambda d: stratified.classification_ssc_score(d["names"], d["sets"], 3, classes=d["columns"])),
    "coverage_gap": (["$value", "$group", 0.9], {"y_intervals": "$b1"}, lambda d: np.mean(np.abs(
        stratified.feature_stratified_coverage(d["value"], d["b1"], d["group"].astype(str), 0.9).groups["coverage"] - 0.9))),
    "worst_slab_coverage": (["$coordinates", "$value"], {"y_intervals": "$b1", "n_directions": 5}, None),
    "excess_risk_target_coverage": (["$coordinates", "$value", 0.9], {"y_intervals": "$b1"}, None),
    "auroc": (["$right", "$sure"], {}, lambda d: roc_auc_score(d["right"], d["sure"])),
    "auarc": (["$right", "$sure"], {}, lambda d: np.mean(in_order(d))),
    "expected_calibration_error": (["$right", "$prob", 16], {}, lambda d: rel.expected_calibration_error(d["names"], d["prob"], classes=d["columns"])),
    "top_label_ece": (["$label", "$prob"], {"num_bins": 16}, lambda d: rel.top_label_ece(d["label"], d["prob"])),
    "cumulative_differences": (["$y", "$p", 0.0], {}, lambda d: wk.cumulative_differences(d["y"], d["p"])),
    "length_scale": (["$p"], {}, lambda d: wk.length_scale(d["p"])),
    "kolmogorov_smirnov_statistic": (["$y", "$p"], {}, lambda d: ct.kolmogorov_smirnov_test(d["y"], d["p"], method="asymptotic").statistic),
    "kolmogorov_smirnov_cdf": ([1.3], {}, lambda d: kolmogorov_smirnov_null.cdf(1.3)),
    "kolmogorov_smirnov_p_value": (["$y", "$p"], {}, lambda d: ct.kolmogorov_smirnov_test(d["y"], d["p"], method="asymptotic").pvalue),
    "kuiper_statistic": (["$y", "$p"], {}, lambda d: np.ptp(wk.cumulative_differences(d["y"], d["p"])) / wk.length_scale(d["p"])),        # without the start at zero
    "kuiper_cdf": ([1.7], {}, lambda d: kuiper_null.cdf(1.7)),
    "kuiper_p_value": (["$y", "$p"], {}, lambda d: kuiper_null.sf(np.ptp(wk.cumulative_differences(d["y"], d["p"])) / wk.length_scale(d["p"]))),
    "spiegelhalter_statistic": (["$y", "$p"], {}, lambda d: ct.spiegelhalter_test(d["y"], d["p"], method="asymptotic").statistic),
    "spiegelhalter_p_value": (["$y", "$p"], {}, lambda d: ct.spiegelhalter_test(d["y"], d["p"], method="asymptotic", alternative="greater").pvalue),
    "add_jitter": (["$p", 0.0], {}, lambda d: d["p"]),
    "sort_xy_by_y": (["$y", "$p"], {}, lambda d: [d["y"][np.argsort(d["p"])], np.sort(d["p"])]),
}
MORE = [  # what the rows say beside
    ("expected_calibration_error", ["$right", "$prob", 16, "uniform", True, "$label"], {}, lambda d: rel.classwise_ece(d["label"], d["prob"])),
    ("expected_calibration_error", ["$y", "$p", 16], {}, lambda d: rel.expected_calibration_error(d["y"], d["p"])),
    ("top_label_ece", ["$names", "$prob", None, 16, None, "$columns"], {}, lambda d: rel.top_label_ece(d["names"], d["prob"], classes=d["columns"])),
    ("top_label_ece", ["$label", "$top", "$chosen", 16], {}, lambda d: rel.top_label_ece(d["label"], d["top"], d["chosen"])),
    ("coverage_gap", ["$label", "$group", 0.8], {"y_sets": "$first", "weighted": True}, lambda d: np.average(*(lambda g: (np.abs(g["coverage"] - 0.8), None, g["count"]))(
        stratified.feature_stratified_coverage(d["label"], d["first"], d["group"].astype(str), 0.8).groups))),
]


@pytest.mark.slow
def test_every_line_of_the_table_is_true_of_an_installed_mapie(mapie):
    data, rows = numbers(), dict((theirs.split("(")[0], theirs) for theirs, _ in table())
    cases = [(name, *case) for name, case in ROWS.items()] + MORE
    answer = mapie([case[:3] for case in cases if case[3] is not None], **data)
    signatures = {name: shown for name, (module, shown) in answer["signatures"].items()}
    assert rows == signatures and set(rows) == set(ROWS)                          # every public metric, with its arguments and defaults
    compared = set()
    for (name, _, _, ours), theirs in zip([case for case in cases if case[3] is not None], answer["values"]):
        if "absent" in theirs:
            assert name == "coverage_gap", theirs
            continue
        mine, other = ours(data), theirs["value"]
        for one, two in zip(mine, other) if name == "sort_xy_by_y" else [(mine, other)]:
            # random tie-breaking enters three of their sums
            np.testing.assert_allclose(one, two, rtol=1e-4 if "kuiper_" in name or "smirnov_" in name else 1e-10, atol=1e-13, err_msg=name)
        compared.add(name)
    assert compared >= set(ROWS) - {"worst_slab_coverage", "excess_risk_target_coverage", "coverage_gap"}
