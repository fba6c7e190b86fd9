"""Late outcomes are booked as their forecasts were stated, once, whatever the order; the state survives its process; no thread's outcome is lost."""
import copy
import json
import os
import pickle
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor

import numpy as np
from every_case import every_case
import pytest
from sklearn.base import clone

from uqcal.online.calibeating import FosterForecaster, Hedging, OneAgainstAll, TopLabel, Tracking, hobs, hops, tobs, tops
from uqcal.online.mixture import OnlineMixture
from uqcal.online.monitor import CalibrationMonitor, RestartingForecaster
from uqcal.online.online import AggregatingForecaster, Aioli, OnlineBetaScaling, OnlineGradientDescent, OnlineNewtonStep, OnlinePlattScaling
from uqcal.probabilities.recalibration import BetaScaling, HistogramBinning, PeriodicRefit, PlattScaling
from uqcal._base.tickets import OnlineForecaster, Storable

MAKE = {"mixture": OnlineMixture, "ops": OnlinePlattScaling, "obs": OnlineBetaScaling, "tops": tops, "tobs": tobs, "hops": lambda: hops(rng=5), "hobs": lambda: hobs(rng=5),
        "aioli": lambda: OnlinePlattScaling(optimizer=Aioli((1.0, 0.0))), "gradient": lambda: OnlinePlattScaling(optimizer=OnlineGradientDescent((1.0, 0.0))),
        "aggregating": lambda: Tracking(OnlinePlattScaling(optimizer=AggregatingForecaster((1.0, 0.0)))), "tracking": Tracking, "hedging": lambda: Hedging(rng=5, bin_width=0.25),
        "refit": lambda: PeriodicRefit(PlattScaling(), every=40, warmup=60), "refit beta": lambda: PeriodicRefit(BetaScaling(), every=None, warmup=60),
        "restarting": lambda: RestartingForecaster(OnlinePlattScaling(), run_length=50),
        "tracked bins": lambda: Tracking(PeriodicRefit(HistogramBinning(4), every=50, warmup=30), initial=0.3, initial_weight=2)}
each = pytest.mark.parametrize("make", MAKE.values(), ids=MAKE.keys())


def stream(n, seed=0):
    rng = np.random.default_rng(seed)
    p = rng.random(n)
    return p, (rng.random(n) < p**2).astype(float)


def text(forecaster):
    return json.dumps(forecaster.to_dict(), allow_nan=False)


@each
def test_without_delay_tickets_give_the_bits_of_the_stream(make):
    p, y = stream(200)
    served, at_once, stated = make(), make(), []
    expected = at_once.prequential(p, y)
    for t in range(200):
        stated.append(served.forecast(p[t], key=t))
        assert served.outcome(t, y[t]) == stated[-1]
    np.testing.assert_array_equal(stated, expected)
    states = [{k: v for k, v in one.to_dict()["content"]["state"].items() if k not in ("tickets_", "seen_")} for one in (served, at_once)]
    if "HistogramBinning" not in repr(served): assert states[0] == states[1]  # refits keep their rows in the blocks in which they came


@each
def test_a_state_goes_on_bit_for_bit_with_outcomes_still_out(make):
    p, y = stream(400)
    live = make()
    for t in range(250):
        live.forecast(p[t], key=f"case {t}")
        if t >= 30: live.outcome(f"case {t - 30}", y[t - 30])
    written = text(live)
    assert json.loads(written) == live.to_dict()
    other = type(live).from_dict(json.loads(written))
    assert text(other) == written and other.open_keys == live.open_keys
    for t in range(250, 400):
        assert live.forecast(p[t], key=f"case {t}") == other.forecast(p[t], key=f"case {t}")
        for one in (live, other): one.outcome(f"case {t - 30}", y[t - 30])
    assert text(other) == text(live)
    np.testing.assert_array_equal(live.prequential(p, y), other.prequential(p, y))


