"""The monitor of K classes: fair bets on all questions at once, the promised run length, what an alarm names, states, and the command line."""
import io
import json
import re

import numpy as np
import pytest
from sklearn.base import clone

import uqcal
from test_language import FORBIDDEN
from uqcal._command.cli import main
from uqcal.adapters.class_streams import ClassRows, recalibrate_class_rows
from uqcal.online.class_monitor import ClassMonitor
from uqcal.online.monitor import CalibrationMonitor
from uqcal.statements import Probabilities

PETS = ("cat", "dog", "fox")


def softmax(z):
    w = np.exp(z - z.max(axis=1, keepdims=True))
    return w / w.sum(axis=1, keepdims=True)


def drawn(prob, rng): return (prob.cumsum(axis=1)[:, :-1] < rng.random((len(prob), 1))).sum(axis=1)


def stream(n, rng, K=3, fault=lambda z: z, begin=0):
    "Probabilities as predicted and classes, with a fault from some row on."
    z = rng.normal(0, 1.5, (n, K))
    happens = z.copy()
    happens[begin:] = fault(z[begin:])
    return softmax(z), drawn(softmax(happens), rng)


def too_high(k, by=0.8): return lambda z: z - by * (np.arange(z.shape[1]) == k)


@pytest.mark.parametrize("K", [3, 5])
def test_the_sum_is_the_weighted_mean_of_monitors_of_one_event_each(K):
    rng = np.random.default_rng(K)
    p, y = stream(1500, rng, K)
    total = ClassMonitor(K, run_length=10**15).prequential(p, y).total
    events = [(p.max(axis=1), p.argmax(axis=1) == y), *((p[:, k], y == k) for k in range(K))]
    alone = [CalibrationMonitor(run_length=10**15).prequential(*one).total for one in events]
    np.testing.assert_allclose(total, alone[0] / 2 + np.mean(alone[1:], axis=0) / 2, rtol=1e-9)
    monitor = ClassMonitor(K)
    assert monitor.weights.sum() == pytest.approx(1) and monitor.weights[0] == 0.5 and len(monitor.questions) == K + 1


@pytest.mark.parametrize("K", [3, 12])
def test_false_alarms_are_as_rare_as_promised(K):
    "100,000 outcomes hold at most 100 alarms in the mean with a run length of 1,000; more than 100 + 3√100 come with a chance of 0.2 %."
    rng, monitor = np.random.default_rng(K), ClassMonitor(K, run_length=1000)
    monitor.partial_fit(*stream(100_000, rng, K))
    assert 40 < monitor.alarms_ < 130


def test_few_of_four_hundred_calibrated_streams_ring_within_a_horizon():
    "A run length of 4,000 gives at most 200/4,000 = 5 % of streams an alarm within 200 outcomes: 20 of 400 in the mean, more than 34 with a chance of 0.1 %."
    rng = np.random.default_rng(8)
    rang = sum(ClassMonitor(4, run_length=4000).prequential(*stream(200, rng, 4)).alarm is not None for _ in range(400))
    assert rang <= 34


def test_a_class_that_is_too_likely_is_heard_soon_and_named():
    for seed in range(6):
        rng = np.random.default_rng(seed)
        p, y = stream(4000, rng, 3, too_high(2), 2000)
        alarm = ClassMonitor(PETS).prequential(p, np.array(PETS)[y]).alarm
        assert 2000 < alarm.outcome < 3200 and 1700 < alarm.since < 2700 and alarm.question == "fox" and alarm.direction == "too high"
        assert "probabilities of class fox too high since about outcome" in alarm.line and alarm.sentence.startswith(f"Alarm at outcome {alarm.outcome:,}: {alarm.line}")
        assert alarm.evidence.index[0] == "fox" and alarm.evidence.sum() == pytest.approx(1) and not FORBIDDEN.search(alarm.sentence)


def test_overconfidence_of_all_is_that_of_the_top_label_where_there_are_many():
    rng = np.random.default_rng(2)
    alarm = ClassMonitor(10).prequential(*stream(5000, rng, 10, lambda z: z / 2, 2000)).alarm
    assert 2000 < alarm.outcome < 2400 and alarm.question == "top label" and "probabilities of the top label" in alarm.line


