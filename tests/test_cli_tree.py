"""Every command with its options, taken from the tree of commands: no traceback, no output lost, no option taken and dropped."""
import importlib
import itertools
import json
import random
import shlex
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import typer

from uqcal._command.cli import app, main
from uqcal._command.cli_statements import SAID

pytestmark = pytest.mark.usefixtures("undrawn")

# How each command of the tree is used, and the words that make it so.
WAYS = {
    "validate": {"errors": "t.csv --error E --std u", "pairs": "t.csv --observed y --predicted f --std u", "variance": "t.csv --observed y --predicted f --variance u", "bounds": "t.csv --observed y --lower lo --upper hi --level 0.9",
                 "statistics": "t.csv --error E --std u --no-conclusions", "demo": "demo", "parts": "part-*.csv --error E --std u --dask", "scores": "t.csv --observed o --prob p", "parts of scores": "part-*.csv --observed o --prob p --dask",
                 "sets": "t.csv --observed pet --sets in_* --level 0.9", "lists": "t.csv --observed pet --sets listed --level 0.9", "quantiles": "demo --observed temperature --quantiles q* --level 0.9"},
    "recalibrate": {"errors": "t.csv --error E --std u", "scores": "t.csv --observed o --prob p", "bounds": "t.csv --observed y --lower lo --upper hi --level 0.9",
                    "apply": "t.csv --std u --apply model.json --out applied.csv", "apply scores": "t.csv --prob p --apply scores.json --out applied.csv", "apply bounds": "t.csv --apply bounds.json --out applied.csv"},
    "conformalize": {"pairs": "t.csv --observed y --predicted f --std u --level 0.9", "bounds": "t.csv --observed y --lower lo --upper hi --level 0.9", "classes": "t.csv --observed pet --probs p_* --level 0.9",
                     "apply": "t.csv --apply conformal.json --out applied.csv"},
    "monitor": {"scores": "t.csv --observed o --prob p --out rows.csv", "hedged": "t.csv --observed o --prob p --method hops --seed 1 --out rows.csv", "errors": "t.csv --error E --std u --out rows.csv",
                "predictions": "t.csv --observed y --predicted f --std u --out rows.csv", "bounds": "t.csv --observed y --lower lo --upper hi --level 0.9 --out rows.csv"},
    "compare-groups": {"screen": "t.csv --observed o --score p --by g", "pair": "t.csv --observed o --score p --by g --only a --reference b", "one": "t.csv --observed o --score p --by g --only a",
                       "reference": "t.csv --observed o --score p --by g --reference a", "parts": "part-*.csv --observed o --score p --by g --dask"},
    "compare-models": {"log": "t.csv --observed y --score log --model one=mean-std:f,u --model two=mean-std:f2,u2", "crps": "t.csv --observed y --model one=mean-std:f,u --model two=mean-std:f2,u2",
                       "interval": "t.csv --observed y --level 0.9 --model one=intervals:lo,hi --model two=intervals:lo2,hi2", "brier": "t.csv --observed o --score brier --model one=prob:p --model two=prob:p2"},
    "new-study": {"page": "page.ipynb"}, "datasets": {"list": ""}, "datasets fetch": {"path": "Diffusion_RF"}}

# Values by the name of an option, and where a command needs another one; options of other names get one by the word that stands for it.
VALUES = {"where": "k < 150", "decimal": ".", "thousands": "_", "encoding": "utf-8", "seed": "2", "jobs": "1", "groups": "c", "std": "u2", "variance": "u2", "prob": "p2", "probs": "p_*", "samples": "f*", "quantiles": "q*", "quantile": "0.05=lo", "positive": "1", "separator": "|", "by": "x", "figure": "figure.png", "weight": "w", "as_groups": "x",
          "predicted": "f", "observed": "y", "error": "E2", "reference": "b", "lower": "lo2", "upper": "hi2", "outcome": "o2", "score": "p2", "response": "o2", "group": "g2", "a": "a", "b": "c",
          "sets": "listed", "level": "0.8", "tolerance": "1.5", "confidence": "0.6", "fail_on": "invalid", "n_bins": "5", "n_boot": "29", "n_mc": "29", "n_resamples": "129",
          "n_calibration": "100", "distribution": "uniform", "statistics": "zms,cc", "method": "mixture", "name": "again", "key": "k", "every": "50", "on_error": "skip", "on_alarm": "restart",
          "run_length": "10", "kurtosis": "20", "dof": "6", "page": "groups", "kind": "intervals", "names": "Diffusion_RF", "apply_file": "model.json", "model": "model.json", "out": "made.csv", "report": "report.html",
          "json_file": "numbers.json", "state": "state.json"}
