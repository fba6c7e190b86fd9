"""One word for each argument: what users call says `y_true`, `by`, `groups`, `level`, `sample_weight`."""
import dataclasses
import importlib
import inspect

import notebooks

ROOMS = sorted(".".join(path.relative_to(notebooks.ROOT).with_suffix("").parts) for path in (notebooks.ROOT / "uqcal").glob("[a-z]*/[a-z]*.py"))

# Words that are no arguments any more, and what says it now.
OLD = {"features": "by", "feature": "by", "cluster": "groups", "cluster_a": "groups_a", "cluster_b": "groups_b", "coverage": "level", "confidence_level": "level",
       "outcome": "y_true", "outcome_a": "y_true_a", "outcome_b": "y_true_b", "response": "y_true", "response_a": "y_true_a", "response_b": "y_true_b",
       "weight": "sample_weight", "weight_a": "sample_weight_a", "weight_b": "sample_weight_b"}

# Who keeps such a word: names that another package made, and matrices of scikit-learn's estimators.
KEPT = {
    "uqcal.intervals.intervals.regression_mwi_score": {"confidence_level"},  # MAPIE's
    "uqcal.intervals.intervals.coverage_width_based": {"confidence_level"},  # MAPIE's
    "uqcal.online.online.best_in_hindsight": {"features"},  # the matrix of a learner
    "uqcal.online.online.regret": {"features"},  # the matrix of a learner
    "uqcal.sample.datasets.LabelledTable": {"features", "outcome"},  # columns of a data set, not arguments of a question
}


def callables(module):
    "The functions, constructors and methods that a room shows, with their addresses."
    for name in getattr(module, "__all__", ()):
        one, address = getattr(module, name), f"{module.__name__}.{name}"
        if inspect.isfunction(one): yield address, one
        elif inspect.isclass(one):
            if not is_result(one): yield address, one
            for method, function in vars(one).items():
                function = getattr(function, "__func__", function)
                if inspect.isfunction(function) and not method.startswith("_"): yield f"{address}.{method}", function


def is_result(kind):
    "Whether only functions make such an object: its fields are what was found."
    from uqcal._base.results import Result
    return issubclass(kind, (Result, tuple)) or dataclasses.is_dataclass(kind) and kind.__dataclass_params__.frozen


def old_words(address, function):
    try: names = inspect.signature(function).parameters
    except ValueError: return []  # a class made in C
    return sorted(set(names) & set(OLD) - KEPT.get(address, set()))


def test_one_word_for_each_argument():
    wrong = {address: words for room in ROOMS for address, function in callables(importlib.import_module(room)) if (words := old_words(address, function))}
    assert not wrong, "\n".join(f"{address}: {', '.join(f'{word} is {OLD[word]}' for word in words)}" for address, words in wrong.items())


def test_names_at_the_top_have_no_old_words():
    import uqcal
    wrong = [(name, words) for name in uqcal.__all__ if callable(getattr(uqcal, name)) and (words := old_words(f"uqcal.{uqcal._HOME[name]}.{name}", getattr(uqcal, name)))]
    assert not wrong


def test_data_come_first_and_the_rest_by_name():
    "A function that users call, one with options, takes its data by position and all else by keyword."
    rooms = [room for room in ROOMS if room.split(".")[1] in ("comparison", "corrections", "errors", "statistics")]
    for address, function in [one for room in rooms for one in callables(importlib.import_module(room)) if "." not in one[0].removeprefix(room + ".")]:
        if not inspect.isfunction(function): continue
        parts = inspect.signature(function).parameters
        if "rng" not in parts or next(iter(parts)) not in ("y_true", "error"): continue
        free = [name for name, one in parts.items() if one.kind is one.POSITIONAL_OR_KEYWORD]
        assert len(free) <= 2 and set(free) <= {"y_true", "y_prob", "predictions", "error", "uncertainty"}, (address, free)


def test_the_first_document_takes_errors_first():
    from uqcal.errors.conclusions import draw_conclusions
    from uqcal.errors.validation import validate_errors
    for one in (validate_errors, draw_conclusions): assert list(inspect.signature(one).parameters)[:2] == ["error", "uncertainty"]


def test_old_words_are_refused():
    def asked(y_true, *, features=None, level=0.9): pass
    assert old_words("here.asked", asked) == ["features"] and old_words("uqcal.online.online.regret", asked) == []
