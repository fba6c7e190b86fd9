"""Rows, keys and a state on disk: a stream cut anywhere, stopped by a row or killed goes on as if nothing had happened."""
import io
import json
import os
import signal
import subprocess
import sys
import time

import numpy as np
from every_case import every_case
import pytest

from uqcal.online.calibeating import tops
from uqcal._command.cli import main
from uqcal.adapters.rows import recalibrate_rows

N, DELAY = 120, 30


def keyed(n=N, delay=DELAY, seed=0, early=5):
    "A table of forecasts asked for and outcomes that come later; the first few are known at once, the last are still out."
    rng = np.random.default_rng(seed)
    p = np.round(rng.random(n), 3)
    y = (rng.random(n) < p**2).astype(int)
    lines = []
    for t in range(n):
        lines.append(f"c{t},{p[t].item()!r},{y[t] if t < early else ''}")
        if t - delay >= early: lines.append(f"c{t - delay},,{y[t - delay]}")
    return "id,p,y", lines, p, y


def run(lines, state, head="id,p,y", **options):
    out = []
    summary = recalibrate_rows(io.BytesIO("\n".join([head, *lines, ""]).encode()), out.append, **{"score": "p", "y_true": "y", "key": "id", "rng": 3, "state": state, **options})
    return "".join(out).splitlines()[1:], summary


def content(path):
    "What a state holds of all runs, without the counts and sums of the last one."
    held = json.loads(path.read_text())["content"]
    state = held["state"]
    state["tally_"] = {name: {part: state["tally_"]["state"][name]["state"][part] for part in ("state_", "outcomes_")} for name in ("monitor_", "after_")}
    return {**held, "state": {name: value for name, value in state.items() if name != "ended_"}}


@pytest.mark.parametrize("method", [pytest.param("ops", marks=pytest.mark.slow), pytest.param("tops", marks=pytest.mark.slow), "hops"])
def test_a_file_cut_in_two_at_any_row_gives_the_same_as_whole(method, tmp_path):
    head, lines, _, _ = keyed()
    whole, summary = run(lines, tmp_path / "whole.json", method=method)
    assert len(whole) == len(lines) and summary.waiting == DELAY and summary.learnt == N - DELAY
    for cut in range(0, len(lines) + 1, 29 if method == "tops" else 60):
        state = tmp_path / f"{cut}.json"
        first, _ = run(lines[:cut], state, method=method, every=7)
        second, again = run(lines[cut:], state, method=method)
        assert first + second == whole and content(state) == content(tmp_path / "whole.json")
        assert again.waiting == summary.waiting and again.learnt <= summary.learnt


def test_without_keys_too_and_in_chunks_of_any_size(tmp_path):
    rng = np.random.default_rng(1)
    p = np.round(rng.random(300), 3)
    lines = [f"{a!r},{int(b)}" if k % 5 else f"{a!r}," for k, (a, b) in enumerate(zip(p.tolist(), rng.random(300) < p))]
    whole, _ = run(lines, tmp_path / "whole.json", head="p,y", key=None, method="hops")
    for cut in (1, 150):
        parts = [run(part, tmp_path / f"{cut}.json", head="p,y", key=None, method="hops", every=every)[0] for part, every in ((lines[:cut], 9), (lines[cut:], 50))]
        assert parts[0] + parts[1] == whole and content(tmp_path / f"{cut}.json") == content(tmp_path / "whole.json")


def test_outcomes_get_the_forecast_that_was_stated():
    head, lines, p, y = keyed()
    made, _ = run(lines, None, method="tops")
    live, stated, expected = tops(), {}, []
    for line in lines:
        key, score, outcome = line.split(",")
        if score and not outcome: expected.append(stated.setdefault(key, live.forecast(float(score), key=key)))
        elif score: expected.append(live.prequential([float(score)], [int(outcome)])[0])
        else: expected.append(live.outcome(key, int(outcome)))
    np.testing.assert_allclose([float(line.rsplit(",", 1)[1]) for line in made], expected, rtol=1e-5)  # six digits are written


