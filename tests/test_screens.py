"""One screen for each statement and verb: its marks, its fields, their order, 24 lines of 80 columns, what is never cut, and a next step that runs, as a command and as a line of Python."""
import dataclasses
import functools
import json
import re
import shlex
import shutil
from pathlib import Path

import notebooks
import numpy as np
import pandas as pd
import pytest

import uqcal
from uqcal._command.cli import main
from uqcal.options import ValidateOptions
from uqcal.reports import Caution, Report, Step
from uqcal.statements import Intervals, LabelSets, MeanStd, Probabilities

FAST = ValidateOptions(n_boot=99, n_mc=99, n_resamples=199)
TASKS = notebooks.ROOT.parent / "shared" / "tasks"


@functools.cache
def table():
    "Overconfident statements of each kind about the same rows; probabilities too close to 0 and 1; scores at which a group differs."
    rng, n = np.random.default_rng(4), 400
    u, mean, p = np.exp(rng.normal(0, 0.4, n)), rng.normal(size=n), rng.uniform(0.02, 0.98, n)
    prob = rng.dirichlet([1, 1, 1], n)
    frame = pd.DataFrame({"y": mean + 1.8 * u * rng.standard_normal(n), "mean": mean, "sd": u, "lo": mean - u, "hi": mean + u, "p": 1 / (1 + ((1 - p) / p) ** 2),
                          "event": (rng.random(n) < p).astype(int), "kind": np.where(np.arange(n) % 2, "steel", "glass"), "site": np.arange(n) % 3,
                          "pet": [rng.choice(["cat", "dog", "fox"], p=row) for row in prob], "flat": 3.0, "lo2": mean - 4, "hi2": mean + 4, "half": 0.5})
    frame["passed"] = (rng.random(n) < np.where(frame["site"] == 2, p**3, p)).astype(int)
    frame["score"] = p
    for k, name in enumerate(["cat", "dog", "fox"]): frame[f"p_{name}"], frame[f"set_{name}"] = prob[:, k], (prob[:, k] > 0.4).astype(int)
    return frame.round(6)


def statement(kind, two=False):
    "What is predicted, with the names of its columns; of a second model, too."
    df = table()
    if kind == "MeanStd": return df["y"], MeanStd.from_frame(df, "mean", "flat" if two else "sd")
    if kind == "Intervals": return df["y"], Intervals.from_frame(df, *(("lo2", "hi2") if two else ("lo", "hi")), level=0.9)
    if kind == "LabelSets": return df["pet"], LabelSets(df.filter(like="set_").to_numpy(bool), ["cat", "dog", "fox"], level=0.9)
    return df["event"], Probabilities.from_frame(df, "half" if two else "p")


def answer(verb, kind):
    "The report of a verb."
    if verb == "compare_groups": return uqcal.compare_groups(table()["passed"], table()["score"], by=table()["site"], rng=1)
    y, one = statement(kind)
    if verb == "compare_models": return uqcal.compare_models(y, {"one": one, "two": statement(kind, two=True)[1]}, rng=1)
    more = {"validate": {"options": FAST, "rng": 1}, "recalibrate": {"rng": 1}, "conformalize": {"level": 0.9, "rng": 1}, "monitor": {}}[verb]
    return getattr(uqcal, verb)(y, one, **more)


def flat(text): return " ".join(text.split())


def fields(screen):
    "What stands where: title, findings as mark and text, table, verdict, cautions, next step, and what is typed."
    lines = screen.splitlines()
    assert len(lines) <= 24 and max(map(len, lines)) <= 80, screen
    starts = {name: [k for k, line in enumerate(lines) if line.startswith(name)] for name in ("VERDICT  ", "CAUTION  ", "NEXT     ")}
    (verdict,), cautions, nexts = starts.values()
    assert all(verdict < k for k in cautions) and len(nexts) <= 1 and all(k < nexts[0] for k in [verdict, *cautions] if nexts), "verdict, cautions, next step"
    ends = sorted([verdict, *cautions, *nexts, len(lines)])
    told = {k: flat("\n".join(lines[k:e])[9:]) for k, e in zip(ends, ends[1:])}
    blank = lines.index("")
    found, shown = [], lines[blank + 1:verdict]
    for line in shown:
        if re.match(r"  [✓~✗?○·] \S", line): found.append(line)
        elif line.startswith("     ") and found: found[-1] += " " + line.strip()
        elif re.fullmatch(r"  \d+ more: (--verbose|\.details\(\))", line): found.append(line)
        elif line: break  # the table
    typed = [line for line in lines[nexts[0]:] if nexts and line.startswith("         ")] if nexts else []
    return {"title": flat(" ".join(lines[:blank])), "findings": [flat(one) for one in found], "verdict": told[verdict], "cautions": [told[k] for k in cautions],
            "next": told[nexts[0]] if nexts else "", "typed": "\n".join(typed)}


