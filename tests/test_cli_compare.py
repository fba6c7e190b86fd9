"""`uqcal compare-groups`: pairs, one group against everyone, screens, their report and numbers, and what can be wrong."""
import json

import numpy as np
import pandas as pd
import pytest

from uqcal._command.cli import main
from uqcal.subgroups.two_groups import comparison_graph
from uqcal.subgroups.against_everyone import subpopulation_graph
from uqcal.subgroups.screening import screen

NAMES = ["--observed", "healed", "--score", "propensity", "--by", "arm"]
PLAIN = ["--observed", "response", "--score", "score", "--by", "group"]


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "80")
    return tmp_path


@pytest.fixture
def table():
    rng = np.random.default_rng(1)
    s, g = np.round(rng.uniform(size=600), 3), np.repeat(["treated", "control", "other"], 200)
    y = (rng.uniform(size=600) < 0.2 + 0.3 * s + 0.3 * (g == "treated")).astype(int)
    frame = pd.DataFrame({"healed": y, "propensity": s, "arm": g, "w": np.round(rng.exponential(size=600) + 0.1, 3)})
    frame.to_csv("patients.csv", index=False)
    return frame


def run(capsys, *args, code=0):
    with pytest.raises(SystemExit) as ended: main(["compare-groups", *args])
    said = capsys.readouterr()
    assert ended.value.code == code, said.err
    return said.out if code == 0 else said.err


def test_a_pair(table, capsys):
    said = run(capsys, "patients.csv", *NAMES, "--only", "treated", "--reference", "control", "--json", "pair.json", "--report", "pair.html")
    assert said.startswith("patients.csv: 400 rows, 2 groups") and "At equal scores groups treated and control differ" in " ".join(said.split())
    a, b = (table[table.arm == side] for side in ("treated", "control"))
    graph, numbers = comparison_graph(a.healed, a.propensity, b.healed, b.propensity, rng=0), json.loads(open("pair.json").read())
    assert numbers["kuiper"] == graph.kuiper and numbers["kuiper_pvalue"] == graph.kuiper_pvalue and numbers["groups"] == ["treated", "control"]
    page = open("pair.html").read()
    assert "treated minus control" in page and "data:image/svg" in page and len(page) < 600_000


def test_a_group_against_everyone_with_weights(table, capsys):
    said = json.loads(run(capsys, "patients.csv", *NAMES, "--weight", "w", "--only", "control", "--json", "-"))
    graph = subpopulation_graph(table.healed, table.propensity, table.arm == "control", sample_weight=table.w, rng=0)
    assert said["average_difference"] == graph.average_difference and said["kuiper_pvalue"] == graph.kuiper_pvalue and said["kind"] == "subpopulation"


@pytest.mark.usefixtures("undrawn")
@pytest.mark.parametrize("options, against, count", [([], "all", 3), (["--reference", "control"], "control", 2)])
def test_a_screen(table, capsys, options, against, count):
    options = [*options, "--n-resamples", "199"]
    said = run(capsys, "patients.csv", *NAMES, *options, "--json", "all.json", "--report", "all.html", "--seed", "3")
    expected = screen(table, y_true="healed", score="propensity", by="arm", reference=against, n_resamples=199, rng=3).to_frame("comparisons")
    found = pd.DataFrame(json.loads(open("all.json").read())["comparisons"])
    pd.testing.assert_frame_equal(found, expected, check_dtype=False)
    assert f"of {count}" in said and "treated" in said and "Table" in open("all.html").read() and len(said.split("Report:")[0].strip().splitlines()) <= 24
    first = open("all.html").read()
    run(capsys, "patients.csv", *NAMES, *options, "--report", "all.html", "--seed", "3")
    assert open("all.html").read() == first


def test_two_groups_are_a_pair_and_numbers_are_labels(table, capsys):
    table[table.arm != "other"].assign(arm=lambda t: (t.arm == "treated") + 1).to_csv("two.csv", index=False)
    assert "groups 1 and 2 differ" in " ".join(run(capsys, "two.csv", *NAMES).split())
    assert "group 2 and everyone differ" in " ".join(run(capsys, "two.csv", *NAMES, "--only", "2").split())