OWN = {("compare-models", "tolerance"): "0.9", ("compare-models", "model"): "three=mean-std:f3,u", ("monitor", "fail_on"): "alarm", ("compare-groups", "only"): "c",
       ("compare-groups", "observed"): "o2", ("compare-groups", "by"): "g2", ("monitor", "observed"): "o2", ("monitor", "prob"): "p2",
       ("compare-models", "score"): "crps"}
CHEAP = {"n_boot": "19", "n_mc": "19", "n_resamples": "99", "jobs": "1"}
BESIDE = [("as_groups", "by"), ("resume", "state"), ("every", "state")]  # the first has a meaning beside the second only

WORKERS = [("errors.validation", "validate"), ("corrections.error_recalibration", "recalibrate_errors"), ("corrections.probability_recalibration", "recalibrate_probabilities"), ("probabilities.calibration", "calibration_report"), ("intervals.coverage", "interval_report"),
           ("comparison.model_comparison", "compare_models"), ("subgroups.screening", "screen"), ("subgroups.two_groups", "comparison_graph"), ("subgroups.against_everyone", "subpopulation_graph"), ("adapters.streams", "recalibrate_rows"),
           ("adapters.error_streams", "recalibrate_error_rows"), ("adapters.error_streams", "recalibrate_bound_rows"), ("_command.cli_recalibrate", "conformal"), ("_command.cli_conformalize", "conformal")]


def leaves(command, path=()):
    "Commands that do something, by their words."
    for name, one in getattr(command, "commands", {}).items(): yield from leaves(one, (*path, name))
    if path and command.callback is not None: yield " ".join(path), command


TREE = dict(leaves(typer.main.get_command(app)))
MODES = [(command, way) for command, ways in WAYS.items() for way in ways]


def options(command):
    "The options of a command by name, in order; a test of the tree needs no list of them."
    return {one.name: one for one in TREE[command].params if one.param_type_name == "option" and not one.hidden and one.name != "help"}


def value(command, option):
    "What stands behind an option in a test; None for a switch."
    if option.is_flag: return None
    if (found := OWN.get((command, option.name), VALUES.get(option.name))) is not None: return found
    return {"FILE": f"{option.name}.out", "NUMBER": "3"}.get(option.metavar, "x")


def words_of(command, *names):
    "These options as they are typed."
    return [word for name in names for word in (options(command)[name].opts[0], value(command, options(command)[name])) if word is not None]


def base(command, way):
    "The words of a way, with cheap settings where the command has them."
    words = shlex.split(WAYS[command][way])
    if "--apply" in words or "--dask" in words: return [*command.split(), *words]
    idle = {"n_resamples"} if "--no-conclusions" in words else set()
    if command in ("validate", "recalibrate") and "--prob" in words: idle |= {"n_mc"}
    if command in ("validate", "recalibrate") and "--level" in words: idle |= {"n_mc", "n_boot"} | ({"n_resamples"} if command == "recalibrate" else set())
    cheap_ones = {name: cheap for name, cheap in CHEAP.items() if name in options(command) and name not in idle}
    more = [word for name, cheap in cheap_ones.items() for word in (options(command)[name].opts[0], cheap)]
    return [*command.split(), *words, *more]


