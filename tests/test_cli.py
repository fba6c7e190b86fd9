"""The command line: what it reads, what it says, the code it ends with, and one line for each thing that can be wrong."""
import functools
import json
import os
import re
import shlex
import shutil
import stat
import subprocess
import sys

import numpy as np
import pandas as pd
import pytest

from uqcal import __version__
from uqcal._command import cli_validate
from uqcal._command.cli import main
from uqcal._command.cli_statements import Asked, KINDS, demo_path
from uqcal._base.tables import read_table
from uqcal.errors.validation import validate_errors

pytestmark = pytest.mark.usefixtures("undrawn")

QUICK = ["--n-boot", "60", "--n-mc", "40", "--n-resamples", "199"]
COLUMNS = ["--error", "E", "--std", "uE"]


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    "Each test in a folder of its own, with 200 errors in it and a terminal of 80 columns."
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "80")
    data().to_csv("errors.csv", index=False)
    return tmp_path


DEMO = pd.read_csv(demo_path())[:200]


def data():
    return pd.DataFrame({"E": DEMO["temperature"] - DEMO["temperature_mean"], "uE": DEMO["temperature_std"]})


def start(*args, **options):
    "The command in a process of its own, as a user starts it."
    script = shutil.which("uqcal", path=os.path.dirname(sys.executable))
    command = [script] if script else [sys.executable, "-c", "from uqcal._command.cli import main; main()"]
    return subprocess.run([*command, *args], capture_output=True, timeout=300, **{"text": True, **options})


def run(capsys, *args):
    "The command in this process: exit code, standard output, standard error."
    with pytest.raises(SystemExit) as ended: main(args)
    said = capsys.readouterr()
    return ended.value.code, said.out, said.err


def refused(capsys, *args):
    "The one line that a refused command says, without its beginning."
    code, out, err = run(capsys, *args)
    assert code == 2 and out == "" and err.count("\n") == 1 and err.startswith("uqcal: ") and "Traceback" not in err, (code, out, err)
    return err.removeprefix("uqcal: ").rstrip("\n")


# --- as a user starts it

def test_validate_says_table_and_verdict():
    done = start("validate", "errors.csv", *COLUMNS, *QUICK, "--report", "report.html", "--json", "numbers.json")
    assert done.returncode == 0 and done.stderr == ""
    text = " ".join(done.stdout.split())
    expected = validate_errors(data()["E"], data()["uE"], n_boot=60, n_mc=40, n_resamples=199, rng=0)
    assert text.startswith("errors.csv: mean ± std, 200 rows [95 % each; faults joint]") and done.stdout.endswith("\nReport: report.html\nNumbers: numbers.json\n")
    assert f"VERDICT {expected.conclusion}" in text and f"NEXT {expected.step.sentence}" in text and "ZMS" not in text
    assert max(map(len, done.stdout.splitlines())) <= 80 and len(done.stdout.splitlines()) <= 27
    full = " ".join(start("validate", "errors.csv", *COLUMNS, *QUICK, "--verbose").stdout.split())
    assert all(score.sentence in full for score in expected.scores.values()) and all(" ".join(one.split()) in full for one in expected.details())
    assert "Seed</dt><dd>0<" in (page := open("report.html", encoding="utf-8").read()) and "E, uE" in page
    assert json.load(open("numbers.json", encoding="utf-8"))["scores"] == {name: {"status": one.status, "reason": one.reason, "sentence": one.sentence} for name, one in expected.scores.items()}
    assert sorted(os.listdir()) == ["errors.csv", "numbers.json", "report.html"]


def test_demo_needs_no_file_and_no_options(capsys):
    code, out, _ = run(capsys, "validate", "demo", "--statistics", "zms", *QUICK)
    assert code == 0 and out.startswith("demo: mean ± std, 730 rows") and "--observed temperature" in out and len(out.splitlines()) <= 24


def test_standard_input_and_json_on_standard_output():
    done = start("validate", "-", *COLUMNS, *QUICK, "--json", "-", "--seed", "5", input=open("errors.csv", encoding="utf-8").read())
    numbers = json.loads(done.stdout)
    assert done.returncode == 0 and done.stderr == ""
    assert numbers["data"] == {"source": "standard input", "columns": ["E", "uE"]} and numbers["seed"] == 5 and numbers["uqcal"] == __version__
    expected = validate_errors(data()["E"], data()["uE"], n_boot=60, n_mc=40, n_resamples=199, rng=5)
    assert numbers["conclusion"] == expected.conclusion and numbers["step"]["sentence"] == expected.step.sentence and numbers["settings"]["n_boot"] == 60
    np.testing.assert_allclose([row["zeta"] for row in numbers["table"]], expected.to_frame("statistics")["zeta"].astype(float), rtol=1e-9)


def test_bad_input_is_one_line_and_code_2():
    done = start("validate", "nothing.csv", "--error", "E", "--std", "u")
    assert (done.returncode, done.stdout, done.stderr) == (2, "", "uqcal: there is no file nothing.csv\n")


def test_usage_errors_are_one_line_and_code_2(capsys):
    for args in (["validate", "demo", "--eror", "E"], ["validat"], ["validate", "a", "b"], ["validate", "demo", "--n-bins", "many"], ["validate", "--seed"]):
        code, out, err = run(capsys, *args)
        assert code == 2 and out == "" and re.fullmatch(r"uqcal: .+\n", err), (args, err)
    assert (done := start(*args)).returncode == 2 and done.stdout == "" and done.stderr == err


