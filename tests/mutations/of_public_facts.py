"""Mutations of what classes say of themselves: sensitivities from public facts, and what bounds take from a limit."""

from __future__ import annotations

from tests.mutations.machinery import Mutation

CONTRACT = "tests/test_contracts.py::test_the_sensitivity_from_public_facts_is_the_one_of_the_noise"
FORGED = "tests/bundle/verify/test_public_sensitivities.py"
SAID = "tests/criteria/test_public_facts.py"

OF_PUBLIC_FACTS = (
    Mutation(
        name="public facts: the sensitivity of one step is not recomputed",
        breaks="a forged sensitivity with too little noise passes",
        place="criteria.regressions:RegressionOneStepExplained.public_sensitivity",
        old="any(column.binning != self.about.representation[column.name] for column in columns)",
        new="True",
        tests=(FORGED,),
    ),
    Mutation(
        name="public facts: rules for private rows are ignored for one step",
        breaks="a right sensitivity is rejected",
        place="criteria.regressions:RegressionOneStepExplained.public_sensitivity",
        old="facts.possible(self.about.columns)",
        new="np.ones(facts.cells(self.about.columns).shape, dtype=bool)",
        tests=(f"{FORGED}::test_the_sensitivity_of_one_step_is_the_largest_share_of_a_record_that_the_raw_rules_allow",),
    ),
    Mutation(
        name="public facts: rules for released rows serve as rules for private rows",
        breaks="a right sensitivity is rejected, or a wrong one accepted",
        place="published.verify.alone:rebuild",
        old='[rule for rule, applies_to in rules if "raw" in applies_to]',
        new="[]",
        tests=(FORGED,),
    ),
    Mutation(
        name="public facts: groups have no margin",
        breaks="a sensitivity of a mean that is too small passes",
        place="criteria.groups:ConditionalMeanExplained.public_sensitivity",
        old="self.smallest(facts) - math.ceil(self.about.size_margin * facts.n)",
        new="self.smallest(facts)",
        tests=(CONTRACT,),
    ),
    Mutation(
        name="public facts: the largest group replaces the smallest",
        breaks="the sensitivity is taken from the largest group",
        place="criteria.groupings:smallest_group",
        old="min(sizes)",
        new="max(sizes)",
        tests=(CONTRACT,),
    ),
    Mutation(
        name="public facts: a sensitivity of two lines is compared with the range",
        breaks="a right sensitivity is rejected",
        place="criteria.regressions:RegressionPredictionExplained.public_sensitivity",
        old='self.about.bound == "range"',
        new="True",
        tests=(CONTRACT,),
    ),
    Mutation(
        name="public facts: a clipped ratio serves as a limit",
        breaks="the original table may lie outside the bound",
        place="criteria.marginals:RelativeMarginalErrorExplained.known_error",
        old="limit < self.about.clip",
        new="True",
        tests=(SAID,),
    ),
    Mutation(
        name="public facts: rows that must match exactly may differ by one bin",
        breaks="the original table may lie outside the bound",
        place="criteria.faithfulness:similar_to_next",
        old="around is not None",
        new="False",
        tests=("tests/answers/test_bounds.py", "tests/criteria/test_faithfulness.py"),
    ),
)