@pytest.mark.parametrize("delay", [200, pytest.param(1000, marks=pytest.mark.slow)])
@pytest.mark.parametrize("make", [tops, lambda: hops(rng=1)], ids=["tops", "hops"])
def test_late_outcomes_in_any_order_are_booked_as_stated(make, delay):
    n = 3000
    p, y = stream(n, 3)
    y = np.where(np.arange(n) < n / 2, y, 1 - y)  # the map moves a long way
    live, place, order, waiting = make(), [], np.random.default_rng(2), []
    moved = 0
    for t in range(n):
        live.forecast(p[t], key=t)
        place.append(live.open_ticket(t).held[:-1])
        waiting.append(t)
        if t >= delay:
            key = waiting.pop(order.integers(len(waiting)))
            moved += int(live._bins(p[key:key + 1])[0]) != place[key][0]
            live.outcome(key, y[key])
    rest = order.permutation(live.open_keys)
    live.outcome(rest, y[rest])
    assert moved > 200 and live.open_keys == []
    if isinstance(live, Tracking):
        bins = [bin for bin, in place]
        np.testing.assert_array_equal(live.state_[1], np.bincount(bins, minlength=10))
        np.testing.assert_array_equal(live.state_[2], np.bincount(bins, y, 10))
    else:
        plays, ones = np.zeros((10, 10), int), np.zeros((10, 10), int)
        for (bin, cell), outcome in zip(place, y):
            plays[bin, cell] += 1
            ones[bin, cell] += int(outcome)
        np.testing.assert_array_equal(live.game_[1], plays)
        np.testing.assert_array_equal(live.game_[0], ones)


@pytest.mark.parametrize("make", [OnlinePlattScaling, OnlineBetaScaling])
def test_a_learner_of_parameters_sees_the_order_of_arrival_only(make):
    p, y = stream(500)
    arrived, late, order = make(), make(), np.random.default_rng(1).permutation(500)
    late.forecast(p, key=range(500))
    for t in order:
        late.outcome(t, y[t])
        arrived.partial_fit(p[t], y[t])
    np.testing.assert_array_equal(late.coef_, arrived.coef_)


@each
def test_many_at_once_are_as_one_after_the_other(make):
    p, y = stream(150)
    many, single = (make().partial_fit(*stream(80, 1)) for _ in range(2))
    stated = many.forecast(p, key=np.arange(150))
    np.testing.assert_array_equal(stated, [single.forecast(one, key=k) for k, one in enumerate(p)])
    np.testing.assert_array_equal(many.outcome(np.arange(150), y), stated)
    for k in range(150): single.outcome(k, y[k])
    np.testing.assert_array_equal(many.forecast(p, key=range(150)), single.forecast(p, key=range(150)))


REFUSED = {
    "unknown": (lambda f: f.outcome("z", 1), ValueError, "key 'z' has no open forecast"),
    "known and unknown": (lambda f: f.outcome(["a", "z"], [1, 0]), ValueError, "key 'z' has no open forecast"),
    "still out": (lambda f: f.forecast(0.5, key="a"), ValueError, "key 'a' has a forecast already"),
    "new and still out": (lambda f: f.forecast([0.5, 0.5], key=["z", "a"]), ValueError, "key 'a' has a forecast already"),
    "twice": (lambda f: f.outcome(["a", "a"], [1, 0]), ValueError, "the same key twice, got 'a'"),
    "two": (lambda f: f.outcome("a", 2), ValueError, "y_true must hold only 0 and 1"),
    "missing": (lambda f: f.outcome("a", np.nan), ValueError, "y_true"),
    "above": (lambda f: f.forecast(1.5, key="z"), ValueError, "y_prob"),
    "float": (lambda f: f.forecast(0.5, key=1.0), TypeError, "key must be text or a whole number, got float"),
    "bool": (lambda f: f.forecast(0.5, key=True), TypeError, "key must be text or a whole number, got bool"),
    "None": (lambda f: f.forecast(0.5, key=None), TypeError, "key must be text"),
    "a tuple": (lambda f: f.forecast(0.5, key=("loan", 7)), TypeError, "key must be text or a whole number, got tuple \\(\\('loan', 7\\)\\)"),
    "two keys": (lambda f: f.forecast(0.5, key=["y", "z"]), ValueError, "one key for each of the 1 scores"),
    "a tuple inside": (lambda f: f.forecast([0.5, 0.1], key=["z", ("loan", 7)]), TypeError, "got tuple at position 1"),
    "a tuple's outcome": (lambda f: f.outcome(("a", "b"), 1), TypeError, "got tuple"),
    "a tuple's ticket": (lambda f: f.open_ticket(("a", "b")), TypeError, "got tuple"),
    "whether a list is open": (lambda f: f.is_open(["a"]), TypeError, "got list"),
    "inside": (lambda f: f.forecast([0.5, 0.1], key=["z", 1.5]), TypeError, "at position 1"),
    "a word": (lambda f: f.forecast([0.5, 0.1], key="zy"), TypeError, "a sequence of keys"),
    "fewer": (lambda f: f.forecast([0.5, 0.1], key=["z"]), ValueError, "one key for each of the 2 scores"),
    "more": (lambda f: f.outcome(["a", "b"], [1]), ValueError, "one key for each of the 1 outcomes"),
    "withdrawn": (lambda f: f.withdraw("z"), ValueError, "key 'z' has no open forecast"),
}


