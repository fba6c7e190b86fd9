"""What was learnt is stored under the name of its class alone: states written once are read wherever a class stands in the package."""
import importlib
import inspect
import json
from collections import Counter
from pathlib import Path

import numpy as np
import pytest
from uqcal._modidx import d as exported
from uqcal.online.mixture import OnlineMixture
from uqcal.online.online import OnlinePlattScaling
from uqcal.probabilities.recalibration import PlattScaling
from uqcal.corrections.scaling import FactorScaling, ErrorMap
from uqcal._base.tickets import Storable
from uqcal.predictive.forecast_recalibration import _read_rows
from uqcal.statements import Quantiles, Samples

FOLDER = Path(__file__).parent / "states"
for module in exported["syms"]: importlib.import_module(module)


def leaves(cls=Storable):
    "Public classes of the package whose states can be written."
    for below in cls.__subclasses__():
        yield from leaves(below)
        if below.__module__.startswith("uqcal.") and not below.__name__.startswith("_"): yield below


PARTS = {"Bell", "Desk", "Detector", "KeyedRows", "OnlineForecaster", "RowStream", "Monitor", "ErrorRows", "BoundRows", "ForecastRows", "ProbabilityRows", "ClassRows"}  # what others are made of; they learn nothing by themselves
CLASSES = {cls.__name__: cls for cls in leaves() if cls.__name__ not in PARTS}
NEEDS = {"GroupScaling": lambda: ["kind"], "AggregatingForecaster": lambda: [(1.0, 0.0)], "Aioli": lambda: [(1.0, 0.0)], "OnlineGradientDescent": lambda: [(1.0, 0.0)],
         "OnlineNewtonStep": lambda: [(1.0, 0.0)], "ErrorMap": lambda: [FactorScaling()], "OneAgainstAll": lambda: [OnlinePlattScaling()],
         "TopLabel": lambda: [OnlinePlattScaling()], "PeriodicRefit": lambda: [PlattScaling()], "RestartingForecaster": lambda: [OnlineMixture()], "ClassMonitor": lambda: [3]}


def learnt(name):
    "An object of a class that has learnt from forty points."
    rng = np.random.default_rng(7)
    u = np.exp(0.3 * rng.standard_normal(40)).round(3)
    error = (u * rng.standard_normal(40)).round(3)
    prob = rng.uniform(0.05, 0.95, 40).round(3)
    outcome = (rng.random(40) < prob).astype(int)
    several = rng.dirichlet(np.ones(3), 40).round(3)
    several[:, 2] = 1 - several[:, :2].sum(axis=1)
    label = np.arange(40) % 3
    made = CLASSES[name](*NEEDS.get(name, list)())
    bounds, classes = name in ("ConformalBounds", "OnlineBounds", "OnlineQuantiles", "OnlineMembers", "ForecastMonitor"), name in ("ConformalSets", "OneAgainstAll", "TopLabel", "ClassMonitor", "TemperatureScaling", "ClassScaling", "ClassScalingByGroup")
    known = {"error": error, "uncertainty": u, "y_prob": several if classes else prob,
             "by": label.astype(str), "y_true": error if bounds else label if classes else outcome, "y_intervals": np.column_stack([-1.6 * u, 1.6 * u]), "quantiles": np.outer(u, np.linspace(-2, 2, 20 if name == "OnlineMembers" else 7)),
             "statement": Quantiles(np.outer(u, [-1.3, 0, 1.3]), [0.1, 0.5, 0.9])}
    if name == "FosterForecaster":
        for one in outcome: made.partial_fit(one)
    elif name == "GroupScaling": made.fit(u, error, by={"kind": label.astype(str)})
    elif name == "PeriodicRefit": made.set_params(every=10, warmup=20).partial_fit(prob, outcome)
    elif name in ("OneAgainstAll", "TopLabel"): made.prequential(several, label)
    elif name in ("Aioli", "AggregatingForecaster", "OnlineGradientDescent", "OnlineNewtonStep"): made.prequential(np.column_stack([u, np.ones(40)]), outcome)
    elif name in ("AdaptiveConformal", "AggregatedAdaptive", "QuantileTracker"): made.prequential(np.abs(error))
    elif name in ("PitMap", "ShiftByLevel", "MemberMap"):
        stated = {"MemberMap": Samples(known["quantiles"])}.get(name, known["statement"])
        made.fit_of(_read_rows(error, stated, None, None, np.random.default_rng(0)))
    elif name != "StreamTally":
        learn = getattr(made, "fit", None) or made.partial_fit
        wanted = inspect.signature(learn).parameters.values()
        learn(*(known[one.name] for one in wanted if one.default is one.empty))
    return made


def test_a_stored_state_is_read_and_written_again_as_it_was():
    for name in sorted(CLASSES):
        state = json.loads((FOLDER / f"{name}.json").read_text(encoding="utf-8"))
        assert state["content"]["class"] == name
        assert json.loads(json.dumps(CLASSES[name].from_dict(state).to_dict())) == state, name


def test_each_class_has_a_name_of_its_own():
    named = Counter(cls.__name__ for cls in set(leaves()))
    assert len(CLASSES) > 30 and {path.stem for path in FOLDER.glob("*.json")} == set(CLASSES)
    assert not [name for name, times in named.items() if times > 1]


def test_a_class_of_an_earlier_release_is_refused():
    state = json.loads((FOLDER / "ErrorMap.json").read_text(encoding="utf-8"))
    with pytest.raises(ValueError, match="another release of uqcal wrote it; fit or start anew"): ErrorMap.from_dict(state | {"format": "uqcal state 1"})


if __name__ == "__main__":  # writes the states: only for a class that is new
    FOLDER.mkdir(exist_ok=True)
    for name in sorted(CLASSES):
        path = FOLDER / f"{name}.json"
        if not path.exists(): path.write_text(json.dumps(learnt(name).to_dict()) + "\n", encoding="utf-8")
