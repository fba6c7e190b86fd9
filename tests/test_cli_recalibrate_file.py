"""`uqcal recalibrate` on files: rows that go out as they came in, names that are taken, and what is said of them."""
import io
import json
import sys
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from uqcal._command.cli import main
from uqcal._base.results import three_digits
from uqcal.corrections.scaling import ErrorMap

QUICK = ["--n-boot", "99", "--n-resamples", "199", "--jobs", "1"]


@pytest.fixture(autouse=True)
def _folder(tmp_path, monkeypatch):
    "Two hundred errors with columns that no statistic reads."
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(1)
    u = np.exp(rng.normal(0, 0.5, 200))
    e = 1.8 * u * rng.standard_normal(200)
    note = ['plain', '"a; b"', '"two\nlines"', '" 1.50"']
    rows = [f"m{k:03d};{note[k % 4]};{a:.3f};{b:.3f}".replace(".", ",") for k, (a, b) in enumerate(zip(e, u))]
    Path("errors.csv").write_bytes("\r\n".join(["Größe;note;E;uE", *rows]).encode("latin-1"))


def run(capsys, *args):
    with pytest.raises(SystemExit) as end: main(list(args))
    return end.value.code, *capsys.readouterr()


@pytest.mark.parametrize("command", ["recalibrate", "monitor"])
def test_a_disk_that_is_full_is_said_with_the_name_of_the_file(capsys, command):
    "Here a limit to the size of files stands in for it."
    resource = pytest.importorskip("resource", reason="this system has no limits to the size of files")
    args = [command, "errors.csv", *ERRORS[:6], "--out", "out.csv", *QUICK * (command == "recalibrate")]
    assert run(capsys, *args)[0] == 0
    Path("out.csv").unlink()
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (1024, before[1]))
    try: code, _, err = run(capsys, *args)
    finally: resource.setrlimit(resource.RLIMIT_FSIZE, before)
    assert code == 2 and err.splitlines()[-1] == "uqcal: out.csv: can't be written: File too large"
    assert list(Path().iterdir()) == [Path("errors.csv")]


def cut(path, count, encoding="latin-1"):
    "The rows of a table without its last columns."
    text = Path(path).read_bytes().decode(encoding).replace("two\nlines", "two lines")
    return [line.rsplit(";", count)[0] for line in text.splitlines()]


ERRORS = ["--error", "E", "--std", "uE", "--encoding", "latin-1", *QUICK]


def test_recalibrated_rows_keep_every_byte_of_what_came_in(capsys):
    code, out, err = run(capsys, "recalibrate", "errors.csv", *ERRORS, "--out", "recalibrated.csv", "--model", "model.json")
    assert (code, err) == (0, "") and "Rows: recalibrated.csv" in out
    assert cut("recalibrated.csv", 3) == cut("errors.csv", 0) and Path("recalibrated.csv").read_bytes().count(b"\r\n") == 201
    made = pd.read_csv("recalibrated.csv", sep=";", decimal=",", encoding="latin-1")
    assert made.columns.tolist() == ["Größe", "note", "E", "uE", "shift", "recalibrated_error", "recalibrated_std"]
    assert made["recalibrated_std"].div(made["uE"]).between(1.5, 2.2).all()
    np.testing.assert_allclose(made["E"] - made["shift"], made["recalibrated_error"], rtol=1e-12)
    # the same rows under the correction of all of them, by the file and by the model
    assert run(capsys, "recalibrate", "errors.csv", "--std", "uE", "--apply", "model.json", "--encoding", "latin-1", "--out", "applied.csv")[0] == 0
    assert cut("applied.csv", 2) == cut("errors.csv", 0)
    factor = pd.read_csv("applied.csv", sep=";", decimal=",", encoding="latin-1").eval("recalibrated_std / uE")
    assert np.ptp(factor) < 1e-9 and f"{factor[0]:.2f}" in json.loads(Path("model.json").read_text())["sentence"]


def test_rows_left_out_are_left_out_and_the_others_stay_as_they_are(capsys):
    lines = Path("errors.csv").read_bytes().decode("latin-1").split("\r\n")
    lines[2] = "m001;\"a; b\";;0,5"
    lines[4] = "\r\n" + lines[4]  # a blank line before it
    Path("errors.csv").write_bytes("\r\n".join(lines).encode("latin-1"))
    code, out, err = run(capsys, "recalibrate", "errors.csv", *ERRORS, "--drop-missing", "--where", "uE < 1.5", "--out", "recalibrated.csv")
    assert (code, err) == (0, "") and "1 without a value" in " ".join(out.split())
    made, there = cut("recalibrated.csv", 3), cut("errors.csv", 0)
    assert 100 < len(made) < 190 and [row for row in there if row in set(made)] == made
    assert [row for row in made[1:] if float(row.split(";")[-1].replace(",", ".")) >= 1.5] == [] and not any(row.startswith("m001") for row in made)


