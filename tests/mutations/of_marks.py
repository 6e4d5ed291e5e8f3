"""Mutations of numbers of marks (theory 1.8, reading row by row)."""

from __future__ import annotations

from tests.mutations.machinery import Mutation

PART = "tests/spec/test_marks.py"

READ = (f"{PART}::test_a_replaced_row_is_one_replaced_row_with_its_numbers_too",)
RULES = (f"{PART}::test_the_rules_allow_just_the_rows_that_have_their_number",)
ZEROS = (f"{PART}::test_the_exact_zeros_of_a_model_are_the_rows_with_another_number",)
NOBODY = (f"{PART}::test_rows_of_nobody_have_their_number_too",)
FOUND = (f"{PART}::test_a_row_with_another_number_is_found",)
REFUSED = (f"{PART}::test_what_does_not_go_together_is_refused_at_its_place",)

OF_MARKS = (
    Mutation(
        name="numbers of marks: the marks of a batch are counted instead of a row's",
        breaks="a number depends on other rows, so one record changes many",
        place="data.counts:number_of_indicators",
        old="np.sum(marks, axis=0)",
        new="np.minimum(np.sum(marks, axis=0) + (np.sum(marks) > 9), len(counted.marks))",
        tests=READ,
    ),
    Mutation(
        name="numbers of marks: the rule excludes rows of the file",
        breaks="a count of rows is paid for without need",
        place="settings.wide:with_numbers_of_marks",
        old='applies_to=("synthetic",)',
        new='applies_to=("raw", "synthetic")',
        tests=(f"{PART}::test_a_number_is_no_column_of_the_file_and_costs_nothing",),
    ),
    Mutation(
        name="numbers of marks: a missing value may count as a mark",
        breaks="released rows have another number than their marks",
        place="settings.wide:_is_marked",
        old='f"{text} and not {column} is missing"',
        new="text",
        tests=RULES,
    ),
    Mutation(
        name="numbers of marks: filler rows have any number",
        breaks="no model can hold the measured tables",
        place="data.plausibility:Plausibility.follow",
        old="digits[counted.column] = number_of_indicators(counted, digits)",
        new="number_of_indicators(counted, digits)",
        tests=NOBODY,
    ),
    Mutation(
        name="numbers of marks: counts with different continuations are merged",
        breaks="the model lacks possible rows, or has impossible ones",
        place="generators.counters:_alike",
        old="text = rows[row].tobytes()",
        new="text = rows[row][:1].tobytes()",
        tests=ZEROS,
    ),
    Mutation(
        name="numbers of marks: verify skips the marks of one column",
        breaks="rows with a wrong number of marks pass",
        place="published.verify.options:_miscounted",
        old="group.marks.items()",
        new="list(group.marks.items())[1:]",
        tests=FOUND,
    ),
    Mutation(
        name="numbers of marks: a bin of marks and other values is accepted",
        breaks="a released column contradicts the number beside it",
        place="spec.geography:build_marks",
        old="atom not in marks and into in marked",
        new="atom not in marks and into in marked and False",
        tests=REFUSED,
    ),
    Mutation(
        name="numbers of marks: a family whose models hold no numbers is accepted",
        breaks="almost no row of a release remains",
        place="spec.geography:build_marks",
        old='not GENERATORS[str(generator["family"])].counts',
        new="False",
        tests=REFUSED,
    ),
    Mutation(
        name="indicators that a column names: two indicators share a bit",
        breaks="the column of a row names other indicators than the row has",
        place="data.schema:bins_of_sets",
        old="number >> bit & 1",
        new="number >> max(bit, 1) & 1",
        tests=(f"{PART}::test_rows_of_a_file_and_rows_of_nobody_have_the_indicators_that_a_column_names",),
    ),
    Mutation(
        name="indicators that a column names: rows may lack them",
        breaks="released rows lack indicators that their column names",
        place="settings.wide:_rules_of_sets",
        old='f"{never} or not ({condition}) and {name} in [{holding}]"',
        new="never",
        tests=(f"{PART}::test_the_rules_allow_just_the_rows_with_the_indicators_that_a_column_names",),
    ),
    Mutation(
        name="indicators that a column names: verify counts instead of comparing",
        breaks="rows with other indicators than their column names pass",
        place="published.verify.options:_miscounted",
        old="2 ** (0 if numbered else bit)",
        new="2**0",
        tests=(f"{PART}::test_a_release_that_names_indicators_is_verified_and_another_row_is_found",),
    ),
)