@pytest.mark.parametrize("size", [1, 7, 1000])
def test_chunks_of_any_size_give_the_same_sums_and_alarms(size):
    rng = np.random.default_rng(1)
    p, y = stream(1200, rng, 3, lambda z: z / 3, 300)
    whole, chunks = ClassMonitor(3), ClassMonitor(3)
    reading = whole.prequential(p, y)
    found = [chunks.prequential(p[first:first + size], y[first:first + size]) for first in range(0, 1200, size)]
    np.testing.assert_array_equal(np.concatenate([one.total for one in found]), reading.total)
    assert [alarm for one in found for alarm in one.alarms] == list(reading.alarms) and len(reading.alarms) > 1
    assert chunks.to_dict() == whole.to_dict() and chunks.alarm_ == reading.alarms[-1] and chunks.first_alarm_ == reading.alarm


def test_a_state_goes_on_bit_for_bit_and_a_clone_begins_anew():
    rng = np.random.default_rng(3)
    p, y = stream(900, rng, 3, lambda z: z / 2, 200)
    labels, whole, first = np.array(PETS)[y], ClassMonitor(np.array(PETS)), ClassMonitor(list(PETS))
    whole.partial_fit(p, labels)
    first.partial_fit(p[:400], labels[:400])
    other = ClassMonitor.from_dict(json.loads(json.dumps(first.to_dict(), allow_nan=False)))
    other.partial_fit(p[400:], labels[400:])
    assert other.to_dict() == whole.to_dict() and whole.alarms_ > 0 and clone(whole).partial_fit(p[0], labels[0]).outcomes_ == 1


@pytest.mark.parametrize("row, label, said", [([0.0, 0.5, 0.5], 0, "a probability of 0 was predicted for class 0, which occurred"), ([1.0, 0.0, 0.0], 1, "a probability of 1 was predicted for the top label, which was wrong")])
def test_an_impossible_class_rings_at_once(row, label, said):
    monitor = ClassMonitor(3, run_length=10**12).partial_fit([[0.2, 0.3, 0.5], [0.0, 1.0, 0.0]], [0, 1])
    assert monitor.alarm_ is None and monitor.statistic > 0
    alarm = monitor.partial_fit(row, label).alarm_
    assert (alarm.outcome, alarm.since, alarm.n, alarm.likelier) == (3, 3, 1, np.inf) and said in alarm.sentence and monitor.statistic == 0


@pytest.mark.parametrize("classes, match", [(1, "classes must be"), (("a",), "two labels or more"), (("a", "a", "b"), "different labels"), (("top label", "a", "b"), "none of them 'top label'")])
def test_classes_that_can_not_be_are_refused(classes, match):
    with pytest.raises(ValueError, match=match): ClassMonitor(classes).prequential([[0.5, 0.5]], [0])


def test_other_classes_and_labels_are_refused_and_change_nothing():
    monitor = ClassMonitor(PETS).partial_fit([0.2, 0.3, 0.5], "cat")
    with pytest.raises(ValueError, match="a column for each of the 3 classes, got 4"): ClassMonitor(3).prequential(np.full((1, 4), 0.25), [0])
    with pytest.raises(ValueError, match="cow"): monitor.partial_fit([0.2, 0.3, 0.5], "cow")
    with pytest.raises(ValueError, match="sum to 1"): monitor.partial_fit([0.2, 0.3, 0.9], "cat")
    with pytest.raises(ValueError, match="run_length"): ClassMonitor(3, run_length=0).partial_fit([0.2, 0.3, 0.5], 0)
    assert monitor.outcomes_ == 1


def made(n=1200, seed=5):
    "Overconfident from row 500 on."
    rng = np.random.default_rng(seed)
    p, y = stream(n, rng, 3, lambda z: z / 2, 500)
    p = p.round(4)
    p[:, 2] = (1 - p[:, 0] - p[:, 1]).round(4)
    return p, np.array(PETS)[y]