def tables():
    "Small tables with a column for each role, in the folder of the test."
    rng, n = np.random.default_rng(3), 160
    u, p = np.exp(rng.normal(0, 0.5, n)), rng.uniform(0.05, 0.95, n)
    t = pd.DataFrame({"k": np.arange(n), "f": rng.normal(5, 2, n), "u": u, "u2": u * np.exp(rng.normal(0, 0.2, n)), "x": rng.uniform(size=n), "c": np.arange(n) // 4, "w": rng.choice([1.0, 2.0], n),
                      "g": rng.choice(["a", "b", "c"], n), "g2": rng.choice(["a", "b", "c", "d"], n), "p": p, "p2": np.clip(p + rng.normal(0, 0.1, n), 0.01, 0.99)})
    t["y"] = t["f"] + 2.5 * u * rng.standard_normal(n) + 1
    t = t.assign(E=t["y"] - t["f"], E2=t["y"] - t["f"] + 0.1, f2=t["f"] + rng.normal(0, 0.3, n), f3=t["f"] + 0.5, lo=t["f"] - u, hi=t["f"] + u, lo2=t["f"] - 2 * u, hi2=t["f"] + 2 * u)
    t["o"], t["o2"] = (rng.uniform(size=n) < p**2).astype(int), (rng.uniform(size=n) < p).astype(int)
    t["pet"] = rng.choice(["cat", "dog"], n)
    t = t.assign(in_cat=(rng.uniform(size=n) < 0.8).astype(int), in_dog=(rng.uniform(size=n) < 0.8).astype(int), p_cat=p, p_dog=1 - p)
    t["listed"] = [json.dumps([name for name in ("cat", "dog") if row[f"in_{name}"]]) for row in t.to_dict("records")]
    t = t.round(4)
    t.to_csv("t.csv", index=False)
    for k in (0, 1): t[80 * k:80 * (k + 1)].to_csv(f"part-{k}.csv", index=False)


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    "A folder with the tables and three models."
    folder = tmp_path_factory.mktemp("tree")
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        tables()
        for command, way, name in (("recalibrate", "errors", "model.json"), ("recalibrate", "scores", "scores.json"), ("recalibrate", "bounds", "bounds.json"), ("conformalize", "pairs", "conformal.json")):
            with pytest.raises(SystemExit) as end: main([*base(command, way), "--model", name])
            assert end.value.code == 0 and Path(name).exists()
    return folder


@pytest.fixture
def run(made, tmp_path, monkeypatch, capsys):
    "A function that runs a command in a fresh folder: its exit code, what it printed, the files it wrote, and whether work was done."
    worked = []
    for module, name in WORKERS:
        there = importlib.import_module(f"uqcal.{module}")
        if hasattr(there, name): monkeypatch.setattr(there, name, _noted(getattr(there, name), worked))
    kept = {one.name: one.read_bytes() for one in made.iterdir()}

    def run(args):
        "Run it, and hold what is true of every run."
        worked.clear()
        for name in {one.name for one in tmp_path.iterdir()} - set(kept): (tmp_path / name).unlink()
        for name, data in kept.items(): (tmp_path / name).write_bytes(data)
        monkeypatch.chdir(tmp_path)
        with pytest.raises(SystemExit) as end: main(list(args))
        said, there = capsys.readouterr(), {one.name: one.read_bytes() for one in tmp_path.iterdir()}
        assert {name: data for name, data in there.items() if name in kept} == kept, (args, "a file of the user was changed")
        files = {name: data for name, data in there.items() if name not in kept}
        assert end.value.code in (0, 1, 2), (args, end.value.code, said.err[-2000:])
        assert "Traceback" not in said.err + said.out and not [name for name in files if name.endswith(".part")], (args, said.err)
        if end.value.code == 2:
            assert said.out == "" and not files and not worked, (args, said.err, list(files), worked)
            assert said.err.startswith("uqcal: ") and len(said.err.splitlines()) == 1, (args, said.err)
        return end.value.code, said.out, said.err, files
    return run


def _noted(function, worked):
    "The same function, which says when it is through."
    def noted(*args, **options):
        "Call it."
        found = function(*args, **options)
        worked.append(function.__name__)
        return found
    return noted


def used(command, way, option):
    "Whether an option stands in the words of a way."
    return option.opts[0] in base(command, way)


def outputs(command, way):
    "Options that name a file to write."
    return [name for name, one in options(command).items() if one.metavar == "FILE" and name != "apply_file" and not used(command, way, one)]


