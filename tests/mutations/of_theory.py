"""Mutations of the code that privacy rests on, each of which some test must catch.

Run by hand (some minutes): `make mutations`, or `python tests/mutations/of_theory.py`, applies each mutation alone to a copy
of the package, runs the tests named for it there and writes docs/appendix/mutations.csv and its page. `python
tests/mutations/of_theory.py WORD ...` runs those whose name holds one of the words. The working tree is otherwise
never changed. test_mutations.py runs the ones marked `core` in the default suite. The machinery is in machinery.py; here are
the mutations of the theory, the others in the files beside this one.
"""

from __future__ import annotations

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))  # before a library's own folder "tests"

from tests.mutations.machinery import Mutation, main
from tests.mutations.of_adaptive import OF_ADAPTIVE
from tests.mutations.of_answers import OF_ANSWERS
from tests.mutations.of_areas import OF_AREAS
from tests.mutations.of_baselines import OF_BASELINES
from tests.mutations.of_columns import OF_COLUMNS
from tests.mutations.of_copies import OF_COPIES
from tests.mutations.of_criteria import OF_CRITERIA
from tests.mutations.of_documents import OF_DOCUMENTS
from tests.mutations.of_doors import OF_DOORS
from tests.mutations.of_estimates import OF_ESTIMATES
from tests.mutations.of_floats import OF_FLOATS
from tests.mutations.of_formats import OF_FORMATS
from tests.mutations.of_hidden_numbers import OF_HIDDEN_NUMBERS
from tests.mutations.of_large_counts import OF_LARGE_COUNTS
from tests.mutations.of_leaks import OF_LEAKS
from tests.mutations.of_ledger import OF_THE_LEDGER
from tests.mutations.of_marks import OF_MARKS
from tests.mutations.of_members import OF_MEMBERS
from tests.mutations.of_models import OF_MODELS
from tests.mutations.of_networks import OF_NETWORKS
from tests.mutations.of_noise import OF_NOISE
from tests.mutations.of_own_values import OF_OWN_VALUES
from tests.mutations.of_persons import OF_PERSONS
from tests.mutations.of_pieces import OF_PIECES
from tests.mutations.of_prices import OF_PRICES
from tests.mutations.of_public_facts import OF_PUBLIC_FACTS
from tests.mutations.of_readers import OF_READERS
from tests.mutations.of_rows import OF_THE_ROWS
from tests.mutations.of_rules import of_rules
from tests.mutations.of_scouts import OF_SCOUTS
from tests.mutations.of_spending import OF_SPENDING
from tests.mutations.of_split import OF_THE_SPLIT
from tests.mutations.of_verifying import OF_VERIFYING
from tests.mutations.of_weights import OF_WEIGHTS
from tests.mutations.of_width import OF_WIDTH
from tests.mutations.of_years import OF_YEARS
from tests.mutations.rules import Derived

SENSITIVITY = "tests/criteria/test_sensitivity.py"
VALUES = "tests/criteria/test_values.py"
NEIGHBOURS = f"{SENSITIVITY}::test_no_neighbour_moves_a_figure_by_more_than_its_sensitivity"
FIT = "tests/generators/test_privbayes.py"
CONTRACTS = "tests/test_contracts.py"
TREE = "tests/generators/test_junction_tree.py"
ENTROPY = "tests/generators/test_maximum_entropy.py"
MINIMUM = f"{ENTROPY}::test_the_fit_meets_the_conditions_of_the_minimum"
FORMULA = "tests/generators/test_marginals.py"
SUMS = "tests/generators/test_scored_sums.py"
MEASURED = "tests/generators/test_measurements.py"
JOINT = "tests/criteria/test_joint.py"
ONE_STEP = "tests/criteria/test_regression_one_step.py"
LOW = "tests/releasing/test_low_epsilon.py"
REHEARSED = "tests/studio/rehearsal/test_attempts.py"