def test_the_verb_watches_corrects_and_goes_on():
    p, y = made()
    found = uqcal.monitor(y, Probabilities(p, classes=PETS))
    assert found.outcome == "alarm" and 500 < found.alarms[0].outcome < 1000 and found.conclusion.startswith("Probabilities of") and "3 classes" in found.title
    assert found.statement.classes.tolist() == list(PETS) and np.allclose(found.statement.prob.sum(axis=1), 1)
    assert found["gain"].status == "valid" and len(str(found).splitlines()) <= 24 and max(map(len, str(found).splitlines())) <= 80
    assert found.to_frame("alarms")["first"].iloc[0] == found.alarms[0].outcome
    questions = found.to_frame("questions")
    assert questions["question"].tolist() == ["top label", *PETS] and questions["observed"].iloc[1:].sum() == pytest.approx(1)
    assert questions["predicted"].iloc[0] == pytest.approx(p.max(axis=1).mean())
    assert not FORBIDDEN.search(str(found)) and found["as it was"].facts["question"] == found.alarms[0].question
    more = found.monitor.update(y[:10], Probabilities(p[:10], classes=PETS))
    assert more.n == 1210
    unnamed = uqcal.monitor(np.searchsorted(PETS, y), Probabilities(p))
    assert unnamed.alarms[0].outcome == found.alarms[0].outcome and unnamed.alarms[0].question in (0, 1, 2, "top label")


def test_a_monitor_in_parts_says_what_one_pass_says(tmp_path):
    p, y = made()
    whole = uqcal.monitor(y, Probabilities(p, classes=PETS))
    watch, rang = uqcal.Monitor(), []
    for first in range(0, 1200, 300):
        rows = slice(first, first + 300)
        if first == 600:
            watch.save(tmp_path / "watch.json")
            watch = uqcal.load(tmp_path / "watch.json")
        reading = watch.update(y[rows], Probabilities(p[rows], classes=PETS))
        if reading.alarm is not None: rang.append(reading.alarm)
    assert rang[0] == whole.alarms[0] and watch.report().to_dict() == whole.to_dict()
    np.testing.assert_array_equal(watch.predict(Probabilities(p[:5], classes=PETS)).prob, whole.monitor.predict(Probabilities(p[:5], classes=PETS)).prob)


def test_outcomes_come_later_under_their_keys(tmp_path):
    p, y = made(60)
    watch, rows = uqcal.Monitor(), Probabilities(p, classes=PETS)
    kept = watch.predict(rows, key=range(60))
    np.testing.assert_allclose(kept.prob.sum(axis=1), 1)
    watch.save(tmp_path / "watch.json")
    watch = uqcal.load(tmp_path / "watch.json")
    assert watch.update(y[[7, 3]], key=[7, 3]).n == 2 and watch.update(y[10:40], key=range(10, 40)).n == 32
    with pytest.raises(ValueError, match="no open forecast"): watch.update(y[[7]], key=[7])
    with pytest.raises(ValueError, match="cow"): watch.update(["cow"], key=[50])
    with pytest.raises(ValueError, match="already"): watch.predict(rows.take([50]), key=[50])
    assert watch.update(y[[50]], key=[50]).n == 33


def test_other_statements_are_refused_in_words():
    p, y = made(30)
    watch = uqcal.Monitor()
    watch.update(y, Probabilities(p, classes=PETS))
    with pytest.raises(TypeError, match="must be Probabilities of several classes.*got Probabilities of one event"): watch.update([1, 0], Probabilities([0.2, 0.4]))
    with pytest.raises(ValueError, match="classes cat, dog, fox, in this order, as earlier ones did, got dog, cat, fox"): watch.update(y, Probabilities(p, classes=["dog", "cat", "fox"]))
    with pytest.raises(TypeError, match="must be Probabilities of one event.*got Probabilities of several classes"): uqcal.Monitor("probabilities").update(y, Probabilities(p, classes=PETS))
    with pytest.raises(ValueError, match="method must be"): ClassRows(PETS, method="ops").begin()
    assert uqcal.Monitor("classes").update(y, Probabilities(p, classes=PETS)).n == 30


def text(p, y, keys=None, header="pet,p_cat,p_dog,p_fox"):
    lines = [",".join([label, *map(str, row)]) for row, label in zip(p.tolist(), y)]
    return "\n".join([header, *lines, ""])


