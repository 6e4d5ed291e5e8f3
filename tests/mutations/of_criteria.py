"""Mutations of the criteria of medians, shares, typical tables and logistic steps, and of records that lack a value."""

from __future__ import annotations

from tests.mutations.machinery import Mutation

NEIGHBOURS = "tests/criteria/test_sensitivity.py::test_no_neighbour_moves_a_figure_by_more_than_its_sensitivity"
MOMENTS = "tests/criteria/test_sensitivity.py::test_moments_of_records_that_may_lack_a_column"
GROUPED = "tests/criteria/test_medians_and_shares.py"
DISTRIBUTIONS = "tests/criteria/test_kolmogorov_distance.py"
FACTS = "tests/criteria/test_public_facts.py"
LOGISTIC = "tests/criteria/test_logistic_regression.py"
NAMED = "tests/criteria/test_tables_by_name.py"
FAITHFUL = "tests/criteria/test_faithfulness.py"
VALUES = "tests/criteria/test_values.py"

OF_CRITERIA = (
    # --- Typical tables
    Mutation(
        name="mean of tables: tables are summed instead of averaged",
        breaks="a record changes the value once for every table",
        place="criteria.marginals_mechanism:mean_distance",
        old="2 * rows * tables",
        new="2 * rows",
        tests=(f"{NEIGHBOURS}[mean_marginal_error: mean of tables, 2 x 3]",),
    ),
    Mutation(
        name="quantile of tables: the quantile is one table too low",
        breaks="fewer tables are within the limit than stated",
        place="criteria.marginals:QuantileMarginalError.query",
        old="math.ceil(Fraction(str(self.quantile)) * self.n_tables(layout)) - 1",
        new="max(0, math.ceil(Fraction(str(self.quantile)) * self.n_tables(layout)) - 2)",
        tests=(f"{NEIGHBOURS}[quantile_marginal_error: quantile 0.5 of tables, 2 x 3]",),
    ),
    Mutation(
        name="tables by name: they are skipped",
        breaks="an agreed table is not compared",
        place="criteria.columns:MarginalCriterion.compared_in",
        old="self.named(layout)",
        new="()",
        tests=(f"{NEIGHBOURS}[absolute_marginal_error: absolute, 2 x 3, named tables]",),
    ),
    Mutation(
        name="tables by name: bounds treat them as all tables of their width",
        breaks="a bound is wrong",
        place="criteria.facts:CellError.holds_for",
        old="frozenset(columns) in self.tables",
        new="len(columns) in map(len, self.tables)",
        tests=(f"{NAMED}::test_bounds_take_the_named_tables_and_no_others",),
    ),
    # --- Medians
    Mutation(
        name="medians: rows above the window are ignored",
        breaks="a median that is too high passes",
        place="criteria.groupings_mechanism:Windows.excess",
        old="np.maximum(under * below - over * rows, under * above - (under - over) * rows)",
        new="under * below - over * rows",
        tests=(GROUPED,),
    ),
    Mutation(
        name="medians: the window is that of the private table",
        breaks="the window changes with a record",
        place="criteria.groupings_mechanism:Windows.excess",
        old="self.middle[np.maximum(groups, 0)]",
        new='__import__("synthrelease.criteria.groups", fromlist=["groups"]).quantile_bins('
        "counts, self.present, self.q)[np.maximum(groups, 0)]",
        tests=(GROUPED,),
    ),
    Mutation(
        name="medians: missing values count as the highest",
        breaks="the value includes rows without a value",
        place="criteria.groupings_mechanism:Windows.excess",
        old="bins < self.present",
        new="bins <= self.present",
        tests=(f"{NEIGHBOURS}[conditional_median: median of b, with missing values, 2 x 2]",),
    ),
    # --- Shares
    Mutation(
        name="proportions: the private group has its own share",
        breaks="a group of one record changes the share completely",
        place="criteria.groupings_mechanism:excess_of_shares",
        old="hits * ours - our_hits * rows",
        new="(hits * ours - our_hits * rows) * ours // np.maximum(rows, 1)",
        tests=(f"{NEIGHBOURS}[difference_in_proportions: proportion of b by a, 2 x 3]",),
    ),
    Mutation(
        name="groups: rows without a group count in the first group",
        breaks="rows without a value are counted",
        place="criteria.groupings:groupings",
        old="np.where(present(binning), binning.map_to(coarser), -1)",
        new="np.where(present(binning), binning.map_to(coarser), 0)",
        tests=(f"{NEIGHBOURS}[difference_in_proportions: proportion of b by a, with missing values, 2 x 2]",),
    ),
    # --- Distributions
    Mutation(
        name="Kolmogorov distance: missing values count as the highest",
        breaks="the value includes rows without a value",
        place="criteria.groupings_mechanism:SharesOfGroups.of",
        old="rows[:, : self.present]",
        new="rows",
        tests=(f"{NEIGHBOURS}[kolmogorov_distance: distribution of b, with missing values, 2 x 2]",),
    ),
    Mutation(
        name="Kolmogorov distance: only the share below the last bin is compared",
        breaks="a wrong distribution passes",
        place="criteria.groupings_mechanism:SharesOfGroups.errors",
        old="np.abs(excess)",
        new="np.abs(excess[:, -1:])",
        tests=(DISTRIBUTIONS,),
    ),
    Mutation(
        name="shares in groups: bounds use half of the error",
        breaks="some original table lies outside the bound",
        place="criteria.shares:SharesInGroupsExplained.known_error",
        old="(limit * most,)",
        new="(limit * most / 2,)",
        tests=(f"{FACTS}::test_sums_that_a_figure_bounds_are_within_it_for_every_original_table",),
    ),
    # --- Logistic steps
    Mutation(
        name="logistic step: a table without a fit gets a score",
        breaks="a value without meaning is accepted",
        place="criteria.logistic_regression:_fit",
        old="not np.linalg.eigvalsh(information)[0] > _SINGULAR",
        new="False",
        tests=(f"{LOGISTIC}::test_a_candidate_that_determines_no_fit_fails_and_is_paid_for",),
    ),
    # --- Records that lack a value
    Mutation(
        name="conditional mean: rows without a value count in the size of a group",
        breaks="a group is resized beyond its rows",
        place="criteria.groupings_mechanism:sums_of_rows",
        old="np.isfinite(numbers)[bins]",
        new="np.ones(len(bins), dtype=bool)",
        tests=(f"{NEIGHBOURS}[conditional_mean: mean of b, with missing values, 2 x 2]",),
    ),
    Mutation(
        name="functional mechanism: the number of complete records has no noise",
        breaks="the regression uses the wrong number of records",
        place="criteria.regressions:RegressionCoefficients.design",
        old="counted=counted",
        new="counted=False",
        tests=(MOMENTS,),
    ),
    Mutation(
        name="one step: the divisor is all rows instead of complete rows",
        breaks="value and sensitivity differ from their description",
        place="criteria.regressions:_Step.of",
        old="rows=max(1, released.rows)",
        new="rows=max(1, released.rows + 1)",
        tests=(f"{NEIGHBOURS}[regression_one_step: one step, with missing values, 2 x 2]",),
    ),
    Mutation(
        name="faithfulness: a missing value is near the highest bin",
        breaks="rows with a missing value are paired with others",
        place="criteria.faithfulness:similar_to_next",
        old="np.arange(n_bins) < present - 1",
        new="np.arange(n_bins) < n_bins - 1",
        tests=(f"{FAITHFUL}::test_rows_are_paired_by_the_columns_that_are_not_ignored",),
    ),
    Mutation(
        name="faithfulness: ignored columns are compared",
        breaks="similar rows are not paired",
        place="criteria.faithfulness:Faithfulness.compared",
        old="name not in self.ignored",
        new="name",
        tests=(f"{FAITHFUL}::test_rows_are_paired_by_the_columns_that_are_not_ignored",),
    ),
    Mutation(
        name="bounds: pairs are assumed to agree in ignored columns",
        breaks="a bound is wrong",
        place="answers.facts:_Builder.add_unmatched",
        old="over(inside, axis=ignored, keepdims=True)",
        new="over(inside, axis=(), keepdims=True)",
        tests=("tests/answers/test_bounds.py",),
    ),
    # --- Rare combinations
    Mutation(
        name="face privacy: only the first columns are checked",
        breaks="a rare combination of other columns passes",
        place="criteria.face_privacy:RareRows._rare_parts",
        old="len(columns) == width",
        new="columns == tuple(range(width))",
        tests=(f"{VALUES}::test_rare_combinations_are_counted_over_every_choice_of_columns",),
    ),
)