OF_THE_THEORY = (
    # --- Sensitivities
    Mutation(
        name="relative marginal error: steps below the clip not tried",
        breaks="the noise is too small for rare bins",
        place="criteria.marginals:ratio_sensitivity",
        old="np.concatenate([np.floor(s / clip), s, np.floor(s * clip)], axis=1)",
        new="np.floor(s * clip)",
        tests=(VALUES,),
    ),
    Mutation(
        name="conditional mean: small groups are not filled up",
        breaks="one record decides the mean of a small group",
        place="criteria.groupings_mechanism:resized_means",
        old="sums / np.maximum(counts, sizes)",
        new="sums / np.maximum(counts, 1)",
        tests=(NEIGHBOURS,),
    ),
    Mutation(
        name="regression prediction: the sensitivity is halved",
        breaks="the noise covers adding a record, which is half of replacing one",
        place="criteria.regressions:RegressionPrediction.query",
        old="2 * (highest - lowest)",
        new="highest - lowest",
        tests=(NEIGHBOURS,),
    ),
    Mutation(
        name="functional mechanism: the last cell of each batch is not scanned",
        breaks="a record changes the moments by more than the noise covers",
        place="criteria.functional:Design.of",
        old="rounded(scaled.largest_moments(batch), scaled.scales).sum(axis=1)",
        new="rounded(scaled.largest_moments(batch), scaled.scales).sum(axis=1)[:-1]",
        tests=(SENSITIVITY,),
    ),
    # --- Accounting
    Mutation(
        name="private selection: the factor 2 is dropped",
        breaks="the loop costs twice the claimed epsilon",
        place="privacy.selection:_twice",
        old="2 * one_round.epsilon",
        new="one_round.epsilon",
        tests=("tests/privacy/test_plan.py::test_regression_once_costs_9_55",),
        core=True,
    ),
    Mutation(
        name="private selection: a positive delta is accepted",
        breaks="a theorem is used outside its conditions",
        place="privacy.selection:private_selection",
        old="one_round.pure",
        new="one_round.renyi is None",
        tests=("tests/privacy/test_selection.py::test_rounds_without_a_guarantee_are_refused",),
    ),
    Mutation(
        name="private selection: the delta ignores the stop probability",
        breaks="the delta of the loop is understated",
        place="privacy.selection:_approximate",
        old="tidy_up(law.exact_mean * one_round.delta)",
        new="tidy_up(one_round.delta)",
        tests=("tests/privacy/test_selection.py",),
    ),
    Mutation(
        name="hidden number of rounds: the shape is missing in the cost",
        breaks="the loop costs more than the claim",
        place="privacy.curves:selected",
        old="(1 + shape) * (Fraction(middle) + SLACK)",
        new="Fraction(middle) + SLACK",
        tests=("tests/privacy/test_renyi.py",),
    ),
    Mutation(
        name="curve: the delta of the conversion is missing",
        breaks="the stated epsilon follows from no theorem",
        place="privacy.curves:RenyiCurve._epsilon_at",
        old="-_ln(delta) - _ln(order)",
        new="-_ln(order)",
        tests=("tests/privacy/test_renyi.py",),
    ),
    Mutation(
        name="hidden number of rounds: one round too many is run",
        breaks="there are more rounds than the theorem counts",
        place="releasing.selection:_ending",
        old="next(rejected) == hidden",
        new="next(rejected) > hidden",
        tests=("tests/releasing/test_selection.py",),
    ),
    Mutation(
        name="hidden number of rounds: another shape is used",
        breaks="the number of rounds differs from the one that is paid for",
        place="privacy.samplers:TruncatedNegativeBinomial.below",
        old="rounds * eta_below + eta_above",
        new="rounds * eta_below",
        tests=("tests/privacy/test_randomness.py",),
    ),
    Mutation(
        name="Gaussian noise: the variance is that of twice the rho",
        breaks="rho is doubled",
        place="privacy.noise:rounded_gaussian",
        old="Fraction(squared_sensitivity) / (2 * rho)",
        new="Fraction(squared_sensitivity) / (4 * rho)",
        tests=("tests/privacy/test_randomness.py",),
    ),
    Mutation(
        name="ledger: a curve is charged as zero",
        breaks="a release costs nothing",
        place="privacy.ledger:Ledger._charged",
        old="charge.renyi is not None",
        new="False",
        tests=("tests/spec/test_selection_table.py",),
    ),
    Mutation(
        name="limit: compared with the charge of one round",
        breaks="a plan above the limit runs",
        place="privacy.plan:Plan.check_limit",
        old="self.total.epsilon",
        new="sum(charge.epsilon for charge in self.once + self.per_round)",
        tests=("tests/privacy/test_plan.py",),
    ),
    Mutation(
        name="meter: a charge is not crossed off",
        breaks="one charge pays twice",
        place="privacy.charges:Meter.take",
        old="del self._left[charge.name]",
        new="pass",
        tests=("tests/enclave/test_door.py::test_a_charge_opens_the_door_once",),
        core=True,
    ),
    Mutation(
        name="meter: the planned epsilon is not compared",
        breaks="a mechanism spends more than planned",
        place="privacy.charges:Meter.take",
        old="planned.price != charge.price",
        new="planned.price[1:] != charge.price[1:]",
        tests=("tests/enclave/test_door.py",),
    ),
    Mutation(
        name="door: counts are read before the charge is taken",
        breaks="private counts are read without a charge",
        place="enclave.door:Door.spend",
        old="self._meter.take_all(charge)\nreturn opaque(lambda: mechanism(self.__counts))",
        new="result = opaque(lambda: mechanism(self.__counts))\nself._meter.take_all(charge)\nreturn result",
        tests=("tests/enclave/test_door.py",),
    ),
    Mutation(
        name="door: merged tables get their own meter",
        breaks="one charge pays twice",
        place="enclave.door:Door._changed",
        old="self._meter",
        new="Meter(tuple(self._meter._left.values()))",
        tests=("tests/enclave/test_door.py",),
    ),
    Mutation(
        name="door: a failure carries its cause as context",
        breaks="a traceback shows private values",
        place="enclave.door:opaque",
        old="pass",
        new="raise PrivateFailure() from None",
        tests=("tests/enclave/test_door.py",),
    ),
    # --- Figures and verdicts
    Mutation(
        name="verdict: one met criterion is enough",
        breaks="the accepted event is not the one of the theorem",
        place="releasing.attempt:Attempt.accepted",
        old="bool(self.scores) and all(score.passed for score in self.scores)",
        new="any(score.passed for score in self.scores)",
        tests=(VALUES,),
    ),
    Mutation(
        name="verdict: a value that is not a number passes",
        breaks="an empty table is accepted",
        place="criteria.base:Criterion._judged",
        old="math.isfinite(value) and value <= self.threshold",
        new="not value > self.threshold",
        tests=(f"{VALUES}::test_what_is_not_a_number_never_passes",),
    ),
    Mutation(
        name="verdict: an empty group is ignored in the maximum",
        breaks="an empty group is accepted",
        place="criteria.base:Criterion.released",
        old="math.nan if query.void else noisy.value",
        new="noisy.value",
        tests=(VALUES,),
    ),
    Mutation(
        name="verdict: an empty group is not paid for",
        breaks="time and charges reveal that a group is empty",
        place="criteria.base:Criterion.answer",
        old="return self.released(query, private.spend(self.charge, figure))",
        new=(
            "if query.void:\n"
            "    return self._judged(math.nan, 1.0, 1.0)\n"
            "return self.released(query, private.spend(self.charge, figure))"
        ),
        tests=(VALUES,),
    ),
    # --- Noise
    Mutation(
        name="laplace_figure: the sensitivity ignores rounding",
        breaks="neighbours that round in opposite directions are not covered",
        place="privacy.grids:noise_grid",
        old="math.ceil(Fraction(sensitivity) / Fraction(step) + Fraction(1, 2)) + 1",
        new="math.ceil(Fraction(sensitivity) / Fraction(step))",
        tests=("tests/privacy/test_randomness.py",),
    ),
    Mutation(
        name="laplace_figure: noise is added off the grid",
        breaks="low bits reveal the exact value",
        place="privacy.noise:laplace_figure",
        old="float(noisy[0]) * step",
        new="float(noisy[0]) * step + value - round(value / step) * step",
        tests=("tests/privacy/test_randomness.py",),
    ),
    Mutation(
        name="discrete_laplace: epsilon ignored",
        breaks="noise of another scale",
        place="privacy.noise:discrete_laplace",
        old="Fraction(sensitivity) / epsilon",
        new="Fraction(sensitivity)",
        tests=("tests/privacy/test_randomness.py",),
    ),
    Mutation(
        name="discrete_laplace: half the scale",
        breaks="half the noise that the claim needs",
        place="privacy.noise:discrete_laplace",
        old="Fraction(sensitivity) / epsilon",
        new="Fraction(sensitivity) / epsilon / 2",
        tests=("tests/privacy/test_randomness.py::test_discrete_laplace_has_scale_sensitivity_over_epsilon",),
        core=True,
    ),
    Mutation(
        name="discrete_laplace: the scale is rounded to nearest instead of up",
        breaks="the scale is below the claim by a rounding error",
        place="privacy.grids:rounded_up",
        old="nearest if Fraction(nearest) >= value else math.nextafter(nearest, math.inf)",
        new="nearest",
        tests=("tests/privacy/test_randomness.py",),
    ),
    Mutation(
        name="discrete_laplace: one draw serves the whole vector",
        breaks="the differences of cells are exact",
        place="privacy.noise:SystemEntropy.add_laplace",
        old="laplace(Fraction(scale), len(values), secrets.token_bytes)",
        new="laplace(Fraction(scale), 1, secrets.token_bytes)",
        tests=("tests/privacy/test_randomness.py",),
    ),
    Mutation(
        name="coin: one side too likely",
        breaks="another stop probability",
        place="privacy.hidden_numbers:coin",
        old="SYSTEM.pick(probability.denominator) < probability.numerator",
        new="SYSTEM.pick(probability.denominator) <= probability.numerator",
        tests=("tests/privacy/test_randomness.py",),
    ),
    Mutation(
        name="criteria: values are released without noise",
        breaks="exact criterion values are published",
        place="privacy.noise:laplace_figure",
        old="float(noisy[0]) * step",
        new="value",
        tests=(f"{CONTRACTS}::test_the_verdict_is_one_of_the_released_value",),
    ),
    Mutation(
        name="functional mechanism: moments released without noise",
        breaks="an exact regression is published",
        place="criteria.records_mechanism:noisy_sums",
        old="discrete_laplace(sums, sensitivity=design.sensitivity, epsilon=epsilon, entropy=entropy)",
        new="sums",
        tests=(f"{CONTRACTS}::test_a_figure_that_reads_private_counts_is_noisy",),
    ),
    Mutation(
        name="PrivBayes: tables without noise",
        breaks="exact tables are published",
        place="generators.privbayes_mechanism:_measure",
        old="np.split(noisy, np.cumsum([table.size for table in tables])[:-1])",
        new="np.split(flat, np.cumsum([table.size for table in tables])[:-1])",
        tests=(FIT,),
    ),
    Mutation(
        name="PrivBayes: the best pair chosen without noise",
        breaks="an exact choice is published",
        place="generators.privbayes_mechanism:_choose_structure",
        old=(
            "choose([scores[pair] for pair in pairs], sensitivity=score_sensitivity(n), epsilon=share, "
            "mechanism=selector, entropy=entropy)"
        ),
        new=(
            "(lambda scores, **_: scores.index(max(scores)))([scores[pair] for pair in pairs], "
            "sensitivity=score_sensitivity(n), epsilon=share, mechanism=selector, entropy=entropy)"
        ),
        tests=(FIT,),
    ),
    # --- Selection
    Mutation(
        name="selection: the first round to finish wins",
        breaks="the speed of a round decides the output",
        place="releasing.selection:_results",
        old='return_as="generator"',
        new='return_as="generator_unordered"',
        tests=("tests/releasing/test_selection.py",),
    ),
    Mutation(
        name="selection: the stop coin is ignored",
        breaks="the loop may never end",
        place="releasing.selection:_ending",
        old="coin(rule.stop_probability)",
        new="coin(rule.stop_probability) and False",
        tests=("tests/releasing/test_selection.py",),
    ),
    Mutation(
        name="selection: the coin has another probability",
        breaks="the loop may never end",
        place="releasing.selection:_ending",
        old="coin(rule.stop_probability)",
        new="coin(0 * rule.stop_probability)",
        tests=("tests/releasing/test_selection.py",),
    ),
    Mutation(
        name="selection: the stop coin is tossed before the round is judged",
        breaks="the output has another distribution",
        place="releasing.selection:select_by",
        old="if result.verdict is Verdict.ACCEPTED:\n    return result.value",
        new="if is_over():\n    return None\nif result.verdict is Verdict.ACCEPTED:\n    return result.value",
        tests=("tests/releasing/test_selection.py",),
    ),
    Mutation(
        name="selection: a failure in private code counts as a rejected round",
        breaks="the theorem does not cover this event",
        place="releasing.selection:guarded",
        old="Verdict.FAILED",
        new="Verdict.REJECTED",
        tests=("tests/releasing/test_selection.py",),
    ),
    Mutation(
        name="selection: an unplanned charge counts as a rejected round",
        breaks="a mistake in the accounting stays unnoticed",
        place="releasing.selection:guarded",
        old="raise",
        new="return RoundResult(Verdict.REJECTED, None)",
        tests=("tests/releasing/test_selection.py",),
    ),
    # --- Low epsilon: maximum entropy, the joint test, shared measurements, cheaper criteria
    Mutation(
        name="junction tree: messages are not divided out",
        breaks="the model does not fit the measurements",
        place="generators.junction_tree:JunctionTree.calibrate",
        old="outward - np.where(possible, messages[index], 0.0)",
        new="outward",
        tests=(TREE,),
    ),
    Mutation(
        name="junction tree: chords are missing",
        breaks="the model does not fit the measurements",
        place="generators.junction_tree:_eliminated",
        old="around[other] = (before | around[column]) & ~(1 << other) & ~(1 << column)",
        new="around[other] = before & ~(1 << other) & ~(1 << column)",
        tests=(TREE,),
    ),
    Mutation(
        name="junction tree: the smallest separators are chosen",
        breaks="the model does not fit the measurements",
        place="generators.junction_tree:_spanning_tree",
        old="(-shared[pair], pair)",
        new="(shared[pair], pair)",
        tests=(TREE,),
    ),
    Mutation(
        name="junction tree: sums of exponentials keep their largest term",
        breaks="numbers overflow and the model is not a number",
        place="generators.junction_tree:sum_out",
        old="np.where(np.isfinite(top), top, 0.0)",
        new="np.zeros_like(top)",
        tests=(TREE,),
    ),
    Mutation(
        name="maximum entropy: rules are ignored",
        breaks="impossible rows are released",
        place="generators.maximum_entropy:base_potentials",
        old="np.where(plausibility.structural_zeros(clique), -np.inf, 0.0)",
        new="np.zeros(plausibility.structural_zeros(clique).shape)",
        tests=(f"{ENTROPY}::test_impossible_cells_are_exact_zeros_however_large_their_noisy_count",),
    ),
    Mutation(
        name="maximum entropy: the weight of the prior is ignored",
        breaks="a wrong public table outweighs the measurements",
        place="generators.maximum_entropy:_Dual.__init__",
        old="ridges.append(table.variance().ravel()[possible] * (weight / measured.n**2))",
        new="ridges.append(table.variance().ravel()[possible] * (1 / measured.n**2))",
        tests=(MINIMUM,),
    ),
    Mutation(
        name="maximum entropy: shared columns of the prior count twice",
        breaks="the model starts from another table than stated",
        place="generators.maximum_entropy:base_potentials",
        old="np.log(shares) - np.log(spread(of_separator, tree.separator(index), clique))",
        new="np.log(shares)",
        tests=(f"{ENTROPY}::test_a_prior_of_huge_weight_is_the_model_and_one_of_small_weight_gives_way",),
    ),
    Mutation(
        name="maximum entropy: the prior is not smoothed",
        breaks="cells that the public table lacks can never appear",
        place="generators.maximum_entropy",
        old="_UNIFORM_SHARE = 0.001",
        new="_UNIFORM_SHARE = 0.0",
        tests=(f"{ENTROPY}::test_the_data_fill_what_the_public_table_lacks",),
    ),
    Mutation(
        name="maximum entropy: the fit ends early",
        breaks="an unfinished model is used",
        place="generators.maximum_entropy",
        old="_PRECISION = 0.2",
        new="_PRECISION = 4.0",
        tests=(f"{ENTROPY}::test_at_the_usual_precision_the_fit_is_a_fifth_of_the_noise_from_the_minimum",),
    ),
    Mutation(
        name="maximum entropy: a fit that did not converge is used",
        breaks="an unfinished model is used",
        place="generators.maximum_entropy:_Dual.solved",
        old="""
if self.converged(self.latest):
    _, beliefs = self.tree.calibrate(self.potentials(at))
    return [np.exp(belief) for belief in beliefs]
""",
        new="""
_, beliefs = self.tree.calibrate(self.potentials(at))
return [np.exp(belief) for belief in beliefs]
""",
        tests=(f"{ENTROPY}::test_a_fit_that_does_not_converge_rejects_the_round",),
    ),
    Mutation(
        name="maximum entropy: a value that is not a number counts as converged",
        breaks="a broken model is used",
        place="generators.maximum_entropy:_Dual.converged",
        old="(np.abs(gradient) <= self.tolerance) | empty",
        new="~(np.abs(gradient) > self.tolerance) | empty",
        tests=(f"{ENTROPY}::test_what_is_not_a_number_has_not_converged",),
    ),
    Mutation(
        name="maximum entropy: the gradient lacks the ridge",
        breaks="the model is not the stated one",
        place="generators.maximum_entropy:_Dual.__call__",
        old="model - self.target + self.ridge * parameters",
        new="model - self.target",
        tests=(f"{ENTROPY}::test_value_and_gradient_of_the_dual_agree",),
    ),
    Mutation(
        name="maximum entropy: families get one column too few",
        breaks="associations between columns are lost",
        place="generators.maximum_entropy:families_of",
        old="parents.append(column)",
        new="parents[:] = [*parents, column][-2:]",
        tests=(f"{ENTROPY}::test_families_multiply_to_the_shares_of_the_cliques",),
    ),
    Mutation(
        name="marginals: every table gets the whole budget",
        breaks="the tables cost more than is charged",
        place="generators.marginals:MarginalsGenerator.measured_tables",
        old="share * part",
        new="part",
        tests=(FORMULA,),
    ),
    Mutation(
        name="marginals: tables have no noise",
        breaks="private counts are published",
        place="generators.marginals_mechanism:measure_tables",
        old="noisy.reshape(exact.shape)",
        new="exact",
        tests=(FORMULA,),
    ),
    Mutation(
        name="scored sums: each sum gets the whole budget",
        breaks="the sums cost more than is charged",
        place="generators.marginals:MarginalsGenerator.sum_shares",
        old="left * group.weight / self._weight_of_sums",
        new="left",
        tests=(SUMS,),
    ),
    Mutation(
        name="scored sums: sums have no noise",
        breaks="the model contains private sums",
        place="generators.marginals_mechanism:measure_sums",
        old="zip(group, noisy.tolist(), strict=True)",
        new="zip(group, exact[len(measured) : len(measured) + len(group)].tolist(), strict=True)",
        tests=(SUMS,),
    ),
    Mutation(
        name="one noise: each sum of a group gets the whole budget",
        breaks="a group of m sums costs m times the charge",
        place="generators.marginals_mechanism:measure_sums",
        old="noise = discrete_laplace if len(group) == 1 else one_noise",
        new="noise = discrete_laplace",
        tests=(SUMS,),
    ),
    Mutation(
        name="one noise: every proposed radius is accepted",
        breaks="the noise has another distribution than proved, and is smaller",
        place="privacy.noise:radius",
        old="entropy.pick(math.prod(2 * k + 2 * j for j in range(1, size + 1))) < (2 * k + 1) ** size",
        new="True",
        tests=("tests/privacy/test_cube_noise.py",),
    ),
    Mutation(
        name="one noise: the last corner of the cube is never drawn",
        breaks="one table has an outcome that is impossible for its neighbour",
        place="privacy.noise:drawn",
        old="np.full(size, 2 * k + 1, dtype=np.int64)",
        new="np.full(size, max(1, 2 * k), dtype=np.int64)",
        tests=("tests/privacy/test_cube_noise.py",),
    ),
    Mutation(
        name="one noise: one geometric number is missing",
        breaks="the noise is smaller than proved",
        place="privacy.noise:radius",
        old="range(size + 1)",
        new="range(size)",
        tests=("tests/privacy/test_cube_noise.py",),
    ),
    Mutation(
        name="one noise: the limit is that of separate noise",
        breaks="limits of original sums are too narrow",
        place="generators.measured_noise:entry_limit",
        old="DiscreteLaplace(float(scale)).rounded_up.limit(risk) if together == 1 else cube_limit(together, scale, risk)",
        new="DiscreteLaplace(float(scale)).rounded_up.limit(risk)",
        tests=("tests/criteria/test_limits_of_scored_sums.py",),
    ),
    Mutation(
        name="one noise: verify ignores how many sums share it",
        breaks="readers mistake the common noise of several sums for the noise of one",
        place="bundle.verify_figures:_expected_sums",
        old="noisy.together",
        new="1",
        tests=("tests/bundle/verify/test_measured_sums.py",),
    ),
    Mutation(
        name="scored sums: published measurements may omit them",
        breaks="readers believe that the published tables are all that was measured",
        place="bundle.verify_figures:_problems",
        old="found_sums != list(_expected_sums(document, layout))",
        new="False",
        tests=("tests/bundle/verify/test_measured_sums.py",),
    ),
    Mutation(
        name="scored sums: bins with different scores are merged as equal",
        breaks="a limit of an original sum is wrong",
        place="generators.measurements:NoisySum.merge",
        old="self.exact and same",
        new="self.exact",
        tests=("tests/criteria/test_limits_of_scored_sums.py",),
    ),
    Mutation(
        name="scored sums: their limits ignore the size of a step",
        breaks="limits of original sums are too narrow",
        place="criteria.measured:limit_of",
        old="abs(over) * noisy.limit(risk)",
        new="noisy.limit(risk)",
        tests=("tests/criteria/test_limits_of_scored_sums.py",),
    ),
    Mutation(
        name="marginals: the size of cliques ignores rules",
        breaks="memory runs out in the enclave, after the charge",
        place="generators.marginals:MarginalsGenerator.mistakes",
        old="[*self.structure(layout), *tied]",
        new="self.structure(layout)",
        tests=(FORMULA,),
    ),
    Mutation(
        name="marginals: all measurements can be shared",
        breaks="a configuration is fitted to tables that were not measured for it",
        place="generators.marginals:MarginalsGenerator.same_measurements",
        old="other._measured() == self._measured()",
        new="True",
        tests=(FORMULA,),
    ),
    Mutation(
        name="measurements: a merged cell has the variance of one cell",
        breaks="merged cells get too much weight",
        place="generators.measurements:NoisyMarginal.variance",
        old="self.cells",
        new="np.ones_like(self.cells)",
        tests=(MEASURED,),
    ),
    Mutation(
        name="measurements: the variance is halved",
        breaks="the published noise is understated",
        place="generators.measurements:NoisyMarginal.variance",
        old="self.noise.variance_above",
        new="self.noise.variance_above / 2",
        tests=(MEASURED,),
    ),
    Mutation(
        name="common bins: a binning that refines another binning is used",
        breaks="shared measurements cannot be merged to the bins of every configuration",
        place="generators.space:join",
        old="all(binning.refines(other) for other in binnings)",
        new="any(binning.refines(other) for other in binnings)",
        tests=(MEASURED,),
    ),
    Mutation(
        name="joint test: a slack that is not a number counts as the best",
        breaks="a broken value passes",
        place="criteria.base_mechanism:least_slack",
        old="max(-_LIMIT, min(slack, _LIMIT)) if not math.isnan(slack) else -_LIMIT",
        new="max(-_LIMIT, min(slack, _LIMIT)) if not math.isnan(slack) else _LIMIT",
        tests=(JOINT,),
    ),
    Mutation(
        name="joint test: public scores are ignored",
        breaks="rows that are too rare pass",
        place="criteria.scoring:JointTest.passes",
        old="answer.passed",
        new="True",
        tests=(JOINT,),
    ),
    Mutation(
        name="joint test: slacks are not clipped",
        breaks="a value that is not finite stops the run and reveals something about the table",
        place="criteria.base_mechanism:least_slack",
        old="max(-_LIMIT, min(slack, _LIMIT))",
        new="slack",
        tests=(JOINT,),
    ),
    Mutation(
        name="slack: a void candidate passes",
        breaks="a group without rows passes",
        place="criteria.base_mechanism:slack",
        old="-math.inf",
        new="math.inf",
        tests=(JOINT,),
    ),
    Mutation(
        name="slack: not in units of its sensitivity",
        breaks="noise too small for most criteria",
        place="criteria.base_mechanism:slack",
        old="(threshold - query.figure(counts)) / query.sensitivity",
        new="(threshold - query.figure(counts)) * 40",
        tests=(JOINT,),
    ),
    Mutation(
        name="slack of one step: records are replaced by the farthest record of the file",
        breaks="one record changes the slack by more than 1",
        place="criteria.records_mechanism:replaced_before",
        old="math.ceil(far * grid)",
        new="int(whole(direction).max())",
        tests=(JOINT,),
    ),
    Mutation(
        name="slack of one step: records that lack a column cannot be replaced",
        breaks="one record changes the slack by more than 1",
        place="criteria.records_mechanism:replaced_before",
        old="np.append(records.counts, lacking)",
        new="np.append(records.counts, 0)",
        tests=(JOINT,),
    ),
    Mutation(
        name="slack of one step: the last record does not count",
        breaks="a table that fails after one replaced record has the slack of a failing table",
        place="criteria.records_mechanism:_replaced",
        old="int(number[first[:last]].sum()) + (left - covered) // int(gains[last]) + 1",
        new="int(number[first[:last]].sum()) + (left - covered) // int(gains[last])",
        tests=(JOINT,),
    ),
    Mutation(
        name="slack of one step: the slack is positive where one record decides",
        breaks="the slack changes by more than 1 between a passing table and a failing neighbour",
        place="criteria.records_mechanism:slack_of_steps",
        old="replaced_before(records, counts.total - records.rows, step, threshold, farthest) - 1",
        new="replaced_before(records, counts.total - records.rows, step, threshold, farthest) + 1",
        tests=(JOINT,),
    ),
    Mutation(
        name="slack of a ratio: threshold r - s",
        breaks="the sensitivity exceeds 1",
        place="criteria.marginals_mechanism:bins_inside",
        old="r - s / threshold",
        new="threshold * r - s",
        tests=(f"{JOINT}::test_no_neighbour_moves_a_slack_by_more_than_one",),
    ),
    Mutation(
        name="laplace_tail: the step of rounding left out",
        breaks="the false-acceptance rate is above what is said",
        place="privacy.grids:laplace_tail",
        old="(k + 1) * step",
        new="k * step",
        tests=("tests/privacy/test_randomness.py",),
    ),
    Mutation(
        name="laplace_tail: twice the probability",
        breaks="the false-acceptance rate is above what is said",
        place="privacy.grids:laplace_tail",
        old="float(probability)",
        new="float(probability) * 2",
        tests=("tests/privacy/test_randomness.py",),
    ),
    Mutation(
        name="one step: impossible records count",
        breaks="the noise is larger than needed",
        place="criteria.regressions:_Step._residuals",
        old="possible.reshape(shape)",
        new="(possible | True).reshape(shape)",
        tests=(ONE_STEP,),
    ),
    Mutation(
        name="one step: possible records are left out",
        breaks="the noise is too small for possible records",
        place="criteria.regressions:_Step._residuals",
        old="possible.reshape(shape)",
        new="possible.reshape(shape)[:, ::-1]",
        tests=(ONE_STEP,),
    ),
    Mutation(
        name="one step: an undetermined line passes",
        breaks="a table without a regression line passes",
        place="criteria.regressions:_Step.of",
        old="not np.linalg.eigvalsh(products)[0] > _SINGULAR",
        new="False",
        tests=(ONE_STEP,),
    ),
    Mutation(
        name="regression prediction: the bound of the lines is halved",
        breaks="the noise is half of what is needed",
        place="criteria.regressions:RegressionPrediction.query",
        old="most.max() - least.min()",
        new="most.max()",
        tests=(ONE_STEP,),
    ),
    Mutation(
        name="plan: charges after acceptance are forgotten",
        breaks="epsilon is spent without a charge",
        place="privacy.plan:_figures",
        old='(in_sequence("figures of the accepted dataset", *figures),) if figures else ()',
        new="()",
        tests=("tests/privacy/test_plan.py::test_charges_after_acceptance_are_added_once",),
        core=True,
    ),
    Mutation(
        name="plan: names after acceptance are not compared",
        breaks="two charges pass as one",
        place="privacy.plan:Plan.of",
        old="once + per_round + after",
        new="once + per_round",
        tests=("tests/privacy/test_plan.py",),
    ),
    Mutation(
        name="plan: shared measurements are free",
        breaks="epsilon is spent without a charge",
        place="spec.release_spec:ReleaseSpec._charges",
        old="once, generation = [*once, *generation], []",
        new="generation = []",
        tests=(LOW,),
    ),
    Mutation(
        name="digest: the content of a prior left out",
        breaks="two specifications pass as one",
        place="spec.space:prior_digest",
        old="digest_of(Source.of(path))",
        new="name",
        tests=(LOW,),
    ),
    Mutation(
        name="verdict: without scores and test accepted",
        breaks="every table is accepted",
        place="releasing.attempt:Attempt.accepted",
        old="bool(self.scores) and all(score.passed for score in self.scores)",
        new="all(score.passed for score in self.scores)",
        tests=(LOW,),
    ),
    Mutation(
        name="values after acceptance: they are tested once more",
        breaks="noise withdraws an accepted table, in a second selection without a charge",
        place="releasing.attempt:released_figures",
        old="replace(score, passed=True, decides=score.noise_sd is None)",
        new="replace(score, decides=score.noise_sd is None)",
        tests=(LOW,),
    ),
    Mutation(
        name="generate: priors ignored",
        breaks="the public table has no effect",
        place="releasing.attempt:generate",
        old="prior is None",
        new="True",
        tests=(LOW,),
    ),
    Mutation(
        name="release: measurements always published",
        breaks="published against the steward's word",
        place="releasing.release:release",
        old="spec.publish_measurements",
        new="True",
        tests=(LOW,),
    ),
    Mutation(
        name="rehearsal: all budgets get the same noise",
        breaks="the advice on budgets is wrong",
        place="studio.rehearsal.attempts:_run",
        old="(1, index, number, spec.budget.generation.numerator, spec.budget.generation.denominator)",
        new="(1, index, number)",
        tests=(f"{REHEARSED}::test_two_budgets_have_noise_of_their_own",),
    ),
    Mutation(
        name="rehearsal: a criterion passes without its margin",
        breaks="the rehearsal promises more than a release achieves",
        place="studio.rehearsal.attempts:_run",
        old="spec.joint_test.margin",
        new="0",
        tests=(f"{REHEARSED}::test_under_a_joint_test_a_criterion_passes_when_its_slack_alone_reaches_the_margin",),
    ),
    Mutation(
        name="rehearsal: the probability of a joint test ignores its margin",
        breaks="the rehearsal promises more than a release achieves",
        place="studio.rehearsal.attempts:_joint",
        old="passing(test.margin, slack, 1.0, test.epsilon)",
        new="passing(0.0, slack, 1.0, test.epsilon)",
        tests=(f"{REHEARSED}::test_under_a_joint_test_a_slack_gets_the_noise_of_a_release",),
    ),
    Mutation(
        name="rare bins: equal values are not distinguished",
        breaks="rare bins are drawn too often or too seldom",
        place="data.synthetic_table:rare_first",
        old="np.arange(len(every))",
        new="np.cumsum(np.diff(every[order], prepend=-1) != 0) - 1",
        tests=("tests/data/test_counts.py",),
    ),
    Mutation(
        name="spread: the offset is not random",
        breaks="the same rows are always dropped",
        place="generators.projections:MinimumCount.project",
        old="generator.random()",
        new="0.5",
        tests=("tests/generators/test_minimum_count.py",),
    ),
    Mutation(
        name="spread: in the order of the table",
        breaks="rows are dropped by their order",
        place="generators.projections:MinimumCount.project",
        old="rare_first(table.bins, table.counts, table.total)",
        new="np.arange(len(table.counts))",
        tests=("tests/generators/test_minimum_count.py",),
    ),
    # --- Other generators
    Mutation(
        name="MWEM: choices and counts each get the whole part",
        breaks="epsilon is doubled",
        place="generators.mwem_pep:CountingQueries._fit",
        old="2 * self.iterations",
        new="self.iterations",
        tests=("tests/generators/test_counting_queries.py",),
    ),
    Mutation(
        name="DPGAN: a replaced record counts as one clip",
        breaks="the rho is a quarter of what the guarantee needs",
        place="generators.adversarial_mechanism:noisy_gradient",
        old="2 * clip",
        new="clip",
        tests=("tests/generators/test_dpgan.py",),
    ),
    Mutation(
        name="DPGAN: gradients are not clipped",
        breaks="one record can change the gradient without limit",
        place="generators.adversarial_mechanism:clipped_sum_of_cells",
        old="(weights * clipped_shares(weights * np.sqrt(squares), clip) * times)[:, None]",
        new="(weights * times)[:, None]",
        tests=("tests/generators/test_dpgan.py",),
    ),
    Mutation(
        name="counting queries: impossible cells get a positive probability",
        breaks="released rows break the rules",
        place="generators.counting_queries:plausible_cells",
        old="free.astype(float)",
        new="np.ones(free.shape)",
        tests=(f"{CONTRACTS}::test_a_generator_finds_the_only_plausible_row",),
    ),
    Mutation(
        name="pure family with curves: it gets the epsilon of twice the rho",
        breaks="a pure family spends more than its rho",
        place="privacy.plan:pure_epsilon",
        old="2 * charge.renyi.rho",
        new="4 * charge.renyi.rho",
        tests=("tests/generators/test_counting_queries.py",),
    ),
    Mutation(
        name="replacing a record: twice the rho of adding or removing",
        breaks="the charge is half of the cost of two steps",
        place="privacy.plan:replacing_one",
        old='zero_concentrated(name, 4 * rho, "4 times the rho for adding or removing a record")',
        new='zero_concentrated(name, 2 * rho, "4 times the rho for adding or removing a record")',
        tests=("tests/privacy/test_neighbours.py",),
    ),
    Mutation(
        name="library: it gets the rho for replacing a record",
        breaks="the cost is four times the claim",
        place="privacy.plan:library_charge",
        old="budget / 4",
        new="budget",
        tests=("tests/privacy/test_neighbours.py",),
    ),
    Mutation(
        name="library: its draws are not added up",
        breaks="a mistake in the library's accounting stays unnoticed",
        place="generators.smartnoise_mechanism:Randomness._spend",
        old="self.left -= rho",
        new="pass",
        tests=("tests/generators/test_libraries.py",),
    ),
    Mutation(
        name="library: its choices use numpy's global generator",
        breaks="whoever knows the generator's state knows the choices",
        place="generators.smartnoise_mechanism:run_mst.Ours.exponential_mechanism",
        old="randomness.choose",
        new="super().exponential_mechanism",
        tests=("tests/generators/test_libraries.py",),
    ),
    Mutation(
        name="memory: memory of libraries is ignored",
        breaks="the run ends for lack of memory, after the charge",
        place="generators.base:Generator.megabytes",
        old="self.library_megabytes + self.peak_cells(layout) * _BYTES_OF_A_NUMBER // 2**20",
        new="self.peak_cells(layout) * _BYTES_OF_A_NUMBER // 2**20",
        tests=("tests/releasing/test_memory.py",),
    ),
    Mutation(
        name="verify: a curve counts as a guarantee",
        breaks="a release with epsilon 0 in its document passes",
        place="published.verify.charges:_guarantee_problems",
        old="root.renyi is not None",
        new="False",
        tests=("tests/bundle/verify/test_verify.py::test_a_curve_is_no_guarantee",),
    ),
    # --- Projection
    Mutation(
        name="projection: the minimum count is m - 1",
        breaks="released rows are rarer than promised",
        place="generators.projections:MinimumCount.project",
        old="self.minimum_count",
        new="self.minimum_count - 1",
        tests=("tests/generators/test_minimum_count.py",),
    ),
    Mutation(
        name="face privacy: rows that occur m - 1 times pass",
        breaks="released rows are rarer than promised",
        place="criteria.face_privacy:RareRows._rare",
        old="self.minimum_count",
        new="self.minimum_count - 1",
        tests=(VALUES,),
    ),
)

