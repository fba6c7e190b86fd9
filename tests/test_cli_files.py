"""Files and surroundings of the command line: what comes in is what is judged, what goes out is whole, and no surrounding ends in a traceback."""
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from uqcal._command.cli import main

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
ERRORS = ["--error", "error", "--std", "uncertainty"]
QUICK = [*ERRORS, "--n-boot", "60", "--n-resamples", "99", "--n-mc", "40", "--statistics", "zms"]


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "80")
    return tmp_path


def start(*args, given=None, environment=None, **options):
    "The command in a process of its own, bytes in and bytes out."
    code = "from uqcal._command.cli import main; main()"
    return subprocess.run([sys.executable, "-c", code, *args], input=given, capture_output=True, timeout=300,
                          env={**os.environ, **(environment or {})}, **options)


def run(capsys, *args, code=0):
    with pytest.raises(SystemExit) as ended: main(args)
    said = capsys.readouterr()
    assert ended.value.code == code, said.err
    if code == 2: assert said.out == "" and said.err.count("\n") == 1 and said.err.startswith("uqcal: "), said
    return said.out if code == 0 else said.err


def errors(n=60, **more):
    rng = np.random.default_rng(0)
    u = rng.uniform(1, 2, n)
    return pd.DataFrame({"error": u * rng.standard_normal(n), "uncertainty": u, **more}).round(4)


def groups(labels):
    rng, n = np.random.default_rng(1), 30 * len(labels)
    return pd.DataFrame({"response": rng.integers(0, 2, n), "score": rng.uniform(size=n).round(3), "group": np.tile(labels, 30)})


# --- what comes in

NAMED = {"compare-groups": ["--observed", "response", "--score", "score", "--by", "group"], "monitor": ["--observed", "outcome", "--prob", "score", "--out", "out.csv"]}


@pytest.mark.parametrize("command, columns", [("validate", ERRORS), ("validate", ["--observed", "outcome", "--prob", "score"]), ("compare-groups", NAMED["compare-groups"])])
def test_a_stray_quotation_mark_is_refused(capsys, command, columns):
    with open("made.csv", "w") as file:
        file.write("error,uncertainty,outcome,response,score,group\n" + "1,2,1,1,0.5,a\n" * 100 + '1,2,1,1,0.25,"5 inch\n' + "1,2,0,0,0.5,b\n" * 1899)
    assert "made.csv, line 102: a quotation mark opens a cell" in run(capsys, command, "made.csv", *columns, code=2)


def test_labels_are_compared_as_they_stand(capsys):
    groups(["007", "7", "10", "1e1"]).to_csv("made.csv", index=False)
    assert "120 rows, 4 groups" in run(capsys, "compare-groups", "made.csv", *NAMED["compare-groups"])
    groups(["1234567890123456", "1234567890123457"]).to_csv("made.csv", index=False)
    assert "groups 1234567890123456 and 1234567890123457" in " ".join(run(capsys, "compare-groups", "made.csv", *NAMED["compare-groups"]).split())


def test_whole_numbers_in_parquet_are_labels_to_the_last_digit(capsys):
    pytest.importorskip("pyarrow")
    groups([2**62, 2**62 + 1]).to_parquet("made.parquet")
    assert f"groups {2**62} and {2**62 + 1}" in " ".join(run(capsys, "compare-groups", "made.parquet", *NAMED["compare-groups"]).split())


def test_a_word_among_numbers_is_refused_unless_groups_are_meant(capsys):
    mass = ["1", "2", "3"] * 20
    mass[40] = "high"
    errors(mass=mass).to_csv("made.csv", index=False)
    args = ["validate", "made.csv", "--by", "mass", *QUICK]
    assert run(capsys, *args, code=2) == "uqcal: made.csv, line 42: column 'mass' holds numbers, and here 'high'; say --as-groups mass if its cells are names of groups\n"
    assert "mass" in run(capsys, *args, "--as-groups", "mass")
    assert "give --by kind with it" in run(capsys, *args, "--as-groups", "kind", code=2)


