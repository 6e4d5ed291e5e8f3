"""Mutations of release.json: what it loses on the way through the document model, and what the two readings let through."""

from __future__ import annotations

from tests.mutations.machinery import Mutation

DOCUMENT = "tests/published/test_document.py"
CHARGES = f"{DOCUMENT}::test_a_charge_is_the_same_after_the_way_through_the_document"
GUARANTEES = f"{DOCUMENT}::test_a_guarantee_is_the_same_after_the_way_through_the_document"

OF_DOCUMENTS = (
    Mutation(
        name="document: verify leaves out what it does not know",
        breaks="something stands in release.json that nobody checked",
        place="published.document:read_strictly",
        old='_read(content, "forbid")',
        new='_read(content, "ignore")',
        tests=(f"{DOCUMENT}::test_strictly_every_single_field_has_to_be_known",),
    ),
    Mutation(
        name="document: any format is read",
        breaks="a document is read by rules that are not its own",
        place="published.document:_read",
        old="head.format not in FORMATS",
        new="head.format < min(FORMATS)",
        tests=(f"{DOCUMENT}::test_another_number_is_refused_with_the_version_that_reads_it",),
    ),
    Mutation(
        name="document: a person is promised what a record is",
        breaks="who stands in several records is promised too much",
        place="published.costs:GuaranteePart.guarantee",
        old="records_per_person=self.person.records",
        new="records_per_person=1",
        tests=(GUARANTEES,),
    ),
    Mutation(
        name="document: a loaded guarantee has no delta",
        breaks="the guarantee that a reader sees is better than the one that holds",
        place="published.costs:GuaranteePart.guarantee",
        old="delta=Fraction(self.delta_exact)",
        new="delta=Fraction(0)",
        tests=(GUARANTEES,),
    ),
    Mutation(
        name="document: epsilon is shown rounded to the nearest",
        breaks="the number that is shown understates epsilon",
        place="published.parts:upwards",
        old="float(decimal_text(value))",
        new="round(float(value), 10)",
        tests=(CHARGES,),
    ),
    Mutation(
        name="document: a curve loses a coefficient",
        breaks="verify adds up less than was spent",
        place="published.costs:CurvePart.curve",
        old="log_mean=Fraction(self.log_mean)",
        new="log_mean=Fraction(0)",
        tests=(CHARGES,),
    ),
    Mutation(
        name="bounds: rules for synthetic rows empty cells of the original",
        breaks="a bound that is narrower than the truth allows",
        place="bounds.knowledge:Knowledge.__init__",
        old='tuple(rule.never for rule in release.rules if "raw" in rule.applies_to)',
        new="tuple(rule.never for rule in release.rules)",
        tests=("tests/bounds/test_bounds.py::test_rules_for_original_rows_empty_cells_and_those_for_synthetic_rows_do_not",),
    ),
)