CELLS = [*(("validate", kind) for kind in ("MeanStd", "Intervals", "LabelSets", "Probabilities")), *((verb, kind) for verb in ("recalibrate", "conformalize", "monitor", "compare_models")
         for kind in ("MeanStd", "Intervals", "Probabilities")), ("compare_groups", "scores")]


@pytest.mark.parametrize(("verb", "kind"), CELLS)
def test_a_screen_says_what_was_found_in_order(verb, kind):
    report = answer(verb, kind)
    seen, shown = fields(str(report)), {one.name: one for one in report.listed()}
    assert f"{len(table()):,}" in seen["title"] and (not report.limits or seen["title"].endswith(flat(report.limits)))
    marks = [(line[0], line[2:]) for line in seen["findings"] if " more: " not in line]
    assert len(marks) == len(report.listed()) or seen["findings"][-1].endswith((": --verbose", ": .details()"))
    rest = iter(shown.values())
    for mark, text in marks: assert any(one.mark == mark and text.startswith(one.label[:16]) for one in rest), (mark, text)  # in the order of the findings
    for one in shown.values():
        if one.status == "invalid": assert any(mark == "✗" and flat(one.line) in text for mark, text in marks), one.name
    assert seen["verdict"] == flat(report.conclusion) and seen["next"].startswith(flat(report.step.sentence)[:40])
    assert len(seen["cautions"]) <= len(report.cautions) and "--" not in seen["next"] and sum(text.count("--") for text in seen["cautions"]) == 0  # hints are Python's


@pytest.mark.parametrize(("verb", "kind"), [("recalibrate", "LabelSets"), ("conformalize", "LabelSets"), ("monitor", "LabelSets"), ("compare_models", "LabelSets")])
def test_what_has_no_screen_is_refused_with_what_to_do(verb, kind):
    with pytest.raises(TypeError, match="LabelSets"): answer(verb, kind)


@dataclasses.dataclass(frozen=True, kw_only=True, repr=False)
class Long(Report):
    "A report with more to say than a screen holds."
    conclusion = "Overconfident: too close to 0 and 1. " * 4
    title, limits = "probabilities, 400 rows", "[95 %]"

    def table_lines(self): return ["  a table of one line"] * 3


def test_verdict_faults_cautions_that_decide_and_the_next_step_are_never_cut():
    "Mutations: lines cut from the end; faults cut before what is valid; a table kept in place of a fault; a caution that decides cut."
    findings = answer("validate", "Probabilities").findings
    fault, fine = next(one for one in findings if one.status == "invalid"), next(one for one in findings if one.status == "fact")
    caution = Caution(code="few_clusters", facts={"clusters": 7}, decides=True)
    many = Long(findings=(*[dataclasses.replace(fine, name=f"fine {k}") for k in range(12)], *[dataclasses.replace(fault, name=f"fault {k}") for k in range(4)]),
                cautions=(caution, dataclasses.replace(caution, decides=False)), step=Step(verb="validate", why="conclusions"))
    screen, lines = str(many), str(many).splitlines()
    assert sum(line.startswith("  ✗ ") for line in lines) == 4 and len(lines) <= 24 and "a table" not in screen
    assert flat(caution.sentence) in flat(screen) and screen.count("CAUTION  ") == 1
    assert int(re.search(r"(\d+) more: ", screen)[1]) + sum(line.startswith("  · ") for line in lines) == 12
    assert flat(many.step.sentence) in flat(screen) and flat(many.conclusion) in flat(screen)


def typed_in_python(line, df):
    "What a line of Python gives, with the user's table as df."
    return eval(line, {"uqcal": uqcal, "df": df, "table": df})


@pytest.mark.parametrize("kind", ["MeanStd", "Intervals", "Probabilities"])
def test_from_a_statement_through_what_is_printed_to_new_rows(kind):
    "Validate, type the line, type the line of the answer with new rows, validate again: no fault is shown any more on the whole."
    y, one = statement(kind)
    made = typed_in_python(uqcal.validate(y, one, rng=1, options=FAST).python, table())
    new = eval(made.python, {"recalibration": made, "new_statement": one, "new_columns": None})
    assert type(new) is type(one) and uqcal.validate(y, new, rng=1, options=FAST).verdict != "invalid"


DEMO = {"MeanStd": ("temperature", lambda df: MeanStd.from_frame(df, "temperature_mean", "temperature_std")), "Intervals": ("temperature", lambda df: Intervals.from_frame(df, "q05", "q95", level=0.9)),
        "Probabilities": ("rain", lambda df: Probabilities.from_frame(df, "rain_prob"))}
FILES = {"clinic_visits.csv": ("event", lambda df: Probabilities.from_frame(df, "prob"), {"by": "hospital", "groups": "patient"}),
         "load_quantiles_b.csv": ("load", lambda df: Intervals.from_frame(df, "q05", "q95", level=0.9), {})}


