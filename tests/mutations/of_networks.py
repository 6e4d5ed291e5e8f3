"""Mutations of the conditional networks: their budgets, weighted gradients, who belongs to which teacher, and votes."""

from __future__ import annotations

from tests.mutations.machinery import Mutation

GRADIENTS = "tests/generators/test_dpgan.py"
CONDITIONAL = "tests/generators/test_dpctgan.py"
VOTES = "tests/generators/test_patectgan.py"
CLIPPED = f"{GRADIENTS}::test_a_clipped_sum_is_that_of_rows_clipped_one_by_one"
MOVED = f"{CONDITIONAL}::test_no_neighbour_moves_frequencies_by_more_than_is_paid_for"
TRAINING = f"{CONDITIONAL}::test_frequencies_and_gradients_together_cost_the_rho"
CHANGED = f"{VOTES}::test_no_neighbour_moves_votes_by_more_than_is_paid_for"
OWN = f"{VOTES}::test_a_vote_is_a_teachers_own"
DEALT = f"{VOTES}::test_each_row_belongs_to_one_teacher_drawn_for_it_alone"
SPENT = f"{VOTES}::test_frequencies_and_votes_together_cost_the_rho"

OF_NETWORKS = (
    Mutation(
        name="DPCTGAN: gradients are clipped before weighting",
        breaks="a row of a rare bin changes the sum by more than the claim",
        place="generators.adversarial_mechanism:clipped_sum_of_cells",
        old="clipped_shares(weights * np.sqrt(squares), clip)",
        new="clipped_shares(np.sqrt(squares), clip)",
        tests=(CLIPPED,),
    ),
    Mutation(
        name="DPCTGAN: impossible cells get a positive probability",
        breaks="released rows break the rules",
        place="generators.gans:DPCTGAN.fit",
        old="game.shares(frequencies.everywhere(DRAWS, public)) * free",
        new="game.shares(frequencies.everywhere(DRAWS, public))",
        tests=(f"{CONDITIONAL}::test_impossible_cells_get_nothing",),
    ),
    Mutation(
        name="PATECTGAN: rows are dealt in the order of their cells",
        breaks="a replaced row moves other rows to other teachers",
        place="generators.patectgan_mechanism:Teachers.dealt",
        old="entropy.picks(np.full(len(cells), number))",
        new="(start + np.arange(len(cells))) % number",
        tests=(DEALT,),
    ),
    Mutation(
        name="PATECTGAN: teachers compare themselves with each other",
        breaks="a replaced row changes the votes of all teachers",
        place="generators.patectgan_mechanism:Teachers.votes",
        old="score > threshold",
        new="score > score.mean(axis=0)",
        tests=(OWN,),
    ),
    Mutation(
        name="PATECTGAN: impossible cells get a positive probability",
        breaks="released rows break the rules",
        place="generators.gans:PATECTGAN.fit",
        old="game.shares(frequencies.everywhere(DRAWS, public)) * free",
        new="game.shares(frequencies.everywhere(DRAWS, public))",
        tests=(f"{VOTES}::test_impossible_cells_get_nothing",),
    ),
)
