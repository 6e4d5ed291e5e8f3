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
        name="areas within areas: rounds share measurements that were divided in another way",
        breaks="noise of another scale than the release states",
        place="generators.nested:NestedGenerator.same_measurements",
        old="(self.chain, self.wanted) == (other.chain, other.wanted)",
        new="self.chain == other.chain",
        tests=(f"{NESTED}::test_rounds_share_measurements_only_when_they_are_divided_alike",),
    ),
    Mutation(
        name="areas within areas: Laplace noise is divided as Gaussian noise is",
        breaks="a division that is not the one with the least error over what is wanted",
        place="generators.measurements:power_of",
        old="2 / 3",
        new="1.0",
        tests=(f"{NESTED}::test_no_other_division_has_less_of_what_is_wanted", NOISE),
    ),
    Mutation(
        name="areas within areas: the plan leaves out what the level below tells",
        breaks="a plan that says that areas are further off than they are",
        place="generators.measurements:area_noise",
        old="below * areas / of_below",
        new="0.0 * below * areas / of_below",
        tests=(NOISE,),
    ),
    Mutation(
        name="areas within areas: sums over areas are weighed as if each were one count",
        breaks="figures of a level that follow the noise of the level below",
        place="generators.nested_model:lifted",
        old="np.add.at(variance, home, table.variance)",
        new="variance += table.variance[0]",
        tests=TREE,
    ),
    Mutation(
        name="areas within areas: what sums are off is not shared out by variances",
        breaks="areas that do not add up to the area they lie in, or are no least squares",
        place="generators.nested_model:placed",
        old="parts * (sums - values.sum(axis=0))",
        new="(sums - values.sum(axis=0)) / len(values)",
        tests=TREE,
    ),
    Mutation(
        name="areas within areas: an area that may lie in two lies in the first",
        breaks="rows of an area in a region that it is not in",
        place="data.plausibility:Plausibility.home_of",
        old="(possible.sum(axis=0) != 1).any()",
        new="(possible.sum(axis=0) < 1).any()",
        tests=(f"{NESTED}::test_which_area_lies_in_which_is_what_the_rules_say_also_over_three_levels",),
    ),
    Mutation(
        name="areas within areas: what is rounded is not carried on",
        breaks="areas with a number of rows that is off by the rounding of every combination",
        place="generators.nested_model:divided_rows",
        old="owed += column",
        new="owed[open_to] += given",
        tests=(f"{NESTED}::test_what_is_rounded_is_carried_on_so_that_an_area_has_its_number_of_rows",),
    ),
    Mutation(
        name="areas within areas: the rule leaves rows of the file out",
        breaks="a number of rows that is counted and paid for without need",
        place="settings.wide:_tied",
        old='("synthetic",)',
        new='("raw", "synthetic")',
        tests=(f"{PART}::test_each_level_is_a_column_that_the_town_decides",),
    ),
    Mutation(
        name="areas within areas: verify does not add areas up",
        breaks="rows of a region that are not those of its municipalities pass",
        place="published.verify.options:_geography_problems",
        old="summed != counts.marginal([index])",
        new="summed != summed",
        tests=MOVED,
        core=True,
    ),
    Mutation(
        name="areas within areas: verify takes levels that cross",
        breaks="a card that says that areas lie in one another which do not",
        place="published.verify.options:_geography_problems",
        old="len(np.unique(np.stack([upper, lower]), axis=1).T) != len(np.unique(lower))",
        new="len(np.unique(upper)) > len(upper)",
        tests=MOVED,
    ),
)
