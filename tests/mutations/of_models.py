"""Mutations of named models: their budget, which rows count, and what is said of their answers (theory 12.16, named models)."""

from __future__ import annotations

from tests.mutations.machinery import Mutation

MEASURED, ANSWERS, WHOLE = "tests/generators/test_models.py", "tests/answers/test_models.py", "tests/published/test_models.py"
MOVES = f"{MEASURED}::test_no_replaced_row_moves_a_model_by_more_than_its_noise_is_for"

OF_MODELS = (
    Mutation(
        name="named models: a coefficient ignores the noise of other columns",
        breaks="intervals of coefficients are too narrow",
        place="answers.slopes:coefficients",
        old="noise_b - fixed @ noise_a[rest]",
        new="noise_b",
        tests=(f"{ANSWERS}::test_each_noise_counts_in_a_coefficient_by_as_much_as_it_moves_the_solution",),
        core=True,
    ),
    Mutation(
        name="named models: a table of groups costs twice its part",
        breaks="more epsilon is spent than was charged",
        place="generators.models:Measured.of_table",
        old="TABLE_WEIGHT * self._unit",
        new="2 * TABLE_WEIGHT * self._unit",
        tests=(MOVES,),
        core=True,
    ),
    Mutation(
        name="named models: each block of sums costs the whole",
        breaks="more epsilon is spent than was charged",
        place="generators.models:Measured.blocks",
        old="len(block) * self._unit",
        new="self.epsilon",
        tests=(MOVES,),
    ),
    Mutation(
        name="named models: they are missing in the plan",
        breaks="a measurement has no charge",
        place="spec.release_spec:ReleaseSpec._charges",
        old="figures_after = [*figures_after, charge_of(self.models)]",
        new="pass",
        tests=(f"{WHOLE}::test_the_plan_pays_once_and_after_acceptance",),
        core=True,
    ),
    Mutation(
        name="named models: a row without a value counts",
        breaks="a mean includes rows without a value",
        place="generators.models_mechanism:_counted",
        old="kept &= digits[name] < schema[name].atoms.present",
        new="pass",
        tests=(f"{MEASURED}::test_sums_are_those_of_the_rows",),
    ),
    Mutation(
        name="named models: the square of a value may be below 0",
        breaks="the noise is twice what is needed",
        place="generators.row_functions:RowFunction.ends",
        old="any(isinstance(factor, Value) for factor in self.factors) and not square",
        new="any(isinstance(factor, Value) for factor in self.factors)",
        tests=(MEASURED,),
    ),
    Mutation(
        name="named models: verify accepts every charge",
        breaks="a release that states less than it spent passes",
        place="published.verify.models:models",
        old="[*_charges(document, part), *_noises(part)]",
        new="[*_noises(part)]",
        tests=(WHOLE,),
    ),
    Mutation(
        name="named models: readers know half of the noise of a sum",
        breaks="intervals are too narrow",
        place="answers.models:MeasuredModels._sum",
        old="weights[self.place[function.key] - first] = step",
        new="weights[self.place[function.key] - first] = step / 2",
        tests=(f"{ANSWERS}::test_intervals_hold_the_numbers_of_the_file_in_95_of_100_runs",),
    ),
)