@pytest.mark.parametrize(("name", "mark", "codec"), [("utf-8 with a mark", b"\xef\xbb\xbf", "utf-8"), ("utf-16 le", b"\xff\xfe", "utf-16-le"), ("utf-16 be", b"\xfe\xff", "utf-16-be"), ("utf-8", b"", "utf-8")])
def test_marks_and_encodings_come_out_as_they_went_in(capsys, name, mark, codec):
    text = Path("errors.csv").read_bytes().decode("latin-1")
    Path("marked.csv").write_bytes(mark + text.encode(codec))
    code, _, err = run(capsys, "recalibrate", "marked.csv", "--error", "E", "--std", "uE", *QUICK, "--out", "recalibrated.csv")
    assert (code, err) == (0, "")
    made = Path("recalibrated.csv").read_bytes()
    assert made.startswith(mark + "Größe;note;E;uE;shift;".encode(codec))
    made = [line.rsplit(";", 3)[0] for line in made[len(mark):].decode(codec).replace("two\nlines", "two lines").splitlines()]
    assert made == cut("errors.csv", 0)


def test_standard_input_and_output_carry_all_columns(capsysbinary, monkeypatch):
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(Path("errors.csv").read_bytes())))
    with pytest.raises(SystemExit) as end: main(["recalibrate", "-", *ERRORS, "--out", "-"])
    out, err = capsysbinary.readouterr()
    Path("printed.csv").write_bytes(out)
    assert end.value.code == 0 and b"standard input: recalibrated mean" in err and b"200 rows" in err and cut("printed.csv", 3) == cut("errors.csv", 0)


@pytest.mark.parametrize("kind", ["parquet", "feather", "xlsx"])
def test_other_files_become_csv_with_all_their_columns(capsys, kind):
    pytest.importorskip("openpyxl" if kind == "xlsx" else "pyarrow")
    table = pd.read_csv("errors.csv", sep=";", decimal=",", encoding="latin-1").assign(count=range(200), day=pd.Timestamp("2026-01-05"))
    table["count"] = table["count"].astype("Int64").mask(table["count"] == 3)
    getattr(table, {"xlsx": "to_excel"}.get(kind, f"to_{kind}"))(f"errors.{kind}", **({"index": False} if kind == "xlsx" else {}))
    code, _, err = run(capsys, "recalibrate", f"errors.{kind}", "--error", "E", "--std", "uE", "--where", "count != 5", "--drop-missing", *QUICK, "--out", "recalibrated.csv")
    assert (code, err) == (0, "")
    made = pd.read_csv("recalibrated.csv", dtype={"count": "Int64"})
    assert made.columns.tolist()[:6] == table.columns.tolist() and len(made) in (198, 199)
    kept = table[~table["count"].isin([5])] if len(made) == 199 else table[~table["count"].isin([5]) & table["count"].notna()]
    for name in ("Größe", "note", "E", "uE"): assert made[name].tolist() == kept[name].tolist()
    assert made["count"].dropna().tolist() == kept["count"].dropna().tolist() and set(made["day"].str[:10]) == {"2026-01-05"}


@pytest.mark.parametrize(("command", "taken", "args"), [
    ("recalibrate", "recalibrated_std", ["--error", "E", "--std", "uE"]), ("recalibrate", "shift", ["--error", "E", "--std", "uE"]),
    ("recalibrate", "recalibrated_probability", ["--observed", "y", "--prob", "p"]), ("recalibrate", "recalibrated_upper", ["--observed", "E", "--lower", "lo", "--upper", "hi", "--level", "0.9"])])
def test_names_that_are_taken_are_refused_before_any_work(capsys, monkeypatch, command, taken, args):
    rng = np.random.default_rng(0)
    pd.DataFrame({"E": rng.normal(size=50), "uE": 1.0, "y": np.arange(50) % 2, "p": 0.5, "lo": -1.0, "hi": 1.0, taken: "x"}).to_csv("taken.csv", index=False)
    for module, name in (("corrections.error_recalibration", "recalibrate_errors"), ("corrections.probability_recalibration", "recalibrate_probabilities"), ("_command.cli_recalibrate", "conformal")):
        monkeypatch.setattr(f"uqcal.{module}.{name}", lambda *args, **options: pytest.fail("work was done"))
    code, out, err = run(capsys, command, "taken.csv", *args, "--out", "recalibrated.csv")
    assert code == 2 and out == "" and f"taken.csv has a column '{taken}' already" in err and not Path("recalibrated.csv").exists()


