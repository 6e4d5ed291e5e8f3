"""Mutations of figures about the rows' own values (theory 3.21, records of a cell of bins; 12.12, scored sums)."""

from __future__ import annotations

from tests.mutations.machinery import Mutation

OWN, SUMS = "tests/criteria/test_own_values.py", "tests/generators/test_own_sums.py"
MOVES = f"{OWN}::test_no_own_value_moves_a_figure_by_more_than_its_sensitivity"
OWN_VALUE = "data.schema:OwnValue.of"
VALUED = "np.where(np.isfinite(numbers), numbers, self.centre)"

OF_OWN_VALUES = (
    Mutation(
        name="exact values: a mean uses representative values",
        breaks="the mean of representative values is stated as the mean of the file",
        place="criteria.groupings_mechanism:RowsOfGroups.of_original",
        old="self._clipped(atoms.known_numbers)",
        new="self._clipped(self.transformation.numbers(self.column)[list(self.transformation.binning(self.column).of_atom)])",
        tests=(f"{OWN}::test_a_mean_is_that_of_the_rows_against_the_numbers_of_the_released_bins",),
    ),
    Mutation(
        name="exact values: the sensitivity of a step uses representative values",
        breaks="a record at the end of an open bin changes the value by more than is paid for",
        place="criteria.records:RegressionColumns._limits",
        old="name not in self.own",
        new="True",
        tests=(f"{MOVES}[step]",),
    ),
    Mutation(
        name="exact values: an interval uses its lower end only",
        breaks="the noise is too small for the farthest record",
        place="criteria.records:Interval.furthest",
        old="np.maximum(np.abs(self.low), np.abs(self.high))",
        new="np.abs(self.low)",
        tests=(f"{OWN}::test_limits_of_a_cell_hold_every_record_of_it",),
        core=True,
    ),
    Mutation(
        name="exact values: the largest moments are those of the lowest values",
        breaks="the noise of a regression is enough for half of its records only",
        place="criteria.functional:Design._residuals",
        old="residual.furthest",
        new="np.abs(residual.low)",
        tests=(f"{OWN}::test_moments_of_own_values_move_by_no_more_than_their_sensitivity", OWN),
    ),
    Mutation(
        name="exact values: differences of errors use the lowest predictions",
        breaks="the noise is half of what a record within a bin needs",
        place="criteria.regressions:_gaps",
        old="np.minimum(gap.high, most).ravel()",
        new="np.minimum(gap.low, most).ravel()",
        tests=(f"{MOVES}[errors]",),
    ),
    Mutation(
        name="exact values: a value may count outside its bin",
        breaks="a share and its mean describe different rows",
        place="spec.columns:_atoms",
        old="min(max(grid.nearest(middle), lower), last)",
        new="grid.nearest(middle)",
        tests=(f"{OWN}::test_values_count_as_the_nearest_point_of_the_grid_and_never_leave_their_bin",),
    ),
    Mutation(
        name="exact values: a sum is not limited to its steps",
        breaks="a value beyond its limits changes the sum by more than is paid for",
        place="generators.own_totals:in_steps",
        old="np.clip((products - low) / (high - low) * STEPS, 0, STEPS)",
        new="(products - low) / (high - low) * STEPS",
        tests=(f"{SUMS}::test_no_row_moves_a_sum_of_own_values_by_more_than_its_steps",),
        core=True,
    ),
    Mutation(
        name="exact values: a factor is not limited",
        breaks="an outlier counts with the largest product",
        place=OWN_VALUE,
        old=f"np.clip({VALUED}, self.low, self.high)",
        new=VALUED,
        tests=(f"{SUMS}::test_a_sum_of_own_values_is_that_of_the_rows",),
    ),
    Mutation(
        name="exact values: a sum uses representative values",
        breaks="the model is drawn to the mean of representative values",
        place="generators.marginals_mechanism:_total",
        old="scored.own is None",
        new="True",
        tests=(f"{SUMS}::test_a_sum_of_own_values_is_that_of_the_rows",),
    ),
)