def test_output_survives_a_terminal_without_greek():
    done = start("validate", "errors.csv", *COLUMNS, *QUICK, "--statistics", "zms", "--verbose", env={**os.environ, "PYTHONIOENCODING": "ascii"})
    assert done.returncode == 0 and "estimate" in done.stdout
    done = start("validate", "errors.csv", *COLUMNS, *QUICK, "--json", "-", env={**os.environ, "PYTHONIOENCODING": "ascii"})
    assert json.loads(done.stdout)["scores"].keys() == {"zms", "cc", "ence", "zmse"}


@pytest.mark.skipif(os.name != "posix", reason="a shell of POSIX")
def test_a_reader_that_goes_away_is_no_error():
    script = f"{sys.executable} -c 'from uqcal._command.cli import main; main([\"datasets\"])' | true; exit ${{PIPESTATUS[0]}}"
    done = subprocess.run(["bash", "-c", script], capture_output=True, text=True, timeout=60)
    assert done.stderr == "" and done.returncode in (0, 141)


def test_help_answers_without_compiled_kernels():
    code = "import sys; from uqcal._command.cli import main\ntry: main(['--help'])\nexcept SystemExit: print('numba' in sys.modules, 'matplotlib' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60)
    assert done.stdout.rstrip().endswith("False False")


# --- help

@pytest.mark.parametrize("args", [["--help"], ["-h"], [], ["validate", "--help"], ["recalibrate", "--help"], ["conformalize", "--help"], ["datasets", "--help"], ["datasets", "fetch", "--help"]])
def test_help_is_plain_and_fits_80_columns(capsys, args):
    code, out, err = run(capsys, *args)
    assert code == 0 and err == "" and "Usage: uqcal" in out
    assert max(map(len, out.splitlines())) <= 80 and not re.search("[\u2500-\u257f\x1b]", out) and "[[" not in out


@pytest.mark.skipif(os.name != "posix", reason="a shell of POSIX")
def test_examples_in_the_help_work(capsys, monkeypatch, folder):
    data().assign(yhat=0.0, y=data()["E"], u=data()["uE"], lo=-3.0, hi=3.0).to_csv("test.csv", index=False)
    data().assign(u=data()["uE"]).to_csv("errors.csv", index=False)
    three = np.random.default_rng(0).dirichlet([2, 2, 2], len(data()))
    label = np.array(["a", "b", "c"])[[np.random.default_rng(k).choice(3, p=row) for k, row in enumerate(three)]]
    pd.read_csv("test.csv").assign(label=label, **{f"p_{name}": three[:, k] for k, name in enumerate("abc")}).to_csv("test.csv", index=False)
    data().assign(u=data()["uE"]).to_parquet("part-0.parquet")
    pd.DataFrame({"p_a": three[:, 0], "p_b": three[:, 1], "y_a": label == "a", "y_b": label == "b"}).astype(float).to_csv("tags.csv", index=False)
    text = "".join(run(capsys, *args)[1] for args in ([], ["validate", "--help"], ["datasets", "--help"]))
    examples = {line.strip() for line in text.splitlines() if re.match(r"    (?:cat errors.csv \| )?uqcal ", line)}
    assert len(examples) == 15
    folder.joinpath("uqcal").write_text(f'#!/bin/sh\nexec "{sys.executable}" -c "from uqcal._command.cli import main; main()" "$@"\n')
    os.chmod("uqcal", stat.S_IRWXU)
    monkeypatch.setenv("PATH", str(folder), prepend=os.pathsep)
    for example in sorted(example for example in examples if "fetch" not in example):
        count = "--n-resamples 199" if re.search("--prob|--level", example) else " ".join(QUICK[:2] + QUICK[4:])
        quick = example if "--dask" in example else re.sub("uqcal (validate|recalibrate)", rf"uqcal \1 {count}", example)
        if "|" in example or "*" in example:  # what a shell does is part of it
            done = subprocess.run(["bash", "-c", quick], capture_output=True, text=True, timeout=300)
            code, out, err = done.returncode, done.stdout, done.stderr
        else: code, out, err = run(capsys, *shlex.split(quick)[1:])
        assert code == 0 and out and err == "", (example, err)


def test_version(capsys):
    assert run(capsys, "--version") == (0, f"uqcal {__version__}\n", "")


def test_the_help_lists_commands_in_the_order_of_the_work(capsys):
    "Fails if the apps of the pages are taken over in another order, or one of them is not."
    _, out, _ = run(capsys, "--help")
    assert re.findall(r"(?m)^  ([a-z-]+)  ", out.split("Commands:")[1])[:4] == [
        "validate", "recalibrate", "conformalize", "monitor"]


@pytest.mark.parametrize("command, said", [
    ("validate", "Claimed coverage, from 0 to 1."), ("recalibrate", "Keep what was fitted in this file."), ("conformalize", "Move both ends by one threshold"), ("compare-models", "Difference in score that does no harm."), ("monitor", "Column of what was observed, empty where not known.")])
def test_each_command_explains_its_own_options(capsys, command, said):
    "Fails if two commands name what their options say alike in one module: annotations are read late, so that the last one counts for both."
    _, out, _ = run(capsys, command, "--help")
    assert said in " ".join(out.split())


def test_a_file_without_a_statement_is_told_what_can_be_typed(capsys):
    for args in (["validate", "errors.csv"], ["recalibrate", "errors.csv", "--observed", "E"], ["conformalize", "errors.csv", "--level", "0.9"]):
        code, out, err = run(capsys, *args)
        assert code == 2 and out == "" and err.startswith("uqcal: say what was predicted\nSTATEMENT is one of\n  --predicted COL (--std COL") and max(map(len, err.splitlines())) <= 80


