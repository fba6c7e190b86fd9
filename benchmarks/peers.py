"""Who does what: uqcal beside four packages, each cell of a table read in the sources of a named release.

    python benchmarks/peers.py            # checks every cell; releases are fetched into .cache/peers, without what they need
    python benchmarks/peers.py --table    # prints the table for nbs/guide/other_packages.ipynb

A cell names what a package defines; the check finds each name in the package's files. A dash says that it has nothing of the kind;
the check finds no public name that holds the row's words. No file of a package is run, so that none of its requirements is needed.
"""
import argparse
import ast
import re
import subprocess
import sys
import warnings
from importlib.metadata import PackageNotFoundError, version
from importlib.util import find_spec
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
DATE = "November 2026"
PEERS = {"MAPIE": ("mapie", "1.6.0"), "uncertainty-toolbox": ("uncertainty_toolbox", "0.1.1"), "netcal": ("netcal", "1.4.0"),
         "scikit-learn": ("sklearn", "1.9.1")}
COLUMNS = ["uqcal", *PEERS]

# what is wanted, the words that no public name of a package with a dash may hold, and for each package the names, with a note in braces
ROWS = [
    ("validate a standard uncertainty", "calibration_error|miscalibration|uncertaint",
     "validate {tests, limits, a verdict}", "auroc, auarc {does it rank?}", "get_all_metrics {scores}", "ENCE, UCE, QCE {scores}", ""),
    ("recalibrate it", "recal(?!l)|variance_?scaling",
     "recalibrate {chosen by cross-validation}", "", "optimize_recalibration_ratio, get_std_recalibrator, iso_recal", "VarianceScaling, IsotonicRegression, GPNormal", ""),
    ("make intervals or sets that cover", "conformal",
     "conformalize {from columns, split}",
     "SplitConformalRegressor, CrossConformalRegressor, JackknifeAfterBootstrapRegressor, SplitConformalClassifier {around an estimator}",
     "", "", ""),
    ("validate intervals", "coverage_(score|test)|picp",
     "validate {along width, columns, groups}", "regression_coverage_score, regression_ssc, hsic, worst_slab_coverage",
     "get_proportion_in_interval, interval_score", "PICP", ""),
    ("control another risk, such as recall", "controller|risk_?control",
     "", "BinaryClassificationController, SemanticSegmentationController", "", "", ""),
    ("validate a probability", "reliability|brier|expected_calibration",
     "validate {tests, limits, a verdict}", "expected_calibration_error, kuiper_p_value, spiegelhalter_p_value",
     "", "ECE, ACE, MMCE, ReliabilityDiagram", "calibration_curve, CalibrationDisplay, brier_score_loss"),
    ("recalibrate it", "platt|temperature|venn_?abers|(logistic|beta)_?calibration|calibrated_?classifier",
     "recalibrate {chosen by cross-validation}", "TopLabelCalibrator, VennAbersCalibrator",
     "", "LogisticCalibration, BetaCalibration, TemperatureScaling, BBQ, ENIR", "CalibratedClassifierCV {sigmoid, isotonic, temperature}"),
    ("train a network to be calibrated, or calibrate detected objects", "penalty$|object_?detect",
     "", "", "", "MMCEPenalty, ConfidencePenalty, LogisticCalibrationDependent", ""),
    ("recalibrate it on a stream", "online_?(mix|recal|calib|scal)|adaptive_?conformal|time_?series_?regress",
     "Monitor {late outcomes}", "TimeSeriesRegressor", "", "", ""),
    ("raise an alarm", "(risk|calibration|drift)_?monitor|martingale|drift_?detect", "monitor, Monitor", "RiskMonitoring, OnlineMartingaleTest", "", "", ""),
    ("compare groups at equal scores", "subpopulation|comparison_graph|group_compar", "compare_groups", "", "", "", ""),
    ("proper scoring rules", "crps|interval_score|nll|log_loss|brier",
     "crps, negative_log_density, interval_score, brier_score, log_score", "regression_mwi_score", "crps_gaussian, nll_gaussian, interval_score",
     "NLL, PinballLoss", "log_loss, brier_score_loss, mean_pinball_loss"),
    ("compare models, paired, with limits", "compare_models|diebold|paired_(t_)?test", "compare_models", "", "", "", ""),
]


def names_and_note(cell):
    "The names of a cell, and the note in braces behind them."
    names, _, note = cell.partition("{")
    return [name.strip() for name in names.split(",") if name.strip()], note.rstrip("}")


def shown(cell):
    "A cell of the table as Markdown."
    names, note = names_and_note(cell)
    if not names: return "–"
    return ", ".join(f"`{name}`" for name in names) + (f" ({note})" if note else "")


def table():
    "The table as Markdown."
    head = ["to", "uqcal", *(f"{name} {release}" for name, (_, release) in PEERS.items())]
    lines = [head, ["---"] * len(head), *([wanted, *map(shown, cells)] for wanted, _, *cells in ROWS)]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def defined(folder):
    "The functions and classes that a package's files define, public and private ones, tests aside; and the public ones among them."
    every, public = set(), set()
    for path in sorted(folder.rglob("*.py")):
        parts = path.relative_to(folder).parts
        if "tests" in parts or "externals" in parts: continue
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of how others write their strings
            tree = ast.parse(path.read_text(encoding="utf-8"))
        for node in tree.body:
            if not isinstance(node, (ast.FunctionDef, ast.ClassDef)): continue
            every.add(node.name)
            if not node.name.startswith("_") and path.name != "_example_utils.py": public.add(node.name)
    return every, public


def faults(folder, column):
    "What the table says of a package, by its column, and its files do not."
    every, public = defined(folder)
    for wanted, words, *cells in ROWS:
        names, _ = names_and_note(cells[column])
        for name in names:
            if name not in every: yield f"{COLUMNS[column]}, {wanted}: no {name}"
        if not names:
            for name in sorted(public):
                if re.search(words, name, re.I): yield f"{COLUMNS[column]}, {wanted}: a dash, though there is {name}"


def sources(name, fetch=True):
    "The folder of a package's files in the release of the table, or the reason why there is none."
    module, release = PEERS[name]
    try:
        if version(name) == release and (spec := find_spec(module)): return Path(spec.origin).parent
    except PackageNotFoundError: pass
    folder = ROOT / ".cache" / "peers" / f"{module}-{release}"
    if not (folder / module).is_dir():
        if not fetch: return f"{name} {release} is not installed"
        done = subprocess.run([sys.executable, "-m", "pip", "--quiet", "--disable-pip-version-check", "install", "--no-deps", "--no-compile",
                               "--target", str(folder), f"{name}=={release}"], capture_output=True, text=True)
        if done.returncode: return f"{name} {release} can't be fetched: {(done.stderr.strip().splitlines() or ['no reason given'])[-1]}"
    return folder / module


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--table", action="store_true", help="print the table and check nothing")
    if parser.parse_args().table:
        print(table())
        return
    found = list(faults(ROOT / "uqcal", 0))
    for column, name in enumerate(PEERS, 1):
        folder = sources(name)
        if isinstance(folder, str): print(f"not checked: {folder}")
        else:
            wrong = list(faults(folder, column))
            print(f"{name} {PEERS[name][1]}: {'as the table says' if not wrong else f'{len(wrong)} cells to recalibrate'}")
            found += wrong
    print("\n".join(found), end="\n" * bool(found))
    sys.exit(bool(found))


if __name__ == "__main__":
    main()
