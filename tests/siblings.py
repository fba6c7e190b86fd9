"""Cases that a sibling stands for: the same code on other numbers, at seconds each. They run with the slow tests, in `make test-all`.

Each test is named with what is slow of it, by the ends of the names of its cases. The hardest cases are not among them.
"""

SLOW = {
    "test_advice.py::test_a_bias_that_is_not_found_has_the_limits_of_the_mean_and_of_a_fifth": ("[5]", "[6]"),
    "test_advice.py::test_no_advice_contradicts_the_table_beside_it": ("[probabilities-0]",),
    "test_bias.py::test_many_small_groups_without_a_bias_have_none": ("[True-normal-1]", "[False-exponential-3]"),
    "test_causes.py::test_no_unit_is_seen_in_the_ratios_of_sets_in_order": ("[3]", "[None]"),
    "test_causes.py::test_nothing_is_named_in_sets_in_order": ("[None]",),
    "test_causes.py::test_skewed_errors_of_one_scale_are_no_two_populations_and_no_offset": ("[narrow lognormal]", "[gamma]", "[Weibull]"),
    "test_cli_files.py::test_dollar_signs_in_group_names_are_drawn": ("[options1]", "[options2]"),
    "test_conclusions.py::test_sizes_in_place_of_errors_are_not_called_biased": ("-300]",),
    "test_conclusions.py::test_small_files_written_more_than_once_are_not_wiser": ("[5-2]",),
    "test_conclusions.py::test_status_follows_from_pvalue_limits_and_tolerance": ("[1.0-300]", "[1.12-30]", "[1.3-30]", "[1.3-1500]"),
    "test_conclusions.py::test_a_validation_fits_a_screen": ("[names0]", "[names1]"),
    "test_coverage_counts.py::test_groups_share_their_calibration": ("[None-less]", "[50-greater]", "[50-two-sided]", "[1000-less]", "[1000-greater]"),
    "test_cumulative.py::test_rows_and_groups_can_be_exchanged": ("[distinct]", "[many]"),
    "test_cumulative.py::test_units_do_not_matter": ("[1000000.0-1000.0]", "[1e+150-1.0]"),
    "test_error_recalibration.py::test_zeros_among_normal_errors_are_no_heavy_tails": ("[0.0]",),
    "test_fast_files.py::test_blocks_are_read_as_rows_one_by_one_are": ("-.-0.0]", "[;-.-0.03]", "[;-.-0.3]", "[\\t-.-0.3]"),
    "test_fuzz_commands.py::test_a_process_says_the_same": ("[0]",),
    "test_model_comparison.py::test_narrower_intervals_without_a_miss_are_not_called_better": ("[30-0.99]", "[100-0.999]"),
    "test_monitor.py::test_restarts_come_at_the_same_outcome_in_steps_chunks_and_by_ticket": ("[ops]", "[hobs]"),
    "test_other_columns.py::test_a_group_in_another_unit_is_named": ("[4.184-normal]", "-lognormal]"),
    "test_other_columns.py::test_random_outliers_are_no_likely_unit": ("[1]",),
    "test_partition_comparison.py::test_a_group_and_everyone_have_the_numbers_of_memory": ("binary-plain]", "real-plain]", "probability-plain]"),
    "test_partitions.py::test_all_numbers_are_those_in_memory": ("False-cut first]", "True-fetched at once]"),
    "test_regression_properties.py::test_resamples_and_jackknife_equal_the_plain_statistics_with_ties": ("[False-share]", "[True-order]"),
    "test_repeats.py::test_discrete_rows_that_coincide_are_not_counted_once": ("[logarithms of counts]",),
    "test_resampling.py::test_the_level_is_kept_with_ties_and_undefined_values": ("[greater]",),
    "test_runs.py::test_large_files_are_read_as_small_ones": ("[nothing-\\n]", "[blanks-\\n]", "[a missing number-\\n]", "[two odd rows-\\n]"),
    "test_screening.py::test_twelve_groups_one_of_which_differs": ("[1.0-9999]",),
    "test_tickets.py::test_late_outcomes_in_any_order_are_booked_as_stated": ("[hops-200]",),
}


def is_slow(nodeid):
    "Whether a case is one that a sibling stands for."
    test = nodeid.rpartition("/")[2].partition("[")[0]
    return nodeid.endswith(SLOW.get(test, ()))
