"""Mutations of sequential synthesis and data-augmented imputation, and of the figures by which copies are judged."""

from __future__ import annotations

from tests.mutations.machinery import Mutation

SEQUENTIAL = "tests/studio/baselines/test_sequential.py"
AUGMENTED = "tests/studio/baselines/test_data_augmented.py"
RISK, COMBINING = "tests/studio/rehearsal/test_risk.py", "tests/studio/rehearsal/test_combining.py"
COMPARED, UTILITY = "tests/studio/rehearsal/test_compared.py", "tests/studio/rehearsal/test_utility.py"
LAW = f"{AUGMENTED}::test_the_law_of_a_drawn_value_is_the_exact_one"

OF_COPIES = (
    # --- Tables and regressions
    Mutation(
        name="sequential tables: no prior",
        breaks="a bin that is empty in a group is never drawn",
        place="studio.baselines.base:ConditionalTable.draw",
        old="totals[groups] + prior * n_bins",
        new="totals[groups]",
        tests=(f"{SEQUENTIAL}::test_values_are_drawn_from_smoothed_counts",),
    ),
    Mutation(
        name="sequential tables: groups of a single record",
        breaks="rows of single persons are drawn again",
        place="studio.baselines.base:ConditionalTable.of",
        old="sizes_of_groups >= least",
        new="sizes_of_groups >= 1",
        tests=(f"{SEQUENTIAL}::test_groups_are_those_of_a_search",),
    ),
    Mutation(
        name="sequential tables: as few rows in a group as for two bins",
        breaks="the prior outweighs the rows",
        place="studio.baselines.base:least_rows",
        old="round(ROWS_PER_PRIOR * prior * size)",
        new="LEAST_ROWS",
        tests=(f"{SEQUENTIAL}::test_a_group_has_ten_rows_for_each_that_the_prior_weighs",),
    ),
    Mutation(
        name="sequential tables: rules are ignored",
        breaks="rows are impossible in a release",
        place="studio.baselines.sequential:_drawn",
        old="plausibility.filter(Counts.of(table.layout, rows))",
        new="Counts.of(table.layout, rows)",
        tests=(f"{SEQUENTIAL}::test_saturated_tables_keep_ties_and_rules",),
    ),
    # --- DA-MI
    Mutation(
        name="DA-MI: Z of another record",
        breaks="the association of the columns is lost",
        place="studio.baselines.data_augmented:DataAugmented._draw",
        old="step.table.groups([drawn[z][rows] for z in step.predictors], len(rows))",
        new="step.table.groups([drawn[z][rows[::-1]] for z in step.predictors], len(rows))",
        tests=(LAW,),
    ),
    Mutation(
        name="DA-MI: the mask of the wrong way round",
        breaks="W gets the wrong weight",
        place="studio.baselines.base:MatrixMask.likelihood",
        old="self.pi[copy]",
        new="self.pi.T[copy]",
        tests=(LAW,),
    ),
    Mutation(
        name="DA-MI: one mask for all groups of risk",
        breaks="persons at high risk are masked as little as others",
        place="studio.baselines.data_augmented:DataAugmented.masked",
        old="rows = self._groups == group",
        new="rows = self._groups >= group * 0",
        tests=(f"{AUGMENTED}::test_rules_are_kept_and_groups_of_risk_have_their_own_mask",),
    ),
    Mutation(
        name="DA-MI: a mask whose columns do not sum to 1",
        breaks="probabilities do not sum to 1",
        place="studio.baselines.base:MatrixMask.__post_init__",
        old="np.allclose(pi.sum(axis=0), 1, rtol=0, atol=1e-9)",
        new="True",
        tests=(f"{AUGMENTED}::test_a_matrix_whose_columns_are_no_laws_is_refused",),
    ),
    Mutation(
        name="DA-MI: several masks count as one mask",
        breaks="the local epsilon of several copies is understated",
        place="studio.baselines.base:MatrixMask.local_epsilon",
        old="masks * math.log(worst)",
        new="math.log(worst)",
        tests=(f"{AUGMENTED}::test_the_local_epsilon_is_the_worst_ratio_over_masked_and_drawn_values",),
    ),
    # --- Risk, intervals, combining rules
    Mutation(
        name="risk: a person hides behind himself",
        breaks="persons at high risk count as medium risk",
        place="studio.rehearsal.risk:risk_groups",
        old="matching(public, public.counts, categorical) - 1",
        new="matching(public, public.counts, categorical)",
        tests=(f"{RISK}::test_groups_of_risk_are_those_of_a_search_over_pairs",),
    ),
    Mutation(
        name="risk: high and medium are exchanged",
        breaks="the group at high risk is called safe",
        place="studio.rehearsal.risk:risk_groups",
        old="np.where(alike >= least_others, 1, 2)",
        new="np.where(alike >= least_others, 2, 1)",
        tests=(f"{RISK}::test_groups_of_risk_are_those_of_a_search_over_pairs",),
    ),
    Mutation(
        name="risk: cells count and not persons",
        breaks="the mean risk counts cells instead of persons",
        place="studio.rehearsal.risk:group_risks",
        old="float(persons[inside] @ risks[inside]) / size",
        new="float(risks[inside].mean())",
        tests=(f"{RISK}::test_a_cell_counts_as_often_as_it_has_persons",),
    ),
    Mutation(
        name="overlap: disjoint intervals overlap by 0",
        breaks="a distance of any size is no worse than touching",
        place="studio.rehearsal.utility:interval_overlap",
        old="np.minimum(original.upper, synthetic.upper) - np.maximum(original.lower, synthetic.lower)",
        new="np.maximum(0, np.minimum(original.upper, synthetic.upper) - np.maximum(original.lower, synthetic.lower))",
        tests=(COMBINING,),
    ),
    Mutation(
        name="standardised difference: of the synthetic standard error",
        breaks="a noisy copy looks more similar",
        place="studio.rehearsal.utility:compare_regressions",
        old="standardised_difference(original.estimates, estimates, original.standard_errors)",
        new="standardised_difference(original.estimates, estimates, np.sqrt(np.abs(estimates)))",
        tests=(UTILITY,),
    ),
    Mutation(
        name="combining: simple copies have no original",
        breaks="intervals of fully synthetic copies are too short",
        place="studio.rehearsal.utility:Combined.total_variance",
        old="self.size_ratio + 1 / self.n_copies",
        new="1 / self.n_copies",
        tests=(f"{COMBINING}::test_the_other_rules_are_as_by_hand",),
    ),
)
