"""Uncertainties and intervals row by row: the classes' own numbers, tickets, cuts and kills, refusals, truth of the closing lines."""
import io
import json
import os
import signal

import numpy as np
import pandas as pd
import pytest
from test_recalibrate_state import content, start, written
from test_streams import Trickle

from uqcal._command.cli import main
from uqcal.online.error_monitor import UncertaintyMonitor
from uqcal.adapters.error_streams import recalibrate_bound_rows, recalibrate_error_rows
from uqcal.online.interval_streams import AdaptiveConformal, AggregatedAdaptive, OnlineBounds
from uqcal.online.monitor import CalibrationMonitor
from uqcal.online.online_scaling import OnlineScaling
from uqcal.adapters.rows import recalibrate_rows

N, DELAY = 150, 30
TRACKERS = {"tracker": lambda: OnlineBounds(level=0.8), "mixed": lambda: OnlineBounds(level=0.8, steps="mixed"), "aci": lambda: OnlineBounds(AdaptiveConformal(0.8)),
            "dtaci": lambda: OnlineBounds(AggregatedAdaptive(0.8))}
RUN = {"errors": lambda source, write, **more: recalibrate_error_rows(source, write, **{"uncertainty": "u", "error": "e", **more}),
       "bounds": lambda source, write, **more: recalibrate_bound_rows(source, write, **{"lower": "lo", "upper": "hi", "y_true": "y", "level": 0.8, **more})}
HEAD = {"errors": "id,u,e", "bounds": "id,lo,hi,y"}
WIDTH = {"errors": 1, "bounds": 2}  # columns that are added


def data(n=N, seed=0):
    "Uncertainties, errors that grow, and middles."
    rng = np.random.default_rng(seed)
    u = np.round(rng.gamma(3, 0.3, n) + 0.01, 4)
    return u, np.round(u * np.linspace(1, 3, n) * rng.standard_normal(n), 4), np.round(rng.normal(0, 5, n), 4)


def cells(kind, t, u, e, middle, known=True, stated=True):
    "The cells of row t."
    made = [u[t]] if kind == "errors" else [round(middle[t] - u[t], 4), round(middle[t] + u[t], 4)]
    y = round(e[t] + middle[t] * (kind == "bounds"), 4)
    return [*(repr(float(one)) if stated else "" for one in made), repr(float(y)) if known else ""]


def rows(kind, n=N, seed=0):
    "Rows that are known at once."
    given = data(n, seed)
    return [",".join([f"k{t}", *cells(kind, t, *given)]) for t in range(n)]


def late(kind, n=N, seed=0, early=5):
    "Forecasts asked for and outcomes that come later; the first few are known at once, the last are still out."
    given, lines = data(n, seed), []
    for t in range(n):
        lines.append(",".join([f"c{t}", *cells(kind, t, *given, known=t < early)]))
        if t - DELAY >= early: lines.append(",".join([f"c{t - DELAY}", *cells(kind, t - DELAY, *given, stated=False)]))
    return lines


def run(kind, lines, state=None, source=io.BytesIO, **more):
    out = []
    summary = RUN[kind](source("\n".join([HEAD[kind], *lines, ""]).encode()), out.append, state=state, **more)
    return "".join(out).splitlines()[1:], summary


def made(kind, lines):
    "The added cells as numbers."
    return np.array([[float(one) for one in line.rsplit(",", WIDTH[kind])[1:]] for line in lines])


def stated(kind, lines):
    "Statement and outcome of whole rows."
    table = np.array([[float(one) for one in line.split(",")[1:]] for line in lines])
    return (table[:, 0] if kind == "errors" else table[:, :2]), table[:, -1]