BROKEN = {
    "still out": (["a,0.5,", "a,0.6,"], "line 3: key 'a' has a forecast already whose outcome is still out"),
    "twice": (["a,0.5,", "a,,1", "a,,1"], "line 4: the outcome of key 'a' is booked already"),
    "another score": (["a,0.5,", "a,0.6,1"], "line 3: key 'a' has an open forecast for 0.5, but this row states 0.6"),
    "forecast twice": (["a,0.5,", "a,,1", "a,0.5,"], "line 4: the outcome of key 'a' is booked already; a new forecast needs a key of its own"),
    "known at once": (["a,0.5,1", "a,0.5,"], "line 3: the outcome of key 'a' is booked already"),
    "no score": (["a,,1"], "line 2: column 'p' must lie in \\[0, 1\\], got nothing"),
    "no key": ([",0.5,1"], "line 2: column 'id' must hold a key, got nothing"),
    "mark in a cell": (['"a"b,0.5,1'], "line 2: can't be read as CSV"),
    "above": (["a,1.5,1"], "line 2: column 'p' must lie in \\[0, 1\\], got 1.5"),
    "two": (["a,0.5,2"], "line 2: column 'y' must hold 0 or 1"),
}


@pytest.mark.parametrize("lines, said", BROKEN.values(), ids=BROKEN.keys())
def test_a_broken_row_stops_the_run_with_its_state_or_is_left_out(lines, said, tmp_path):
    before = ["x,0.3,1", "y,0.8,"]
    said = said.replace(f"line {int(said[5])}", f"line {int(said[5]) + 2}")
    with pytest.raises(ValueError, match=said): run([*before, *lines, "z,0.5,0"], tmp_path / "s.json")
    kept = content(tmp_path / "s.json")
    good = lines[:int(said[5]) - 4]
    run([*before, *good], tmp_path / "good.json")
    assert kept == content(tmp_path / "good.json")
    told = []
    made, summary = run([*before, *lines, "z,0.5,0"], tmp_path / "skipped.json", on_error="skip", complain=told.append)
    assert len(told) == summary.skipped >= 1 and len(made) == 3 + len(good) and made[-1].startswith("z,")


def test_an_outcome_may_repeat_its_score_or_leave_it_empty():
    made, summary = run(["a,0.123456789,", "b,0.5,", "a,0.12345679,1", "b,,0"], None)
    assert [line.rsplit(",", 1)[1] for line in made[:2]] == [line.rsplit(",", 1)[1] for line in made[2:]] and summary.waiting == 0 and summary.booked == 2


def test_a_key_that_comes_again_leaves_nothing_open(tmp_path):
    lines = ["a,0.5,", "a,,1", "a,0.5,", "a,0.7,1", "b,0.2,", "b,0.3,0", "b,,0"]
    made, summary = run(lines, tmp_path / "s.json", on_error="skip", complain=[].append)
    assert summary.waiting == 0 and summary.learnt == 2 and summary.skipped == 3 and len(made) == 4


def test_a_recalibrated_file_is_resumed_where_it_stopped(tmp_path):
    head, lines, _, _ = keyed()
    whole, _ = run(lines, tmp_path / "whole.json")
    with pytest.raises(ValueError, match="line 52"): run([*lines[:50], "oops", *lines[51:]], tmp_path / "s.json", every=20)
    made, _ = run(lines, tmp_path / "s.json", resume=True)
    assert made == whole[50:] and content(tmp_path / "s.json") == content(tmp_path / "whole.json")
    with pytest.raises(ValueError, match="rows fewer than the state has taken in"): run(lines[:60], tmp_path / "s.json", resume=True)


