"""Can a stated uncertainty be believed? Validation of regression uncertainties, prediction intervals and probabilities."""

from importlib import import_module

__version__ = "0.1.0"

# What `from uqcal import *` gives, by the module it lives in; a module is imported when something of it is first asked for.
# __init__.pyi says the same to type checkers.
_CONTENTS = {
    "_base.tickets": ["OnlineForecaster"],
    "_base.tables": ["read_errors", "read_intervals", "read_probabilities", "read_table"],
    "corrections.scaling": ["ErrorMap"],
    "sample.datasets": ["catalogue", "load_demo", "load_errors", "load_logits", "load_table"],
    "_chance.distributions": ["simulate_errors"],
    "statistics.statistics": ["zms", "cc", "ence", "zmse", "conditional_calibration"],
    "statistics.bootstrap": ["bca_interval"],
    "statistics.references": ["simulated_reference"],
    "errors.validation": ["validate"],
    "statistics.consistency": ["consistency_test", "link_test"],
    "errors.bias": ["bias_test"],
    "errors.factors": ["average_test", "factors_along"],
    "_sample.repeats": ["find_repeats"],
    "errors.conclusions": ["draw_conclusions"],
    "statistics.bin_scaling": ["extrapolate"],
    "statistics.confidence_curves": ["confidence_curve"],
    "errors.causes": ["find_causes"],
    "probabilities.recalibration": ["BetaScaling", "PlattScaling"],
    "probabilities.reliability": ["reliability_diagram", "expected_calibration_error", "ece_test", "top_label_ece"],
    "intervals.intervals": ["coverage_test", "size_stratified_coverage", "feature_stratified_coverage", "hsic_test", "regression_coverage_score",
                  "regression_mean_width_score", "regression_mwi_score", "classification_coverage_score", "classification_mean_width_score"],
    "intervals.conformal": ["ConformalBounds", "ConformalIntervals", "ConformalSets"],
    "comparison.scores": ["crps", "interval_score", "negative_log_density"],
    "online.online": ["OnlineBetaScaling", "OnlinePlattScaling"],
    "corrections.error_recalibration": ["recalibrate_errors"],
    "corrections.probability_recalibration": ["recalibrate_probabilities"],
    "intervals.coverage": ["interval_report"],
    "comparison.model_comparison": ["compare_models"],
    "probabilities.calibration": ["calibration_report"],
    "probabilities.calibration_tests": ["kolmogorov_smirnov_test", "kuiper_test", "spiegelhalter_test"],
    "online.monitor": ["CalibrationMonitor"],
    "online.mixture": ["OnlineMixture"],
    "online.interval_streams": ["OnlineBounds", "OnlineIntervals"],
    "online.online_scaling": ["OnlineScaling"],
    "online.error_monitor": ["UncertaintyMonitor"],
    "subgroups.cumulative": ["calibration_graph"],
    "subgroups.two_groups": ["comparison_graph"],
    "subgroups.against_everyone": ["subpopulation_graph"],
    "subgroups.screening": ["screen"],
    "_chance.rates": ["rate_difference"],
    "adapters.streams": ["RecalibratedClassifier"],
    "_command.studies": ["new_study"],
    "parts.partitions": ["calibration_of_partitions", "coverage_of_partitions"],
    "parts.errors_in_parts": ["errors_of_partitions"],
    "subgroups.partition_comparison": ["comparison_of_partitions", "comparisons_of_partitions"],
}
_HOME = {name: module for module, names in _CONTENTS.items() for name in names}
__all__ = list(_HOME)

# Where all else is found: folders of modules, such as uqcal.errors.bias. Those that begin with an underscore are engines.
_FOLDERS = ("adapters", "comparison", "corrections", "errors", "intervals", "online", "parts", "probabilities", "reports",
            "sample", "statements", "statistics", "subgroups")


def __getattr__(name):
    if name in _HOME: return getattr(import_module(f"uqcal.{_HOME[name]}"), name)
    if name in _FOLDERS: return import_module(f"uqcal.{name}")
    raise AttributeError(f"module 'uqcal' has no attribute {name!r}")


def __dir__():
    return sorted({*globals(), *__all__, *_FOLDERS})