@pytest.mark.parametrize("size", [11, 100_000])
@pytest.mark.parametrize("kind, method", [("errors", None), *(("bounds", name) for name in TRACKERS)])
def test_rows_get_the_forecasts_of_the_class(kind, method, size):
    lines = rows(kind, 400)
    given, y = stated(kind, lines)
    expected = OnlineScaling().prequential(given, y)[:, None] if kind == "errors" else TRACKERS[method]().prequential(y, given)
    found, summary = run(kind, lines, source=lambda text: Trickle(text, size), **({} if method is None else {"method": method}))
    assert [line.rsplit(",", WIDTH[kind])[0] for line in found] == lines  # not a byte of the other columns is another one
    scale = expected if kind == "errors" else (given[:, 1] - given[:, 0])[:, None] + np.zeros(2)
    finite = np.isfinite(expected)
    assert (finite == np.isfinite(made(kind, found))).all() and (np.abs(made(kind, found)[finite] - expected[finite]) <= 1e-4 * np.abs(scale[finite])).all()
    assert summary.rows == summary.learnt == 400 and (method is None or summary.method == method)


def test_the_gain_has_its_error_and_none_is_claimed_for_right_rows():
    "Against plain sums; and forty tables of right uncertainties, where maps can only lose. Mutation: no error, or the sign turned."
    said = []
    for seed in range(40):
        rng = np.random.default_rng([32, seed])
        u = np.exp(0.5 * rng.standard_normal(300))
        lines = [f"{t},{a!r},{b!r}" for t, (a, b) in enumerate(zip(u.tolist(), (u * rng.standard_normal(300)).tolist()))]
        found, summary = run("errors", lines)
        said.append(summary["gain"].status)
    made_, (given, y) = made("errors", found)[:, 0], stated("errors", lines)
    gain = np.log(given / made_) + (y / given)**2 / 2 - (y / made_)**2 / 2
    error = max(np.sum(gain**2), np.sum(2 * np.log(given / made_)**2))**0.5 / 300
    np.testing.assert_allclose([summary.gain, summary.gain_error], [gain.mean(), error], rtol=1e-3)  # six digits are written
    assert "valid" not in said and said.count("invalid") <= 6
    assert run("errors", [f"{t},1,{3 * (-1)**t}" for t in range(100)])[1]["gain"].status == "valid"
    assert run("errors", ["a,1.0,2.0"])[1]["gain"].reason == "equal"


@pytest.mark.parametrize("kind", RUN)
def test_what_is_written_has_not_seen_its_own_outcome(kind):
    lines = rows(kind)
    whole = made(kind, run(kind, lines)[0])
    for t in (0, 40, N - 1):
        spoilt = [*lines[:t], lines[t].rsplit(",", 1)[0] + ",99", *lines[t + 1:]]
        other = made(kind, run(kind, spoilt)[0])
        np.testing.assert_array_equal(other[:t + 1], whole[:t + 1])
        assert t == N - 1 or (other[t + 1] != whole[t + 1]).any()


@pytest.mark.parametrize("kind, more, keyed", [("errors", {}, True), ("errors", {}, False), ("bounds", {}, True), ("bounds", {}, False), ("bounds", {"method": "mixed"}, True), ("bounds", {"method": "aci"}, True),
                                               ("bounds", {"method": "dtaci"}, True), *(pytest.param("bounds", {"method": one}, False, marks=pytest.mark.slow) for one in ("mixed", "aci", "dtaci"))])
def test_a_file_cut_in_two_at_any_row_gives_the_same_as_whole(kind, more, keyed, tmp_path):
    lines = late(kind) if keyed else [line if t % 7 else line.rsplit(",", 1)[0] + "," for t, line in enumerate(rows(kind))]
    more = {"key": "id", **more} if keyed else more
    whole, summary = run(kind, lines, tmp_path / "whole.json", **more)
    assert len(whole) == len(lines) and summary.waiting == DELAY * keyed
    for cut in (0, 1, 77, len(lines)):
        state = tmp_path / f"{cut}.json"
        first, _ = run(kind, lines[:cut], state, every=7, **more)
        second, again = run(kind, lines[cut:], state, **more)
        assert first + second == whole and content(state) == content(tmp_path / "whole.json")
        assert again.waiting == summary.waiting