def test_a_model_does_not_write_over_columns_either(capsys):
    rng = np.random.default_rng(0)
    table = pd.DataFrame({"id": [f"{k:02d}" for k in range(60)], "p": rng.uniform(0.05, 0.95, 60)})
    table.assign(y=(rng.uniform(size=60) < table["p"]).astype(int)).to_csv("cases.csv", index=False)
    assert run(capsys, "recalibrate", "cases.csv", "--observed", "y", "--prob", "p", *QUICK, "--out", "recalibrated.csv", "--model", "model.json")[0] == 0
    assert pd.read_csv("recalibrated.csv", dtype=str)[["id", "p", "y"]].equals(pd.read_csv("cases.csv", dtype=str)[["id", "p", "y"]])
    code, _, err = run(capsys, "recalibrate", "recalibrated.csv", "--apply", "model.json", "--out", "again.csv")
    assert code == 2 and "'recalibrated_probability' already" in err
    assert run(capsys, "recalibrate", "cases.csv", "--apply", "model.json", "--out", "again.csv")[0] == 0
    assert Path("again.csv").read_text().startswith("id,p,y,recalibrated_probability\n00,")


def test_a_name_that_says_another_format_is_refused(capsys):
    code, _, err = run(capsys, "recalibrate", "errors.csv", *ERRORS, "--out", "recalibrated.parquet")
    assert code == 2 and "--out writes CSV as plain text" in err


def ovens(kinds, n, seed):
    "Errors whose size depends on the oven; a bias of their own."
    rng = np.random.default_rng(seed)
    table = pd.DataFrame({"oven": rng.choice(kinds, n), "uE": np.exp(rng.normal(0, 0.5, n)), "T": rng.uniform(size=n)})
    return table.assign(E=table["uE"] * (rng.standard_normal(n) * table["oven"].map({"a": 1.0, "b": 2.5}).fillna(4.0)) + 1.5)


def test_rows_of_a_kind_that_a_mend_never_saw_are_counted_and_named(capsys):
    ovens(["a", "b"], 2000, 1).to_csv("ovens.csv", index=False)
    later = ovens(["a", "b", "new", "0"], 400, 2)
    later.to_csv("later.csv", index=False)
    code, out, err = run(capsys, "recalibrate", "ovens.csv", "--error", "E", "--std", "uE", "--by", "oven", "--model", "model.json", *QUICK)
    assert code == 0 and json.loads(Path("model.json").read_text(encoding="utf-8"))["kinds"] == {"oven": ["a", "b"]}
    code, out, err = run(capsys, "recalibrate", "later.csv", "--apply", "model.json", "--out", "made.csv")
    unseen = later["oven"].isin(["new", "0"])
    assert code == 0 and f"{unseen.sum()} of 400 rows are of groups of oven that the model was not fitted to (" in " ".join(out.split())
    factor = pd.read_csv("made.csv").eval("recalibrated_std / uE")
    low, high = factor[later["oven"] == "a"].iloc[0], factor[later["oven"] == "b"].iloc[0]
    assert np.ptp(factor[unseen]) < 1e-9 and low < factor[unseen].iloc[0] < high  # what holds for all others together
    later[~unseen].to_csv("known.csv", index=False)
    assert "not fitted to" not in run(capsys, "recalibrate", "known.csv", "--apply", "model.json", "--out", "made2.csv")[1]


def test_the_sign_of_an_error_is_said_where_a_shift_is_to_be_added(capsys):
    ovens(["a"], 500, 3).to_csv("ovens.csv", index=False)
    said = " ".join(run(capsys, "recalibrate", "ovens.csv", "--error", "E", "--std", "uE", *QUICK)[1].split())
    assert "Errors are taken for observed minus predicted" in said
    table = ovens(["b"], 500, 3).assign(E=lambda t: t["E"] - 1.5)
    table.to_csv("centred.csv", index=False)
    assert "observed minus predicted" not in run(capsys, "recalibrate", "centred.csv", "--error", "E", "--std", "uE", *QUICK)[1]
    table.assign(seen=table["E"] + 3, said=1.0).to_csv("seen.csv", index=False)  # the sign is known
    assert "observed minus predicted" not in run(capsys, "recalibrate", "seen.csv", "--observed", "seen", "--predicted", "said", "--std", "uE", *QUICK)[1]


def test_columns_that_nobody_asked_about_are_named(capsys):
    ovens(["a", "b"], 300, 4).assign(x=1.0, y=2.0).to_csv("ovens.csv", index=False)
    asked = ["validate", "ovens.csv", "--error", "E", "--std", "uE", *QUICK]
    assert "Not tested along: oven, T, x and 1 more (--by COL tests along a column)." in " ".join(run(capsys, *asked)[1].split())
    ovens(["a", "b"], 300, 4).to_csv("ovens.csv", index=False)
    assert "Not tested along: oven (" in " ".join(run(capsys, *asked, "--by", "T")[1].split())
    assert "Not tested along" not in run(capsys, *asked, "--by", "T", "--groups", "oven")[1]


