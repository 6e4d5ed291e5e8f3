"""Mutations of a scout, and of the cap on it and its release."""

from __future__ import annotations

from tests.mutations.machinery import Mutation

CAP = "tests/privacy/test_cap.py"
LEFT = f"{CAP}::test_what_is_left_is_what_the_exact_curve_leaves"
WITHIN = f"{CAP}::test_scout_and_release_cost_the_cap_whatever_the_release_needs_below_it"
TABLES = "tests/scouting/test_scout_mechanism.py"
MOVED = f"{TABLES}::test_a_replaced_record_moves_each_table_by_two_in_squares"
PURE = f"{TABLES}::test_without_a_delta_noise_is_made_for_the_l1_distance_of_all_neighbours"
TEXTS = f"{TABLES}::test_texts_from_the_threshold_on_and_gaps_are_published"
ONE = f"{CAP}::test_one_release_follows_a_scout"

OF_SCOUTS = (
    Mutation(
        name="cap: rare texts count once in delta",
        breaks="a value of one row is charged for one neighbour only",
        place="privacy.cap:Cap.rare_delta",
        old="(1 + exp_up(self.epsilon)) * self.rare",
        new="self.rare",
        tests=(LEFT,),
    ),
    Mutation(
        name="cap: the scout costs nothing",
        breaks="the release spends again what the scout spent",
        place="privacy.cap:Cap.rho_left",
        old="rho_within(self.epsilon - self.tests, self.gaussian_delta) - self.rho",
        new="rho_within(self.epsilon - self.tests, self.gaussian_delta)",
        tests=(LEFT,),
        core=True,
    ),
    Mutation(
        name="cap: tests cost more than the reserved budget",
        breaks="the epsilon of tests is chosen after the scout was read",
        place="privacy.cap:within_cap",
        old="tests > cap.tests or rho > cap.rho_left",
        new="rho > cap.rho_left",
        tests=(WITHIN,),
    ),
    Mutation(
        name="cap: the threshold of a text is one standard deviation",
        breaks="values of single rows are published",
        place="privacy.cap:text_threshold",
        old="-(-(7 * scale) // 1) + 2",
        new="-(-scale // 1) + 2",
        tests=(f"{CAP}::test_the_threshold_bounds_how_often_a_text_of_one_row_is_published",),
    ),
    Mutation(
        name="ledger: one scout allows two releases",
        breaks="the second release uses a cap that is already spent",
        place="privacy.ledger:_open_scout",
        old="entry.notes == promised and entry.number not in released",
        new="entry.notes == promised",
        tests=(ONE,),
    ),
    Mutation(
        name="ledger: a release follows the scout of another folder",
        breaks="the cap was not fixed beforehand",
        place="privacy.ledger:_open_scout",
        old="entry.notes == promised and entry.number not in released",
        new="entry.notes.cap is not None and entry.number not in released",
        tests=(ONE,),
    ),
    Mutation(
        name="scout: noise covers one of two changed cells",
        breaks="the squared sensitivity is halved",
        place="scouting.scout_mechanism:noisy_tables",
        old="squared=2",
        new="squared=1",
        tests=(MOVED,),
        core=True,
    ),
    Mutation(
        name="scout: Laplace noise covers one of two changed cells",
        breaks="the l1 sensitivity is halved, so epsilon doubles",
        place="scouting.scout_mechanism:noisy_tables",
        old="moved=2",
        new="moved=1",
        tests=(PURE,),
        core=True,
    ),
    Mutation(
        name="scout: each part gets the whole pure charge",
        breaks="the tables cost more than the charge",
        place="scouting.scout_mechanism:with_noise",
        old="charge.epsilon / parts",
        new="charge.epsilon",
        tests=(PURE,),
    ),
    Mutation(
        name="cap: a pure release spends more than the scout left",
        breaks="scout and release cost more than their cap",
        place="privacy.cap:Cap.alone",
        old="self.epsilon - self.tests if self.pure else epsilon_of(self.rho, self.gaussian_delta)",
        new="(self.epsilon - self.tests) / 2 if self.pure else epsilon_of(self.rho, self.gaussian_delta)",
        tests=(f"{CAP}::test_without_a_delta_epsilons_add_up_to_the_cap",),
    ),
    Mutation(
        name="scout: each table has the whole budget",
        breaks="the tables cost more than rho",
        place="scouting.scout_mechanism:noisy_tables",
        old="parts=len(groups)",
        new="parts=1",
        tests=(MOVED,),
    ),
    Mutation(
        name="scout: values below the threshold are published",
        breaks="the value of a single row is published",
        place="scouting.scout_mechanism:frequent_texts",
        old="count >= threshold or not text",
        new="True",
        tests=(TEXTS,),
    ),
    Mutation(
        name="scout: values keep the order of the file",
        breaks="the order of the file is published",
        place="scouting.scout_mechanism:frequent_texts",
        old='sorted({"", *counted})',
        new='list({"": 0, **counted})',
        tests=(f"{TABLES}::test_the_order_in_which_texts_are_met_has_no_effect",),
    ),
    Mutation(
        name="scout: each text column gets the whole budget",
        breaks="text columns cost more than rho",
        place="scouting.scout_mechanism:frequent_texts",
        old="parts=len(columns)",
        new="parts=1",
        tests=(TEXTS,),
    ),
    Mutation(
        name="scout: the sensitivity of the dependence is halved",
        breaks="the noise is half of what the guarantee needs",
        place="scouting.scout_mechanism:dependence",
        old="6 * rows * len(pairs)",
        new="3 * rows * len(pairs)",
        tests=(f"{TABLES}::test_the_dependence_is_the_mean_distance_from_independence",),
    ),
    Mutation(
        name="scout: values of all rows of a person count",
        breaks="one person moves as many counts as she has rows",
        place="enclave.unlisted:count_texts",
        old="if key:",
        new="if not key:",
        tests=("tests/enclave/test_unlisted.py::test_with_a_key_the_first_row_of_each_person_counts",),
    ),
    Mutation(
        name="scout: values of later rows are candidates",
        breaks="a value that no first row has is published more often than the threshold allows",
        place="enclave.unlisted:count_texts",
        old="Counter({text: count for text, count in zip(known, held, strict=True) if count})",
        new="Counter(dict(zip(known, held, strict=True)))",
        tests=("tests/enclave/test_unlisted.py::test_a_person_of_any_number_of_rows_moves_two_counts_of_a_column",),
    ),
    Mutation(
        name="scout: rows keep the numbers of values that were dropped",
        breaks="the count of one value is published for another value, as the rows of other persons decide",
        place="enclave.unlisted:_Numbered.held",
        old="again.astype(column.dtype)",
        new="column",
        tests=("tests/enclave/test_unlisted.py::test_texts_of_rows_that_cannot_be_first_are_forgotten",),
    ),
    Mutation(
        name="scout: the charge is skipped",
        breaks="a look at the file that no ledger knows",
        place="scouting.scout:scout",
        old='opened.reserve(charge, purpose_of(f"{scouting.title} (scout)"), run)',
        new="opened.statement()",
        tests=("tests/scouting/test_scout.py::test_the_scout_is_charged_and_verified",),
    ),
    Mutation(
        name="scout: too much noise is not refused",
        breaks="the budget is spent on a table of noise",
        place="scouting.scout:check_noise",
        old="not 5 * deviation <= MOST_NOISE * scouting.rows",
        new="False",
        tests=("tests/scouting/test_scout.py::test_what_cannot_be_meant_is_refused_before_the_charge",),
    ),
)