@pytest.mark.parametrize("kind", RUN)
def test_outcomes_get_what_was_stated_for_them(kind):
    lines = late(kind)
    found, summary = run(kind, lines, key="id")
    live, expected = OnlineScaling() if kind == "errors" else OnlineBounds(level=0.8), []
    for line in lines:
        key, *said, y = line.split(",")
        given = None if not said[0] else float(said[0]) if kind == "errors" else [float(one) for one in said]
        if not y: expected.append(live.forecast(given, key=key))
        elif given is None: expected.append(live.outcome(key, float(y)))
        else: expected.append((live.prequential([given], [float(y)]) if kind == "errors" else live.prequential([float(y)], [given]))[0])
    np.testing.assert_allclose(made(kind, found), np.reshape(expected, (len(lines), -1)), rtol=1e-5, atol=1e-5)
    assert summary.booked == N - DELAY - 5


BROKEN = {"errors": {"a,-1,2": "column 'u' must be above 0, got -1", "a,0,2": "column 'u' must be above 0, got 0", "a,x,2": "column 'u' must hold a number, got 'x'", "a,1,y": "column 'e' must hold a number",
                     "a,inf,2": "column 'u' must not exceed 1e150", "a,1e-200,2": "1e-150 at least", "a,1e-9,1e145": "column 'e' must not exceed 1e150 times 'u'", "a,,2": "column 'u' must be above 0, got nothing",
                     "a,1,-inf": "column 'e' must not exceed", ",1,2": "column 'id' must hold a key", "c0,1,2": "already|still out", "a,1": "2 cells where the header has 3"},
          "bounds": {"a,3,2,1": "crossed bounds", "a,2,2,1": "column 'hi' must be above column 'lo', got 2 and 2: no width", "a,,2,1": "column 'lo' must hold a number, got nothing", "a,1,,1": "column 'hi' must hold",
                     "a,1,2,z": "column 'y' must hold a number", "a,1,inf,1": "columns 'lo' and 'hi' must have two bounds or none, since a single one has no middle, got 1 and inf", "a,-inf,2,1": "ConformalBounds moves single bounds",
                     "a,inf,inf,1": "column 'lo' must be finite, or -inf", "a,-inf,-inf,1": "column 'hi' must be finite, or inf", "a,1,1e151,1": "column 'hi' must not exceed 1e150", "a,-inf,inf,inf": "column 'y' must not exceed", "a,1,1.0000000000001,1e149": "column 'y' must not lie more than 1e150 widths"}}


@pytest.mark.parametrize("kind, row, said", [(kind, row, said) for kind, table in BROKEN.items() for row, said in table.items()])
def test_a_broken_row_is_named_and_stops_or_is_left_out(kind, row, said, tmp_path):
    lines = late(kind)[:20]
    run(kind, lines, tmp_path / "good.json", key="id")
    try: run(kind, [*lines, row, "z,1,2,"[:4 + 2 * (kind == "bounds")]], tmp_path / "s.json", key="id")
    except ValueError as error:
        assert str(error).startswith("line 22: ") and any(part in str(error) for part in said.split("|"))
        assert content(tmp_path / "s.json") == content(tmp_path / "good.json")
    else: raise AssertionError("the row went through")
    told = []
    found, summary = run(kind, [*lines, row, f"z,{'1' if kind == 'errors' else '1,2'},"], tmp_path / "skipped.json", key="id", on_error="skip", complain=told.append)
    assert found[-1].startswith("z,") and len(told) == summary.skipped and len(found) == 22 - len(told)


def test_a_state_of_another_kind_or_setting_is_refused(tmp_path):
    state = tmp_path / "s.json"
    run("errors", rows("errors"), state)
    with pytest.raises(ValueError, match="the state of a stream of uncertainties, and these rows state intervals"): run("bounds", rows("bounds"), state)
    with pytest.raises(ValueError, match="of uncertainties, and these rows state probabilities"): recalibrate_rows(io.BytesIO(b"p,y\n.5,1\n"), print, score="p", y_true="y", state=state)
    with pytest.raises(ValueError, match="kurtosis must be that of the state, 9.0, got 6"): run("errors", rows("errors"), state, kurtosis=6)
    run("bounds", rows("bounds"), tmp_path / "b.json")
    with pytest.raises(ValueError, match="level must be that of the state, 0.8, got 0.9"): run("bounds", rows("bounds"), tmp_path / "b.json", level=0.9)
    with pytest.raises(ValueError, match="method must be one of"): run("bounds", rows("bounds"), method="acj")
    with pytest.raises(ValueError, match="level"): run("bounds", rows("bounds"), level=1.0)
    with pytest.raises(ValueError, match="kurtosis must be at least 1"): run("errors", rows("errors"), kurtosis=0)


