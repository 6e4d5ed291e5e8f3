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
        name="numbers of marks: the batch, and not the row, is counted",
        breaks="a number that depends on other rows, so that one record moves many",
        place="data.counts:number_of_indicators",
        old="np.sum(marks, axis=0)",
        new="np.minimum(np.sum(marks, axis=0) + (np.sum(marks) > 9), len(counted.marks))",
        tests=READ,
    ),
    Mutation(
        name="numbers of marks: the rule leaves rows of the file out",
        breaks="a number of rows that is counted and paid for without need",
        place="settings.wide:with_numbers_of_marks",
        old='applies_to=("synthetic",)',
        new='applies_to=("raw", "synthetic")',
        tests=(f"{PART}::test_a_number_is_no_column_of_the_file_and_costs_nothing",),
    ),
    Mutation(
        name="numbers of marks: a missing value may be a mark",
        breaks="released rows with another number than that of their marks",
        place="settings.wide:_is_marked",
        old='f"{text} and not {column} is missing"',
        new="text",
        tests=RULES,
    ),
    Mutation(
        name="numbers of marks: rows that fill a table up have any number",
        breaks="measured tables that no model can hold",
        place="data.plausibility:Plausibility.follow",
        old="digits[counted.column] = number_of_indicators(counted, digits)",
        new="number_of_indicators(counted, digits)",
        tests=NOBODY,
    ),
    Mutation(
        name="numbers of marks: counts that differ in what follows are one",
        breaks="models without rows that are possible, or with rows that are not",
        place="generators.counters:_alike",
        old="text = rows[row].tobytes()",
        new="text = rows[row][:1].tobytes()",
        tests=ZEROS,
    ),
    Mutation(
        name="numbers of marks: verify counts the marks of one column less",
        breaks="rows with another number of marks than they say pass",
        place="published.verify.options:_miscounted",
        old="group.marks.items()",
        new="list(group.marks.items())[1:]",
        tests=FOUND,
    ),
    Mutation(
        name="numbers of marks: a bin of marks and of others is drawn",
        breaks="a released column that does not tell the number that stands beside it",
        place="spec.geography:build_marks",
        old="atom not in marks and into in marked",
        new="atom not in marks and into in marked and False",
        tests=REFUSED,
    ),
    Mutation(
        name="numbers of marks: a family whose models hold no numbers is drawn",
        breaks="releases of which next to no row is left",
        place="spec.geography:build_marks",
        old='not GENERATORS[str(generator["family"])].counts',
        new="False",
        tests=REFUSED,
    ),
    Mutation(
        name="indicators that a column names: two share a bit",
        breaks="rows whose column names other indicators than they have",
        place="data.schema:bins_of_sets",
        old="number >> bit & 1",
        new="number >> max(bit, 1) & 1",
        tests=(f"{PART}::test_rows_of_a_file_and_rows_of_nobody_have_the_indicators_that_a_column_names",),
    ),
    Mutation(
        name="indicators that a column names: rows need not have them",
        breaks="released rows without indicators that their column names",
        place="settings.wide:_rules_of_sets",
        old='f"{never} or not ({condition}) and {name} in [{holding}]"',
        new="never",
        tests=(f"{PART}::test_the_rules_allow_just_the_rows_with_the_indicators_that_a_column_names",),
    ),
    Mutation(
        name="indicators that a column names: verify counts them",
        breaks="rows whose column names other indicators pass",
        place="published.verify.options:_miscounted",
        old="2 ** (0 if numbered else bit)",
        new="2**0",
        tests=(f"{PART}::test_a_release_that_names_indicators_is_verified_and_another_row_is_found",),
    ),
)