def headed(screen):
    "The title of a screen on one line, without what its limits are."
    return " ".join(re.sub(r"\[[^][]*95 %[^][]*\]|\[p-values adjusted\]", "", screen.split("\n\n")[0]).split())


def test_rows_whose_label_was_taken_for_none_are_said_with_the_word(capsys):
    "Fails where a region called NA goes with the rows without a value, and nothing says so."
    errors(90, region=["EU", "AS", "NA"] * 30).to_csv("r.csv", index=False)
    args = ["validate", "r.csv", "--by", "region", "--drop-missing", *QUICK]
    assert headed(run(capsys, *args)) == "r.csv: mean ± std, 60 rows; left out: 30 without a value ('NA' in region stood for none, unless --as-groups region is given)"
    assert headed(run(capsys, *args, "--as-groups", "region")) == "r.csv: mean ± std, 90 rows; left out: 0 without a value"


def test_a_european_file_gives_its_verdict_in_one_command(capsys):
    frame = errors(70, state=["done"] * 62 + ["open"] * 8)
    frame.loc[3, "error"] = frame.loc[65, "error"] = np.nan
    frame.to_csv("labor.csv", index=False, sep=";", decimal=",", encoding="utf-16")
    args = ["validate", "labor.csv", "--where", "state == 'done'", "--drop-missing", *QUICK]
    said = run(capsys, *args, "--json", "n.json", "--report", "r.html")
    assert headed(said) == "labor.csv: mean ± std, 61 rows; left out: 8 for which state == 'done' does not hold and 1 without a value"
    assert json.load(open("n.json", encoding="utf-8"))["data"]["left_out"] == {"where": 8, "missing": 1}
    assert "where: 8, missing: 1" in open("r.html", encoding="utf-8").read()
    frame.to_csv("plain.csv", index=False)
    assert run(capsys, "validate", "plain.csv", *args[2:]).replace("plain.csv", "labor.csv") == said.split("\n\nReport")[0] + "\n"


@pytest.mark.parametrize("options", [["--where", "score > 0.1"], ["--drop-missing"], ["--decimal", ".", "--encoding", "latin-1"]])
def test_other_commands_read_in_the_same_way(capsys, options):
    frame = groups(["a", "b"]).assign(outcome=lambda t: t.response)
    frame.to_csv("made.csv", index=False)
    for command in (["compare-groups", *NAMED["compare-groups"]], ["validate", "--observed", "outcome", "--prob", "score", "--n-boot", "60", "--n-resamples", "99"]):
        out = run(capsys, command[0], "made.csv", *command[1:], *options)
        assert ("left out: " in headed(out)) == (options[0] != "--decimal")


def test_options_of_reading_are_refused_as_they_were_typed(capsys):
    errors().to_csv("made.csv", index=False)
    for options, said in ((["--decimal", ";"], "--decimal must"), (["--thousands", "x"], "--thousands must"), (["--encoding", "x"], "--encoding is not known"),
                          (["--where", "error >"], "--where can't be evaluated"), (["--where", "1 > 0"], "--where speaks of no column")):
        assert run(capsys, "validate", "made.csv", *ERRORS, *options, code=2).startswith(f"uqcal: {said}")


# --- what goes out

def test_recalibrated_rows_go_out_in_the_bytes_in_which_they_came():
    done = start("monitor", "-", "--observed", "y", "--prob", "p", "--out", "-", given="p,y,n\n0.5,1,日\n0.4,0,é\n".encode(),
                 environment={"PYTHONIOENCODING": "ascii", "PYTHONUTF8": "0", "LC_ALL": "C"})
    assert done.returncode == 0 and [line.split(b",")[2].decode() for line in done.stdout.splitlines()] == ["n", "日", "é"]


@pytest.mark.parametrize("name", ["a,b", 'a "b"', '"'])
def test_a_name_with_marks_can_be_read_again(capsys, name):
    with open("made.csv", "w") as file: file.write("p,y\n0.5,1\n0.4,0\n")
    run(capsys, "monitor", "made.csv", "--observed", "y", "--prob", "p", "--name", name, "--out", "out.csv")
    assert list(pd.read_csv("out.csv").columns) == ["p", "y", name]
    run(capsys, "monitor", "out.csv", "--observed", "y", "--prob", name, "--out", "again.csv")