def draws(count, seed):
    "Pairs of options of each way, with one output or with all of them."
    rng, found = random.Random(seed), []
    for command, way in MODES:
        free = [name for name, one in options(command).items() if not used(command, way, one) and one.metavar != "FILE"]
        for k in range(count if free else 1):
            asked = outputs(command, way)
            asked = [name for name in asked if k == 0 or rng.random() < 0.5]
            found.append((command, way, (*rng.sample(free, min(2, len(free))), *asked)))
    return found


def all_pairs():
    "All pairs of options, of those that name a file too."
    for command, way in MODES:
        free = [name for name, one in options(command).items() if not used(command, way, one)]
        yield from ((command, way, pair) for pair in itertools.combinations(free, 2))


def completed(command, names):
    "The options with those beside which alone they have a meaning."
    more = [second for first, second in BESIDE if first in names and second in options(command)]
    return list(dict.fromkeys([*names, *more]))


def hold(run, command, way, names):
    "A run with these options is refused before any work, or writes all that was asked for."
    names = completed(command, names)
    args = [*base(command, way), *words_of(command, *names)]
    code, _, _, files = run(args)
    if code == 2: return
    wanted = {value(command, options(command)[name]) for name in names if options(command)[name].metavar == "FILE" and name != "apply_file"}
    wanted |= {args[k + 1] for k, word in enumerate(args[:-1]) if word == "--out"}
    assert wanted <= {name for name, data in files.items() if data.strip()}, (args, wanted, list(files))
    for name, data in files.items():
        if name.endswith(".json"): json.loads(data)
        if name.endswith(".html"): assert data.rstrip().endswith(b"</html>")


def test_each_command_of_the_tree_is_tried():
    assert set(TREE) == set(WAYS)


@pytest.mark.parametrize(("command", "way", "names"), [one for one in draws(2, 1) if one[0] != "datasets fetch"][::2], ids=lambda one: one if isinstance(one, str) else "+".join(one))
def test_pairs_of_options_lose_no_output(run, command, way, names):
    "Mutation: the pictures of a screen of clusters by the method without clusters, refused after all work."
    hold(run, command, way, names)


@pytest.mark.slow
@pytest.mark.parametrize(("command", "way"), MODES)
def test_all_pairs_of_options_lose_no_output(run, command, way):
    if command == "datasets fetch": pytest.skip("needs a connection")
    for one in all_pairs():
        if one[:2] == (command, way): hold(run, *one)


def impossible(option):
    "A value that no command can use for an option; None for a switch, and for what may hold anything."
    if option.is_flag: return None
    if option.metavar == "FILE": return "nowhere/made.csv"
    special = {"where": "k <", "name": " ", "jobs": "0", "decimal": "x", "thousands": "x", "every": "0", "run_length": "0", "model": "nothing"}
    if option.name in special: return special[option.name]
    return "-1" if "NUMBER" in (option.metavar or "") else "no such thing"


def refused_everywhere():
    "Each option of each way with a value that can't be."
    return [(command, way, name) for command, way in MODES for name, one in options(command).items() if impossible(one) is not None and command != "datasets fetch"]


def hold_refused(run, command, way, name):
    "A value that can't be is refused before any work, whether the option acts in this way or not."
    one = options(command)[name]
    more = [second for first, second in BESIDE if first == name and not used(command, way, options(command)[second])]
    code, _, err, _ = run([*base(command, way), *words_of(command, *more), one.opts[0], impossible(one)])
    assert code == 2, (command, way, one.opts[0], impossible(one), err)


@pytest.mark.parametrize(("command", "way", "name"), random.Random(2).sample(refused_everywhere(), 50))
def test_values_that_can_not_be_are_refused_before_any_work(run, command, way, name):
    "An option that is taken and dropped takes anything."
    hold_refused(run, command, way, name)


@pytest.mark.slow
@pytest.mark.parametrize(("command", "way"), MODES)
def test_all_values_that_can_not_be_are_refused_before_any_work(run, command, way):
    for one in refused_everywhere():
        if one[:2] == (command, way): hold_refused(run, *one)