@pytest.mark.parametrize("row, said", [("cat,0.5,0.5,0.5", "must sum to 1, got 1.5"), ("cow,0.2,0.3,0.5", "must hold one of the labels 'cat', 'dog', 'fox', got 'cow'"), ("cat,1.2,0,0", r"must lie in \[0, 1\], got 1.2"),
                                       ("cat,x,0,0", "must hold a probability, got 'x'"), ("cat,,0.5,0.5", "got nothing")])
def test_broken_rows_are_named(row, said):
    source = io.BytesIO(f"pet,p_cat,p_dog,p_fox\ncat,0.2,0.3,0.5\n{row}\n".encode())
    with pytest.raises(ValueError, match=f"line 3: .*{said}"): recalibrate_class_rows(source, lambda text: None, columns=("p_cat", "p_dog", "p_fox"), classes=PETS, y_true="pet")


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return tmp_path


def run(capsys, *words):
    with pytest.raises(SystemExit) as ended: main(list(words))
    return ended.value.code, capsys.readouterr()


def test_the_command_watches_all_classes_and_goes_on_with_a_state(folder, capsys):
    p, y = made()
    (folder / "all.csv").write_text(text(p, y))
    (folder / "one.csv").write_text(text(p[:700], y[:700]))
    (folder / "two.csv").write_text(text(p[700:], y[700:]))
    say = ["--observed", "pet", "--probs", "p_*"]
    code, said = run(capsys, "monitor", "all.csv", *say, "--out", "all_out.csv", "--fail-on", "alarm", "--json", "all.json", "--report", "all.html", "--figure", "all.png")
    assert code == 1 and "probabilities of 3 classes" in said.out and "--probs 'p_*'" in said.out and "--state state.json" in said.out
    assert json.loads((folder / "all.json").read_text())["outcome"] == "alarm" and (folder / "all.html").stat().st_size > 1000
    rows = (folder / "all_out.csv").read_text().splitlines()
    assert rows[0] == "pet,p_cat,p_dog,p_fox,recalibrated_cat,recalibrated_dog,recalibrated_fox" and len(rows) == 1201
    for part in ("one", "two"): assert run(capsys, "monitor", f"{part}.csv", *say, "--state", "state.json", "--out", "parts.csv")[0] == 0
    assert (folder / "parts.csv").read_text() == (folder / "all_out.csv").read_text()
    same = uqcal.monitor(y, Probabilities(p, classes=PETS)).statement.prob
    np.testing.assert_allclose([[float(cell) for cell in row.split(",")[4:]] for row in rows[1:]], same, atol=1e-5)


def test_labels_that_are_numbers_and_outcomes_in_later_rows(folder, capsys):
    (folder / "late.csv").write_text("id,k,p_0,p_1,p_2\na,,0.2,0.3,0.5\nb,1,0.1,0.8,0.1\na,2,,,\n")
    code, said = run(capsys, "monitor", "late.csv", "--observed", "k", "--probs", "p_*", "--key", "id", "--out", "out.csv")
    assert code == 0 and "2 forecasts, 2 outcomes" in re.sub(r"\s*\[95 % each\]\s*|\s+", " ", said.out)
    rows = [row.split(",")[5:] for row in (folder / "out.csv").read_text().splitlines()[1:]]
    assert rows[0] == rows[2] != rows[1]


@pytest.mark.parametrize("words, said", [(["--observed", "pet", "--probs", "p_c*"], "at least three columns"), (["--observed", "pet", "--probs", "q*"], "no column fits 'q\\*'"),
                                         (["--observed", "pet", "--probs", "p_*", "--positive", "cat"], "--positive is for probabilities"), (["--observed", "pet", "--probs", "p_*", "--method", "ops"], "--method must be"),
                                         (["--probs", "p_*"], "name what was observed")])
def test_the_command_refuses_in_one_line(folder, capsys, words, said):
    (folder / "pets.csv").write_text(text(*made(20)))
    code, out = run(capsys, "monitor", "pets.csv", *words)
    assert code == 2 and re.search(said, " ".join(out.err.split()))