def test_states_that_do_not_fit_are_refused(tmp_path, monkeypatch):
    head, lines, _, _ = keyed()
    state = tmp_path / "s.json"
    run(lines, state, method="tops")
    with pytest.raises(ValueError, match="method must be that of the state, 'tops', got 'ops'"): run(lines, state, method="ops")
    state.write_text(state.read_text().replace("0.0", "0.5", 1))
    with pytest.raises(ValueError, match="holds no state of uqcal monitor: .*checksum"): run(lines, state)
    state.write_text("{}")
    with pytest.raises(ValueError, match="holds no state"): run(lines, state)
    with pytest.raises(ValueError, match="can't be written"): run(lines, tmp_path / "no" / "s.json")

    class Meddling(io.BytesIO):
        def read1(self, n=-1):
            other.write_text("{}")
            return super().read1(n)
    other = tmp_path / "other.json"
    with pytest.raises(ValueError, match="another process has written the state"):
        recalibrate_rows(Meddling("\n".join([head, *lines, ""]).encode()), lambda text: None, score="p", y_true="y", key="id", state=other)


def test_forecasts_and_outcomes_are_counted_as_what_they_are(tmp_path):
    "Of a whole stream, and of the second run of two, which tells of its own rows."
    said = {"rows": (["a,0.5,1", "b,0.5,"], "2 rows, 1 with an outcome, 1 awaiting theirs", "0 rows, 1 awaiting theirs"),
            "late": ([*(f"{k},0.5," for k in range(9)), *(f"{k},,1" for k in range(6))], "9 forecasts, 6 outcomes booked, 3 still out", "7 forecasts, 6 outcomes booked, 3 still out"),
            "both": (["a,0.5,1", "b,0.5,", "c,0.5,", "b,,0"], "3 forecasts, 2 outcomes, 1 of them in later rows, 1 still out", "1 forecast, 1 outcome booked, 1 still out")}
    for name, (lines, text, second) in said.items():
        assert run(lines, tmp_path / name)[1].title == f"probabilities in file order, {text}"
        run(lines[:2], tmp_path / f"{name} in two")
        assert run(lines[2:], tmp_path / f"{name} in two")[1].title == f"probabilities in file order, {second}"


@every_case("q, written", [(0.123456789, "0.123457"), (1 / 3, "0.333333"), (0.5, "0.5"), (0.75, "0.75"), (0.99, "0.99"), (0.9999987654321, "0.99999876543"), (1 - 1e-9, "0.999999999"),
                                        (np.nextafter(1, 0), "0.99999999999999989"), (1.23456789e-9, "1.23457e-09"), (0.0, "0"), (1.0, "1")])
def test_forecasts_have_six_digits_at_both_ends(q, written):
    from uqcal.adapters.rows import _six_digits
    assert _six_digits(float(q)) == written and (float(written) in (0, 1)) == (q in (0, 1))


def test_written_forecasts_keep_their_order():
    from uqcal.adapters.rows import _six_digits
    q = np.sort(1 / (1 + np.exp(-np.random.default_rng(0).normal(0, 6, 20_000))))
    written = np.array([float(_six_digits(one)) for one in q.tolist()])
    assert (np.diff(written) >= 0).all() and np.allclose(written, q, rtol=5.1e-6) and np.allclose(1 - written, 1 - q, rtol=5.1e-6)


def test_a_state_in_use_is_refused_before_anything_is_read_or_written(tmp_path):
    pytest.importorskip("fcntl")
    head, lines, _, _ = keyed()
    state, tried = tmp_path / "s.json", []

    class Second(io.BytesIO):
        def read1(self, n=-1):
            if not tried:
                with pytest.raises(ValueError, match="another process uses the state") as error:
                    recalibrate_rows(io.BytesIO(b"id,p,y\n"), tried.append, score="p", y_true="y", key="id", state=state)
                tried.append(error)
            return super().read1(n)
    recalibrate_rows(Second("\n".join([head, *lines, ""]).encode()), lambda text: None, score="p", y_true="y", key="id", state=state)
    assert len(tried) == 1 and [file.name for file in tmp_path.iterdir()] == ["s.json"]
    with pytest.raises(ValueError, match="line 2"): run(["oops"], state)
    run(["new,0.5,"], state)  # whoever ends, however, lets go


