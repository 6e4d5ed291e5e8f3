"""Mutations of the methods to compare with, which see public data alone, and of what says so in a release."""

from __future__ import annotations

from tests.mutations.machinery import Mutation

SWAPPING = "tests/rehearsal/baselines/test_swapping.py"
FLAVOUR = "tests/published/test_flavour.py"
REFUSED = "tests/specification/test_bad_specs.py"

OF_BASELINES = (
    Mutation(
        name="swapping: a derangement may keep a value",
        breaks="another method than is compared with",
        place="rehearsal.baselines.swapping:derangement",
        old="np.all(drawn != np.arange(n))",
        new="np.any(drawn != np.arange(n))",
        tests=(SWAPPING,),
    ),
    Mutation(
        name="swapping: a lone record is left alone, and not all are drawn again",
        breaks="another law than the theorem is about",
        place="rehearsal.baselines.swapping:PermutationSwapping._select",
        old="if len(selected) != 1:\n    return selected",
        new="return selected if len(selected) != 1 else selected[:0]",
        tests=(f"{SWAPPING}::test_swapping_has_the_law_of_the_enumeration",),
    ),
    Mutation(
        name="swapping: a swap variable may be a part of the key",
        breaks="a key that is not held, and strata that are none",
        place="rehearsal.baselines.swapping:PermutationSwapping.__post_init__",
        old="len({*self.key, *self.variables}) != len(self.key) + len(self.variables)",
        new="False",
        tests=(SWAPPING,),
    ),
    Mutation(
        name="swapping: the smallest stratum in place of the largest",
        breaks="an epsilon of a part of the table",
        place="rehearsal.baselines.swapping:PermutationSwapping.largest_stratum",
        old="table.project(self.key).counts.max()",
        new="table.project(self.key).counts.min()",
        tests=(SWAPPING,),
    ),
    Mutation(
        name="swapping: the nominal epsilon in place of twice it",
        breaks="half of what stands beside a release",
        place="rehearsal.baselines.swap_budget:pairwise_epsilon",
        old="CLOSEST * nominal_epsilon(rate, largest_stratum)",
        new="nominal_epsilon(rate, largest_stratum)",
        tests=(SWAPPING,),
    ),
    Mutation(
        name="swapping: the report shows the nominal epsilon",
        breaks="half of what stands beside a release",
        place="rehearsal.baselines.swap_report:SwapReport.of",
        old="swapping.pairwise_epsilon(original)",
        new="swapping.nominal_epsilon(original)",
        tests=(f"{SWAPPING}::test_a_report_puts_the_doubled_epsilon_first_and_names_what_is_exact",),
    ),
    Mutation(
        name="swapping: for high rates, too, the formula of low ones",
        breaks="an epsilon that enumeration passes",
        place="rehearsal.baselines.swap_budget:nominal_epsilon",
        old="max(log_odds, math.log(largest_stratum + 1) - log_odds)",
        new="math.log(largest_stratum + 1) - log_odds",
        tests=(SWAPPING,),
    ),
    Mutation(
        name="swapping: offered as a generator of some other name",
        breaks="a guarantee subject to invariants in a release",
        place="toml.baselines:refused_method",
        old="any(word in spoken for word in method.words)",
        new="any(word == spoken for word in method.words)",
        tests=(REFUSED,),
    ),
    Mutation(
        name="flavour: published totals are left out of the scope",
        breaks="an exactly published fact that no scope names",
        place="published.flavour:ScopePart.of",
        old='["calibration.margins"] if calibrated else []',
        new="[]",
        tests=(FLAVOUR,),
    ),
    Mutation(
        name="flavour: verify compares the facts that are stated alone",
        breaks="a scope that leaves facts out passes",
        place="verification.flavour:_problems",
        old="for place in expected.scope.places() if place not in stated.scope.places()",
        new="for place in stated.scope.places() if place not in expected.scope.places()",
        tests=(FLAVOUR,),
    ),
)