def test_the_summaries_say_what_the_written_rows_show():
    lines = rows("errors", 3000)
    (u, e), (found, summary) = stated("errors", lines), run("errors", lines)
    after = OnlineScaling().prequential(u, e)
    np.testing.assert_allclose([summary.zms_before, summary.zms_after], [np.mean((e / u)**2), np.mean((e / after)**2)], rtol=1e-10)
    np.testing.assert_allclose(summary.gain, np.mean(np.log(u) + (e / u)**2 / 2 - np.log(after) - (e / after)**2 / 2), rtol=1e-8)
    assert summary.largest[0] == (pytest.approx(np.max((e / u)**2)), 1 + np.argmax(np.abs(e / u))) and summary.alarm == UncertaintyMonitor().prequential(u, e).alarm is not None
    assert summary.alarms_after == len(UncertaintyMonitor().prequential(after, e).alarms) and summary.to_frame("curve")["outcomes"].is_monotonic_increasing
    lines = rows("bounds", 3000)
    (bounds, y), (found, summary) = stated("bounds", lines), run("bounds", lines)
    inside = lambda b: ((b[:, 0] <= y) & (y <= b[:, 1])).mean()  # noqa: E731
    assert summary.coverage_before == inside(bounds) and summary.coverage_after == inside(made("bounds", found)) and abs(summary.coverage_after - 0.8) <= summary.bound
    np.testing.assert_allclose([summary.width_before, summary.width_after], [np.diff(bounds).mean(), np.diff(made("bounds", found)).mean()], rtol=1e-4)
    missed = ((y < bounds[:, 0]) | (y > bounds[:, 1])).astype(int)
    assert summary.alarms == len(CalibrationMonitor().prequential(np.full(3000, 0.2), missed).alarms) > 0
    assert summary["as it was"].estimate == summary.coverage_before and summary["as it was"].direction == summary.alarm.direction == "undercoverage" and summary["corrected"].estimate == summary.coverage_after


def test_outcomes_in_the_middle_leave_a_guarantee_of_one_side():
    "19 of 20 outcomes are 0: 95 % covered, 50 % wanted. Mutation: 'within 3 points'."
    hit = np.random.default_rng(0).random(3000) < 0.95
    summary = run("bounds", [f"k{t},-1,1,{0 if one else 3}" for t, one in enumerate(hit)], method="aci", level=0.5)[1]
    assert summary.coverage_after > 0.94 and summary.bound < 0.05 and summary.one_sided and "points below 50 %" in summary.cautions[-1].sentence
    assert not run("bounds", rows("bounds", 3000))[1].one_sided


def test_a_mean_that_is_one_errors_work_is_said_to_be():
    lines = rows("errors", 1000)
    lines[400] = "k400,1.0,1000000"
    facts = run("errors", lines)[1]["as it was"].facts
    assert facts["largest"] == 401 and facts["rest"] is None or 0 < facts["rest"] < 10
    assert run("errors", rows("errors", 1000))[1]["as it was"].facts["largest"] == 0
    for kind, line in (("errors", "a,1.0,"), ("bounds", "a,1.0,2,")): assert {finding.status for finding in run(kind, [line])[1].findings} == {"inconclusive"}