@pytest.mark.parametrize("options, said", [
    ([*NAMES, "--only", "treatd"], "--only must be one of"), ([*NAMES, "--reference", "treatd"], "did you mean 'treated'"),
    ([*NAMES, "--only", "control", "--reference", "control"], "must differ"), ([], "--observed COL, --score COL and --by COL not given"),
    ([*NAMES[:4], "--by", "arms"], "did you mean 'arm'"), ([*NAMES, "--weight", "healed"], "columns must differ"), ([*NAMES, "--jobs", "0"], "--jobs"), ([*NAMES, "--groups", "house"], "--weight and --groups"),
    ([*NAMES, "--report", "patients.csv"], "overwrite"), ([*NAMES, "--seed", "-1"], "--seed"),
])
def test_what_can_be_wrong(table, capsys, options, said):
    message = run(capsys, "patients.csv", *options, code=2)
    assert said in message and message.count("\n") == 1, message


@pytest.mark.parametrize("change, said", [
    (lambda t: t.assign(w=0), "column 'w' must hold a weight above zero"), (lambda t: t.assign(arm="one"), "at least two groups"),
    (lambda t: t.assign(healed=np.nan), "column 'healed' has no value"), (lambda t: t.assign(arm=t.arm.where(t.index > 3)), "column 'arm' has no value"),
    (lambda t: t.assign(arm=np.where(t.propensity < 0.5, "low", "high")), "never interleave"),
])
def test_columns_that_can_not_be_used(table, capsys, change, said):
    change(table).to_csv("broken.csv", index=False)
    assert said in run(capsys, "broken.csv", *NAMES, "--weight", "w", code=2)


def test_a_pair_that_differs_is_shown_however_small(tmp_path, capsys):
    "Among two large groups of rare answers the difference is small, and shown; eight small groups hold larger ones by chance."
    rng = np.random.default_rng(3)
    groups = [pd.DataFrame({"group": f"g{k}", "score": rng.uniform(size=60), "response": rng.integers(0, 2, 60)}) for k in range(8)]
    groups += [pd.DataFrame({"group": name, "score": rng.uniform(2, 3, 3000), "response": (rng.random(3000) < rate).astype(int)})
               for name, rate in (("rareA", 0.002), ("rareB", 0.02))]
    pd.concat(groups).to_csv("rare.csv", index=False)
    table = run(capsys, "rare.csv", *PLAIN, "--reference", "rareB", "--n-resamples", "199", "--verbose")
    assert "groups rareA and rareB differ" in " ".join(table.split()).lower() or "1 of 1 pairs" in table


def test_a_stretch_that_chance_makes_is_called_so(tmp_path, capsys):
    rng = np.random.default_rng(4)
    pd.DataFrame({"group": np.repeat(["a", "b"], 300), "score": rng.uniform(size=600), "response": rng.normal(size=600)}).to_csv("same.csv", index=False)
    assert "as chance alone can make it" in " ".join(run(capsys, "same.csv", *PLAIN, "--n-resamples", "199").split())


@pytest.mark.usefixtures("undrawn")
def test_everyone_is_said_to_include_the_odd_group(tmp_path, capsys):
    rng = np.random.default_rng(5)
    rate = np.repeat([0.95] + [0.05] * 11, 100)
    pd.DataFrame({"group": np.repeat([f"g{k:02}" for k in range(12)], 100), "score": rng.uniform(size=1200),
                  "response": (rng.random(1200) < rate).astype(int)}).to_csv("twelve.csv", index=False)
    said = " ".join(run(capsys, "twelve.csv", *PLAIN, "--n-resamples", "199", "--report", "t.html", "--json", "t.json").split())
    apart = "Without g00, which differs most, 0 of 11 groups differ from everyone."
    assert "Everyone includes each group itself. One group far off can make others differ." in said and apart in said and apart in open("t.html").read()
    assert json.load(open("t.json"))["without"] == {"left_out": ["g00"], "differ": 0, "inconclusive": 0, "of": 11}
    assert "Without" not in run(capsys, "twelve.csv", *PLAIN, "--reference", "g01", "--n-resamples", "99")


