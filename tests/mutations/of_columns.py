"""Mutations of how columns are read: bins of missing values, rules about them, codes and codelists, dates."""

from __future__ import annotations

from tests.mutations.machinery import Mutation

COLUMNS = "tests/spec/test_columns.py"
CODES = "tests/spec/test_codelists.py"
READ = "tests/enclave/test_ingest.py"
RULES = "tests/data/test_plausibility.py"
DATES = "tests/data/test_dates.py"
BOUNDS = "tests/answers/test_missing_values.py"
UTILITY = "tests/studio/rehearsal/test_utility.py"
WHOLE = "tests/whole/test_missing_values.py"

OF_COLUMNS = (
    # --- Bins of missing values
    Mutation(
        name="missing: merged with the last bin of values",
        breaks="the number of missing values is lost",
        place="data.schema:Binning.with_missing",
        old="of_atom=(*self.of_atom, len(self.labels))",
        new="of_atom=(*self.of_atom, self.of_atom[-1])",
        also=(("data.schema:Binning.__post_init__", "self.missing is None", "True"),),
        tests=(f"{COLUMNS}::test_missing_values_are_the_last_bin_alone_in_every_binning",),
    ),
    Mutation(
        name="missing: a bin may hold missing values and others",
        breaks="missing values count as values",
        place="data.schema:Binning.__post_init__",
        old="not alone",
        new="False",
        tests=(f"{COLUMNS}::test_a_binning_whose_missing_bin_holds_a_value_or_has_a_number_cannot_be_made",),
    ),
    Mutation(
        name="missing: the bin has the number 0",
        breaks="means and regressions read a missing value as 0",
        place="data.schema:Binning.with_missing",
        old="numbers=(*self.numbers, None)",
        new="numbers=(*self.numbers, 0.0)",
        also=(("data.schema:Binning.__post_init__", "self.numbers[-1] is not None", "False"),),
        tests=(f"{COLUMNS}::test_missing_values_are_the_last_bin_alone_in_every_binning",),
    ),
    Mutation(
        name="missing: a common refinement forgets missing values",
        breaks="measurements treat missing values as a category",
        place="generators.space:join",
        old="None if column.atoms.missing is None else of_atom[-1]",
        new="None",
        tests=(f"{COLUMNS}::test_the_common_refinement_of_binnings_keeps_missing_values_apart",),
    ),
    Mutation(
        name="missing: rows are excluded although nothing is counted",
        breaks="the completeness of a record is not protected",
        place="enclave.values:absent",
        old="MISSING if column.atoms.missing is None else column.atoms.missing",
        new="MISSING",
        tests=(f"{READ}::test_persons_with_gaps_are_counted_in_the_bins_of_missing_values",),
    ),
    Mutation(
        name="missing: a bin of missing values counts as a reason to exclude rows",
        breaks="epsilon is spent on counting rows that are all kept",
        place="spec.record:rows_rule",
        old='"drop" in (column.missing, column.outside)',
        new='column.missing != "error" or column.outside == "drop"',
        tests=(f"{WHOLE}::test_nothing_is_left_out_so_nothing_is_counted",),
    ),
    Mutation(
        name="missing: gaps may be filled from other private records",
        breaks="one person changes many rows",
        place="settings.columns:_missing_rule",
        old="isinstance(value, str)",
        new="False",
        tests=(f"{COLUMNS}::test_filling_gaps_from_other_private_records_is_refused_with_the_three_ways",),
    ),
    Mutation(
        name="missing: a text that a column calls missing is read as a number",
        breaks="a person is counted with age 97",
        place="enclave.values:_missing_texts",
        old="policy.missing_values + column.missing_values",
        new="policy.missing_values",
        tests=(f"{READ}::test_texts_that_mean_missing_in_one_column_are_read_before_they_are_numbers",),
    ),
    # --- Rules
    Mutation(
        name="rules: a negation is true for a missing value",
        breaks="incomplete rows are excluded, or missing in the release",
        place="data.rules:of_atoms",
        old="met, present & ~met",
        new="met, ~met",
        tests=(f"{RULES}::test_neither_a_comparison_nor_its_negation_forbids_a_missing_value",),
    ),
    Mutation(
        name="rules: false and true are exchanged",
        breaks="the wrong rows are excluded",
        place="data.rules:truth_of",
        old="of_false(false, false_part)",
        new="of_true(false, false_part)",
        tests=(f"{RULES}::test_with_missing_values_a_cell_is_forbidden_just_when_a_rule_is_true_and_not_unknown",),
    ),
    Mutation(
        name="rules: a rule that excludes all known values is accepted",
        breaks="a release may contain missing values only",
        place="spec.record:plausibility_of",
        old="np.arange(column.atoms.present)",
        new="np.arange(len(column.atoms))",
        tests=(f"{CODES}::test_rules_that_leave_nothing_but_missing_values_are_refused",),
    ),
    Mutation(
        name="rules: rules are never joined",
        breaks="combinations that several rules exclude are released",
        place="data.plausibility:_uneven",
        old="uneven.add(columns[column].name)",
        new="uneven.discard(columns[column].name)",
        tests=(f"{RULES}::test_rules_whose_limits_lie_inside_the_same_bins_are_joined",),
    ),
    # --- What is said about the original table
    Mutation(
        name="bounds: a condition holds for missing values",
        breaks="missing values count as low numbers in an answer",
        place="answers.questions:_with_missing",
        old="true, false = np.zeros_like(absent), np.zeros_like(absent)",
        new="true, false = absent.copy(), np.zeros_like(absent)",
        tests=(BOUNDS,),
    ),
    Mutation(
        name="bounds: the negation of a condition holds for missing values",
        breaks="missing values count as other values in an answer",
        place="answers.questions:_with_missing",
        old="true, false = np.zeros_like(absent), np.zeros_like(absent)",
        new="true, false = np.zeros_like(absent), absent.copy()",
        tests=(BOUNDS,),
    ),
    Mutation(
        name="bounds: a mean reads missing values as 0",
        breaks="the answer differs from that of the rows with a value",
        place="answers.bounds:_Measure._masks",
        old="given & met & self._present(columns)",
        new="given & met",
        tests=(BOUNDS,),
    ),
    Mutation(
        name="bounds: the limit of a mean refers to all rows",
        breaks="the original table may lie outside the bound",
        place="answers.facts:_Builder.add_mean",
        old="self._mean(of_cells, present, self._smallest(None, error.column)[0], error)",
        new="self._mean(of_cells, present, self.n, error)",
        tests=(BOUNDS,),
    ),
    Mutation(
        name="rehearsal: a regression reads missing values as numbers",
        breaks="the advice uses another regression",
        place="studio.rehearsal.utility:fit_line",
        old="np.isfinite(np.column_stack([response, *columns])).all(axis=1)",
        new="np.isfinite(np.column_stack([response, *columns])).any(axis=1)",
        tests=(f"{UTILITY}::test_a_line_is_that_of_the_rows_without_gaps",),
    ),
    # --- Codes
    Mutation(
        name="codes: a missing text is read as a code",
        breaks="a missing value becomes a code",
        place="enclave.values:_bin_of_text",
        old="_Listed(column.values, _missing_texts(column, policy), none, policy.decimal)",
        new="_Listed(column.values, _missing_texts(column, policy), 0, policy.decimal)",
        tests=(f"{READ}::test_codes_are_read_by_their_texts_and_no_missing_text_is_a_code",),
    ),
    Mutation(
        name="design: the group of a cluster depends on the process",
        breaks="rows of one cluster are in two groups",
        place="enclave.values:_bin_of_text",
        old='hashlib.sha256((number_form(text, decimal) or text.strip()).encode("utf-8", "surrogatepass")).digest()',
        new="id(object()).to_bytes(8)",
        tests=("tests/enclave/test_reading.py::test_a_cluster_falls_into_one_group_however_its_number_is_written",),
    ),
    Mutation(
        name="codes: a missing text may be a code as well",
        breaks="the program decides whether a text is a code or missing",
        place="spec.columns:_check_missing_values",
        old="text.strip() not in texts",
        new="True",
        tests=(f"{CODES}::test_a_mistake_in_a_column_of_codes_is_told_at_its_place",),
    ),
    Mutation(
        name="codelists: levels that do not nest are accepted",
        breaks="a municipality is in two states",
        place="spec.columns:_check_nesting",
        old="first.setdefault(group, code)",
        new="code",
        tests=(f"{CODES}::test_a_mistake_in_a_codelist_is_told_with_its_line",),
    ),
    Mutation(
        name="codelists: codelists are missing in the specification",
        breaks="two different specifications have one digest",
        place="spec.canonical:canonical_tables",
        old='exclude={*WORDS, *PATHS, "acceptance"}',
        new='exclude={**dict.fromkeys([*WORDS, *PATHS, "acceptance"], True), "columns": {"place"}}',
        tests=(f"{CODES}::test_a_changed_codelist_is_a_changed_specification",),
    ),
    # --- Dates
    Mutation(
        name="dates: days from the later date to the earlier",
        breaks="every duration has the wrong sign",
        place="enclave.values:_days_between",
        old="end - start",
        new="start - end",
        tests=(f"{READ}::test_days_between_two_dates_are_counted_as_the_calendar_does",),
    ),
    Mutation(
        name="dates: a future birthday counts",
        breaks="ages are a year too high for part of the year",
        place="data.dates:years_between",
        old="years[1] - years[0] - (days[1] < days[0])",
        new="years[1] - years[0]",
        tests=(f"{READ}::test_completed_years_are_birthdays_that_were_had",),
    ),
    Mutation(
        name="dates: an invalid date counts as missing",
        breaks="a file that does not fit is accepted",
        place="enclave.values:_days_between",
        old="bins[(end == WRONG) | (start == WRONG)] = WRONG",
        new="bins[(end == WRONG) | (start == WRONG)] = absent(column)",
        tests=(f"{READ}::test_what_is_no_date_is_refused_also_beside_a_missing_one",),
    ),
    Mutation(
        name="dates: the week of the year in place of that of ISO 8601",
        breaks="weeks 0 and others than the statistics office counts",
        place="data.dates",
        old="day.isocalendar().week",
        new='int(day.strftime("%W"))',
        tests=(f"{DATES}::test_parts_are_those_of_the_calendar",),
    ),
    Mutation(
        name="numbers: a point is accepted where a decimal comma is declared",
        breaks="1.234 may be read as a little more than 1",
        place="enclave.values:_with_point",
        old='"" if "." in text else text.replace(decimal, ".")',
        new='text.replace(decimal, ".")',
        tests=(f"{READ}::test_a_point_in_a_number_with_a_decimal_comma_is_not_guessed_at",),
    ),
)