# --- verdicts and exit codes

@functools.cache
def once(factor):
    "validate_errors, which computes once: what is asked of its answer differs."
    kept = []

    def validated(*args, **options):
        if not kept: kept.append(validate_errors(*args, **options))
        return kept[0]
    return validated


@pytest.mark.parametrize("factor, fail_on, code", [(1.0, "invalid", 0), (1.0, "inconclusive", 0), (0.3, "invalid", 1), (0.3, "inconclusive", 1), (0.3, None, 0)])
def test_fail_on_invalid(capsys, monkeypatch, factor, fail_on, code):
    monkeypatch.setattr("uqcal.errors.validation.validate_errors", once(factor))
    rng = np.random.default_rng(3)
    u = rng.lognormal(size=4000)  # enough to exclude every fault beyond the tolerance
    pd.DataFrame({"error": u * rng.normal(size=u.size), "uncertainty": factor * u}).to_csv("made.csv", index=False)
    args = ["--fail-on", fail_on] if fail_on else []
    assert run(capsys, "validate", "made.csv", "--error", "error", "--std", "uncertainty", "--distribution", "normal", "--statistics", "zms", *QUICK, *args, "--report", "r.html")[0] == code
    assert os.path.exists("r.html")


def test_fail_on_inconclusive(capsys, monkeypatch):
    pd.DataFrame({"error": np.random.default_rng(0).normal(size=2000), "uncertainty": 1.0}).to_csv("constant.csv", index=False)
    monkeypatch.setattr("uqcal.errors.validation.validate_errors", once("constant"))
    for fail_on, code in (("beyond", 0), ("invalid", 0), ("inconclusive", 0), ("everywhere", 1)):  # equal u: nothing along u or on ranking
        assert run(capsys, "validate", "constant.csv", "--error", "error", "--std", "uncertainty", *QUICK, "--fail-on", fail_on)[0] == code


def test_options_reach_the_validation(capsys):
    args = ["--distribution", "laplace", "--statistics", " RCE,cc ,", "--n-bins", "7", "--n-boot", "50", "--n-mc", "auto", "--confidence", "0.9", "--seed", "11"]
    code, out, _ = run(capsys, "validate", "errors.csv", *COLUMNS, *args, "--json", "-", "--jobs", "1")
    expected = validate_errors(data()["E"], data()["uE"], distribution="laplace", statistics=("rce", "cc"), n_bins=7, n_boot=50, n_mc="auto", confidence=0.9, rng=11)
    got, expected = json.loads(re.sub(r" \(line [\d,]+\)", "", out)), json.loads(expected.to_json())  # the command names lines of the file beside rows
    assert code == 0 and {key: got[key] for key in expected} == expected and got["settings"]["confidence"] == 0.9
    assert run(capsys, "validate", "errors.csv", *COLUMNS, *args, "--json", "-", "--jobs", "2")[1] == out


def test_same_command_same_output(capsys):
    first, second = (run(capsys, "validate", "errors.csv", *COLUMNS, *QUICK)[1] for _ in range(2))
    assert first == second != run(capsys, "validate", "errors.csv", *COLUMNS, *QUICK, "--seed", "1")[1]


def test_bars_go_to_a_terminal_only(capsys, monkeypatch):
    assert run(capsys, "validate", "errors.csv", *COLUMNS, *QUICK)[2] == ""
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True)
    code, out, err = run(capsys, "validate", "errors.csv", *COLUMNS, *QUICK, "--verbose")
    assert code == 0 and "bootstrap" in err and "bootstrap:" not in out


def test_an_error_of_uqcal_itself_is_no_verdict(capsys, monkeypatch):
    def fail(*args): raise ZeroDivisionError("a defect")
    monkeypatch.setattr(cli_validate, "aligned", fail)
    code, _, err = run(capsys, "validate", "errors.csv", *COLUMNS, *QUICK, "--verbose")
    assert code == 70 and "Traceback" in err and "a defect" in err


def test_interruption_is_quiet(capsys, monkeypatch):
    def stop(*args, **options): raise KeyboardInterrupt
    monkeypatch.setattr("uqcal.errors.validation.validate_errors", stop)
    assert run(capsys, "validate", "errors.csv", *COLUMNS, "--report", "r.html")[0] == 130 and not os.path.exists("r.html")


@pytest.fixture
def parquet():
    return pytest.importorskip("pyarrow.parquet")


# --- conclusions and features

def with_features(**columns):
    data().assign(mass=np.arange(200.0), kind=["oxide", "Na", "nitride", "x y"] * 50, **columns).to_csv("features.csv", index=False)
    return ["validate", "features.csv", *COLUMNS, *QUICK, "--by", "mass", "--by", "kind"]


