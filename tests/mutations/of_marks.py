"""Mutations of groups of indicators (theory 1.8, reading row by row)."""

from __future__ import annotations

from tests.mutations.machinery import Mutation

PART = "tests/spec/test_marks.py"

READ = (f"{PART}::test_a_replaced_row_is_one_replaced_row_with_its_indicators_too",)
RULES = (f"{PART}::test_the_rules_allow_just_the_rows_with_the_indicators_that_a_column_names",)
NOBODY = (f"{PART}::test_rows_of_a_file_and_rows_of_nobody_have_the_indicators_that_a_column_names",)
FOUND = (f"{PART}::test_a_row_with_other_indicators_is_found",)
REFUSED = (f"{PART}::test_what_does_not_go_together_is_refused_at_its_place",)

OF_MARKS = (
    Mutation(
        name="groups of indicators: the batch, and not the row, is counted",
        breaks="a category that depends on other rows, so that one record moves many",
        place="data.counts:number_of_indicators",
        old="np.sum(marks, axis=0)",
        new="np.minimum(np.sum(marks, axis=0) + (np.sum(marks) > 9), len(counted.marks))",
        tests=READ,
    ),
    Mutation(
        name="groups of indicators: the rule leaves rows of the file out",
        breaks="a number of rows that is counted and paid for without need",
        place="settings.wide:with_indicators",
        old='applies_to=("synthetic",)',
        new='applies_to=("raw", "synthetic")',
        tests=(f"{PART}::test_a_column_of_indicators_is_no_column_of_the_file_and_costs_nothing",),
    ),
    Mutation(
        name="groups of indicators: a missing value may be a mark",
        breaks="released rows with other indicators than their column names",
        place="settings.wide:_is_marked",
        old='f"{text} and not {column} is missing"',
        new="text",
        tests=RULES,
    ),
    Mutation(
        name="groups of indicators: rows that fill a table up have any indicators",
        breaks="measured tables that no model can hold",
        place="data.plausibility:Plausibility.follow",
        old="digits[counted.column] = number_of_indicators(counted, digits)",
        new="number_of_indicators(counted, digits)",
        tests=NOBODY,
    ),
    Mutation(
        name="groups of indicators: a count that breaks the rule stays",
        breaks="models without rows that are possible, or with rows that are not",
        place="generators.counters:_without_ends",
        old="np.where(breaks, -1, np.cumsum(~breaks) - 1)[step.into]",
        new="(np.cumsum(~breaks) - 1)[step.into]",
        tests=("tests/generators/test_counters.py",),
    ),
    Mutation(
        name="groups of indicators: verify counts the marks of one column less",
        breaks="rows with other indicators than they say pass",
        place="published.verify.options:_miscounted",
        old="group.marks.items()",
        new="list(group.marks.items())[1:]",
        tests=FOUND,
    ),
    Mutation(
        name="groups of indicators: a bin that mixes marks and other values is drawn",
        breaks="a released column contradicts the indicators in the same row",
        place="spec.geography:build_marks",
        old="atom not in marks and into in marked",
        new="atom not in marks and into in marked and False",
        tests=REFUSED,
    ),
    Mutation(
        name="groups of indicators: a family whose models hold no such rules is drawn",
        breaks="releases of which next to no row is left",
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
        tests=NOBODY,
    ),
    Mutation(
        name="indicators that a column names: rows may lack them",
        breaks="released rows lack indicators that their column names",
        place="settings.wide:_rules_of_sets",
        old='f"{never} or not ({condition}) and {name} in [{holding}]"',
        new="never",
        tests=RULES,
    ),
    Mutation(
        name="indicators that a column names: verify counts instead of comparing",
        breaks="rows with other indicators than their column names pass",
        place="published.verify.options:_miscounted",
        old="has * 2**bit",
        new="has",
        tests=FOUND,
    ),
)