@pytest.mark.parametrize("level", [pytest.param(0.5, marks=pytest.mark.slow), 0.9, pytest.param(0.999, marks=pytest.mark.slow)])
def test_coverage_is_reached_in_the_long_run_through_gaps_and_shifts(level):
    rng = np.random.default_rng(4)
    n = 60_000
    y = np.cumsum(rng.normal(0, 0.02, n)) + np.exp(np.sin(np.arange(n) / 3000) + (np.arange(n) > n // 2)) * rng.standard_t(3, n)
    text = "".join(f"k,-1,1,{one:.4f}\n" if not 20_000 < t < 22_000 else "k,-1,1,\n" for t, one in enumerate(y.tolist()))  # constant bounds, a burst without outcomes
    out = []
    summary = RUN["bounds"](io.BytesIO(("id,lo,hi,y\n" + text).encode()), out.append, level=level)
    assert summary.learnt == n - 1999 and abs(summary.coverage_after - level) < min(0.005 if level < 0.99 else 0.012, summary.bound) and "inf" not in out[-1]  # of .999 a bound moves out by a twentieth of the width for each miss
    assert level == 0.5 or abs(summary.coverage_before - level) > 0.2


@pytest.mark.parametrize("low, high, written", [(1_000_000.1234, 1_000_000.1238, 1e-9), (-1e-9, 1e-9, 1e-14), (0.0, 1e6, 1.0), (1e10, 1e10 + 1, 1e-5)])
def test_bounds_have_six_digits_of_their_width(low, high, written):
    found = made("bounds", run("bounds", [f"k,{low!r},{high!r},{low!r}"])[0])
    assert np.abs(found - [[low, high]]).max() <= max(written, 1e-15 * abs(high))


@pytest.mark.parametrize("method", ["tracker", "aci", "dtaci"])
@pytest.mark.parametrize("none, mark, comma", [(("-inf", "inf"), ".", ","), (("-Infinity", "+inf"), ",", ";")])
def test_infinite_intervals_count_as_covered_stay_as_they_are_and_have_no_width_that_is_reported(method, none, mark, comma, tmp_path):
    rng, n = np.random.default_rng(3), 400
    y, open_ = rng.standard_normal(n).round(3), np.arange(n) % 5 == 0
    lines = [comma.join((f"k{t}", *(none if open_[t] else ("-1", "1")), f"{y[t]}".replace(".", mark))) for t in range(n)]
    text = lambda some: io.BytesIO((comma.join(("id", "lo", "hi", "y")) + "\n" + "\n".join(some) + "\n").encode())  # noqa: E731
    out, halves = [], []
    options = dict(lower="lo", upper="hi", y_true="y", level=0.8, method=method)
    summary = recalibrate_bound_rows(text(lines), out.append, **options)
    for part in (lines[:231], lines[231:]): recalibrate_bound_rows(text(part), halves.append, state=tmp_path / "s.json", **options)
    found = pd.read_csv(io.StringIO("".join(out)), sep=comma, decimal=mark).iloc[:, -2:].to_numpy()
    assert (found[open_] == [-np.inf, np.inf]).all() and summary.learnt == n
    assert summary.coverage_before == np.mean(open_ | (np.abs(y) <= 1)) and summary.coverage_after == pytest.approx(np.mean((found[:, 0] <= y) & (y <= found[:, 1])))
    assert summary.infinite_before == open_.sum() and summary.infinite == np.isinf(found[:, 0]).sum() and summary.width_before == summary.width_after == np.inf
    assert [finding.facts["infinite"] for finding in summary.findings] == [80, summary.infinite] and "80 infinite intervals" in summary["as it was"].line
    assert "".join(halves).splitlines()[1:232] == "".join(out).splitlines()[1:232]


def test_an_infinite_interval_gets_its_outcome_later_and_after_a_restart(tmp_path):
    first = run("bounds", ["a,-inf,inf,", "b,-1,1,"], tmp_path / "s.json", key="id")[0]
    found, summary = run("bounds", ["a,,,7", "b,-1,1,0"], tmp_path / "s.json", key="id")
    np.testing.assert_array_equal(made("bounds", first), made("bounds", found))
    assert summary.booked == 2 and summary.infinite == summary.infinite_before == 1 and summary.coverage_after == 1


def test_widths_are_reported_as_stated_where_only_recalibrated_intervals_are_infinite():
    summary = run("bounds", [f"k{t},-1,1,{t % 3}" for t in range(200)], method="aci", level=0.9)[1]
    assert summary.infinite > 0 == summary.infinite_before and summary.width_before == 2 and summary.width_after == np.inf
    assert "mean width 2.00" in summary["as it was"].line and f"{summary.infinite:,} infinite interval" in summary["corrected"].line and "width" not in summary["corrected"].line


def test_decimal_commas_quotes_and_encodings_stay():
    text = 'name;u;e\n"a; b";0,5;1,2\n"say ""no""";0,25;-0,1\n'.encode("utf-16")
    out = []
    recalibrate_error_rows(io.BytesIO(text), out.append, uncertainty="u", error="e")
    lines = "".join(out).splitlines()
    assert lines[1] == '"a; b";0,5;1,2;0,5' and lines[2].startswith('"say ""no""";0,25;-0,1;0,') and lines[0] == "name;u;e;recalibrated"


def test_a_row_that_says_nothing_is_left_out_where_asked():
    found, summary = run("bounds", ["a,1,2,1.5", "b,,,1", "c,1,2,"], drop_missing=True)
    assert len(found) == 2 and summary.left_out == 1 and summary.learnt == 1


@pytest.mark.slow
@pytest.mark.parametrize("kind", RUN)
def test_memory_does_not_grow_with_the_stream(kind):
    import tracemalloc
    block, peaks = ("\n".join(rows(kind, 2000)) + "\n").encode(), []

    class Endless(io.RawIOBase):
        def __init__(self, times): self.left, self.begun = times, False
        def read1(self, n):
            self.left, begun, self.begun = self.left - self.begun, self.begun, True
            return (HEAD[kind] + "\n").encode() if not begun else block if self.left >= 0 else b""
    for times in (2, 2, 12):
        tracemalloc.start()
        RUN[kind](Endless(times), lambda text: None)
        peaks.append(tracemalloc.get_traced_memory()[1])
        tracemalloc.stop()
    assert peaks[2] < 1.5 * peaks[1]


# --- the command

OPTIONS = {"errors": ("--std", "u", "--error", "e", "--key", "id"), "bounds": ("--lower", "lo", "--upper", "hi", "--observed", "y", "--level", 0.8, "--key", "id")}


@pytest.mark.skipif(not hasattr(signal, "SIGKILL"), reason="no kill -9 here")
@pytest.mark.parametrize("kind", [pytest.param(kind, marks=[pytest.mark.slow] * (kind != "errors")) for kind in RUN])
def test_a_run_that_is_killed_in_mid_stream_goes_on_as_if_nothing_had_happened(kind, tmp_path, capsys):
    head, lines = HEAD[kind], late(kind)
    (tmp_path / "s.csv").write_text("\n".join([head, *lines, ""]))
    whole = written(capsys, tmp_path / "s.csv", *OPTIONS[kind], "--out", "-", "--state", tmp_path / "whole.json")
    answered = []
    with start("-", *OPTIONS[kind], "--out", "-", "--state", tmp_path / "s.json", "--every", 20) as live:
        for line in [head, *lines[:130]]:
            live.stdin.write(f"{line}\n".encode())
            live.stdin.flush()
            answered.append(live.stdout.readline().decode().rstrip("\n"))
        os.kill(live.pid, signal.SIGKILL)
        live.wait(timeout=60)
    taken = content(tmp_path / "s.json")["state"]["taken_"]
    assert taken == 120 and answered == whole[:131]
    assert written(capsys, tmp_path / "s.csv", *OPTIONS[kind], "--out", "-", "--state", tmp_path / "s.json", "--resume")[1:] == whole[1 + taken:]
    assert content(tmp_path / "s.json") == content(tmp_path / "whole.json")


def command(capsys, *args, code=0):
    with pytest.raises(SystemExit) as ended: main(["monitor", *map(str, args)])
    said = capsys.readouterr()
    assert ended.value.code == code, said.err
    return said.out + said.err


def test_the_command_writes_rows_report_and_what_was_achieved(capsys, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for kind, said in (("errors", "mean Z² "), ("bounds", "(80 % claimed)")):
        (tmp_path / "s.csv").write_text("\n".join([HEAD[kind], *rows(kind, 500), ""]))
        text = command(capsys, "s.csv", *OPTIONS[kind][:-2], "--out", "r.csv", "--report", "r.html")
        assert said in text and "in file order, 500 rows" in text and "✗ As it was  alarm at outcome" in text and "Corrected" in text and "\nVERDICT" in text and "--out next_recalibrated.csv" in text
        assert max(map(len, text.splitlines())) <= 80 and len(text.splitlines()) <= 24
        assert pd.read_csv("r.csv").columns[-1] == ("recalibrated" if kind == "errors" else "recalibrated_upper") and {"errors": "stay calibrated?", "bounds": "keep their coverage?"}[kind] in (tmp_path / "r.html").read_text(encoding="utf-8")


@pytest.mark.parametrize("args, said", [
    (["--std", "u", "--prob", "e"], "got --prob, --std"), (["--error", "e", "--lower", "u"], "got --error, --lower"), (["--std", "u", "--error", "e", "--level", "0.9"], "--level is for intervals"),
    (["--lower", "u", "--upper", "e", "--observed", "id"], "--level must say which coverage"), (["--lower", "u", "--upper", "e", "--observed", "id", "--level", "1.5"], "--level must"), (["--std", "u", "--error", "e", "--on-alarm", "restart"], "--on-alarm is for probabilities"),
    (["--std", "u", "--error", "e", "--seed", "3"], "--seed is for probabilities"), (["--lower", "u", "--upper", "e", "--observed", "id", "--level", "0.9", "--kurtosis", "6"], "--kurtosis is for predictions and errors"), (["--std", "u", "--error", "e", "--kurtosis", "0"], "--kurtosis must be at least 1"),
    (["--std", "u", "--error", "e", "--kurtosis", "nan"], "--kurtosis must be at least 1"), (["--std", "u", "--error", "e", "--method", "ops"], "--method must be one of"), (["--std", "w", "--error", "e"], "there is no column 'w'"),
    (["--std", "u", "--error", "u"], "the columns must differ"), (["--lower", "u", "--upper", "u", "--observed", "e", "--level", "0.9"], "the columns must differ")])
def test_the_command_refuses_in_one_line(capsys, tmp_path, monkeypatch, args, said):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "s.csv").write_text("id,u,e\n1,0.5,1\n")
    found = command(capsys, "s.csv", *args, "--out", "o.csv", code=2)
    assert said in found and found.count("\n") == 1 and not (tmp_path / "o.csv").exists()


def test_states_are_text_that_any_process_reads(tmp_path):
    run("bounds", late("bounds"), tmp_path / "s.json", key="id", method="aci", level=0.999)
    state = json.loads((tmp_path / "s.json").read_text(encoding="utf-8"))
    assert state["content"]["class"] == "BoundRows" and "NaN" not in (tmp_path / "s.json").read_text(encoding="utf-8")


ROWS = {"errors": (recalibrate_error_rows, {"uncertainty": "u", "error": "y"}, "id,u,y", ["{},1,", "{},,0.5", "{},2,0.5"]),
        "bounds": (recalibrate_bound_rows, {"lower": "l", "upper": "u", "y_true": "y", "level": 0.9}, "id,l,u,y", ["{},0,1,", "{},,,0.5", "{},0,2,0.5"])}


@pytest.mark.parametrize("run, columns, head, kinds", ROWS.values(), ids=ROWS)
def test_keys_that_come_again_are_refused_and_leave_nothing_open(run, columns, head, kinds):
    asked, answered, other = kinds

    def through(*lines, **options):
        return run(io.BytesIO("\n".join([head, *lines, ""]).encode()), lambda text: None, key="id", **columns, **options)
    with pytest.raises(ValueError, match="line 4: the outcome of key 'a' is booked already; a new forecast"): through(*(one.format("a") for one in (asked, answered, asked)))
    with pytest.raises(ValueError, match="line 3: key 'a' has an open forecast for 1, but this row states 2"): through(asked.format("a"), other.format("a"))
    summary = through(*(one.format("a") for one in (asked, other, answered, asked, other)), on_error="skip")
    assert summary.waiting == 0 and summary.learnt == 1 and summary.skipped == 3
