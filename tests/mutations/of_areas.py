"""Mutations of areas within areas (theory 12.13, areas within areas)."""

from __future__ import annotations

from tests.mutations.machinery import Mutation

NESTED = "tests/generators/test_nested.py"
NOISE = "tests/generators/test_area_noise.py"
PART = "tests/spec/test_geography.py"

COST = (f"{NESTED}::test_tables_of_all_levels_together_cost_the_budget",)
TREE = (f"{NESTED}::test_up_and_down_the_tree_is_least_squares_of_all_areas_at_once",)
MOVED = (f"{PART}::test_a_row_in_another_region_than_its_towns_is_found",)

OF_AREAS = (
    Mutation(
        name="areas within areas: each level gets the whole budget",
        breaks="tables of several levels cost more than is charged",
        place="generators.nested:NestedGenerator.shares",
        old="{columns: weight / total for columns, weight in weights.items()}",
        new="{columns: min(Fraction(1), 2 * weight / total) for columns, weight in weights.items()}",
        tests=COST,
        core=True,
    ),
    Mutation(
        name="areas within areas: rounds share measurements with another division",
        breaks="the noise has another scale than stated",
        place="generators.nested:NestedGenerator.same_measurements",
        old="(self.chain, self.wanted) == (other.chain, other.wanted)",
        new="self.chain == other.chain",
        tests=(f"{NESTED}::test_rounds_share_measurements_only_when_they_are_divided_alike",),
    ),
    Mutation(
        name="areas within areas: Laplace noise is divided like Gaussian noise",
        breaks="the division does not minimise the stated error",
        place="generators.measurements:power_of",
        old="2 / 3",
        new="1.0",
        tests=(f"{NESTED}::test_no_other_division_has_less_of_what_is_wanted", NOISE),
    ),
    Mutation(
        name="areas within areas: the plan ignores information from the level below",
        breaks="the plan overstates the error of areas",
        place="generators.measurements:area_noise",
        old="below * areas / of_below",
        new="0.0 * below * areas / of_below",
        tests=(NOISE,),
    ),
    Mutation(
        name="areas within areas: sums over areas have the weight of single counts",
        breaks="values of a level follow the noise of the level below",
        place="generators.nested_model:lifted",
        old="np.add.at(variance, home, table.variance)",
        new="variance += table.variance[0]",
        tests=TREE,
    ),
    Mutation(
        name="areas within areas: differences of sums are not divided by variances",
        breaks="areas do not add up to their region, or are no least squares solution",
        place="generators.nested_model:placed",
        old="parts * (sums - values.sum(axis=0))",
        new="(sums - values.sum(axis=0)) / len(values)",
        tests=TREE,
    ),
    Mutation(
        name="areas within areas: an area in two regions counts in the first",
        breaks="rows of an area are in the wrong region",
        place="data.plausibility:Plausibility.home_of",
        old="(possible.sum(axis=0) != 1).any()",
        new="(possible.sum(axis=0) < 1).any()",
        tests=(f"{NESTED}::test_which_area_lies_in_which_is_what_the_rules_say_also_over_three_levels",),
    ),
    Mutation(
        name="areas within areas: rounding errors are not carried on",
        breaks="the rows of an area are wrong by every rounding of a combination",
        place="generators.nested_model:divided_rows",
        old="owed += column",
        new="owed[open_to] += given",
        tests=(f"{NESTED}::test_what_is_rounded_is_carried_on_so_that_an_area_has_its_number_of_rows",),
    ),
    Mutation(
        name="areas within areas: the rule excludes rows of the file",
        breaks="a count of rows is paid for without need",
        place="settings.wide:_tied",
        old='("synthetic",)',
        new='("raw", "synthetic")',
        tests=(f"{PART}::test_each_level_is_a_column_that_the_town_decides",),
    ),
    Mutation(
        name="areas within areas: verify does not add areas up",
        breaks="a region that differs from the sum of its municipalities passes",
        place="published.verify.options:_geography_problems",
        old="summed != counts.marginal([index])",
        new="summed != summed",
        tests=MOVED,
        core=True,
    ),
    Mutation(
        name="areas within areas: verify accepts levels that cross",
        breaks="the card claims a hierarchy that does not exist",
        place="published.verify.options:_geography_problems",
        old="len(np.unique(np.stack([upper, lower]), axis=1).T) != len(np.unique(lower))",
        new="len(np.unique(upper)) > len(upper)",
        tests=MOVED,
    ),
)
