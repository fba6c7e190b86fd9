"""Is my model's uncertainty calibrated? Validate, recalibrate, conformalize, monitor and compare what a model predicts with its uncertainty."""

from importlib import import_module

__version__ = "0.2.0"

# What `from uqcal import *` gives, by the module it lives in; a module is imported when something of it is first asked for.
# __init__.pyi says the same to type checkers.
_CONTENTS = {
    "verbs": ["validate", "recalibrate", "conformalize", "monitor", "compare_models", "compare_groups", "load"],
    "adapters.monitors": ["Monitor"],
    "statements": ["MeanStd", "Intervals", "LabelSets", "Probabilities", "Quantiles", "Samples", "Distribution"],
    "reports": ["Report"],
    "adapters.streams": ["RecalibratedClassifier"],
    "_base.tables": ["read_table"],
    "sample.datasets": ["load_demo"],
}
_HOME = {name: module for module, names in _CONTENTS.items() for name in names}
__all__ = list(_HOME)

# The second layer: modules of functions and classes, by what they do.
_MODULES = ("statements", "reports", "options", "large", "tests", "metrics", "scores", "maps", "streams", "groups", "checks", "conformal",
            "datasets")

# The rooms in which they are derived: folders of modules, such as uqcal.errors.bias. Those that begin with an underscore are engines.
_FOLDERS = ("adapters", "comparison", "corrections", "errors", "intervals", "online", "parts", "probabilities", "sample", "statistics",
            "subgroups", "verbs", "predictive")


def __getattr__(name):
    if name in _HOME: return getattr(import_module(f"uqcal.{_HOME[name]}"), name)
    if name in _MODULES or name in _FOLDERS: return import_module(f"uqcal.{name}")
    raise AttributeError(f"module 'uqcal' has no attribute {name!r}")


def __dir__():
    return sorted({"__version__", *__all__, *_MODULES})
