"""Mutations of a scout, and of the cap on it and its release."""

from __future__ import annotations

from tests.mutations.machinery import Mutation

CAP = "tests/privacy/test_cap.py"
LEFT = f"{CAP}::test_what_is_left_is_what_the_exact_curve_leaves"
WITHIN = f"{CAP}::test_scout_and_release_cost_the_cap_whatever_the_release_needs_below_it"
ONE = f"{CAP}::test_one_release_follows_a_scout"

OF_SCOUTS = (
    Mutation(
        name="cap: rare texts once in delta",
        breaks="a text of one row is paid for on one side alone",
        place="privacy.cap:Cap.rare_delta",
        old="(1 + exp_up(self.epsilon)) * self.rare",
        new="self.rare",
        tests=(LEFT,),
    ),
    Mutation(
        name="cap: the scout is free",
        breaks="the release spends what the scout spent",
        place="privacy.cap:Cap.rho_left",
        old="rho_within(self.epsilon - self.tests, self.gaussian_delta) - self.rho",
        new="rho_within(self.epsilon - self.tests, self.gaussian_delta)",
        tests=(LEFT,),
        core=True,
    ),
    Mutation(
        name="cap: tests beyond what was kept for them",
        breaks="the epsilon of tests is chosen after the scout was read",
        place="privacy.cap:within_cap",
        old="tests > cap.tests or rho > cap.rho_left",
        new="rho > cap.rho_left",
        tests=(WITHIN,),
    ),
    Mutation(
        name="cap: the threshold of a text at one standard deviation",
        breaks="texts of single rows are published",
        place="privacy.cap:text_threshold",
        old="-(-(7 * scale) // 1) + 2",
        new="-(-scale // 1) + 2",
        tests=(f"{CAP}::test_the_threshold_bounds_how_often_a_text_of_one_row_is_published",),
    ),
    Mutation(
        name="ledger: two releases after one scout",
        breaks="the second release has the rest of a cap that is spent",
        place="privacy.ledger:_open_scout",
        old="entry.notes.cap == cap and entry.number not in released",
        new="entry.notes.cap == cap",
        tests=(ONE,),
    ),
    Mutation(
        name="ledger: a release after another scout",
        breaks="a cap that nobody fixed",
        place="privacy.ledger:_open_scout",
        old="entry.notes.cap == cap and entry.number not in released",
        new="entry.notes.cap is not None and entry.number not in released",
        tests=(ONE,),
    ),
)