def test_details_give_each_finding_its_test_and_pvalue(capsys):
    args = [*with_features(), "--verbose"]
    code, out, err = run(capsys, *args, "--report", "r.html", "--json", "n.json")
    expected = validate_errors(data()["E"], data()["uE"], by={"mass": np.arange(200.0), "kind": ["oxide", "Na", "nitride", "x y"] * 50}, n_boot=60, n_mc=40, n_resamples=199, rng=0)
    text = " ".join(out.split())
    order = [text.index(f"{one.name[0].upper()}{one.name[1:]}: {one.status}. {one.sentence} Test: {one.method}.") for one in expected.findings]
    order = [text.index(expected.conclusion), text.index(f"NEXT {expected.step.sentence}"), *order, text.index("estimate")]
    assert code == 0 and len(order) == 3 + 8 and order == sorted(order)
    assert all(f"p = {one.pvalue:.2g}" in one.sentence or one.pvalue < 0.001 for one in expected.findings) and max(map(len, out.split("estimate")[0].splitlines())) <= 80
    numbers = json.load(open("n.json", encoding="utf-8"))
    assert {one["name"]: one["sentence"] for one in numbers["findings"]} == {one.name: one.sentence for one in expected.findings} and numbers["data"]["by"] == ["mass", "kind"]
    assert {one["name"]: one["by"] for one in numbers["findings"]}["size by kind"] == "kind"
    assert "<dt>Columns of --by</dt><dd>mass, kind</dd>" in open("r.html", encoding="utf-8").read()


