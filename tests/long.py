"""The tests that `make test` leaves to `make test-long`: whole runs, laws of many releases, and what needs a server.

None of them is the only guard of a privacy guarantee: beside each stands what `make test` runs in its place.
"""

from __future__ import annotations

_OF_LIBRARIES = "the same of our own generators; what those of libraries charge, and that they end, in the same file"
_WORKS = "test_contracts.py::test_a_generator_works_on_one_column_and_on_columns_of_one_bin"
_LEARNS = "test_contracts.py::test_a_generator_learns_from_the_table_at_a_large_budget"

LONG = {
    "reproduction/test_reproduction.py::test_an_experiment_of_the_page_is_what_the_command_writes[families]": (
        "the other experiments in the same file; each family in tests/generators"
    ),
    **{f"{_WORKS}[{sizes}-{name}-0]": _OF_LIBRARIES for sizes in ("(5,)", "(1, 1)", "(3, 1, 2)") for name in ("mst", "aim")},
    **{f"{_LEARNS}[{name}]": _OF_LIBRARIES for name in ("mst-0", "aim-0", "aim-1", "patectgan-1")},
    "generators/test_adaptive.py::test_at_many_budgets_a_fit_ends_with_parts_of_a_fixed_share": (
        "the same in the same file, of answers that are the worst for it"
    ),
    "generators/test_adaptive.py::test_more_columns_than_an_array_has_axes_lose_no_budget[Adaptive-200-budget2]": (
        "the same with 65 columns"
    ),
    "spec/test_plugins.py::test_a_generator_and_a_criterion_of_one_name_are_both_tried": (
        "in the same file: the example passes the check under its own names"
    ),
    "generators/test_libraries.py::test_the_global_generator_of_numpy_decides_nothing": (
        "tests/privacy/test_randomness.py, of all that draws"
    ),
    "generators/test_libraries.py::test_columns_that_are_independent_given_another_stay_so": (
        "tests/generators, of our own models"
    ),
    "enclave/test_rows_of_servers.py": "tests/enclave/test_rows_alone.py, of databases that are files",
    **{
        f"test_new.py::test_what_is_written_{what}": "in the same file: each part of a template has its place today"
        for what in ("is_formatted_and_typed_as_the_rest", "passes_its_own_checks", "breaks_nothing_elsewhere")
    },
    "mutations/test_mutations.py::test_the_data_file_has_just_these_mutations_and_all_are_caught": (
        "the table is a record of the nightly run; that each place is there is tested in the same file"
    ),
    "mutations/test_mutations.py::test_a_wrong_line_is_caught": "the tests that catch these mistakes",
    "mutations/test_mutations.py::test_every_mutation_has_its_place_and_names_nothing_that_is_not_there": (
        "the same file finds the pattern of every rule, and names that differ"
    ),
    "whole/test_labour_release.py::test_the_demonstration_runs_every_command_and_says_which": (
        "its specification, its surrogate and its rules in the same file; each command on small releases in tests/cli"
    ),
    "whole/test_labour_release.py::test_released_rows_have_labels_gaps_and_no_impossible_answers": ("tests/spec, tests/bundle"),
    "whole/test_labour_release.py::test_the_true_errors_are_within_the_thresholds": "tests/releasing, tests/criteria",
    "whole/test_labour_release.py::test_what_goes_together_in_the_original_goes_together_in_the_release": "tests/generators",
    "whole/test_labour_release.py::test_weighted_totals_are_the_published_ones": "tests/bundle, of calibration",
    "whole/test_labour_release.py::test_a_label_or_a_row_that_was_changed_afterwards_is_noticed": "tests/bundle/verify",
    "whole/test_labour_release.py::test_a_query_is_answered_from_the_folder_alone": "tests/answers",
    "whole/test_country_release.py::test_every_command_says_what_the_levels_are": "tests/spec/test_geography.py",
    "whole/test_country_release.py::test_every_row_has_the_region_of_its_municipality": (
        "tests/generators/test_nested.py, tests/spec/test_geography.py"
    ),
    "whole/test_country_release.py::test_areas_are_as_far_off_as_the_plan_says": (
        "tests/generators/test_area_noise.py, tests/generators/test_nested.py"
    ),
    "whole/test_visits_release.py::test_the_demonstration_runs_every_command_and_says_which": (
        "tests/whole/test_stays.py, tests/spec"
    ),
    "whole/test_visits_release.py::test_patients_entered_twice_and_stays_of_nobody_are_left_out_and_counted_among_the_keys": (
        "tests/enclave, of linked files"
    ),
    "whole/test_visits_release.py::test_released_stays_follow_the_rules_and_hang_together_as_those_of_the_original": (
        "tests/spec/test_members_rules.py"
    ),
    "whole/test_visits_release.py::test_the_true_errors_are_within_the_thresholds": "tests/releasing, tests/criteria",
    "whole/test_tutorial.py::test_the_tutorial_can_be_followed_from_its_text": (
        "its commands and blocks in the same file; tests/cli runs each command"
    ),
    "whole/test_tutorial.py::test_the_rule_that_the_reader_adds_is_in_the_release": "tests/spec, of rules",
    "whole/test_flat_memory.py::test_verifying_twice_the_rows_takes_the_memory_of_their_bins": (
        "tests/bundle/test_table_files.py writes pieces"
    ),
    "whole/test_flat_memory.py::test_writing_twice_the_rows_takes_the_memory_of_their_bins": (
        "tests/bundle/test_table_files.py writes pieces"
    ),
    "whole/test_stays.py::test_without_an_answer_the_draft_asks_and_nothing_is_promised": (
        "tests/spec/test_persons.py, of an answer that is missing; tests/studio/desk, of the question"
    ),
    "whole/test_hostile.py::test_hostile_files_end_with_clear_errors": (
        "tests/enclave/test_any_value.py; wrong outcomes are found, in the same file"
    ),
    "whole/test_labour_formats.py::test_a_release_from_an_spss_file_has_the_labels_of_the_codelists_and_verifies": (
        "tests/enclave and tests/bundle/test_formats.py, of each format"
    ),
    "whole/test_dist.py::test_the_wheel_alone_releases_verifies_and_plans": (
        "tests/test_development.py names what a wheel holds"
    ),
    "test_docs.py::test_the_site_builds_without_a_warning_and_takes_nothing_from_the_network": (
        "links and pages in the same file"
    ),
    "studio/desk/test_browser.py": "tests/studio/desk/test_desk.py asks every address and sends every form",
    "answers/test_contrasts.py::test_intervals_hold_the_file_and_the_population": (
        "contrasts against their table, and their error against that of one sum of noises, in the same file"
    ),
    "answers/test_ten_questions.py::test_estimates_hold_the_truth_in_93_of_100_answers_of_seeded_releases": "tests/answers",
    "answers/test_estimates_file.py::test_intervals_hold_the_file_s_share_and_count_in_the_stated_part_of_all_outcomes": (
        "limits against their formulas, of shares and of numbers of rows, in the same file"
    ),
    "answers/test_estimates_members.py::test_the_population_s_interval_counts_roots_where_members_are_alike": (
        "how many members the drawing of a root counts for, in the same file"
    ),
    "answers/test_estimates_members.py::test_two_groups_whose_members_live_together_may_differ_more": (
        "drawing homes moves two groups apart, in the same file"
    ),
    "answers/test_measured.py::test_all_bounds_hold_together_as_often_as_stated_and_single_limits_do_not": (
        "the same file looks at all small tables"
    ),
    "answers/test_coverage.py": (
        "tests/answers/test_limits.py, where a limit without the selection fails; tests/answers/test_bounds.py looks at all "
        "small tables"
    ),
    "studio/audit/test_cases.py::test_noise_that_is_a_tenth_too_small_is_found_every_time": (
        "the other faults in the same file are found"
    ),
    "studio/audit/test_cases.py::test_no_mechanism_of_the_slice_exceeds_its_claim[names1-10]": (
        "the same of the fast cases; the enumerations of tests/studio/audit/test_sensitivity.py"
    ),
    "studio/audit/test_cases.py::test_a_known_fault_is_found[release: faithfulness, a record turns, run with generation noise of a "  # noqa: E501
    "fiftieth-200]": "the other faults in the same file are found",
    "studio/audit/test_losses.py::test_a_generator_whose_answers_are_drawn_shows_nearly_all_of_its_claim[adaptive, Gaussian]": (
        "half of its noise is found, in the same file, and the other families show theirs"
    ),
    "studio/audit/test_losses.py::test_a_generator_whose_answers_are_drawn_shows_nearly_all_of_its_claim[adaptive, "
    "zero-concentrated]": ("half of its noise is found, in the same file, and the other families show theirs"),
    "studio/audit/test_against.py::test_both_libraries_follow_the_laws": "the laws one by one in the same file",  # noqa: E501
    "generators/test_patectgan.py::test_it_learns_columns_that_depend_on_each_other": (
        "tests/test_contracts.py; its votes and what they cost in the same file"
    ),
    "generators/test_maximum_entropy.py::test_it_agrees_with_mbi": "slow references in the same file",
    "studio/rehearsal/test_command.py::test_after_kill_9_the_same_command_goes_on_and_ends_with_the_same_report": (
        "tests/studio/rehearsal/test_report.py stops a rehearsal and goes on"
    ),
    "studio/rehearsal/test_proposal_whole.py": "tests/studio/rehearsal/test_proposing.py",
    "studio/rehearsal/test_attempts.py::test_under_a_joint_test_rehearsed_attempts_are_accepted_as_often_as_those_of_a_release": (  # noqa: E501
        "single decisions against the same figures, and their noise, in the same file"
    ),
    "studio/rehearsal/test_attempts.py::test_rehearsed_attempts_are_accepted_as_often_as_those_of_a_release": (
        "single decisions against the same figures in the same file"
    ),
    "studio/rehearsal/allocation/test_allocating.py::test_the_lines_of_a_rho_load_and_cost_the_total": (
        "lines of a rho that were not searched for, in the same file; the lines of an epsilon load"
    ),
    "studio/drafting/test_adopting.py::test_from_a_rehearsal_to_the_release_that_costs_what_was_found": (
        "each of its steps in the same file; tests/studio/rehearsal/test_proposing.py"
    ),
    "bundle/test_ask.py::test_two_thousand_questions_have_the_same_answers": "a hundred of them in the same file",
    "bundle/verify/test_forgeries.py::test_random_single_edits_are_found": "every kind of edit one by one in the same file",
    "studio/drafting/test_smaller.py::test_a_wide_survey_of_few_rows_is_drafted_smaller_and_says_so": (
        "each step towards a smaller draft in the same file"
    ),
}
"""Test files, tests, or single cases of them, under tests/, and what stands in their place in `make test`."""


def is_long(nodeid: str) -> bool:
    """Whether a test belongs to them, by its id as pytest writes it."""
    name = nodeid.removeprefix("tests/")
    return bool({name, name.partition("[")[0], name.partition("::")[0]} & LONG.keys())