QUOTED = (
    OF_THE_THEORY
    + OF_THE_LEDGER
    + OF_LEAKS
    + OF_HIDDEN_NUMBERS
    + OF_FORMATS
    + OF_READERS
    + OF_OWN_VALUES
    + OF_MODELS
    + OF_DOORS
    + OF_FLOATS
    + OF_THE_ROWS
    + OF_SCOUTS
    + OF_SPENDING
    + OF_THE_SPLIT
    + OF_YEARS
    + OF_DOCUMENTS
    + OF_PUBLIC_FACTS
    + OF_WIDTH
    + OF_ANSWERS
    + OF_COLUMNS
    + OF_CRITERIA
    + OF_VERIFYING
    + OF_WEIGHTS
    + OF_BASELINES
    + OF_COPIES
    + OF_ADAPTIVE
    + OF_NETWORKS
    + OF_PRICES
    + OF_NOISE
    + OF_PIECES
    + OF_PERSONS
    + OF_MEMBERS
    + OF_LARGE_COUNTS
    + OF_ESTIMATES
    + OF_AREAS
    + OF_MARKS
)


def mutations() -> tuple[Mutation | Derived, ...]:
    """All: those that follow from rules, and those that quote a line."""
    return (*of_rules(), *QUOTED)


if __name__ == "__main__":
    sys.exit(main(mutations(), sys.argv[1:]))