def test_groups_tolerance_and_causes_reach_people_and_programs(capsys):
    "Labels stay text: 01 and 1 are two molecules. A row in another unit is named, before the conclusions and in the numbers."
    molecule = [f"0{row // 2}" if row < 100 else str(row // 2 - 50) for row in range(200)]
    frame = data().assign(molecule=molecule)
    frame.loc[7, "uE"] /= 1000
    frame.to_csv("groups.csv", index=False)
    args = ["validate", "groups.csv", *COLUMNS, *QUICK, "--n-resamples", "99", "--statistics", "zms", "--groups", "molecule", "--tolerance", "1.5"]
    code, out, _ = run(capsys, *args, "--report", "r.html", "--json", "n.json")
    numbers, text, page = json.load(open("n.json", encoding="utf-8")), " ".join(out.split()), open("r.html", encoding="utf-8").read()
    assert code == 0 and (numbers["settings"]["groups"], numbers["settings"]["tolerance"], numbers["data"]["groups"]) == (100, 1.5, "molecule")
    assert "<dt>Column of groups</dt><dd>molecule</dd>" in page and numbers["causes"][0]["rows"] == [7]
    assert f"CAUTION {numbers['causes'][0]['sentence']}" not in text and f"NEXT {numbers['step']['sentence']}" in text and numbers["step"]["why"] == "file" and "Row 7" in numbers["step"]["sentence"]
    assert run(capsys, *args, "--by", "molecule", "--json", "-")[0] == 0


def test_a_row_that_decides_alone_is_no_fault_that_was_shown(capsys, monkeypatch):
    "--fail-on invalid passes, --fail-on inconclusive does not."
    rng = np.random.default_rng(3)
    u = rng.lognormal(size=300)
    frame = pd.DataFrame({"error": u * rng.normal(size=300), "uncertainty": u})
    frame.loc[7, "uncertainty"] /= 1000
    frame.to_csv("row.csv", index=False)
    args = ["validate", "row.csv", "--error", "error", "--std", "uncertainty", *QUICK[2:], "--n-boot", "999", "--n-resamples", "199", "--statistics", "cc"]
    found = next(one for one in json.loads(run(capsys, *args, "--json", "-")[1])["findings"] if one["name"] == "on average")
    assert (found["status"], found["reason"], found["rows"]) == ("inconclusive", "rows", [7])
    monkeypatch.setattr("uqcal.errors.validation.validate_errors", once("a row"))
    assert [run(capsys, *args, "--fail-on", asked)[0] for asked in ("invalid", "inconclusive")] == [0, 1]


def test_conclusions_can_be_left_out(capsys):
    fewer = [*COLUMNS, *QUICK[:4], "--no-conclusions"]
    code, out, _ = run(capsys, "validate", "errors.csv", *fewer, "--json", "-")
    assert code == 0 and {one["kind"] for one in json.loads(out)["findings"]} == {"scores"} and json.loads(out)["scores"] == json.loads(run(capsys, "validate", "errors.csv", *COLUMNS, *QUICK, "--json", "-")[1])["scores"]
    assert "shuffles" not in run(capsys, "validate", "errors.csv", *fewer, "--verbose")[1]


@pytest.mark.parametrize("args, codes", [([], (1, 1)), (["--no-conclusions"], (0, 1))])
def test_fail_on_looks_at_conclusions_first(capsys, monkeypatch, args, codes):
    "Right on average, wrong along u: the conclusions say so; without them CC, ENCE and ZMSE are inconclusive."
    rng = np.random.default_rng(1)
    u = np.exp(rng.standard_normal(2000))
    error = u * rng.standard_t(6, 2000)
    pd.DataFrame({"error": error, "uncertainty": u**0.6 * np.sqrt(np.mean((error / u**0.6)**2))}).to_csv("made.csv", index=False)
    monkeypatch.setattr("uqcal.errors.validation.validate_errors", once(codes))
    for fail_on, code in zip(("invalid", "inconclusive"), codes):
        assert run(capsys, "validate", "made.csv", "--error", "error", "--std", "uncertainty", "--n-boot", "100", "--n-mc", "200", "--statistics", "zms,cc", "--fail-on", fail_on, *args)[0] == code


@pytest.mark.parametrize("cells, kind", [(["1", "2.5", "-3"], float), (["Na", "Cl", "Na"], object), (["True", "False", "True"], object), (["1", "2", "0,5"], float)])
def test_features_are_numbers_or_text(folder, cells, kind):
    folder.joinpath("made.csv").write_text("E;uE;f\n" + "\n".join(f"1;2;{cell}" for cell in cells))
    values = read_table("made.csv", ["E", "uE"], by=["f", "uE"]).feature("f")
    assert values.dtype == kind and list(values) == ([float(cell.replace(",", ".")) for cell in cells] if kind is float else cells)


@pytest.mark.parametrize("cells, message", [
    (["a", "", "NA", "b"], "made.csv, line 3: column 'f' has no value ('NA' stands for none; say --as-groups f if its cells are names of groups), and in 1 more line; --drop-missing leaves out rows without a value"), (["1", "nan", "2", "3"], "made.csv, line 3: column 'f' has no value; --drop-missing leaves out rows without a value"),
    (["1", "2", "inf", "3"], "made.csv, line 4: column 'f' is infinite (inf)"), (["7", "7", "7", "7"], "--by f must not be constant: all 4 values are 7, so its order says nothing"),
    (["a", "a", "a", "a"], "--by f must hold at least two groups: all 4 values are 'a'"),
    (["a", "b", "c", "d"], "--by f must hold groups of several points: its 4 values are all different"), (["", "", "", ""], "made.csv, line 2: column 'f' has no value, and in 3 more lines; --drop-missing leaves out rows without a value"),
])
def test_refused_features(capsys, folder, cells, message):
    folder.joinpath("made.csv").write_text("E,uE,f\n" + "\n".join(f"{k},{k + 1},{cell}" for k, cell in enumerate(cells)))
    assert refused(capsys, "validate", "made.csv", *COLUMNS, "--n-bins", "2", "--by", "f") == message


@pytest.mark.parametrize("cells, message", [
    (["a"] * 4, "--groups must hold at least two different labels, since one group is one independent observation: all 4 are 'a'"),
    (["a", "", "b", "b"], "made.csv, line 3: column 'g' has no value; --drop-missing leaves out rows without a value"),
])
def test_refused_groups(capsys, folder, cells, message):
    folder.joinpath("made.csv").write_text("E,uE,g\n" + "\n".join(f"{k},{k + 1},{cell}" for k, cell in enumerate(cells)))
    assert refused(capsys, "validate", "made.csv", *COLUMNS, "--groups", "g") == message


def test_features_in_parquet(parquet, capsys):
    frame = data().assign(text=["a", "b"] * 100, category=pd.Categorical(["3", "4"] * 100), flag=[True, False] * 100, number=np.arange(200), when=pd.Timestamp("2024-01-01"))
    frame.to_parquet("made.parquet")
    table = read_table("made.parquet", ["E"], by=["text", "category", "flag", "number"])
    assert [table.feature(name).dtype.kind for name in ("text", "category", "flag", "number")] == ["O", "O", "O", "f"] and list(table.feature("category")[:2]) == ["3", "4"]
    args = ["validate", "made.parquet", *COLUMNS, *QUICK, "--statistics", "zms"]
    assert run(capsys, *args, "--by", "text", "--by", "number")[0] == 0
    assert refused(capsys, *args, "--by", "when").startswith("made.parquet: column 'when' must hold numbers or text, it holds timestamp")
    frame.assign(text=["a", None] * 100).to_parquet("made.parquet")
    assert refused(capsys, *args, "--by", "text") == "made.parquet, row 2: column 'text' has no value, and in 99 more rows; --drop-missing leaves out rows without a value"


# --- what is refused, in one line

@pytest.mark.parametrize("args, message", [
    (["validate"], "give a FILE, or demo for the table that travels with uqcal; see uqcal validate --help"),
    (["validate", "eror.csv", *COLUMNS], "there is no file eror.csv; did you mean errors.csv?"),
    (["validate", ".", *COLUMNS], ". is a folder, not a file"),
    (["validate", "errors.csv", "--error", "e", "--std", "uE"], "errors.csv has no column 'e', its columns are 'E', 'uE'; did you mean 'E'?"),
    (["validate", "errors.csv", "--error", "E", "--std", "E"], "the columns must differ, got 'E', 'E'"),
    (["validate", "errors.csv", "--error", "E", "--observed", "y"], "give either --error, or --observed and --predicted, not both"),
    (["validate", "errors.csv", "--error", "E"], "give --std or --variance, one of the two: how sure the predictions are"),
    (["validate", "errors.csv", "--error", "E", "--std", "uE", "--variance", "uE"], "give --std or --variance, one of the two: how sure the predictions are"),
    (["validate", "errors.csv", "--predicted", "y", "--std", "uE"], "--observed is needed: the column of what happened"),
    (["validate", "errors.csv", "--observed", "y", "--std", "uE"], "--predicted is needed: the column of predictions"),
    (["validate", "errors.csv", "--prob", "p", "--std", "uE"], "give one statement, not two: --std and --prob are of different kinds"),
    (["validate", "errors.csv", *COLUMNS, "--level", "0.9"], "of no use for mean ± std: leave out --level"),
    (["validate", "errors.csv", *COLUMNS, "--weight", "w", "--positive", "x"], "give one statement, not two: --error and --positive are of different kinds"),
    (["validate", "errors.csv", *COLUMNS, "--weight", "w"], "of no use for mean ± std: leave out --weight"),
    (["validate", "errors.csv", *COLUMNS, "--by", "mass"], "errors.csv has no column 'mass', its columns are 'E', 'uE'"),
    (["validate", "errors.csv", *COLUMNS, "--by", "E", "--by", "E"], "the columns of --by must differ, got 'E', 'E'"),
    (["validate", "errors.csv", *COLUMNS, "--as-groups", "E"], "--as-groups E says how a column of --by is read: give --by E with it"),
    (["validate", "errors.csv", *COLUMNS, "--by", "E", "--no-conclusions"], "--no-conclusions asks no questions: leave out --by"),
    (["validate", "errors.csv", *COLUMNS, "--groups", "molecule"], "errors.csv has no column 'molecule', its columns are 'E', 'uE'"),
    (["validate", "errors.csv", *COLUMNS, "--groups", "uE"], "--groups must name a column of its own, got 'uE'"),
    (["conformalize", "demo", "--quantiles", "q*", "--observed", "temperature"], "--level is needed: the coverage that is claimed, such as 0.9"),
    (["validate", "demo", "--quantile", "q05", "--observed", "temperature", "--level", "0.9"], "--quantile must be a level and a column, as 0.05=q05, got 'q05'"),
    (["validate", "demo", "--quantile", "0.5=rain", "--quantile", "0.5=rain_prob", "--observed", "temperature"], "--quantile names the level 0.5 more than once"),
    (["validate", "demo", "--samples", "rain", "--observed", "temperature"], "the columns must hold at least two members for each row, got one"),
    (["validate", "demo", "--quantiles", "x*", "--observed", "temperature", "--level", "0.9"], "--quantiles x* names no column; the file has 'date', 'season', 'temperature', 'rain', 'temperature_mean', 'temperature_std', 'q05', 'q10', 'q25', 'q40', 'q50', 'q60'"),
    (["validate", "demo", "--tolerance", "1"], "--tolerance must be a factor above 1, such as 1.25, got 1.0"),
    (["validate", "demo", "--tolerance", "nan"], "--tolerance must be a factor above 1, such as 1.25, got nan"),
    (["validate", "demo", "--n-mc", "lots"], "--n-mc must be a number or auto, got 'lots'"),
    (["validate", "demo", "--n-mc", "1"], "--n-mc must be an integer ≥ 2, got 1"),
    (["validate", "demo", "--n-boot", "0"], "--n-boot must be an integer ≥ 1, got 0"),
    (["validate", "demo", "--n-bins", "0"], "--n-bins must be an integer ≥ 1, got 0"),
    (["validate", "demo", "--confidence", "95"], "--confidence must lie strictly between 0 and 1, got 95.0"),
    (["validate", "demo", "--seed", "-1"], "--seed must be ≥ 0 where it is a seed, got -1"),
    (["validate", "demo", "--jobs", "0"], "--jobs must be a number of cores, or -1 for all, got 0"),
    (["validate", "demo", "--fail-on", "valid"], "--fail-on must be one of 'beyond', 'invalid', 'inconclusive', 'everywhere', got 'valid'; did you mean 'invalid'?"),
    (["validate", "demo", "--report", "new/r.html"], "new/r.html can't be written: there is no folder new"),
    (["validate", "demo", "--json", "."], ". is a folder; name a file in it"),
    (["validate", "demo", "--json", "x", "--report", "x"], "--report and --json must name different files"),
    (["validate", "errors.csv", *COLUMNS, "--report", "./errors.csv"], "--report would overwrite errors.csv, the data"),
    (["datasets", "fetch"], "name the data sets to fetch, or give --all; uqcal datasets lists them"),
    (["datasets", "fetch", "QM9_E", "--all"], "name the data sets to fetch, or give --all; uqcal datasets lists them"),
])
def test_refusals(capsys, args, message):
    before = sorted(os.listdir())
    assert refused(capsys, *args) == message
    assert sorted(os.listdir()) == before


@pytest.mark.parametrize("args, message", [
    (["validate", "demo", "--statistics", "zms,enec"], r"--statistics must be one of .* got 'enec'; did you mean 'ence'\?"),
    (["validate", "demo", "--statistics", "nll"], r"--statistics may hold .nll. only with distribution="),
    (["validate", "demo", "--distribution", "t2"], r"--distribution must have a finite variance"),
    (["validate", "demo", "--distribution", "gauss"], r"--distribution must be .* got 'gauss'"),
    (["datasets", "fetch", "QM9"], r"NAME must be one of .*; did you mean 'QM9_E'\?"),
])
def test_refusals_that_list_choices(capsys, args, message):
    assert re.match(message, refused(capsys, *args))


@pytest.mark.parametrize("content, message", [
    ("", "made.csv is empty; it must hold a line with the names of the columns, then a line for each point"),
    ("\n \n", "made.csv is empty; it must hold a line with the names of the columns, then a line for each point"),
    ("E,uE\n", "made.csv holds the names of its columns but no line of numbers"),
    ("1.5,2\n2,3\n", "made.csv has no column 'E', its columns are '1.5', '2'; the first line must hold the names of the columns"),
    ("E uE\n1 2\n", "made.csv has no column 'E', its columns are 'E uE'; columns are separated by commas, semicolons or tabs"),
    ("E,E,uE\n1,2,3\n", "made.csv has 2 columns called 'E'; rename all but one"),
    ("E,uE\n1,2\n\nhigh,2\n", "made.csv, line 4: column 'E' must hold numbers, got 'high'"),
    ("E,uE\n1_000,2\n", "made.csv, line 2: column 'E' must hold numbers, got '1_000' (write a point before the decimals and nothing between thousands, or name the marks by --decimal and --thousands)"),
    ("E,uE\n1,234,2\n", "made.csv, line 2: 3 cells where the header has 2"),
    ("E,uE\n1,2\n1\n", "made.csv, line 3: 1 cells where the header has 2"),
    ("E,uE\n1,2\nNaN,2\n,3\n", "made.csv, line 3: column 'E' has no value, and in 1 more line; --drop-missing leaves out rows without a value"),
    ("E,uE\n1,2\n1,NA\n", "made.csv, line 3: column 'uE' has no value; --drop-missing leaves out rows without a value"),
    ("E,uE\n1,2\n-inf,2\n", "made.csv, line 3: column 'E' is infinite (-inf)"),
    ("E,uE\n1,2\n1,-0.5\n1,0\n1,-3\n", "made.csv, line 3: column 'uE' is not positive (-0.5), and in 2 more lines"),
    ('E,uE,note\n1,2,"two\nlines"\n1,0,x\n', "made.csv, line 4: column 'uE' is not positive (0)"),
])
def test_refused_tables(capsys, folder, content, message):
    folder.joinpath("made.csv").write_text(content)
    assert refused(capsys, "validate", "made.csv", *COLUMNS) == message


@pytest.mark.parametrize("content, message", [
    (b"E,uE,\xe9\n1,2,3\n", "made.csv is not UTF-8 text; save it as CSV in UTF-8, or give a .parquet file, or name its encoding"),
    (b"PK\x03\x04\x00\xff\xff", "made.csv is not UTF-8 text; save it as CSV in UTF-8, or give a .parquet file, or name its encoding"),
])
def test_refused_bytes(capsys, folder, content, message):
    folder.joinpath("made.csv").write_bytes(content)
    assert refused(capsys, "validate", "made.csv", *COLUMNS) == message


def test_value_that_is_too_large_says_what_is(capsys, folder):
    folder.joinpath("made.csv").write_text("E,uE\n1,2\n1e200,2\n")
    assert refused(capsys, "validate", "made.csv", *COLUMNS) == "made.csv, line 3: column 'E' is too large for its square, above 1e150 (1e+200)"


def test_error_on_standard_input_names_it():
    done = start("validate", "-", *COLUMNS, input="E,uE\n1,2\nx,3\n")
    assert (done.returncode, done.stderr) == (2, "uqcal: standard input, line 3: column 'E' must hold numbers, got 'x'\n")


def test_outputs_are_checked_before_anything_is_computed(capsys, monkeypatch):
    monkeypatch.setattr("uqcal.errors.validation.validate_errors", lambda *args, **options: pytest.fail("computed in vain"))
    assert "no folder" in refused(capsys, "validate", "demo", "--report", "new/report.html")
    assert "no folder" in refused(capsys, "validate", "demo", "--json", "new/numbers.json")


def test_failing_json_leaves_the_file_before(capsys, monkeypatch, folder):
    folder.joinpath("numbers.json").write_text("before")
    def full(*args): raise OSError(28, "No space left on device")
    monkeypatch.setattr("os.replace", full)
    code, _, err = run(capsys, "validate", "errors.csv", *COLUMNS, *QUICK, "--json", "numbers.json")
    assert code == 2 and err == "uqcal: numbers.json can't be written: No space left on device\n"
    assert folder.joinpath("numbers.json").read_text() == "before" and sorted(os.listdir()) == ["errors.csv", "numbers.json"]


# --- reading

@pytest.mark.parametrize("content", ["E,uE\n1,2\n3,4\n", "E;uE\n1;2\n3;4", "E\tuE\r\n1\t2\r\n3\t4\r\n", '\ufeff"E", "uE"\n1, 2\n\n3e0 ,+4\n\n',
                                     "\n\nuE,note,E\n2,\"a, b\",1\n4,,3\n", "E,uE\r1,2\r3,4\r"])
def test_ways_to_write_a_table(folder, content):
    folder.joinpath("made.csv").write_bytes(content.encode())
    table = read_table("made.csv", ["E", "uE", "E"])
    assert list(table.columns) == ["E", "uE"] and table.source == "made.csv"
    np.testing.assert_array_equal(table.numbers("E"), [1, 3])
    np.testing.assert_array_equal(table.numbers("uE", positive=True), [2, 4])


def test_numbers_are_read_to_the_last_digit():
    table = read_table("errors.csv", ["E", "uE"])
    np.testing.assert_array_equal(table.columns["E"], data()["E"])
    np.testing.assert_array_equal(table.columns["uE"], data()["uE"])


def test_observed_minus_predicted():
    frame = pd.DataFrame({"y": [3.0, 5.0, 4.0], "p": [1.0, 6.0, 4.5], "u": [1.0, 2.0, 3.0]})
    frame.to_csv("made.csv", index=False)
    given = KINDS["mean-std"].read(Asked("made.csv", {"observed": "y", "predicted": "p", "std": "u"}, {"encoding": None}, by=("p",)))
    np.testing.assert_array_equal([given.error, given.values, given.by["p"]], [[2, -1, -0.5], [1, 2, 3], [1, 6, 4.5]])
    assert given.table.source == "made.csv" and list(given.by) == ["p"] and given.words == ["--observed y", "--predicted p", "--std u"]
    given = KINDS["mean-std"].read(Asked("made.csv", {"observed": "y", "predicted": "p", "variance": "u"}, {"encoding": None}))
    np.testing.assert_allclose(given.values, np.sqrt([1, 2, 3]))


@pytest.mark.parametrize("kind", ["float64", "float32", "Float64", "int64", "Int16"])
def test_parquet(parquet, kind):
    pd.DataFrame({"E": pd.Series([1, -2, 3], dtype=kind), "u.E": [1.0, 2.0, 3.0], "other": ["a", "b", "c"]}).to_parquet("made.PARQUET")
    table = read_table("made.PARQUET", ["u.E", "E"])
    np.testing.assert_array_equal([table.numbers("E"), table.numbers("u.E")], [[1, -2, 3], [1, 2, 3]])
    assert list(table.columns) == ["u.E", "E"]


@pytest.mark.parametrize("frame, message", [
    ({"E": [1.0, None, 2.0, None], "uE": 1.0}, "made.parquet, row 2: column 'E' has no value, and in 1 more row"),
    ({"E": [1.0, 2.0], "uE": [1.0, -1.0]}, "made.parquet, row 2: column 'uE' is not positive (-1)"),
    ({"E": ["a", "b"], "uE": 1.0}, "made.parquet: column 'E' must hold numbers, it holds "),
    ({"E": [True, False], "uE": 1.0}, "made.parquet: column 'E' must hold numbers, it holds bool"),
    ({"e": [1.0], "uE": 1.0}, "made.parquet has no column 'E', its columns are 'e', 'uE'; did you mean 'e'?"),
    ({"E": np.array([]), "uE": np.array([])}, "made.parquet holds the names of its columns but no row of numbers"),
])
def test_refused_parquet(parquet, capsys, frame, message):
    pd.DataFrame(frame).to_parquet("made.parquet")
    assert refused(capsys, "validate", "made.parquet", *COLUMNS).startswith(message)


def test_damaged_parquet(parquet, capsys, folder):
    data().to_parquet("made.parquet")
    whole = folder.joinpath("made.parquet").read_bytes()
    for damaged in (b"", b"E,uE\n1,2\n", whole[:len(whole) // 2], whole[:20] + b"\xff" * 300 + whole[320:]):
        folder.joinpath("made.parquet").write_bytes(damaged)
        assert refused(capsys, "validate", "made.parquet", *COLUMNS, *QUICK).startswith("made.parquet")


def test_parquet_without_pyarrow(capsys, monkeypatch, folder):
    folder.joinpath("made.parquet").touch()
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    assert refused(capsys, "validate", "made.parquet", *COLUMNS) == "made.parquet: parquet files need pyarrow, which is not installed; pip install 'uqcal[parquet]'"


# --- data sets

def test_datasets_are_listed(capsys):
    code, out, err = run(capsys, "datasets")
    from uqcal.datasets import catalogue
    assert code == 0 and err == "" and max(map(len, out.splitlines())) <= 80
    assert [line.split()[0] for line in out.splitlines()[1:] if line[:1].strip()][:-1] == list(catalogue().index)
    assert re.search(r"^QM9_E +13,885  eV    atomisation", out, re.M)


def test_fetch_says_where(capsys):
    code, out, err = run(capsys, "datasets", "fetch", "Diffusion_RF", "--path")
    assert code == 0 and err == "" and len(pd.read_csv(out.rstrip("\n"))) == 2040
    code, said, _ = run(capsys, "datasets", "fetch", "Diffusion_RF")
    assert code == 0 and said == f"Diffusion_RF: 2,040 points, checksum verified, {out}"


def test_what_cannot_be_fetched_is_one_line(capsys, monkeypatch, folder):
    import pooch
    monkeypatch.setenv("UQCAL_DATA_DIR", str(folder))
    monkeypatch.setenv("XDG_CACHE_HOME", str(folder / "cache"))
    def offline(*args, **options): raise OSError("no network")
    monkeypatch.setattr(pooch, "retrieve", offline)
    assert "QM9_E" in refused(capsys, "datasets", "fetch", "QM9_E") or "qm9" in refused(capsys, "datasets", "fetch", "QM9_E")


def test_a_score_below_its_reference_that_agrees_is_explained(capsys):
    "ENCE of right uncertainties lies below what is expected of heavier tails: ζ far below −1 agrees. Mutation: the line always, or never."
    rng = np.random.default_rng(5)
    u = np.exp(0.3 * rng.standard_normal(1000))
    for width, explained in ((1.0, True), (np.exp(rng.standard_normal(1000)), False)):
        pd.DataFrame({"E": width * u * rng.standard_normal(1000), "uE": u}).to_csv("scores.csv", index=False)
        code, said, _ = run(capsys, "validate", "scores.csv", *COLUMNS, *QUICK, "--verbose")
        assert code == 0 and ("ζ below −1 agrees" in said) == explained


@pytest.mark.parametrize("rows", [3, 5, 12])
def test_a_unit_in_the_observed_column_is_named_with_all_its_lines(capsys, folder, rows):
    "Targets in kJ/mol in some rows of a file in kcal/mol: the ratio of the two columns shows it, and the lines are those of the file."
    rng = np.random.default_rng(0)
    predicted, u = rng.normal(-6, 2, 1200), np.exp(rng.normal(-0.7, 0.4, 1200))
    observed = predicted + u * rng.normal(size=1200)
    wrong = np.linspace(10, 1100, rows).astype(int)
    observed[wrong] *= 4.184
    pd.DataFrame({"y": observed, "yhat": predicted, "u": u}).to_csv("units.csv", index=False)
    code, said, _ = run(capsys, "validate", "units.csv", "--observed", "y", "--predicted", "yhat", "--std", "u", "--n-boot", "19", "--n-mc", "20", "--n-resamples", "99", "--json", "units.json")
    (cause,) = [one for one in json.loads((folder / "units.json").read_text())["causes"] if one["name"] == "unit_in_a_row"]
    assert cause["strength"] == "likely" and "4.184" in cause["sentence"] and "4.184" in said
    assert cause["rows"] == wrong.tolist() and cause["labels"] == [f"line {row + 2}" for row in wrong]
    assert " ".join(said.split()).count("(line ") >= min(10, rows)
