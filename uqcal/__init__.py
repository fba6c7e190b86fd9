"""Can a stated uncertainty be believed? Validation of regression uncertainties, prediction intervals and probabilities."""

from importlib import import_module

__version__ = "0.1.0"

# What `from uqcal import *` gives, by the module it lives in; a module is imported when something of it is first asked for.
# __init__.pyi says the same to type checkers.
_CONTENTS = {
    "inputs": [],
    "results": [],
    "page": [],
    "kernels": [],
    "tickets": ["OnlineForecaster"],
    "tables": ["read_errors", "read_intervals", "read_probabilities", "read_table"],
    "sample": [],
    "resampling": [],
    "groups": [],
    "coverage_counts": [],
    "logistic": [],
    "scaling": ["Mend"],
    "datasets": ["catalogue", "load_demo", "load_errors", "load_logits", "load_table"],
    "distributions": ["simulate_errors"],
    "statistics": ["zms", "cc", "ence", "zmse", "conditional_calibration"],
    "bootstrap": ["bca_interval"],
    "references": ["simulated_reference"],
    "validation": ["validate"],
    "consistency": ["consistency_test", "link_test"],
    "bias": ["bias_test"],
    "factors": ["average_test", "factors_along"],
    "repeats": ["find_repeats"],
    "conclusions": ["draw_conclusions"],
    "bin_scaling": ["extrapolate"],
    "confidence_curves": ["confidence_curve"],
    "causes": ["find_causes"],
    "recalibration": ["BetaScaling", "PlattScaling"],
    "reliability": ["reliability_diagram", "expected_calibration_error", "ece_test", "top_label_ece"],
    "brownian": [],
    "intervals": ["coverage_test", "size_stratified_coverage", "feature_stratified_coverage", "hsic_test", "regression_coverage_score",
                  "regression_mean_width_score", "regression_mwi_score", "classification_coverage_score", "classification_mean_width_score"],
    "conformal": ["ConformalBounds", "ConformalIntervals", "ConformalSets"],
    "scores": ["crps", "interval_score", "negative_log_density"],
    "online": ["OnlineBetaScaling", "OnlinePlattScaling"],
    "mending": ["mend"],
    "probability_mending": ["mend_probabilities"],
    "coverage": ["interval_report"],
    "model_comparison": ["compare_models"],
    "calibration": ["calibration_report"],
    "walk": [],
    "calibration_tests": ["kolmogorov_smirnov_test", "kuiper_test", "spiegelhalter_test"],
    "calibeating": [],
    "monitor": ["CalibrationMonitor"],
    "mixture": ["OnlineMixture"],
    "interval_streams": ["OnlineBounds", "OnlineIntervals"],
    "online_scaling": ["OnlineScaling"],
    "error_monitor": ["UncertaintyMonitor"],
    "error_streams": [],
    "cumulative": ["calibration_graph", "comparison_graph", "subpopulation_graph"],
    "screening": ["screen"],
    "rates": ["rate_difference"],
    "streams": ["RecalibratedClassifier"],
    "report": ["write_report"],
    "studies": ["new_study"],
    "partitions": ["calibration_of_partitions", "coverage_of_partitions", "errors_of_partitions"],
    "partition_comparison": ["comparison_of_partitions", "comparisons_of_partitions"],
    "cli_parts": [],
    "cli_intervals": [],
    "cli_streams": [],
    "cli_compare": [],
    "cli": [],
}
_HOME = {name: module for module, names in _CONTENTS.items() for name in names}
__all__ = list(_HOME)


def __getattr__(name):
    if name in _HOME: return getattr(import_module(f"uqcal.{_HOME[name]}"), name)
    if name in _CONTENTS: return import_module(f"uqcal.{name}")
    raise AttributeError(f"module 'uqcal' has no attribute {name!r}")


def __dir__():
    return sorted({*globals(), *__all__, *_CONTENTS})