@pytest.mark.parametrize("name", ["a\nb", "", " ", " a", "\x1b[2J", "p"])
def test_names_that_are_none(capsys, name):
    with open("made.csv", "w") as file: file.write("p,y\n0.5,1\n0.4,0\n")
    assert "--name must be" in (said := run(capsys, "monitor", "made.csv", "--observed", "y", "--prob", "p", "--name", name, code=2)) or "already" in said


def test_an_endless_line_of_a_stream_is_refused_at_once():
    begun = time.perf_counter()
    done = start("monitor", "-", "--observed", "y", "--prob", "p", "--out", "-", given=b"p,y\n0.5,1\n" + b"1" * 10_000_000)
    assert done.returncode == 2 and b"standard input, line 3: longer than 1,048,576 characters" in done.stderr and time.perf_counter() - begun < 60


@pytest.mark.skipif(os.name != "posix", reason="signals of POSIX")
@pytest.mark.parametrize("name", ["SIGTERM", "SIGHUP"])  # Windows has no SIGHUP, not even in its module
def test_a_command_that_is_ended_cleans_up(folder, name):
    number = getattr(signal, name)
    folder.joinpath("out.csv").write_text("before")
    folder.joinpath(".out.csv.1.part").write_text("stale")
    code = "from uqcal._command.cli import main; main()"
    with subprocess.Popen([sys.executable, "-c", code, "monitor", "-", "--observed", "y", "--prob", "p", "--out", "out.csv"], stdin=subprocess.PIPE,
                          stderr=subprocess.PIPE, preexec_fn=lambda: signal.signal(number, signal.SIG_DFL)) as process:  # nohup may have turned it off
        process.stdin.write(b"p,y\n0.5,1\n")
        process.stdin.flush()
        for _ in range(600):
            if len(list(folder.glob(".*.part"))) == 2: break
            time.sleep(0.1)
        process.send_signal(number)
        assert process.wait(60) == 128 + number and b"Traceback" not in process.stderr.read()
    assert sorted(os.listdir()) == [".out.csv.1.part", "out.csv"] and folder.joinpath("out.csv").read_text() == "before"


@pytest.mark.parametrize("options", [[], ["--only", "$a$b_{"], ["--reference", "c"]])
def test_dollar_signs_in_group_names_are_drawn(capsys, options):
    groups(["$a$b_{", "$x^$", "c"]).to_csv("made.csv", index=False)
    run(capsys, "compare-groups", "made.csv", *NAMED["compare-groups"], *options, "--report", "r.html")
    assert "$a$b_{" in open("r.html", encoding="utf-8").read()


@pytest.mark.skipif(sys.platform != "linux", reason="names of files are bytes on Linux")
def test_a_file_name_that_is_no_text(capsys):
    name = os.fsdecode(b"a\xffb.csv")
    errors().to_csv(name, index=False)
    said = run(capsys, "validate", name, *QUICK, "--json", os.fsdecode(b"n\xff.json"), "--report", os.fsdecode(b"r\xff.html"))
    assert said.startswith(r"a\xffb.csv: mean ± std, 60 rows") and r"n\xff.json" in said and os.path.exists(os.fsdecode(b"r\xff.html"))


def test_control_characters_do_not_reach_the_terminal(capsys):
    groups(["\x1b[2Ja", "b"]).to_csv("made.csv", index=False)
    assert "\x1b" not in (said := run(capsys, "compare-groups", "made.csv", *NAMED["compare-groups"])) and r"\x1b[2Ja" in said
    assert "\x1b" not in run(capsys, "compare-groups", "made.csv", *NAMED["compare-groups"], "--score", "\x1b[2J", code=2)


# --- surroundings

