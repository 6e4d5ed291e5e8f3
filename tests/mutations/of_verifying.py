"""Mutations of the published specification and of what `verify` compares with it."""

from __future__ import annotations

from tests.mutations.machinery import Mutation

FORGERIES = "tests/verification/test_forgeries.py"
FOLDERS = "tests/verification/test_folders.py"
YEARS = "tests/parts/test_years.py"
CANONICAL = "tests/specification/test_canonical.py"
FORGED = f"{FORGERIES}::test_a_forgery_is_found_by_the_part_that_stands_alone_and_by_the_whole"

OF_VERIFYING = (
    Mutation(
        name="specification: settings that nobody wrote are digested",
        breaks="the digest of every release changes when an option is taken out of the program",
        place="specification.canonical:canonical_tables",
        old='release.model_dump(mode="json", exclude={*WORDS, *PATHS, "acceptance"}, exclude_unset=True)',
        new='release.model_dump(mode="json", exclude={*WORDS, *PATHS, "acceptance"})',
        tests=(f"{CANONICAL}::test_an_option_that_a_program_does_not_have_changes_nothing",),
    ),
    Mutation(
        name="specification: a public table is named by its path",
        breaks="a path of the steward's machine is published, and another table passes as the same",
        place="specification.canonical:_by_digest",
        old='f"{BY_DIGEST}{priors[named]}" if named in priors else named',
        new="named",
        tests=(f"{CANONICAL}::test_a_public_table_is_named_by_its_content_and_a_release_that_starts_from_it_is_verified",),
    ),
    Mutation(
        name="specification: the shortlist is left out",
        breaks="what configurations were drawn from can be said afterwards",
        place="specification.canonical:canonical_text",
        old="dict(tables) if shortlist is None else {**tables, 'shortlist': [_plain(each) for each in shortlist]}",
        new="dict(tables)",
        tests=(f"{CANONICAL}::test_the_shortlist_is_part_of_it_and_a_release_from_one_is_verified_and_written_anew",),
    ),
    Mutation(
        name="verify: what the parser of data.csv leaves out is not looked for",
        breaks="bytes that are no part of a label pass",
        place="published.lines:_TakenApart.rows",
        old="length != len(text)",
        new="False",
        tests=("tests/bundle/test_reading_back.py::test_what_does_not_fit_is_said_as_line_by_line",),
    ),
    Mutation(
        name="verify: rows of data.parquet are compared as far as they go",
        breaks="a file that lacks the last rows passes",
        place="published.table:ReleasedTable.has",
        old="done == order.total",
        new="True",
        tests=("tests/bundle/test_table_files.py::test_other_rows_another_order_and_other_weights_are_not_the_same_table",),
    ),
    Mutation(
        name="verify: the checksum of the specification is not compared",
        breaks="release.json names one specification, and another one is published",
        place="verification.stated:specification",
        old="digest != document.specification",
        new="False",
        tests=(FORGED,),
    ),
    Mutation(
        name="verify: settings of criteria are not compared",
        breaks="a threshold is set when the figure is known",
        place="verification.stated:_criteria_problems",
        old="not _same(value, own.get(name))",
        new="False",
        tests=(FORGED,),
    ),
    Mutation(
        name="verify: what a charge costs is not compared with its budget",
        breaks="a fit is stated at a hundredth of its epsilon",
        place="verification.stated:_charge_problems",
        old="cost != budgets[name]",
        new="False",
        tests=(FORGED,),
    ),
    Mutation(
        name="verify: the law of the rounds is not compared",
        breaks="a selection is priced by another law",
        place="verification.stated:_selection_problems",
        old="(found.rounds, found.stop_probability, found.shape) != (rounds, stop, shape)",
        new="False",
        tests=(FORGED,),
    ),
    Mutation(
        name="verify: the plan is not compared",
        breaks="what follows from the specification by the program's own classes is said otherwise",
        place="verification.plan:_problems",
        old="planned_parts(spec, configuration, guarantee, n_file, n).items()",
        new="()",
        tests=(FORGED,),
    ),
    Mutation(
        name="verify: control characters are shown",
        breaks="a title moves the cursor over what verify found",
        place="verification.alone:_document",
        old="hidden is not None",
        new="False",
        tests=(FORGED,),
    ),
    Mutation(
        name="verify: any file may stand in the folder",
        breaks="a page with another epsilon passes for a part of the release",
        place="verification.alone:_names",
        old="possible_names(document)",
        new="set(files)",
        tests=(f"{FOLDERS}::test_a_file_that_does_not_follow_from_release_json_is_found",),
    ),
    Mutation(
        name="verify: figures of any version may have noises of their own",
        breaks="noise that was shared is said to be each figure's own",
        place="verification.figures:_sharing_problems",
        old="document.provisional or document.selection.shape is not None",
        new="True",
        tests=(f"{FOLDERS}::test_noises_of_their_own_are_those_of_a_version_before_the_first_that_was_published",),
    ),
    Mutation(
        name="verify: the key in the folder vouches for it",
        breaks="a forger's own key makes the last sentence green",
        place="verification.reading:check_from_elsewhere",
        old="path.samefile(file)",
        new="False",
        tests=(f"{FOLDERS}::test_a_commitment_that_lies_in_the_folder_vouches_for_nothing",),
    ),
    Mutation(
        name="commitment: a second release of a year is compared in thresholds alone",
        breaks="who calls a release the second one of its year passes with another epsilon and other rules",
        place="verification.commitment:_of_the_plan",
        old="planned.year == own.year",
        new="False",
        tests=(f"{YEARS}::test_who_calls_a_release_the_second_one_of_its_year_does_not_pass_its_commitment",),
    ),
    Mutation(
        name="specification: which release of its plan it is, is not digested",
        breaks="year and second release can be said afterwards",
        place="specification.canonical:canonical_tables",
        old="table.fixed",
        new="frozenset()",
        tests=(f"{YEARS}::test_the_specification_of_a_plan_says_which_release_of_it_is_committed_to",),
    ),
    Mutation(
        name="verify: a figure may be out of reach of its noise",
        breaks="an absolute error of -1,000,000 passes",
        place="verification.figures:_range_problems",
        old="least <= float(criterion.value) <= most",
        new="True",
        tests=(f"{FOLDERS}::test_a_figure_that_its_noise_cannot_reach_is_found",),
    ),
    Mutation(
        name="verify: noisy tables need not add up to the rows",
        breaks="counts that no noise explains pass",
        place="verification.measurements:_total_problem",
        old="abs(total - n_rows) > limit",
        new="False",
        tests=(f"{FOLDERS}::test_noisy_tables_that_do_not_add_up_to_the_rows_are_found",),
    ),
    Mutation(
        name="verify: bytes of Parquet are not compared",
        breaks="12 kB between two pages pass",
        place="verification.documents:_other_parquet",
        old="not files.holds(name, pieces)",
        new="False",
        tests=(f"{FOLDERS}::test_bytes_that_no_reader_of_parquet_looks_at_are_found",),
    ),
)