def test_the_state_holds_what_is_out_and_no_more(tmp_path):
    sizes = []
    for n in (600, 2400):
        head, lines, _, _ = keyed(n, 50)
        run(lines, tmp_path / f"{n}.json", every=300)
        found = content(tmp_path / f"{n}.json")["state"]
        sizes.append(len(json.dumps(found["forecaster_"])))
        assert len(found["booked_"]["dict"]) <= 10_000
    assert sizes[1] < 1.05 * sizes[0]


# --- the command, killed in a process of its own

def start(*args, **options):
    code = "import sys; from uqcal._command.cli import main; main()"
    return subprocess.Popen([sys.executable, "-c", code, "monitor", *map(str, args)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                            env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}, **options)


def written(capsys, *args):
    "The lines that the command writes in this process."
    with pytest.raises(SystemExit): main(["monitor", *map(str, args)])
    return capsys.readouterr().out.splitlines()


OPTIONS = ("--observed", "y", "--prob", "p", "--key", "id", "--method", "hops", "--seed", "4")


@pytest.mark.parametrize("stop", [signal.SIGKILL, pytest.param(signal.SIGTERM, marks=pytest.mark.slow)], ids=["kill -9", "ended"])
def test_a_run_that_is_killed_in_mid_stream_books_nothing_twice_and_loses_nothing(stop, tmp_path, capsys):
    head, lines, _, _ = keyed()
    (tmp_path / "s.csv").write_text("\n".join([head, *lines, ""]))
    whole = written(capsys, tmp_path / "s.csv", *OPTIONS, "--out", "-", "--state", tmp_path / "whole.json")
    answered = []
    with start("-", *OPTIONS, "--out", "-", "--state", tmp_path / "s.json", "--every", 20) as live:
        for line in [head, *lines[:130]]:
            live.stdin.write(f"{line}\n".encode())
            live.stdin.flush()
            answered.append(live.stdout.readline().decode().rstrip("\n"))
        if stop != signal.SIGKILL: time.sleep(1)  # until it waits for the next row, and can write its state
        live.send_signal(stop)
        live.wait(timeout=60)
    taken = content(tmp_path / "s.json")["state"]["taken_"]
    assert taken == (120 if stop == signal.SIGKILL else 130) and answered == whole[:131]
    assert written(capsys, tmp_path / "s.csv", *OPTIONS, "--out", "-", "--state", tmp_path / "s.json", "--resume")[1:] == whole[1 + taken:]
    assert content(tmp_path / "s.json") == content(tmp_path / "whole.json")


def command(capsys, *args, code=0):
    with pytest.raises(SystemExit) as ended: main(["monitor", *map(str, args)])
    said = capsys.readouterr()
    assert ended.value.code == code, said.err
    return said.out + said.err


