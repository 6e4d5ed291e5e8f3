"""Mutations of figures about the rows' own values (theory 3.21, records of a cell of bins; 12.12, scored sums)."""

from __future__ import annotations

from tests.mutations.machinery import Mutation

OWN, SUMS = "tests/criteria/test_own_values.py", "tests/generators/test_own_sums.py"
MOVES = f"{OWN}::test_no_own_value_moves_a_figure_by_more_than_its_sensitivity"
OWN_VALUE = "data.schema:OwnValue.of"
VALUED = "np.where(np.isfinite(numbers), numbers, self.centre)"

OF_OWN_VALUES = (
    Mutation(
        name="own values: a mean takes the numbers of bins for them",
        breaks="the mean of the file that is stated is that of bin numbers",
        place="criteria.groupings_mechanism:RowsOfGroups.of_original",
        old="self._clipped(atoms.known_numbers)",
        new="self._clipped(self.transformation.numbers(self.column)[list(self.transformation.binning(self.column).of_atom)])",
        tests=(f"{OWN}::test_a_mean_is_that_of_the_rows_against_the_numbers_of_the_released_bins",),
    ),
    Mutation(
        name="own values: the sensitivity of a step is that of the numbers of bins",
        breaks="a record at the end of an open bin moves the figure by more than is paid for",
        place="criteria.records:RegressionColumns._limits",
        old="name not in self.own",
        new="True",
        tests=(f"{MOVES}[step]",),
    ),
    Mutation(
        name="own values: an interval keeps its lower end alone",
        breaks="less noise than the furthest record needs",
        place="criteria.records:Interval.furthest",
        old="np.maximum(np.abs(self.low), np.abs(self.high))",
        new="np.abs(self.low)",
        tests=(f"{OWN}::test_limits_of_a_cell_hold_every_record_of_it",),
        core=True,
    ),
    Mutation(
        name="own values: the largest moments are those of the lowest values",
        breaks="a line with noise for half of its records",
        place="criteria.functional:Design.largest_moments",
        old="residual.furthest",
        new="np.abs(residual.low)",
        tests=(f"{OWN}::test_moments_of_own_values_move_by_no_more_than_their_sensitivity", OWN),
    ),
    Mutation(
        name="own values: gaps of errors are those between the lowest predictions",
        breaks="half the noise that a record within a bin needs",
        place="criteria.regressions:_gaps",
        old="np.minimum(gap.high, most).ravel()",
        new="np.minimum(gap.low, most).ravel()",
        tests=(f"{MOVES}[errors]",),
    ),
    Mutation(
        name="own values: a value may count as one outside its bin",
        breaks="a share of the rows and their mean tell of different rows",
        place="spec.columns:_atoms",
        old="min(max(grid.nearest(middle), lower), last)",
        new="grid.nearest(middle)",
        tests=(f"{OWN}::test_values_count_as_the_nearest_point_of_the_grid_and_never_leave_their_bin",),
    ),
    Mutation(
        name="own values: a sum of them is not kept within its steps",
        breaks="a value beyond its limits moves the sum by more than is paid for",
        place="generators.own_totals:in_steps",
        old="np.clip((products - low) / (high - low) * STEPS, 0, STEPS)",
        new="(products - low) / (high - low) * STEPS",
        tests=(f"{SUMS}::test_no_row_moves_a_sum_of_own_values_by_more_than_its_steps",),
        core=True,
    ),
    Mutation(
        name="own values: a factor is not kept within its limits",
        breaks="a product of an outlier and another value counts as the largest there is",
        place=OWN_VALUE,
        old=f"np.clip({VALUED}, self.low, self.high)",
        new=VALUED,
        tests=(f"{SUMS}::test_a_sum_of_own_values_is_that_of_the_rows",),
    ),
    Mutation(
        name="own values: a sum of them takes the numbers of bins",
        breaks="the model is pulled to the mean of bin numbers",
        place="generators.marginals_mechanism:_total",
        old="scored.own is None",
        new="True",
        tests=(f"{SUMS}::test_a_sum_of_own_values_is_that_of_the_rows",),
    ),
)