def test_columns_are_not_named_where_nothing_was_concluded_or_a_mend_has_written_them(capsys):
    ovens(["a", "b"], 300, 4).to_csv("ovens.csv", index=False)
    columns = ["--error", "E", "--std", "uE", *QUICK]
    code, said, _ = run(capsys, "validate", "ovens.csv", *columns[:4], "--n-boot", "60", "--n-mc", "40", "--no-conclusions")
    assert code == 0 and "Not tested along" not in said
    assert run(capsys, "recalibrate", "ovens.csv", *columns, "--out", "recalibrated.csv")[0] == 0
    assert "Not tested along" not in run(capsys, "validate", "recalibrated.csv", "--error", "recalibrated_error", "--std", "recalibrated_std", *QUICK)[1]


def shifted(n, seed, low=0.2):
    "Errors with a bias that grows with u, and a feature that nothing depends on."
    rng = np.random.default_rng(seed)
    u = low * np.exp(rng.uniform(0, 2.5, n))
    return pd.DataFrame({"u": u, "E": 0.8 * u + 0.1 + 1.5 * u * rng.standard_normal(n), "T": rng.uniform(size=n), "yhat": 5.0})


@pytest.fixture
def fitted(capsys):
    "A correction of predictions and uncertainties, in model.json."
    shifted(400, 5).to_csv("old.csv", index=False)
    assert run(capsys, "recalibrate", "old.csv", "--error", "E", "--std", "u", "--by", "T", "--model", "model.json", *QUICK)[0] == 0


@pytest.mark.parametrize(("low", "high"), [(0.5, 0.9), (1.0, 1.05)])
def test_what_apply_prints_is_of_these_rows(capsys, fitted, low, high):
    "Mutation: the ends of the shifts of the calibration."
    rows = shifted(400, 6).query("@low < u < @high")
    rows.to_csv("new.csv", index=False)
    code, out, err = run(capsys, "recalibrate", "new.csv", "--apply", "model.json", "--predicted", "yhat", "--out", "made.csv")
    made, said = pd.read_csv("made.csv"), " ".join(out.split())
    shift, factor = made["recalibrated_prediction"] - made["yhat"], made["recalibrated_std"] / made["u"]
    words = [three_digits(one.min()) if three_digits(one.min()) == three_digits(one.max()) else f"{three_digits(one.min())} to {three_digits(one.max())}" for one in (shift, factor)]
    assert (code, err) == (0, "") and f"Recalibrated: predictions shifted by {words[0]}; std × {words[1]}." in said and "outside" not in said


@pytest.mark.parametrize("u", [0.0022, 900.0])
def test_rows_outside_the_range_of_a_fit_are_counted_with_the_range(capsys, fitted, u):
    model, rows = ErrorMap.from_dict(json.loads(Path("model.json").read_text())["model"]), shifted(50, 7, 0.5).query("u < 2")
    rows.assign(u=rows["u"].where(np.arange(len(rows)) != 3, u)).to_csv("new.csv", index=False)
    low, high = map(three_digits, model.u_range_)
    said = " ".join(run(capsys, "recalibrate", "new.csv", "--apply", "model.json", "--out", "made.csv")[1].split())
    assert f"In 1 of {len(rows)} rows u lies outside {low} to {high}, the range of the fit: there the correction is extrapolated." in said
    assert model.outside(pd.read_csv("new.csv")["u"]).sum() == 1


def test_probabilities_outside_the_range_of_a_fit_are_counted(capsys):
    rng = np.random.default_rng(3)
    p = rng.uniform(0.1, 0.6, 400)
    pd.DataFrame({"y": (rng.uniform(size=400) < p**2).astype(int), "p": p}).to_csv("cases.csv", index=False)
    assert run(capsys, "recalibrate", "cases.csv", "--observed", "y", "--prob", "p", "--model", "model.json", *QUICK)[0] == 0
    pd.DataFrame({"p": [0.3, 0.5, 0.9, 0.999]}).to_csv("new.csv", index=False)
    said = " ".join(run(capsys, "recalibrate", "new.csv", "--apply", "model.json", "--out", "made.csv")[1].split())
    assert "In 2 of 4 rows p lies outside 0.1" in said and "Probabilities of these rows: 0.300 to 0.999 before" in said


def test_apply_asks_for_no_column_that_the_correction_does_not_use(capsys, fitted):
    "Mutation: all features of the fit are read."
    assert json.loads(Path("model.json").read_text())["by"] == ["T"]
    shifted(20, 8)[["u"]].to_csv("bare.csv", index=False)
    assert run(capsys, "recalibrate", "bare.csv", "--apply", "model.json", "--out", "made.csv")[0] == 0