@pytest.mark.parametrize("args, said", [
    (["validate", "demo", "--n-boot", str(10**12)], "--n-boot must be at most 10,000,000"), (["validate", "demo", "--n-mc", str(10**12)], "--n-mc must be at most"),
    (["validate", "demo", "--observed", "rain", "--prob", "rain_prob", "--n-resamples", str(10**12)], "--n-resamples must be at most"),
])
def test_refused_before_the_work(capsys, args, said):
    assert run(capsys, *args, code=2).startswith(f"uqcal: {said}")


def test_an_empty_standard_input_is_refused():
    done = start("validate", "-", *ERRORS, given=b",,\n")
    assert done.returncode == 2 and done.stderr.decode().startswith("uqcal: standard input is empty") and done.stderr.count(b"\n") == 1


@pytest.mark.skipif(os.name != "posix", reason="file descriptors of POSIX")
@pytest.mark.parametrize("command, closed", [("validate", 0), ("monitor --out -", 1), pytest.param("validate", 1, marks=pytest.mark.slow), pytest.param("monitor --out -", 0, marks=pytest.mark.slow)])
def test_closed_streams_are_refused_in_words(command, closed):
    done = subprocess.run(["sh", "-c", f'exec "$0" -c "from uqcal._command.cli import main; main()" {command} - --error e --std u {"<" if closed == 0 else ">"}&-', sys.executable],
                          capture_output=True, timeout=120, **({"stdin": subprocess.DEVNULL} if closed else {}))
    assert (done.returncode, done.stderr.decode()) == (2, f"uqcal: standard {('input', 'output')[closed]} is closed\n")


def test_more_cores_than_there_are_is_no_fault(capsys):
    errors().to_csv("made.csv", index=False)
    assert run(capsys, "validate", "made.csv", *QUICK, "--jobs", "100000") == run(capsys, "validate", "made.csv", *QUICK)


def test_kernels_need_no_folder(folder):
    shutil.copytree(os.path.join(ROOT, "uqcal"), folder / "site" / "uqcal", ignore=shutil.ignore_patterns("__pycache__"))
    for place in {path.parent for path in (folder / "site" / "uqcal").rglob("*.py")}: (place / "__pycache__").touch()  # nobody, not even root, can write below a file
    (folder / "file").touch()
    surroundings = {key: value for key, value in os.environ.items() if key not in ("HOME", "NUMBA_CACHE_DIR")}
    done = subprocess.run([sys.executable, "-c", "from uqcal._chance.logistic import sigmoid; print(sigmoid(0.0))"], capture_output=True, timeout=300,
                          env={**surroundings, "PYTHONPATH": str(folder / "site"), "XDG_CACHE_HOME": str(folder / "file" / "cache"), "MPLCONFIGDIR": str(folder)})
    assert done.returncode == 0 and done.stdout.split() == [b"0.5"], done.stderr
    lines = done.stderr.decode().splitlines()
    assert sum("NUMBA_CACHE_DIR" in line for line in lines) == 1 and lines[0].startswith("uqcal: compiled kernels can't be kept"), lines


@pytest.mark.parametrize("ending, left", [("nbi", 0), pytest.param("nbi", 30, marks=pytest.mark.slow), pytest.param("nbc", 0, marks=pytest.mark.slow), pytest.param("nbc", 100, marks=pytest.mark.slow)])
def test_a_damaged_cache_is_compiled_anew(folder, ending, left):
    cache = {"NUMBA_CACHE_DIR": str(folder / "cache")}
    args = ["-c", "from uqcal._chance.logistic import sigmoid; print(sigmoid(0.0))"]
    for _ in range(2):
        done = subprocess.run([sys.executable, *args], capture_output=True, text=True, timeout=300, env={**os.environ, **cache})
        assert (done.returncode, done.stdout, done.stderr) == (0, "0.5\n", "")
        files = list((folder / "cache").rglob(f"*.{ending}"))
        assert files and all(file.stat().st_size > left for file in files)
        for file in files: file.write_bytes(file.read_bytes()[:left])