def test_a_group_that_few_shuffles_leave_open_is_not_called_equal_without_the_odd_one(tmp_path, capsys):
    "One group far off, one at 17 % among others at 5 %: with nineteen shuffles to begin with, that one is open."
    rng = np.random.default_rng(0)
    rate = np.repeat([0.95, 0.17] + [0.05] * 10, 100)
    pd.DataFrame({"group": np.repeat([f"g{k:02}" for k in range(12)], 100), "score": rng.uniform(size=1200),
                  "response": (rng.random(1200) < rate).astype(int)}).to_csv("open.csv", index=False)
    said = " ".join(run(capsys, "open.csv", *PLAIN, "--n-resamples", "19", "--json", "o.json").split())
    apart = json.load(open("o.json"))["without"]
    assert apart["inconclusive"] > 0 and f"{apart['differ']} of 11 groups differ from everyone; {apart['inconclusive']} inconclusive." in said


def test_a_table_in_parts_has_the_numbers_of_the_whole(table, capsys):
    "Two groups by name, all pairs, and what is refused. Mutations: a file left out, an option that is ignored, groups of numbers read as numbers."
    pytest.importorskip("dask.dataframe", reason="dask is not installed")
    for k, part in enumerate((table[:250], table[250:])):
        part.to_csv(f"part-{k}.csv", index=False)
        part.assign(arm=part.arm.map({"treated": 7, "control": 8, "other": 9})).to_parquet(f"part-{k}.parquet")
    a, b = (table[table.arm == side] for side in ("treated", "control"))
    graph = comparison_graph(a.healed, a.propensity, b.healed, b.propensity, sample_weight_a=a.w, sample_weight_b=b.w, method="asymptotic")
    for pattern, sides in (("part-*.csv", ("treated", "control")), ("part-*.parquet", ("7", "8"))):
        said = json.loads(run(capsys, pattern, *NAMES, "--weight", "w", "--only", sides[0], "--reference", sides[1], "--dask", "--json", "-"))
        assert said["n_partitions"] == 2 and said["comparisons"][0]["kuiper"] == pytest.approx(graph.kuiper, rel=1e-10)
        assert said["comparisons"][0]["null_scale"] == pytest.approx(graph.null_scale, rel=1e-10) and said["findings"][0]["reason"] == "steps"
    said = run(capsys, "part-*.csv", *NAMES, "--dask")
    assert said.startswith("part-*.csv: 600 rows in 2 parts, read 3 times") and "3 groups are not tested" in said and max(map(len, said.splitlines())) <= 80
    graph = subpopulation_graph(table.healed, table.propensity, table.arm == "other", sample_weight=table.w, method="asymptotic")
    said = json.loads(run(capsys, "part-*.csv", *NAMES, "--weight", "w", "--only", "other", "--dask", "--json", "-"))
    assert said["comparisons"][0]["kuiper"] == pytest.approx(graph.kuiper, rel=1e-10) and "group other and everyone" in said["conclusion"]
    said = run(capsys, "part-*.csv", *NAMES, "--reference", "all", "--dask", "--verbose")
    assert "read 3 times" in said and "3 groups are not tested" in said and "Everyone includes each group" in said and "\ngroup" in said
    for args, says in ((["--reference", "other"], "--reference needs --only"), (["--only", "x", "--reference", "other"], "'control', 'other', 'treated', got 'x'")):
        assert says in run(capsys, "part-*.csv", *NAMES, "--dask", *args, code=2)