@pytest.mark.parametrize("call, kind, said", REFUSED.values(), ids=REFUSED.keys())
@pytest.mark.parametrize("make", [OnlinePlattScaling, tops, lambda: hops(rng=3)], ids=["ops", "tops", "hops"])
def test_what_is_refused_is_named_and_changes_nothing(make, call, kind, said):
    live = make().partial_fit(*stream(30))
    live.forecast([0.2, 0.7], key=["a", "b"])
    before = text(live)
    with pytest.raises(kind, match=said): call(live)
    assert text(live) == before


def test_an_outcome_counts_once_and_keys_can_be_used_again():
    live = tops()
    live.forecast(0.3, key=7)
    live.outcome(7, 1)
    with pytest.raises(ValueError, match="key 7 has no open forecast: none was made under it, or its outcome is booked already"): live.outcome(7, 1)
    live.forecast(0.3, key=7)
    live.forecast(0.3, key="7")
    assert live.open_keys == [7, "7"]
    live.withdraw([7, "7"])
    assert live.open_keys == [] and live.state_[1].sum() == 1


def test_an_expert_that_fails_leaves_tickets_and_counts():
    class Moody(OnlineForecaster):
        def predict(self, y_prob): return np.asarray(y_prob)

        def partial_fit(self, y_prob, y_true):
            if np.any(np.asarray(y_prob) > 0.9): raise ArithmeticError
            return self

    live = Tracking(Moody())
    live.forecast([0.2, 0.95], key=[1, 2])
    with pytest.raises(ArithmeticError): live.outcome([1, 2], [1, 1])
    assert live.open_keys == [1, 2] and live.state_[1].sum() == 0


STORED = {"monitor": (CalibrationMonitor, lambda m, p, y: m.prequential(p, y).total),
          "foster": (lambda: FosterForecaster(rng=np.random.Generator(np.random.MT19937(2))), lambda m, p, y: m.prequential(y)),
          "one against all": (lambda: OneAgainstAll(hops(rng=1)), lambda m, p, y: m.prequential(np.column_stack([p, 1 - p]), y)),
          "top label": (lambda: TopLabel(tops()), lambda m, p, y: m.prequential(np.column_stack([p, 1 - p]), y)[1]),
          "newton": (lambda: OnlineNewtonStep((1.0, 0.0)), lambda m, p, y: m.prequential(np.column_stack([p, 1 - p]), y)),
          "platt": (lambda: PlattScaling().fit(*stream(50)), lambda m, p, y: m.predict(p)),
          "bins": (lambda: HistogramBinning().fit(*stream(50)), lambda m, p, y: m.predict(p))}


@every_case("make, run", STORED.values(), ids=STORED.keys())
def test_other_objects_with_a_state_go_on_too(make, run):
    p, y = stream(300)
    live = make()
    run(live, p[:150], y[:150])
    other = Storable.from_dict(json.loads(text(live)))
    np.testing.assert_array_equal(run(live, p[150:], y[150:]), run(other, p[150:], y[150:]))


@pytest.mark.parametrize("change, said", [(lambda s: s["content"]["parameters"].update(bin_width=0.2), "checksum"), (lambda s: s.update(format="uqcal state 99"), "another release"),
                                          (lambda s: s.pop("content"), "checksum"), (lambda s: s.clear(), "what to_dict gave")])