def test_every_kernel_can_do_without_a_folder():
    marked = 0
    for path in sorted((Path(ROOT) / "uqcal").rglob("*.py")):
        text = path.read_text(encoding="utf-8")
        marked += text.count("\n@kernel") + text.count("\n@elementwise")
        assert path.name == "kernels.py" or "import numba" not in text, path
    assert marked > 100


# --- a stream is read as the other tables are

def stream(capsys, content, *options, name="made.csv", code=0):
    with open(name, "wb") as file: file.write(content)
    return run(capsys, "monitor", name, "--observed", "y", "--prob", "p", "--out", "out.csv", *options, code=code)


PLAIN = "p,y,n\n0.5,1,é\n0.25,0,b\n0.75,1,c\n"


@pytest.mark.parametrize("content, options, encoding, mark", [
    (PLAIN.replace(",", ";").replace(".", ",").encode(), [], "utf-8", ","), (PLAIN.encode("utf-16"), [], "utf-16", "."), (PLAIN.encode("cp1252"), ["--encoding", "cp1252"], "cp1252", "."),
    (PLAIN.replace(",", "\t").replace(".", ",").encode(), ["--decimal", ","], "utf-8", ","), (PLAIN.encode(), ["--thousands", " "], "utf-8", "."), (PLAIN.encode("utf-8-sig"), [], "utf-8", "."),
], ids=["semicolons", "utf-16", "named", "tabs", "thousands", "mark"])
def test_a_stream_goes_out_with_the_marks_and_in_the_encoding_it_came_in(capsys, content, options, encoding, mark):
    stream(capsys, PLAIN.encode())
    with open("out.csv", "rb") as file: expected = file.read().decode()
    stream(capsys, content, *options)
    with open("out.csv", "rb") as file: found = file.read().decode(encoding)
    assert [line.replace(";", "\t").replace(",", "." if mark == "," else "\t").split("\t") for line in found.splitlines()] == [line.split(",") for line in expected.splitlines()]
    run(capsys, "monitor", "out.csv", "--observed", "y", "--prob", "recalibrated", "--name", "again", "--out", "again.csv", *options)


def test_a_compressed_stream(capsys):
    import gzip
    stream(capsys, PLAIN.encode())
    with open("out.csv", "rb") as file: expected = file.read()
    stream(capsys, gzip.compress(PLAIN.encode()), name="made.csv.gz")
    with open("out.csv", "rb") as file: assert file.read() == expected
    for cut in (10, 30): assert "made.csv.gz can't be read as gzip" in stream(capsys, gzip.compress(PLAIN.encode())[:cut], name="made.csv.gz", code=2)


def test_rows_without_a_score_are_left_out_where_that_is_asked_for(capsys):
    content = b"p,y\n0.5,1\n,1\nNA,0\n0.25,\n"
    assert "line 3: column 'p' must lie in [0, 1], got nothing" in stream(capsys, content, code=2)
    assert "2 rows, 1 with an outcome, 2 without a prediction left out" in " ".join(stream(capsys, content, "--drop-missing").replace("[95 % each]", "").split())
    assert list(pd.read_csv("out.csv")["p"]) == [0.5, 0.25]


@pytest.mark.parametrize("options, said", [
    (["--where", "p > 0.1"], "--where can't be used with monitor"), (["--decimal", ";"], "--decimal must"), (["--thousands", "x"], "--thousands must"), (["--encoding", "x"], "--encoding is not known"),
    (["--encoding", "ascii"], "made.csv is not ascii text"), (["--encoding", "cp1252", "--name", "日"], "--name must be a name that cp1252 text can hold"), (["--out", "out.csv.gz"], "--out writes CSV"),
    (["--on-alarm", "stop"], "--on-alarm must be one of 'restart', got 'stop'"), (["--run-length", "0"], "--run-length must be an integer ≥ 1, got 0"),
    (["--encoding", "undefined"], "--encoding is not known"), (["--decimal", ","], "made.csv, line 2: column 'p' must hold a probability, got '0.5'"),
])
def test_what_a_stream_can_not_use_is_refused_by_name(capsys, options, said):
    assert stream(capsys, PLAIN.encode(), *options, code=2).startswith(f"uqcal: {said}")
    assert sorted(os.listdir()) == ["made.csv"]


