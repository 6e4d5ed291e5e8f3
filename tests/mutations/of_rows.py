"""Mutations of the number of rows: subsets, resizing, rows that are left out, and what is said of whom the guarantee covers."""

from __future__ import annotations

from tests.mutations.machinery import Mutation

ROWS, READ = "tests/enclave/test_resizing.py", "tests/enclave/test_ingest.py"
ENUMERATED = "tests/studio/audit/test_left_out_rows.py"
TEXTS = "tests/bundle/test_protection.py"
FORGED = f"{TEXTS}::test_a_domain_that_does_not_follow_from_the_charges_is_found"
LAWS = f"{ROWS}::test_every_subset_is_drawn_with_the_probability_that_listing_them_gives"
COUNTED = f"{ROWS}::test_the_counted_number_has_the_noise_of_its_charge_and_is_clamped"

OF_THE_ROWS = (
    # --- The number
    Mutation(
        name="rows: the margin is not subtracted",
        breaks="public rows fill up every second release",
        place="enclave.resizing:resize",
        old="rows.spend(charge, counted) - rule.margin",
        new="rows.spend(charge, counted)",
        tests=(COUNTED,),
    ),
    Mutation(
        name="rows: the margin is one too small",
        breaks="the release has too few rows more often than stated",
        place="privacy.charges:RowsRule.margin",
        old="math.ceil(tail / epsilon) - 1",
        new="math.ceil(tail / epsilon) - 2",
        tests=(f"{ROWS}::test_the_margin_is_the_least_that_keeps_the_shortfall",),
    ),
    Mutation(
        name="rows: the kept rows are counted twice",
        breaks="a row changes the count by 2 and pays for 1",
        place="enclave.resizing:resize.counted",
        old="kept.total",
        new="2 * kept.total",
        tests=(f"{ENUMERATED}::test_the_count_of_the_kept_rows_moves_by_one_and_is_noisy",),
    ),
    Mutation(
        name="rows: the number may exceed the rows of the file",
        breaks="there are more rows than people",
        place="enclave.resizing:resize",
        old="min(max(size, 1), rows.n_file)",
        new="max(size, 1)",
        tests=("tests/whole/test_two_exact_releases.py::test_two_counted_numbers_stay_within_their_sum",),
    ),
    Mutation(
        name="rows: the number never exceeds the kept rows",
        breaks="the number of kept rows is visible if the noise is positive",
        place="enclave.resizing:resize",
        old="min(max(size, 1), rows.n_file)",
        new="min(max(size, 1), rows.all_of_them().n)",
        tests=("tests/whole/test_two_exact_releases.py::test_two_counted_numbers_stay_within_their_sum",),
    ),
    Mutation(
        name="rows: a private number is exact",
        breaks="a person with a missing value changes a published number",
        place="enclave.resizing:resize",
        old='rule.way in ("exact", "whole")',
        new='rule.way != "stated"',
        tests=(f"{ROWS}::test_what_a_row_does_to_the_published_number_is_paid_for",),
    ),
    # --- The rows
    Mutation(
        name="subset: the first rows are chosen",
        breaks="the release describes the first cells only",
        place="enclave.door:_numbers",
        old="_marked(rows, few, entropy)",
        new="np.arange(rows) < few",
        tests=(LAWS,),
    ),
    Mutation(
        name="subset: a few rows are put one cell too low",
        breaks="rows are counted in cells that do not contain them",
        place="enclave.door:_drawn",
        old='np.searchsorted(ends, numbers, side="right")',
        new='np.searchsorted(ends, numbers, side="left")',
        tests=(LAWS,),
    ),
    Mutation(
        name="subset: a small sample takes the first rows",
        breaks="the release describes the first cells only",
        place="enclave.door:_distinct",
        old="entropy.picks(np.full(min(missing, _AT_ONCE), bound))",
        new="np.arange(size)",
        tests=(LAWS,),
    ),
    Mutation(
        name="subset: the complement is not taken",
        breaks="the number of rows differs from the published one",
        place="enclave.door:_drawn",
        old="counts if 2 * size <= rows else np.subtract(table.counts, counts, out=counts)",
        new="counts",
        tests=(f"{ENUMERATED}::test_the_tables_of_neighbouring_files_follow_the_theorem",),
        core=True,
    ),
    Mutation(
        name="subset: the smallest number replaces a repeated one",
        breaks="rows of the first cells are more likely",
        place="enclave.door:_marked",
        old="missing = size - int(np.count_nonzero(taken))",
        new="taken[np.flatnonzero(~taken)[: size - np.count_nonzero(taken)]] = True\nmissing = 0",
        tests=(f"{ROWS}::test_an_index_that_comes_twice_is_drawn_again_and_the_first_different_ones_count", LAWS),
    ),
    Mutation(
        name="subset: repeated rows are not drawn again",
        breaks="there are fewer rows than published, by a number that reveals the draws",
        place="enclave.door:_marked",
        old="missing = size - int(np.count_nonzero(taken))",
        new="missing = 0",
        tests=(f"{ROWS}::test_an_index_that_comes_twice_is_drawn_again_and_the_first_different_ones_count",),
    ),
    Mutation(
        name="filler: implausible rows",
        breaks="filler rows break the rules",
        place="data.plausibility:Plausibility.drawn_from",
        old="mask.forbidden[present]",
        new="~mask.forbidden[present]",
        tests=(f"{ROWS}::test_filler_rows_are_plausible_public_and_a_prefix_of_one_sequence",),
    ),
    Mutation(
        name="filler: filler depends on the missing number",
        breaks="one excluded row changes all filler rows",
        place="data.plausibility:FillerRows.first",
        old="np.arange(size)",
        new="np.arange(size) * 0 + size",
        tests=(f"{ENUMERATED}::test_the_tables_of_neighbouring_files_follow_the_theorem",),
    ),
    Mutation(
        name="door: the kept rows print their number",
        breaks="a log or a traceback shows an exact count",
        place="enclave.door:Door.__repr__",
        old='f"{type(self).__name__}(columns={self.layout.columns})"',
        new='f"{type(self).__name__}(n={self.__counts.total}, columns={self.layout.columns})"',
        tests=(f"{READ}::test_rows_that_break_a_raw_rule_are_left_out_and_nothing_keeps_their_number",),
    ),
    # --- Reading
    Mutation(
        name="reading: a file without kept rows is refused",
        breaks="the exit code reveals that no row is plausible",
        place="enclave.ingest:_read",
        old="not counted.n_rows",
        new="not raw.filter(counted.cells).total",
        tests=(f"{READ}::test_a_private_file_without_a_plausible_row_is_read_like_any_other",),
    ),
    Mutation(
        name="message: the row that does not fit is named",
        breaks="the place of a value is shown",
        place="enclave.ingest:_read",
        old=(
            "if counted.problems:\n"
            "    found_in = [messages[misfit] for misfit in sorted(counted.problems)]\n"
            "    raise InputError('\\n  '.join(['The file does not fit the specification.', *found_in]) + "
            "f'\\n{ADVICE}')"
        ),
        new=(
            "if counted.problems:\n"
            "    raise InputError(f'row {counted.n_rows} does not fit.')\n"
            "if counted.problems:\n"
            "    found_in = [messages[misfit] for misfit in sorted(counted.problems)]\n"
            "    raise InputError('\\n  '.join(['The file does not fit the specification.', *found_in]) + "
            "f'\\n{ADVICE}')"
        ),
        tests=(f"{READ}::test_what_does_not_fit_is_told_for_all_columns_without_rows_or_numbers_of_rows",),
    ),
    Mutation(
        name="message: the reading stops at the first column that does not fit",
        breaks="the message depends on the order of the rows",
        place="enclave.ingest:_read",
        old="sorted(counted.problems)",
        new="sorted(counted.problems)[:1]",
        tests=(f"{READ}::test_what_does_not_fit_is_told_for_all_columns_without_rows_or_numbers_of_rows",),
    ),
    # --- The specification
    Mutation(
        name="rows: nothing is counted although missing values are dropped",
        breaks="the exact number of complete rows is published",
        place="spec.record:rows_rule",
        old='"drop" in (column.missing, column.outside)',
        new='"drop" == column.outside',
        tests=(f"{ROWS}::test_the_specification_decides_where_the_number_comes_from",),
    ),
    Mutation(
        name="rows: nothing is counted although raw rules apply",
        breaks="the exact number of plausible rows is published",
        place="spec.record:rows_rule",
        old="not dropped and not raw.masks and not several",
        new="not dropped and not several",
        tests=(f"{ROWS}::test_the_specification_decides_where_the_number_comes_from",),
    ),
    Mutation(
        name="rows: the charge of the count is missing in the plan",
        breaks="nobody learns of an epsilon",
        place="spec.release_spec:ReleaseSpec._charges",
        old="[self.rows.charge] if self.rows.charge else []",
        new="[]",
        tests=(f"{ROWS}::test_what_a_row_does_to_the_published_number_is_paid_for",),
    ),
    Mutation(
        name="domain: the digest ignores the treatment of missing values",
        breaks="two exact releases reveal the number of missing values",
        place="spec.record:domain_digest",
        old="[column.name, column.source, column.part, column.kind, column.bounds, _texts_of(column), "
        "column.missing, column.outside]",
        new="[column.name, column.source, column.part, column.kind, column.bounds, _texts_of(column), column.outside]",
        tests=(f"{ROWS}::test_the_domain_of_an_exact_release_is_what_decides_which_rows_are_kept",),
    ),
    Mutation(
        name="domain: the digest ignores the category of a text",
        breaks="a rule about a category keeps other rows, and the domain looks the same",
        place="spec.record:_texts_of",
        old="(text, column.atoms.labels[index])",
        new="(text, text)",
        tests=(f"{ROWS}::test_the_domain_of_an_exact_release_is_what_decides_which_rows_are_kept",),
    ),
    Mutation(
        name="reading: an empty line in a file of one column is skipped",
        breaks="one missing value changes the published number of rows",
        place="enclave.csv:csv_batches",
        old="(record or [''] for record in reader) if len(header) == 1 else filter(None, reader)",
        new="filter(None, reader)",
        tests=(READ,),
    ),
    Mutation(
        name="domain: the digest ignores the raw rules",
        breaks="two exact releases reveal how many rows break a rule",
        place="spec.record:domain_digest",
        old="[sorted(read, key=str), sorted(release.input.missing_values), raw]",
        new="[sorted(read, key=str), sorted(release.input.missing_values)]",
        tests=(f"{ROWS}::test_the_domain_of_an_exact_release_is_what_decides_which_rows_are_kept",),
    ),
    # --- What is said, and checked again
    Mutation(
        name="verify: any margin passes",
        breaks="the card misstates how often public rows are added",
        place="published.verify.charges:_domain_problems",
        old="(domain.margin, domain.shortfall) != (margin, shortfall)",
        new="domain.shortfall != shortfall",
        tests=(FORGED,),
    ),
    Mutation(
        name="verify: the promise to a person is not computed again",
        breaks="the card promises a person too much",
        place="published.verify.charges:_guarantee_problems",
        old="person.records < 1 or follows != promised",
        new="person.records < 1",
        tests=(FORGED,),
    ),
    Mutation(
        name="verify: a number without a charge passes",
        breaks="a count has no charge",
        place="published.verify.charges:_domain_problems",
        old='(charged is not None) != (domain.way == "counted")',
        new="False",
        tests=(FORGED,),
    ),
    Mutation(
        name="invariants: who is not covered is left out",
        breaks="people without a complete row believe that they are protected",
        place="privacy.charges:invariants",
        old='(f"the number of kept rows, n = {n}", schema, f"which rows are kept: {NOT_COVERED}")',
        new='(f"the number of kept rows, n = {n}", schema)',
        tests=(f"{TEXTS}::test_who_is_not_covered_is_said_just_where_the_number_is_exact",),
    ),
    Mutation(
        name="group: delta grows by the number of records alone",
        breaks="a person with several records is promised too much",
        place="privacy.plan:loss_of_group",
        old="records * exp_up(exponent)",
        new="records",
        tests=(f"{TEXTS}::test_the_loss_of_a_group_is_that_of_steps_from_file_to_file",),
    ),
    Mutation(
        name="card: the probability of a right guess is rounded down",
        breaks="an adversary is right more often than the card says",
        place="bundle.card.numbers:right_at_most",
        old='f"{float(100 * (1 - (Fraction(wrong) // unit) * unit)):.{digits - 2}f}%"',
        new='f"{float(100 * (1 - (-(-Fraction(wrong) // unit)) * unit)):.{digits - 2}f}%"',
        tests=(f"{TEXTS}::test_a_right_guess_is_as_likely_as_the_best_test_between_two_files_allows",),
    ),
    Mutation(
        name="card: a right guess about a whole person is that about one record",
        breaks="an adversary is right about a person with several records more often than stated",
        place="bundle.card.sections:right_guess",
        old="document.guarantee.person if whole_person else document.guarantee",
        new="document.guarantee",
        tests=(f"{TEXTS}::test_a_right_guess_is_as_likely_as_the_best_test_between_two_files_allows",),
    ),
    Mutation(
        name="card: excluded rows with missing values are not mentioned",
        breaks="the domain of the guarantee is unclear",
        place="bundle.card.sections:left_out_text",
        old='missing["drop"]',
        new="[]",
        tests=(f"{TEXTS}::test_every_policy_names_its_columns",),
    ),
)