ACT = {"apply": {"error", "predicted", "std", "variance"}, "apply scores": {"prob"}, "apply bounds": {"lower", "upper", "level", "sort_bounds"}}
ALWAYS = {"out", "apply_file", "jobs", "progress", "verbose", "by", "as_groups"}
READING = {"decimal", "thousands", "encoding", "where", "drop_missing"}


@pytest.mark.parametrize(("command", "way"), [one for one in MODES if one[1].startswith("apply")])
def test_what_does_nothing_beside_apply_is_refused_by_its_name(run, command, way):
    for name, option in options(command).items():
        if name in (ACT[way] if command == "recalibrate" else {"predicted", "std", "variance"}) | READING | ALWAYS: continue
        code, _, err, _ = run([*base(command, way), *words_of(command, name)])
        assert code == 2 and (option.opts[0] in err or name in SAID), (name, err)


def test_options_that_do_nothing_in_other_ways_are_refused(run):
    for args, said in ((["validate", "t.csv", "--error", "E", "--std", "u", "--no-conclusions", "--tolerance", "2"], "--no-conclusions asks no questions: leave out --tolerance"),
                       (["validate", "t.csv", "--error", "E", "--std", "u", "--no-conclusions", "--n-resamples", "99"], "--no-conclusions asks no questions: leave out --n-resamples"),
                       (["validate", "t.csv", "--observed", "o", "--prob", "p", "--n-mc", "9", "--distribution", "t6"], "of no use for probabilities of an event: leave out --n-mc and --distribution"),
                       *((["compare-models", "nowhere.csv", "--observed", "y", *more.split()], said) for more, said in (
                           ("--level 0.9 --model one=prob:p --model two=prob:p2", "--level is for intervals: prob has no use for it"), ("--model one=intervals:lo,hi --model two=intervals:lo2,hi2", "--level must say which intervals are compared"),
                           ("--level 90 --model one=intervals:lo,hi --model two=intervals:lo2,hi2", "--level must"),
                           ("--dof 5 --model one=prob:p --model two=prob:p2", "--dof is for crps and log of means with std: log loss has no use for it"))),
                       (["validate", "part-*.csv", "--error", "E", "--std", "u", "--dask", "--seed", "2"], "--seed can't be had with --dask"),
                       (["compare-groups", "part-*.csv", "--observed", "o", "--score", "p", "--by", "g", "--dask", "--seed", "2"], "--seed can't be had with --dask"),
                       (["monitor", "t.csv", "--observed", "o", "--prob", "p", "--seed", "2"], "--seed is for the draws of hops and hobs: mixture draws nothing"),
                       (["monitor", "t.csv", "--observed", "o", "--prob", "p", "--every", "10"], "no state is kept without --state: leave out --every"),
                       (["recalibrate", "t.csv", "--apply", "scores.json", "--std", "u", "--out", "a.csv"], "--apply scores.json is for probabilities of an event, got mean ± std"),
                       (["recalibrate", "t.csv", "--apply", "conformal.json", "--out", "a.csv"], "was written by uqcal conformalize: apply it with that command"),
                       (["recalibrate", "t.csv", "--apply", "bounds.json", "--lower", "lo", "--upper", "hi", "--level", "0.8", "--out", "a.csv"], "was fitted for level 0.9: leave out --level"),
                       (["recalibrate", "t.csv", "--apply", "bounds.json", "--by", "g", "--out", "a.csv"], "was fitted by no column, got ['g']"),
                       (["recalibrate", "t.csv", "--apply", "model.json", "--tolerance", "2", "--n-boot", "9", "--out", "a.csv"], "--apply fits nothing: leave out --tolerance and --n-boot")):
        code, _, err, _ = run(args)
        assert code == 2 and said in err, (args, err)


@pytest.mark.parametrize(("command", "way"), MODES)
def test_no_output_replaces_what_is_read(run, command, way):
    "Mutation: the file that --apply reads is not looked at, nor are the files of a pattern."
    read = {"t.csv": "t.csv", "part-*.csv": "part-1.csv"}
    args = base(command, way)
    sources = [read[word] for word in args if word in read] + [args[k + 1] for k, word in enumerate(args) if word == "--apply"]
    for source in sources:
        for name, one in options(command).items():
            if one.metavar != "FILE" or name in ("apply_file", "figure") or ("--apply" in args and name != "out") or ("--dask" in args and name in ("report", "figure")): continue
            where = args.index(one.opts[0]) if one.opts[0] in args else None
            tried = [*args, one.opts[0], source] if where is None else [*args[:where + 1], source, *args[where + 2:]]
            code, _, err, _ = run(tried)
            assert code == 2 and f"would overwrite {source}" in err, (tried, err)