def test_the_summary_has_the_alarm_and_the_restarts(capsys):
    rng = np.random.default_rng(0)
    p = np.round(1 / (1 + np.exp(-rng.normal(0, 1.5, 12_000))), 4)
    y = (rng.random(12_000) < 1 / (1 + (1 - p) / p * np.exp(np.where(np.arange(12_000) < 10_000, 0, 3)))).astype(int)
    content = ("p,y\n" + "".join(f"{a},{b}\n" for a, b in zip(p, y))).encode()
    said = stream(capsys, content, "--method", "ops", "--on-alarm", "restart", "--run-length", "200000")
    plain = " ".join(said.split())
    found = re.search(r"As it was alarm at outcome 10,0\d\d \(the first of (\d+)\)", plain)
    assert found and int(found[1]) > 10 and "at most 1 per 200,000 outcomes" in plain
    assert "restart" in plain and "restart" not in stream(capsys, content, "--method", "ops")
    assert "no alarm in 1 outcome" in stream(capsys, b"p,y\n0.5,1\n")


def test_alarms_of_a_live_stream_are_said_as_they_ring():
    rows = "".join(f"0.01,{k % 2}\n" for k in range(400))
    done = start("monitor", "-", "--observed", "y", "--prob", "p", "--out", "-", given=f"p,y\n{rows}".encode())
    alarms = [line for line in done.stderr.decode().splitlines() if line.startswith("uqcal: standard input: Alarm at outcome ")]
    assert done.returncode == 0 and len(alarms) == 5 and "probabilities too low since about outcome 2 " in alarms[0]


def test_a_table_that_is_not_read_row_by_row(capsys):
    assert "made.parquet is not read row by row" in stream(capsys, b"PAR1", name="made.parquet", code=2)


def test_forecasts_have_the_mark_that_the_first_score_with_one_shows(capsys):
    stream(capsys, b"p;y\n1;1\n0,5;0\n")
    with open("out.csv", encoding="utf-8") as file: assert "." not in file.read()


@pytest.mark.parametrize("command, columns", [("validate", ERRORS), ("recalibrate", ["--observed", "outcome", "--prob", "score"]), ("compare-groups", NAMED["compare-groups"]), ("monitor", NAMED["monitor"])])
def test_a_line_without_end_is_refused_by_every_command(capsys, command, columns):
    "A long line in the midst of others, and one that never ends."
    first = "error,uncertainty,outcome,response,score,group,note\n1,2,1,1,0.5,a,x\n"
    for line in ("1,2,1,1,0.25,a," + "x" * (1 << 20) + "\n1,2,0,0,0.5,b,y\n", "1" * 20_000_000):
        with open("made.csv", "w") as file: file.write(first + line)
        begun = time.perf_counter()
        assert "made.csv, line 3: " in (said := run(capsys, command, "made.csv", *columns, code=2)) and "longer than 1,048,576 characters" in said
        assert time.perf_counter() - begun < 10


# --- a container: nobody's user, no home, nothing that can be written

def jailed(folder, *args, given=None):
    "A command as a user who may read uqcal, write nowhere, and has no home; in an empty environment."
    site, nowhere = folder / "site", folder / "nowhere"
    if not site.exists():
        shutil.copytree(os.path.join(ROOT, "uqcal"), site / "uqcal", ignore=shutil.ignore_patterns("__pycache__"))
        nowhere.mkdir()
        for path in (folder, site, nowhere, *site.rglob("*")): path.chmod(0o555 if path.is_dir() else 0o444)
    # root becomes nobody, who has no home and may write nothing, and may read all: the interpreter may lie in a home
    reads = "caps=-all,+dac_read_search"
    bound = [shutil.which("setpriv"), "--reuid=65534", "--regid=65534", "--clear-groups", f"--inh-{reads}", f"--ambient-{reads}"] if os.getuid() == 0 else []
    surroundings = {"PATH": os.environ["PATH"], "PYTHONPATH": str(site), "TMPDIR": str(nowhere)} | ({} if bound else {"HOME": str(nowhere)})
    return subprocess.run([*bound, sys.executable, "-c", "from uqcal._command.cli import main; main()", *args], input=given, capture_output=True, timeout=600, cwd=nowhere, env=surroundings)