@pytest.mark.parametrize("kind", DEMO)
def test_the_line_of_python_runs_on_the_demo(kind):
    df = uqcal.load_demo()
    observed, make = DEMO[kind]
    report = uqcal.validate(df[observed], make(df), rng=1, options=FAST)
    assert report.python in "\n".join(line[9:] for line in str(report).splitlines())
    outcomes = ("recalibrated", "unchanged") if kind == "Intervals" else ("recalibrated",)  # the line has no seed, and other folds may gain too little
    assert typed_in_python(report.python, df).outcome in outcomes


@pytest.mark.parametrize("file", [pytest.param(file, marks=[pytest.mark.slow] * (file == "clinic_visits.csv")) for file in FILES])
def test_the_line_of_python_runs_on_the_files_of_the_tasks(file):
    if not (TASKS / file).exists(): pytest.skip("the files of the tasks are not here")
    df = pd.read_csv(TASKS / file)
    observed, make, more = FILES[file]
    report = uqcal.validate(df[observed], make(df), rng=1, options=FAST, **{name: df[column] for name, column in more.items()})
    assert report.verdict == "invalid" and typed_in_python(report.python, df).outcome == "recalibrated"


# --- as commands

ROLES = {"MeanStd": "--observed y --predicted mean --std sd", "Intervals": "--observed y --lower lo --upper hi --level 0.9", "LabelSets": "--observed pet --sets set_* --level 0.9", "Probabilities": "--observed event --prob p"}
MODELS = {"MeanStd": "--observed y --model one=mean-std:mean,sd --model two=mean-std:mean,flat", "Intervals": "--observed y --level 0.9 --model one=intervals:lo,hi --model two=intervals:lo2,hi2",
          "Probabilities": "--observed event --model one=prob:p --model two=prob:half"}
QUICK = {"validate": "--n-resamples 199 --jobs 1", "recalibrate": "--n-resamples 199 --jobs 1", "compare-models": "--n-boot 99 --jobs 1", "compare-groups": "--n-resamples 199 --jobs 1"}


def words_of(verb, kind):
    "A command on the file of the table."
    if verb == "compare-groups": return "--observed passed --score score --by site"
    if verb == "compare-models": return MODELS[kind]
    if verb == "conformalize" and kind == "Probabilities": return "--observed pet --probs p_* --level 0.9"
    return ROLES[kind] + (" --level 0.9" if verb == "conformalize" and kind == "MeanStd" else "")


def run(capsys, words):
    "What a command prints."
    if words[0] == "validate" and "--std" in words: words = [*words, "--n-boot", "199", "--n-mc", "99"]
    if words[0] == "recalibrate" and "--std" in words and "--apply" not in words: words = [*words, "--n-boot", "199"]
    with pytest.raises(SystemExit) as ended: main(words)
    said = capsys.readouterr()
    assert ended.value.code == 0, said.err
    return said.out


def printed(screen):
    "The commands that a screen prints, as words."
    return [shlex.split(one.replace("\\\n", ""))[1:] for one in re.findall(r"(?m)^ *uqcal (?:.*\\\n)*.*$", screen)]


@pytest.mark.parametrize(("verb", "kind"), [(verb.replace("_", "-"), kind) for verb, kind in CELLS])
def test_a_command_has_one_screen_and_what_it_prints_runs(capsys, monkeypatch, tmp_path, verb, kind):
    "Marks are the statuses of its numbers; at most one hint in a sentence, and that the command line's."
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "80")
    table().to_csv("rows.csv", index=False)
    words = [verb, "rows.csv", *words_of(verb, kind).split(), *QUICK.get(verb, "").split()]
    if verb == "recalibrate" and kind == "Intervals": words = words[:-4]
    screen = re.split(r"\n\n(?:Rows|Model|Numbers|Report|State)", run(capsys, [*words, "--json", "numbers.json"]))[0].rstrip("\n")
    seen, found = fields(screen), json.loads(Path("numbers.json").read_text(encoding="utf-8"))
    assert seen["title"].startswith("rows.csv: ") and seen["verdict"] == flat(found.get("conclusion", seen["verdict"]))
    faults = [one for one in found.get("findings", []) if one["status"] == "invalid"]
    assert sum(line.startswith("✗") for line in seen["findings"]) >= min(len(faults), 1) and not re.search(r"\w= ?\(?|\.\w+\(", seen["next"] + " ".join(seen["cautions"]).split(" --")[0])
    (step,) = printed(screen) or [None]
    if step is None: return
    if "new.csv" in step or "next.csv" in step: shutil.copy("rows.csv", step[1])
    run(capsys, [*step, *QUICK.get(step[0], "").split()] if "--apply" not in step and step[:1] != ["recalibrate"] else step)