def parts_of(state, path=()):
    "The places of all parts of a file of JSON."
    for name, one in state.items() if isinstance(state, dict) else ():
        yield (*path, name)
        yield from parts_of(one, (*path, name))


NOT_NEEDED = {"uqcal", "sentence", "n_calibration", "observed", "predicted", "error", "level", "sort_bounds", "kinds"}  # said for people and other programs


@pytest.mark.parametrize(("command", "name"), [("recalibrate", "model.json"), ("recalibrate", "scores.json"), ("recalibrate", "bounds.json"), ("conformalize", "conformal.json")])
def test_a_damaged_model_is_refused_in_one_line(run, made, command, name):
    "Mutation: only the part that has a checksum is looked at."
    run(["datasets"])  # makes the folder
    whole = json.loads((made / name).read_text(encoding="utf-8"))
    damaged = {"cut": (made / name).read_text(encoding="utf-8")[:200], "list": "[1]", "word": '"x"', "none": "null", "format": json.dumps(whole | {"format": ["uqcal model 1"]})}
    for place in parts_of(whole):
        if place[0] in NOT_NEEDED or place[-1] in NOT_NEEDED or (place[0] == "kinds" and place[1:]): continue
        for change in ("missing", "another kind"):
            copy = json.loads(json.dumps(whole))
            part = copy
            for step in place[:-1]: part = part[step]
            if change == "missing": del part[place[-1]]
            else: part[place[-1]] = 3.5
            damaged[f"{'.'.join(place)} {change}"] = json.dumps(copy)
    chosen = random.Random(3).sample(sorted(damaged), min(6, len(damaged)))
    for what in {*chosen, *(one for one in damaged if one.count(".") < 1)}:
        Path("damaged.json").write_text(damaged[what], encoding="utf-8")
        code, out, err = plain(["t.csv", "--apply", "damaged.json", "--out", "made.csv"], command)
        assert code == 2 and out == "" and ("damaged.json is damaged" in err or "write it again" in err or "damaged.json is no file that" in err or "damaged.json holds a" in err), (what, err)
        assert len(err.splitlines()) == 1 and not Path("made.csv").exists()


def plain(args, command):
    "A run in this folder with its exit code and what it printed."
    import contextlib
    import io
    out, err = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err), pytest.raises(SystemExit) as end: main([command, *args])
    return end.value.code, out.getvalue(), err.getvalue()


@pytest.mark.parametrize(("command", "way", "outputs"), [
    ("validate", "errors", "--json --report"), ("validate", "scores", "--json --report"), ("recalibrate", "errors", "--out --model"), ("recalibrate", "scores", "--out --model"), ("recalibrate", "apply", "--out"),
    ("conformalize", "bounds", "--json --out --model"), ("conformalize", "apply", "--out"), ("monitor", "errors", "--out --report"),
    ("compare-groups", "pair", "--json --report"), ("compare-models", "brier", "--json --report")])
def test_a_write_that_fails_leaves_no_part_of_a_file(run, tmp_path, monkeypatch, command, way, outputs):
    import os
    run(["datasets"])  # makes the folder
    args = base(command, way)
    for k, option in enumerate(outputs.split()): args += [option, f"made{k}"] if option not in args else []
    before = {one.name: one.read_bytes() for one in tmp_path.iterdir()}

    def full(*_):
        "A disk without room."
        raise OSError(28, "No space left on device")
    monkeypatch.setattr(os, "replace", full)
    code, _, err = plain(args[1:], args[0])
    lines = [line for line in err.splitlines() if "compiled kernels" not in line]  # which can't be kept either, where they were not kept before
    assert code == 2 and len(lines) == 1 and "No space left on device" in lines[0], err
    assert {one.name: one.read_bytes() for one in tmp_path.iterdir()} == before