@pytest.fixture
def jail(tmp_path_factory):
    folder = tmp_path_factory.mktemp("jail")
    yield folder
    for path in (folder, *folder.rglob("*")): path.chmod(0o755)


rights = pytest.mark.skipif(os.name != "posix" or os.getuid() == 0 and not shutil.which("setpriv"), reason="rights of POSIX, which root needs setpriv to lay down")


@rights
@pytest.mark.slow
def test_commands_run_where_nothing_can_be_written(jail):
    found = jailed(jail, "monitor", "-", "--observed", "y", "--prob", "p", "--out", "-", given=b"p,y\n0.5,1\n")
    lines = found.stderr.decode().splitlines()
    assert found.returncode == 0 and found.stdout.startswith(b"p,y,recalibrated\n0.5,1,"), found.stderr
    assert lines[0].startswith("uqcal: compiled kernels can't be kept") and "set NUMBA_CACHE_DIR to a folder that can be written" in lines[0], lines
    assert sum("uqcal: " in line for line in lines) == 1 and "Traceback" not in found.stderr.decode()


@rights
def test_files_that_cannot_be_written_are_refused_at_once(jail):
    for option in ("--report", "--json"):
        found = jailed(jail, "validate", "-", *QUICK, option, "r.html", given=errors().to_csv(index=False).encode())
        assert (found.returncode, found.stdout, found.stderr) == (2, b"", b"uqcal: r.html can't be written: permission denied\n")


@rights
@pytest.mark.slow
def test_a_verdict_is_found_where_nothing_can_be_written(jail):
    "Which compiles all that a validation needs."
    found = jailed(jail, "validate", "-", *QUICK, given=errors().to_csv(index=False).encode())
    assert found.returncode == 0 and b"standard input: 60 points\n\nNo bias" in found.stdout, found.stderr
    assert sum(line.startswith("uqcal: ") for line in found.stderr.decode().splitlines()) == 1, found.stderr


def test_errors_in_parts_get_the_answers_that_can_be_given(capsys):
    "Two files, from errors and from a difference; what can't be kept is refused by name. Mutations: an option that is ignored, a status that is not printed."
    pytest.importorskip("dask.dataframe", reason="dask is not installed")
    rng = np.random.default_rng(4)
    u = rng.gamma(3, 1, 30_000) + 0.1
    table = pd.DataFrame({"E": 1.4 * u * rng.standard_normal(30_000), "u": u, "y": 3.0})
    table = table.assign(yhat=table["y"] - table["E"])
    for k in (0, 1): table[15_000 * k:15_000 * (k + 1)].to_parquet(f"part-{k}.parquet")
    for columns in (["--error", "E"], ["--observed", "y", "--predicted", "yhat"]):
        found = json.loads(run(capsys, "validate", "part-*.parquet", *columns, "--std", "u", "--dask", "--json", "-"))
        assert (found["verdict"], found["n"], found["n_partitions"]) == ("invalid", 30_000, 2)
        assert found["findings"][1]["name"] == "on average" and found["findings"][1]["status"] == "invalid" and found["findings"][1]["estimate"] == pytest.approx(1.4, abs=0.02)
    asked = ["validate", "part-*.parquet", "--error", "E", "--std", "u", "--dask"]
    said = run(capsys, *asked, "--fail-on", "invalid", code=1) or ""
    said = run(capsys, *asked)
    assert "? Bias        none found" in said and "VERDICT  No bias found; overconfident on average" in said and max(map(len, said.splitlines())) <= 80
    for option in (["--groups", "g"], ["--by", "y"], ["--report", "r.html"], ["--n-mc", "99"], ["--where", "u > 1"]):
        assert f"{option[0]} can't be had with --dask" in run(capsys, *asked, *option, code=2)
