"""Mutations of release.json: what it loses on the way through the document model, and what the two readings let through."""

from __future__ import annotations

from tests.mutations.machinery import Mutation

DOCUMENT = "tests/published/test_document.py"
SERIES = "tests/published/test_series.py"
STATISTICAL = "tests/bundle/test_formats.py"
CHARGES = f"{DOCUMENT}::test_a_charge_is_the_same_after_the_way_through_the_document"
GUARANTEES = f"{DOCUMENT}::test_a_guarantee_is_the_same_after_the_way_through_the_document"

OF_DOCUMENTS = (
    Mutation(
        name="document: verify ignores unknown fields",
        breaks="release.json contains fields that nobody checked",
        place="published.document:read_strictly",
        old='_read(content, "forbid")',
        new='_read(content, "ignore")',
        tests=(f"{DOCUMENT}::test_strictly_every_single_field_has_to_be_known",),
    ),
    Mutation(
        name="document: any format is read",
        breaks="a document is read by the rules of another format",
        place="published.base:check_format",
        old="head.format not in reads",
        new="head.format < min(reads)",
        tests=(f"{DOCUMENT}::test_another_number_is_refused_with_the_version_that_reads_it",),
    ),
    Mutation(
        name="document: a person gets the promise of a record",
        breaks="a person with several records is promised too much",
        place="published.charges:GuaranteePart.guarantee",
        old="records_per_person=person.records",
        new="records_per_person=1",
        tests=(GUARANTEES,),
    ),
    Mutation(
        name="document: a loaded guarantee has no delta",
        breaks="readers see a better guarantee than the true one",
        place="published.charges:GuaranteePart.guarantee",
        old="self.value_of(Guarantee, unit_name=person.unit, records_per_person=person.records, why=person.why)",
        new="self.value_of(Guarantee, delta=Fraction(0), unit_name=person.unit, records_per_person=person.records)",
        tests=(GUARANTEES,),
    ),
    Mutation(
        name="document: epsilon is shown rounded to the nearest",
        breaks="the shown epsilon is too small",
        place="published.base:upwards",
        old="float(decimal_text(value))",
        new="round(float(value), 10)",
        tests=(CHARGES,),
    ),
    Mutation(
        name="document: a curve loses a coefficient",
        breaks="verify adds up less than was spent",
        place="published.charges:CurvePart.curve",
        old="self.value_of(RenyiCurve)",
        new="self.value_of(RenyiCurve, log_mean=Fraction(0))",
        tests=(CHARGES,),
    ),
    Mutation(
        name="bounds: rules for synthetic rows exclude original cells",
        breaks="a bound is narrower than the truth allows",
        place="answers.facts:Knowledge.__init__",
        old='tuple(rule.never for rule in release.rules if "raw" in rule.applies_to)',
        new="tuple(rule.never for rule in release.rules)",
        tests=("tests/answers/test_bounds.py::test_rules_for_original_rows_empty_cells_and_those_for_synthetic_rows_do_not",),
    ),
    Mutation(
        name="series: an erratum counts as a release",
        breaks="the sum for a person is wrong",
        place="published.series:total",
        old="spent.setdefault(_origin(digest, corrected), costs)",
        new="spent.setdefault(digest, costs)",
        tests=(f"{SERIES}::test_the_sum_counts_every_release_once_whatever_errata_it_has",),
    ),
    Mutation(
        name="series: a release without a promise counts as zero",
        breaks="a sum is stated although none exists",
        place="published.series:total",
        old="return (None, None)",
        new="continue",
        tests=(f"{SERIES}::test_the_sum_counts_every_release_once_whatever_errata_it_has",),
    ),
    Mutation(
        name="series: verify does not add up",
        breaks="the stated sum does not follow from the list",
        place="published.verify.options:_series_problems",
        old="sums != (part.total_epsilon_exact, part.total_delta_exact)",
        new="False",
        tests=(f"{SERIES}::test_a_sum_that_does_not_follow_is_found_without_the_earlier_releases",),
    ),
    Mutation(
        name="series: an erratum may have any rows",
        breaks="a release that spent epsilon passes for an erratum",
        place="published.verify.options:_not_corrected",
        old="not rows.counts.same_as(table.counts)",
        new="False",
        tests=(f"{SERIES}::test_an_erratum_replaces_a_release_and_spends_nothing",),
    ),
    Mutation(
        name="publish: an erratum starts a run",
        breaks="the budget is spent again",
        place="spec.series:check_new",
        old="series.corrected is not None",
        new="False",
        tests=(f"{SERIES}::test_mistakes_in_a_series_are_said_before_anything_is_spent",),
    ),
    Mutation(
        name="commitment: thresholds are not compared",
        breaks="criteria can be fitted to the result",
        place="published.verify.stated:_of_the_run",
        old="[(criterion.name, criterion.kind, criterion.threshold, criterion.epsilon_exact) "
        "for criterion in document.criteria]",
        new="[(criterion.name, criterion.kind, criterion.threshold, criterion.epsilon_exact) for criterion in part.criteria]",
        tests=(f"{SERIES}::test_a_threshold_that_was_fitted_afterwards_is_found",),
    ),
    Mutation(
        name="formats: the Stata file states its time",
        breaks="the duration of a run reveals the number of rounds",
        place="bundle.formats:_timeless_dta",
        old="_DTA_TIME.subn(_NO_DTA_TIME, content, count=1)",
        new="(content, 1)",
        tests=(f"{STATISTICAL}::test_the_files_tell_no_time_and_are_the_same_whenever_they_are_written",),
    ),
    Mutation(
        name="formats: the SPSS file states its time",
        breaks="the duration of a run reveals the number of rounds",
        place="bundle.formats:_timeless_sav",
        old="content[: _SAV_TIME.start] + _NO_SAV_TIME + content[_SAV_TIME.stop :]",
        new="content",
        tests=(f"{STATISTICAL}::test_the_files_tell_no_time_and_are_the_same_whenever_they_are_written",),
    ),
    Mutation(
        name="formats: verify ignores the files for packages",
        breaks="an edited file passes if release.json is written anew",
        place="bundle.verify_documents:_statistical_problems",
        old="name in files and not files.holds(name, pieces)",
        new="False",
        tests=(f"{STATISTICAL}::test_an_edit_is_found_also_when_the_checksums_are_made_anew",),
    ),
)