def test_damaged_states_are_refused(change, said):
    state = tops().partial_fit(*stream(20)).to_dict()
    change(state)
    with pytest.raises(ValueError, match=said): Tracking.from_dict(state)


def test_states_of_another_kind_are_refused():
    with pytest.raises(ValueError, match="that of a Hedging, got one of a Tracking"): Hedging.from_dict(tops().to_dict())
    for wrong in (None, "text", [1]):
        with pytest.raises(ValueError, match="what to_dict gave"): Tracking.from_dict(wrong)

    class Stranger:
        def predict(self, p): return p

        def partial_fit(self, p, y): return self
    with pytest.raises(TypeError, match="Tracking.expert can't be written as JSON, got Stranger"): Tracking(Stranger()).to_dict()


def test_pickles_copies_and_clones_have_locks_of_their_own():
    live = tops().partial_fit(*stream(20))
    live.forecast(0.4, key="a")
    for other in (pickle.loads(pickle.dumps(live)), copy.deepcopy(live)):
        assert text(other) == text(live) and other.__dict__.get("_lock") is not live._lock
    assert clone(live).open_keys == []


@pytest.mark.parametrize("make", [tops, OnlineMixture, *(pytest.param(make, marks=pytest.mark.slow) for make in (MAKE["gradient"], lambda: hops(rng=3)))], ids=["tops", "mixture", "gradient", "hops"])
def test_threads_lose_no_outcome(make):
    p, y = stream(4000)
    live, interval = make(), sys.getswitchinterval()

    def serve(worker):
        for t in range(worker, 4000, 8):
            if t % 3: live.partial_fit(p[t], y[t])
            else:
                live.forecast(p[t], key=t)
                live.outcome(t, y[t])
    sys.setswitchinterval(1e-6)
    try:
        with ThreadPoolExecutor(8) as pool: list(pool.map(serve, range(8)))
    finally: sys.setswitchinterval(interval)
    assert live.open_keys == []
    if isinstance(live, Tracking): assert (live.state_[1].sum(), live.state_[2].sum()) == (4000, y.sum())
    elif isinstance(live, Hedging): assert (live.game_[1].sum(), live.game_[0].sum()) == (4000, y.sum())
    elif isinstance(live, OnlineMixture): assert live.state_[5][0] == 4000
    else: assert live.optimizer_.state_[1] == 4000


PROCESS = """
import json, sys
import numpy as np
from uqcal._base.tickets import Storable
from pathlib import Path
state = Path(sys.argv[1])
live = Storable.from_dict(json.loads(state.read_text()))
rng = np.random.default_rng(9)
for t in range(100, 200):
    print(live.forecast(rng.random(), key=t).hex())
    live.outcome(t - 50, int(rng.random() < 0.5))
print(json.dumps(live.to_dict()))
"""


@pytest.mark.parametrize("make", [pytest.param(tops, id="tops", marks=pytest.mark.slow), pytest.param(lambda: hops(rng=3), id="hops")])
def test_another_process_goes_on_bit_for_bit(make, tmp_path):
    live, p = make(), stream(100)[0]
    live.partial_fit(*stream(200, 4))
    live.forecast(p[50:], key=range(50, 100))
    file = tmp_path / "state.json"
    file.write_text(text(live))
    done = subprocess.run([sys.executable, "-c", PROCESS, file], capture_output=True, text=True, env=os.environ, timeout=300)
    assert done.returncode == 0, done.stderr
    *stated, end = done.stdout.splitlines()
    rng = np.random.default_rng(9)
    for t in range(100, 200):
        assert live.forecast(rng.random(), key=t).hex() == stated[t - 100]
        live.outcome(t - 50, int(rng.random() < 0.5))
    assert text(live) == end


def test_the_state_is_bounded_by_what_is_out():
    live, p, y = tops(), *stream(3000)
    sizes = []
    for t in range(3000):
        live.forecast(p[t], key=t)
        if t >= 100: live.outcome(t - 100, y[t - 100])
        if t in (999, 2999): sizes.append(len(text(live)))
    assert abs(sizes[1] - sizes[0]) < 0.03 * sizes[0]
