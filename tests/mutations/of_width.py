"""Mutations of what many columns need: parent sets, sums in a bounded space, sub-tables one branch at a time."""

from __future__ import annotations

from tests.mutations.machinery import Mutation

SETS = "tests/generators/test_parent_sets.py"
MAXIMAL = f"{SETS}::test_parent_sets_of_four_columns_are_the_maximal_ones_at_every_bound"
COMPETING = f"{SETS}::test_what_competes_is_all_maximal_sets_or_as_many_of_them_as_may"
FIT = "tests/generators/test_privbayes.py"
EVEN = "tests/generators/test_even_rows.py"
WIDE = "tests/generators/test_elimination.py"
DIFFERENCES = "tests/data/test_sub_tables.py::test_every_difference_of_every_table_is_there_once"
PAIRS = "tests/data/test_sub_tables.py::test_tables_of_two_columns_of_a_wide_table_are_products_of_matrices"
COUNTS = "tests/data/test_counts.py"

OF_WIDTH = (
    # --- Parent sets
    Mutation(
        name="parent sets: a maximal set is left out",
        breaks="fewer parents compete than in the paper",
        place="generators.privbayes:maximal_sets",
        old="room // rest[i] >= left_out",
        new="room // rest[i] >= left_out - 1",
        tests=(MAXIMAL,),
    ),
    Mutation(
        name="parent sets: sets that can be extended are included",
        breaks="sets that are not maximal compete",
        place="generators.privbayes:maximal_sets",
        old="room < min(left_out, spans[start] if start < n else math.inf)",
        new="room < (spans[start] if start < n else math.inf)",
        tests=(MAXIMAL,),
    ),
    Mutation(
        name="parent sets: the limit on candidates is ignored",
        breaks="a choice has too many candidates",
        place="generators.privbayes:competing_sets",
        old="len(chosen) == limit",
        new="len(chosen) == limit + 1",
        tests=(COMPETING,),
    ),
    Mutation(
        name="parent sets: the public choice is not of maximal sets",
        breaks="sets that are not maximal compete",
        place="generators.privbayes:_filled",
        old="len(taken) == most",
        new="len(taken) == most or sizes[column] > room",
        tests=(COMPETING,),
    ),
    Mutation(
        name="PrivBayes: the limit on candidates depends on the data",
        breaks="neighbours choose among different pairs",
        place="generators.privbayes_mechanism:_choose_structure",
        old="[(parents, column) for column in left for parents in parent_sets(column, placed)]",
        new=(
            "[(parents, column) for column in left for parents in "
            "parent_sets(column, placed)[: 1 + int(marginals.get((column,)).max()) % 2]]"
        ),
        tests=(f"{FIT}::test_the_same_pairs_compete_for_every_table",),
        core=True,
    ),
    # --- Sums
    Mutation(
        name="distribution of parents: ancestors of parents are missing",
        breaks="the distribution of the parents is wrong",
        place="generators.bayesian_network:_parent_marginal",
        old="needed.update(family.parents)",
        new="needed.update(())",
        tests=(WIDE,),
    ),
    Mutation(
        name="frontier: the parents' bins belong to other columns",
        breaks="rows do not follow the model",
        place="generators.bayesian_network:Frontier.shares",
        old="codes * size + self.digits[column]",
        new="codes + size * self.digits[column]",
        tests=(WIDE,),
    ),
    Mutation(
        name="rounding within rows: the last bin gets the remainder",
        breaks="a row is in an excluded cell",
        place="generators.bayesian_network:round_within_rows",
        old="np.argmax(shares[:, ::-1] > 0, axis=1)",
        new="0 * np.argmax(shares[:, ::-1] > 0, axis=1)",
        tests=(WIDE,),
    ),
    Mutation(
        name="single rows: a draw at the end of the shares goes to the last bin",
        breaks="a row is in an excluded cell",
        place="generators.bayesian_network:_Drawing._searched",
        old="np.minimum(ends - first, self._last.take(rows))",
        new="ends - first",
        tests=("tests/generators/test_drawn_bins.py",),
    ),
    Mutation(
        name="even rows: rows with the same parents keep their order",
        breaks="independent columns agree in all rows or in none",
        place="generators.bayesian_network:even_bins",
        old="generator.permutation(len(totals))",
        new="np.arange(len(totals))",
        tests=(f"{EVEN}::test_two_columns_on_the_same_parents_are_independent",),
    ),
    Mutation(
        name="even rows: a certain cell follows the comb",
        breaks="a row is in an excluded cell, or is lost",
        place="generators.bayesian_network:even_bins",
        old="np.where(chances < 1, np.minimum(teeth, waiting), waiting)",
        new="np.minimum(teeth, waiting)",
        tests=(f"{EVEN}::test_sums_that_are_rounded_lose_no_row",),
    ),
    Mutation(
        name="systematic rounding: the last cell gets the remainder",
        breaks="a row is in an excluded cell",
        place="generators.bayesian_network:systematic_rounding",
        old="np.flatnonzero(expected)[-1]",
        new="-1",
        tests=(WIDE,),
    ),
    Mutation(
        name="matching: cells are separated by a column that may differ",
        breaks="pairs are missed, so the value has another sensitivity",
        place="criteria.faithfulness_mechanism:_hashed",
        old="every - mixed[word]",
        new="every",
        tests=("tests/data/test_width.py::test_a_matching_is_the_same_with_and_without_codes",),
    ),
    # --- Sub-tables
    Mutation(
        name="differences: cells absent from one side are dropped",
        breaks="the sensitivity is several times the claim",
        place="data.marginals:difference",
        old="Sparse(right.bins, negative(right.counts))",
        new="Sparse(right.bins, -right.counts * (left.find(right.bins) >= 0))",
        tests=(DIFFERENCES,),
        core=True,
    ),
    Mutation(
        name="sub-tables: summed over the wrong axis",
        breaks="the value is wrong",
        place="data.marginals:summed_to",
        old="enumerate(parent, start=-len(parent))",
        new="enumerate(reversed(parent), start=-len(parent))",
        tests=(DIFFERENCES,),
    ),
    Mutation(
        name="sub-tables: the wrong column of occurring cells is summed out",
        breaks="the value is wrong",
        place="data.marginals:summed_to",
        old="parent.index(column)",
        new="(parent.index(column) + 1) % len(parent)",
        tests=(DIFFERENCES,),
    ),
    Mutation(
        name="sub-tables: a branch is skipped",
        breaks="the value is too small, so its claimed sensitivity is wrong",
        place="data.marginals:_steps",
        old="min(len(left) - 1, largest) + 1",
        new="min(len(left) - 1, largest)",
        tests=(DIFFERENCES,),
    ),
    Mutation(
        name="sub-tables: doubles are too small for the sums",
        breaks="one record changes the value by more than its sensitivity",
        place="data.counts:Addends.__init__",
        old="2.0**53",
        new="2.0**70",
        tests=(PAIRS,),
    ),
    Mutation(
        name="sub-tables: tables within the second group are skipped",
        breaks="the value is too small, so its claimed sensitivity is wrong",
        place="data.marginals:_pairs",
        old="zip(groups, shapes, of_groups, strict=True)",
        new="zip(groups[:-1], shapes, of_groups, strict=False)",
        tests=(PAIRS,),
    ),
    Mutation(
        name="lattice: all tables are kept",
        breaks="memory grows with the number of questions",
        place="data.marginals:Lattice._keep",
        old="len(self._kept) > KEPT_TABLES or (self._cells > KEPT_CELLS and len(self._kept) > 1)",
        new="len(self._kept) > 10**9",
        tests=(f"{COUNTS}::test_a_lattice_keeps_few_tables_and_forgets_none_of_the_answers",),
    ),
    Mutation(
        name="lattice: counts of other columns are reused",
        breaks="the joint table belongs to other columns",
        place="data.marginals:Lattice.joint",
        old="self._prefix is None or self._prefix[0] != first",
        new="self._prefix is None",
        tests=(f"{COUNTS}::test_every_joint_table_has_its_axes_in_the_order_asked_for",),
    ),
    Mutation(
        name="sums: every block of cells has the values of the first",
        breaks="one record moves the value by more than its sensitivity",
        place="data.counts:Addends.sums",
        old="self._doubles[rows]",
        new="self._doubles[: len(codes)]",
        tests=("tests/data/test_width.py::test_sub_tables_are_those_of_the_rows",),
    ),
    Mutation(
        name="sub-tables: axes stay in the order in which columns are summed out",
        breaks="pairs counted together have their counts in wrong cells, and where depends on the private number of rows",
        place="data.marginals:sub_tables",
        old="table.transpose(np.argsort(below))",
        new="table",
        tests=("tests/data/test_sub_tables.py::test_pairs_counted_at_once_have_their_axes_in_the_order_of_the_columns",),
    ),
    Mutation(
        name="rows in pieces: every piece has the counts of the first rows",
        breaks="rows do not follow the model",
        place="generators.bayesian_network:Frontier.pieces",
        old="self.expected[start:stop]",
        new="self.expected[: stop - start]",
        tests=("tests/generators/test_pieces.py::test_pieces_hold_each_cell_once",),
    ),
    Mutation(
        name="groups: rows that differ only in an early word count as equal",
        breaks="different rows are added up",
        place="data.counts:EqualRows.of",
        old="new[tied_rows[1:]] |= ordered[1:] != ordered[:-1]",
        new="new[tied_rows[1:]] = ordered[1:] != ordered[:-1]",
        tests=("tests/data/test_width.py::test_groups_are_in_the_order_of_the_rows",),
    ),
    Mutation(
        name="matching: only columns before the step are compared",
        breaks="rows that are not similar are paired",
        place="criteria.faithfulness_mechanism:_codes_of_words",
        old="EqualRows.of([ahead, after])",
        new="EqualRows.of([ahead])",
        tests=("tests/data/test_width.py::test_a_matching_is_the_same_with_and_without_codes",),
    ),
    Mutation(
        name="counts: a kept cell of count 0 stays",
        breaks="cells that do not occur",
        place="data.counts:Counts.with_counts",
        old="if mask.all():",
        new="if True:",
        tests=("tests/data/test_width.py::test_a_table_is_its_rows_counted",),
    ),
    Mutation(
        name="tally: the last additions are forgotten",
        breaks="rows are lost",
        place="data.counts:Tally.total",
        old="if self._rows:",
        new="if len(self._rows) > 9:",
        tests=("tests/data/test_width.py::test_a_table_is_its_rows_counted",),
    ),
)