def test_the_command_adds_to_its_table_and_mends_a_line_cut_short(capsys, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    head, lines, _, _ = keyed()
    (tmp_path / "all.csv").write_text("\n".join([head, *lines, ""]))
    (tmp_path / "half.csv").write_text("\n".join([head, *lines[:70], ""]))
    command(capsys, "all.csv", *OPTIONS, "--state", "whole.json", "--out", "whole.csv")
    command(capsys, "half.csv", *OPTIONS, "--state", "s.json", "--out", "parts.csv")
    with open("parts.csv", "a") as file: file.write("c99,0.1")  # a power cut
    said = command(capsys, "all.csv", *OPTIONS, "--state", "s.json", "--resume", "--out", "parts.csv")
    assert (tmp_path / "parts.csv").read_text() == (tmp_path / "whole.csv").read_text()
    assert f"{DELAY} still out" in " ".join(said.split()) and sorted(f.suffix for f in tmp_path.iterdir()) == [".csv"] * 4 + [".json"] * 2
    assert "other column names" in command(capsys, "all.csv", *OPTIONS, "--state", "t.json", "--name", "q", "--out", "parts.csv", code=2)
    assert "--resume needs --state" in command(capsys, "all.csv", *OPTIONS, "--resume", code=2)
    assert "--every must be" in command(capsys, "all.csv", *OPTIONS, "--state", "t.json", "--every", "0", code=2)
    assert "--on-error must be one of" in command(capsys, "all.csv", *OPTIONS, "--on-error", "go", code=2)
    assert "must name different files" in command(capsys, "all.csv", *OPTIONS, "--state", "x", "--out", "x", code=2)


def test_skipped_rows_are_named_and_counted(capsys, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "s.csv").write_text("id,p,y\n" + "a,2,1\n" * 8 + "b,0.5,1\n")
    said = command(capsys, "s.csv", *OPTIONS, "--on-error", "skip")
    assert said.count("left out\n") == 6 and "s.csv, line 2: column 'p' must lie in [0, 1], got 2; left out" in said and "8 rows left out" in said and "8 rows skipped" in said


@pytest.mark.parametrize("text, encoding", [("id;p;y\na;0,25;1,0\nb;0,5;1.00\nc;0,5;0\n", "utf-8"), ("id\tp\ty\na\t0.25\t1.00\nb\t0.5\t0.0\nc\t0.5\t0\n", "utf-16"), ('id,p,y\n"a,1",0.25,1.00\n"b ""x""",5e-1,1\nc,.5,0\n', "utf-8-sig")])
def test_other_marks_and_encodings_are_read_or_refused_by_name(capsys, tmp_path, monkeypatch, text, encoding):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "s.csv").write_bytes(text.encode(encoding))
    mixed = "1.00" in text and ";" in text
    said = command(capsys, "s.csv", "--observed", "y", "--prob", "p", "--key", "id", "--method", "ops", "--out", "r.csv", code=2 if mixed else 0)
    if mixed: assert "line 3: column 'y' must hold 0 or 1" in said
    else: assert len((tmp_path / "r.csv").read_bytes().decode(encoding).splitlines()) == 4


def test_without_a_seed_the_draws_are_fresh():
    lines = keyed(600)[1]
    made = [tuple(run(lines, None, method="hops", rng=None)[0]) for _ in range(4)]
    assert len(set(made)) == 4
    assert run(lines, None, method="hops", rng=2)[0] == run(lines, None, method="hops", rng=2)[0]


@pytest.mark.parametrize("kind", ["only when positive", "sooner when positive", "as late"])
def test_labels_of_one_class_that_come_sooner_show_no_gain(kind):
    "Right probabilities; all gains were called shown where only positives came. Mutation: the delay of outcomes is not looked at."
    for seed in range(3):
        rng = np.random.default_rng([seed, 87])
        p = rng.beta(1.5, 4, 300).clip(0.01, 0.99)
        events = []
        for t, y in enumerate((rng.random(300) < p).tolist()):
            delay = rng.integers(1, 30) if y or kind == "as late" else rng.integers(150, 300)
            events.append((t, 0, f"c{t},{p[t].item()!r},"))
            if (y or kind != "only when positive") and t + delay < 300: events.append((t + delay, 1, f"c{t},,{int(y)}"))
        _, summary = run([line for *_, line in sorted(events)], None)
        assert summary.waiting and ("on the outcomes that came" in summary.conclusion) is (kind != "as late")
        if kind == "only when positive": assert summary["gain"].reason == "selected" and summary.alarms and "outcomes that came" in summary["gain"].sentence
        if kind != "as late": assert summary["gain"].status != "valid"