def test_copies_in_a_file_count_once(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(62)
    score, group = rng.random(200), rng.integers(2, size=200)
    rows = rng.permutation(np.repeat(np.arange(200), 5))
    frame = pd.DataFrame({"response": (rng.random(200) < 0.2 + 0.6 * score) * 1, "score": score, "group": group, "who": np.arange(200)}).iloc[rows]
    frame.to_csv("copies.csv", index=False)
    said = " ".join(run(capsys, "copies.csv", *PLAIN, "--n-resamples", "199", "--report", "copies.html", "--verbose").split())
    assert "800 of 1,000 " in said and "repeat an earlier one" in said and "no difference" in said and "800 of 1,000 " in (tmp_path / "copies.html").read_text(encoding="utf-8")
    named = " ".join(run(capsys, "copies.csv", *PLAIN, "--groups", "who", "--n-resamples", "199", "--verbose").split())
    assert "repeat an earlier" not in named and said.split("Kuiper ")[1].split()[:3] == named.split("Kuiper ")[1].split()[:3]


def test_clustered_members_of_a_file_are_counted_as_blocks(tmp_path, monkeypatch, capsys):
    "As a pair, against everyone and as JSON; too few are not counted, and said. Mutation: the note dropped, or the limits of single rows kept."
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(74)
    who = np.repeat(np.arange(200), 5)
    group, score = rng.integers(2, size=200)[who], rng.random(1000)
    frame = pd.DataFrame({"response": (rng.random(1000) < 1 / (1 + np.exp(-2 * score - 3 * rng.standard_normal(200)[who]))) * 1,
                          "score": score, "group": group})
    frame.to_csv("visits.csv", index=False)
    for options in (PLAIN, (*PLAIN, "--only", "1")):
        said = json.loads(run(capsys, "visits.csv", *options, "--n-resamples", "199", "--json", "-"))
        assert said["cautions"][0]["code"] == "members_correlated" and said["kuiper_pvalue"] > 0.03
    assert "Adjacent rows have correlated outcomes" in " ".join(run(capsys, "visits.csv", *PLAIN, "--n-resamples", "199").split())


def test_two_questions_of_two_groups_share_their_level():
    "Mutation: 'differ' where one of the p-values alone is below 5 %, which 9 % of groups without a difference show."
    from uqcal._base.results import Interval
    from uqcal._words.groups import pair_conclusion
    from uqcal.subgroups.screening import _findings_of_pair
    sides = {"a": "a", "b": "b", "n_a": 10, "n_b": 20}
    for kuiper, average, says in ((0.03, 0.2, "No clear difference between groups a and b is found at equal scores."), (0.02, 0.2, "At equal scores groups a and b differ, but no difference on average is shown."),
                                  (0.3, 0.03, "No clear difference between groups a and b is found at equal scores."), (0.3, 0.02, "Groups a and b differ on average at equal scores, but no range of scores shows it."),
                                  (0.03, 0.01, "At equal scores groups a and b differ."), (0.3, 0.2, "No difference between groups a and b is found at equal scores.")):
        findings = _findings_of_pair(sides, kuiper, (0.1, Interval(0.0, 0.2), average))
        assert pair_conclusion(*findings) == f"{says} On average a minus b is +0.10 [+0.00, +0.20]."
        assert [finding.status == "invalid" for finding in findings] == ["groups a and b differ" in says.lower() and "range" not in says, average < 0.025]


@pytest.mark.usefixtures("undrawn")
@pytest.mark.parametrize("more", [[], ["--reference", "a"], ["--only", "a", "--reference", "b"]])
def test_clusters_have_their_report(tmp_path, monkeypatch, capsys, more):
    "Mutation: the pictures of a screen by the method without clusters, refused after all work."
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(4)
    table = pd.DataFrame({"p": rng.uniform(size=240), "g": rng.choice(["a", "b", "c"], 240), "c": np.arange(240) // 6})
    table.assign(o=(rng.uniform(size=240) < table["p"]).astype(int)).to_csv("t.csv", index=False)
    run(capsys, "t.csv", "--observed", "o", "--score", "p", "--by", "g", "--groups", "c", "--n-resamples", "99", *more, "--report", "r.html", "--json", "n.json")
    assert "<svg" in (page := (tmp_path / "r.html").read_text(encoding="utf-8")) or "image/svg" in page
    assert json.loads((tmp_path / "n.json").read_text(encoding="utf-8"))
