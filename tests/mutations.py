"""Mutations of the code that privacy rests on, each of which some test must catch.

Run by hand (a few minutes): `python tests/mutations.py` applies each mutation alone to a copy of the package, runs the
tests named for it there and prints a Markdown table. `python tests/mutations.py WORD ...` runs those whose name holds one
of the words. The working tree is never changed. tests/test_mutations.py runs the ones marked `core` in the default suite.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
COPIED = ("synthrelease", "tests", "configs", "acceptance", "public_data", "pyproject.toml")
TIMEOUT = 300  # seconds; a mutated loop may not end


@dataclass(frozen=True, kw_only=True)
class Mutation:
    """One wrong line. `old` occurs exactly once in `file`; `tests` (files or test ids) must fail when it is `new`."""

    name: str
    file: str
    old: str
    new: str
    tests: tuple[str, ...]
    core: bool = False


class StaleMutation(Exception):
    """The code has changed and the mutation no longer says where it belongs."""


SENSITIVITY = "tests/test_criteria_sensitivity.py"
VALUES = "tests/test_criteria_values.py"
NEIGHBOURS = f"{SENSITIVITY}::test_no_neighbour_moves_a_figure_by_more_than_its_sensitivity"
FIT = "tests/test_privbayes.py"
CONTRACTS = "tests/test_contracts.py"
TREE = "tests/test_junction_tree.py"
ENTROPY = "tests/test_maximum_entropy.py"
MINIMUM = f"{ENTROPY}::test_the_fit_meets_the_conditions_of_the_minimum"
FORMULA = "tests/test_marginals_generator.py"
MEASURED = "tests/test_measurements.py"
JOINT = "tests/test_joint_test.py"
ONE_STEP = "tests/test_regression_one_step.py"
LOW = "tests/test_low_epsilon.py"
REHEARSED = "tests/test_rehearsal_attempts.py"

MUTATIONS = (
    # --- Sensitivities
    Mutation(
        name="absolute marginal error: sensitivity halved",
        file="synthrelease/criteria/marginals.py",
        old="return Query(sensitivity=1 / n, figure=lambda counts: largest_difference(",
        new="return Query(sensitivity=0.5 / n, figure=lambda counts: largest_difference(",
        tests=(f"{NEIGHBOURS}[absolute_marginal_error-n3-case0]",),
        core=True,
    ),
    Mutation(
        name="relative marginal error: sensitivity halved",
        file="synthrelease/criteria/marginals.py",
        old="sensitivity=ratio_sensitivity(synthetic, self.clip)",
        new="sensitivity=ratio_sensitivity(synthetic, self.clip) / 2",
        tests=(NEIGHBOURS,),
    ),
    Mutation(
        name="relative marginal error: steps below the clip not tried",
        file="synthrelease/criteria/marginals.py",
        old="near = {math.floor(s / clip), s, math.floor(s * clip)}",
        new="near = {math.floor(s * clip)}",
        tests=(VALUES,),
    ),
    Mutation(
        name="relative marginal error: not clipped",
        file="synthrelease/criteria/marginals.py",
        old="np.clip(np.maximum(r / s, s / r), 1.0, clip)",
        new="np.maximum(r / s, s / r)",
        tests=(NEIGHBOURS,),
    ),
    Mutation(
        name="conditional mean: sensitivity halved",
        file="synthrelease/criteria/conditional_means.py",
        old="sensitivity = (highest - lowest) / min(",
        new="sensitivity = (highest - lowest) / 2 / min(",
        tests=(NEIGHBOURS,),
    ),
    Mutation(
        name="conditional mean: largest group instead of the smallest",
        file="synthrelease/criteria/conditional_means.py",
        old="min(int(size.min()) for size in sizes)",
        new="max(int(size.max()) for size in sizes)",
        tests=(NEIGHBOURS,),
    ),
    Mutation(
        name="conditional mean: short groups not filled up",
        file="synthrelease/criteria/conditional_means.py",
        old="(sums + short * fallback) / np.maximum(counts, sizes)",
        new="(sums + (counts == 0) * fallback) / np.maximum(counts, 1)",
        tests=(NEIGHBOURS,),
    ),
    Mutation(
        name="conditional mean: values not clipped to the range",
        file="synthrelease/criteria/conditional_means.py",
        old="np.clip(candidate.transformation.numbers(self.column), lowest, highest)",
        new="candidate.transformation.numbers(self.column)",
        tests=(NEIGHBOURS,),
    ),
    Mutation(
        name="regression prediction: sensitivity halved",
        file="synthrelease/criteria/regression_prediction.py",
        old="widest = 2 * (highest - lowest)",
        new="widest = highest - lowest",
        tests=(NEIGHBOURS,),
    ),
    Mutation(
        name="regression prediction: predictions not clipped",
        file="synthrelease/criteria/functional_mechanism.py",
        old="np.clip(prediction, lowest, highest)",
        new="prediction",
        tests=(NEIGHBOURS,),
    ),
    Mutation(
        name="faithfulness: sensitivity halved",
        file="synthrelease/criteria/faithfulness.py",
        old="sensitivity=1 / n,\n",
        new="sensitivity=0.5 / n,\n",
        tests=(NEIGHBOURS,),
    ),
    Mutation(
        name="functional mechanism: factor 2 of replacing dropped",
        file="synthrelease/criteria/functional_mechanism.py",
        old="sensitivity=2 * max(sizes)",
        new="sensitivity=max(sizes)",
        tests=(SENSITIVITY,),
    ),
    Mutation(
        name="functional mechanism: the last cell of each piece is not scanned",
        file="synthrelease/criteria/functional_mechanism.py",
        old=".sum(axis=1).max(initial=1)) for piece in pieces]",
        new=".sum(axis=1)[:-1].max(initial=1)) for piece in pieces]",
        tests=(SENSITIVITY,),
    ),
    Mutation(
        name="PrivBayes: table sensitivity d instead of 2 d",
        file="synthrelease/generators/privbayes.py",
        old="sensitivity=2 * len(tables)",
        new="sensitivity=len(tables)",
        tests=(f"{FIT}::test_tables_change_by_two_per_table_when_a_record_is_replaced",),
        core=True,
    ),
    Mutation(
        name="PrivBayes: score sensitivity halved",
        file="synthrelease/generators/privbayes.py",
        old="return 6 * n + 4",
        new="return 3 * n + 2",
        tests=(FIT,),
    ),
    Mutation(
        name="PrivBayes: every choice gets the whole structure budget",
        file="synthrelease/generators/privbayes.py",
        old="share = epsilon / max(1, len(left))",
        new="share = epsilon",
        tests=(FIT,),
    ),
    Mutation(
        name="PrivBayes: tables get the whole budget",
        file="synthrelease/generators/privbayes.py",
        old="epsilon_tables = charge.epsilon - epsilon_structure",
        new="epsilon_tables = charge.epsilon",
        tests=(FIT,),
    ),
    # --- Accounting
    Mutation(
        name="private selection: factor 2 dropped",
        file="synthrelease/privacy.py",
        old="epsilon=2 * one_round.epsilon",
        new="epsilon=one_round.epsilon",
        tests=("tests/test_privacy.py::test_regression_once_costs_9_55",),
        core=True,
    ),
    Mutation(
        name="private selection: delta > 0 accepted",
        file="synthrelease/privacy.py",
        old="if one_round.delta != 0:",
        new="if one_round.delta > 1:",
        tests=("tests/test_privacy.py",),
    ),
    Mutation(
        name="limit: compared with the charge of one round",
        file="synthrelease/privacy.py",
        old="if limit is not None and self.total.epsilon > limit:",
        new="if limit is not None and sum(charge.epsilon for charge in self.once + self.per_round) > limit:",
        tests=("tests/test_privacy.py",),
    ),
    Mutation(
        name="meter: a charge is not struck off",
        file="synthrelease/private.py",
        old="        del self._left[charge.name]\n",
        new="",
        tests=("tests/test_private.py::test_a_charge_opens_the_door_once",),
        core=True,
    ),
    Mutation(
        name="meter: the planned epsilon is not compared",
        file="synthrelease/private.py",
        old=" or planned.epsilon != charge.epsilon",
        new="",
        tests=("tests/test_private.py",),
    ),
    Mutation(
        name="door: counts are read before the charge is taken",
        file="synthrelease/private.py",
        old="        self._meter.take(charge)\n        return _opaque(lambda: mechanism(self.__counts))",
        new="        result = _opaque(lambda: mechanism(self.__counts))\n"
        "        self._meter.take(charge)\n"
        "        return result",
        tests=("tests/test_private.py",),
    ),
    Mutation(
        name="door: merged tables get a meter of their own",
        file="synthrelease/private.py",
        old="_opaque(lambda: self.__counts.merge(layout, maps)), self._meter,",
        new="_opaque(lambda: self.__counts.merge(layout, maps)), Meter(tuple(self._meter._left.values())),",
        tests=("tests/test_private.py",),
    ),
    Mutation(
        name="door: a failure carries its cause as context",
        file="synthrelease/private.py",
        old="        pass  # the failure is raised below, outside this block, so that the cause is not attached to it\n",
        new="        raise PrivateFailure() from None\n",
        tests=("tests/test_private.py",),
    ),
    # --- Figures and verdicts
    Mutation(
        name="verdict: one passed criterion is enough",
        file="synthrelease/attempt.py",
        old="return bool(self.scores) and all(score.passed",
        new="return any(score.passed",
        tests=(VALUES,),
    ),
    Mutation(
        name="difference lattice: cells absent from one side dropped",
        file="synthrelease/table.py",
        old="        np.concatenate([left.codes, right.codes]),\n        np.concatenate([left.counts, -right.counts]),\n",
        new="        np.intersect1d(left.codes, right.codes),\n"
        "        left.counts[np.isin(left.codes, right.codes)] - right.counts[np.isin(right.codes, left.codes)],\n",
        tests=("tests/test_table.py::test_differences_keep_cells_that_only_one_table_has",),
        core=True,
    ),
    Mutation(
        name="verdict: a value that is not a number passes",
        file="synthrelease/criteria/base.py",
        old="passed=math.isfinite(value) and value <= self.threshold,",
        new="passed=not value > self.threshold,",
        tests=(f"{VALUES}::test_what_is_not_a_number_never_passes",),
    ),
    Mutation(
        name="verdict: an empty group is left out of the maximum",
        file="synthrelease/criteria/base.py",
        old="        value = math.nan if query.void else noisy.value\n",
        new="        value = noisy.value\n",
        tests=(VALUES,),
    ),
    Mutation(
        name="verdict: an empty group is not paid for",
        file="synthrelease/criteria/base.py",
        old="        noisy = private.spend(\n",
        new="        if query.void:\n"
        '            return self._judged(math.nan, "Laplace", 1.0, 1.0, self.epsilon)\n'
        "        noisy = private.spend(\n",
        tests=(VALUES,),
    ),
    # --- Noise
    Mutation(
        name="laplace_figure: no allowance for rounding",
        file="synthrelease/randomness.py",
        old="return step, math.ceil(Fraction(sensitivity) / Fraction(step) + Fraction(1, 2)) + 1",
        new="return step, math.ceil(Fraction(sensitivity) / Fraction(step))",
        tests=("tests/test_randomness.py",),
    ),
    Mutation(
        name="laplace_figure: noise added off the grid",
        file="synthrelease/randomness.py",
        old="return NoisyFigure(value=float(noisy[0]) * step,",
        new="return NoisyFigure(value=float(noisy[0]) * step + value - round(value / step) * step,",
        tests=("tests/test_randomness.py",),
    ),
    Mutation(
        name="discrete_laplace: epsilon ignored",
        file="synthrelease/randomness.py",
        old="scale = _round_up(Fraction(sensitivity) / epsilon)",
        new="scale = _round_up(Fraction(sensitivity))",
        tests=("tests/test_randomness.py",),
    ),
    Mutation(
        name="discrete_laplace: half the scale",
        file="synthrelease/randomness.py",
        old="scale = _round_up(Fraction(sensitivity) / epsilon)",
        new="scale = _round_up(Fraction(sensitivity) / epsilon / 2)",
        tests=("tests/test_randomness.py::test_discrete_laplace_has_scale_sensitivity_over_epsilon",),
        core=True,
    ),
    Mutation(
        name="discrete_laplace: scale rounded to nearest, not up",
        file="synthrelease/randomness.py",
        old="return nearest if Fraction(nearest) >= value else math.nextafter(nearest, math.inf)",
        new="return nearest",
        tests=("tests/test_randomness.py",),
    ),
    Mutation(
        name="discrete_laplace: one draw for the whole vector",
        file="synthrelease/randomness.py",
        old="return np.array(_laplace_measurement(scale)(np.ascontiguousarray(values, dtype=np.int64)), dtype=np.int64)",
        new="return np.asarray(values, dtype=np.int64) + np.array(_laplace_measurement(scale)(np.zeros(1, dtype=np.int64)))",
        tests=("tests/test_randomness.py",),
    ),
    Mutation(
        name="choose: doubled epsilon",
        file="synthrelease/randomness.py",
        old="epsilon=_round_down(epsilon),",
        new="epsilon=_round_down(2 * epsilon),",
        tests=("tests/test_randomness.py",),
    ),
    Mutation(
        name="coin: one side too likely",
        file="synthrelease/randomness.py",
        old="secrets.randbelow(probability.denominator) < probability.numerator",
        new="secrets.randbelow(probability.denominator) <= probability.numerator",
        tests=("tests/test_randomness.py",),
    ),
    Mutation(
        name="criteria: figures released without noise",
        file="synthrelease/randomness.py",
        old="    return NoisyFigure(value=float(noisy[0]) * step,",
        new="    return NoisyFigure(value=value,",
        tests=(CONTRACTS,),
    ),
    Mutation(
        name="functional mechanism: moments released without noise",
        file="synthrelease/criteria/functional_mechanism.py",
        old="sums=noisy / design.scales",
        new="sums=sums / design.scales",
        tests=(CONTRACTS,),
    ),
    Mutation(
        name="PrivBayes: tables without noise",
        file="synthrelease/generators/privbayes.py",
        old="pieces = np.split(noisy,",
        new="pieces = np.split(flat,",
        tests=(FIT,),
    ),
    Mutation(
        name="PrivBayes: the best pair chosen without noise",
        file="synthrelease/generators/privbayes.py",
        old="chosen = choose(\n",
        new="chosen = (lambda scores, **_: scores.index(max(scores)))(\n",
        tests=(FIT,),
    ),
    # --- Selection
    Mutation(
        name="selection: the first to finish wins",
        file="synthrelease/selection.py",
        old='return_as="generator"',
        new='return_as="generator_unordered"',
        tests=("tests/test_selection.py",),
    ),
    Mutation(
        name="selection: the stop coin is ignored",
        file="synthrelease/selection.py",
        old="if coin(stop_probability):",
        new="if coin(stop_probability) and False:",
        tests=("tests/test_selection.py",),
    ),
    Mutation(
        name="selection: a coin of another probability",
        file="synthrelease/selection.py",
        old="if coin(stop_probability):",
        new="if coin(Fraction(0)):",
        tests=("tests/test_selection.py",),
    ),
    Mutation(
        name="selection: the coin is tossed before the verdict",
        file="synthrelease/selection.py",
        old="            if result.verdict is Verdict.ACCEPTED:\n",
        new="            if coin(stop_probability):\n"
        "                return None\n"
        "            if result.verdict is Verdict.ACCEPTED:\n",
        tests=("tests/test_selection.py",),
    ),
    Mutation(
        name="selection: a failure in private code is a rejected round",
        file="synthrelease/selection.py",
        old="return RoundResult(Verdict.FAILED, None)",
        new="return RoundResult(Verdict.REJECTED, None)",
        tests=("tests/test_selection.py",),
    ),
    Mutation(
        name="selection: an unplanned charge is a rejected round",
        file="synthrelease/selection.py",
        old="    except BudgetError:\n        raise",
        new="    except BudgetError:\n        return RoundResult(Verdict.REJECTED, None)",
        tests=("tests/test_selection.py",),
    ),
    # --- Low epsilon: maximum entropy, the joint test, shared measurements, cheaper criteria
    Mutation(
        name="junction tree: messages not divided out",
        file="synthrelease/generators/junction_tree.py",
        old="outward - np.where(possible, messages[index], 0.0)",
        new="outward",
        tests=(TREE,),
    ),
    Mutation(
        name="junction tree: no chords",
        file="synthrelease/generators/junction_tree.py",
        old="            graph.add_edges_from(combinations(graph[column], 2))\n",
        new="",
        tests=(TREE,),
    ),
    Mutation(
        name="junction tree: smallest separators",
        file="synthrelease/generators/junction_tree.py",
        old="nx.maximum_spanning_tree(links)",
        new="nx.minimum_spanning_tree(links)",
        tests=(TREE,),
    ),
    Mutation(
        name="junction tree: sums of exp without their largest term taken out",
        file="synthrelease/generators/junction_tree.py",
        old="top = np.where(np.isfinite(top), top, 0.0)",
        new="top = np.zeros_like(top)",
        tests=(TREE,),
    ),
    Mutation(
        name="maximum entropy: rules ignored",
        file="synthrelease/generators/maximum_entropy.py",
        old="np.where(plausibility.structural_zeros(clique), -np.inf, 0.0)",
        new="np.zeros(plausibility.structural_zeros(clique).shape)",
        tests=(f"{ENTROPY}::test_impossible_cells_are_exact_zeros_however_large_their_noisy_count",),
    ),
    Mutation(
        name="maximum entropy: the weight of the prior ignored",
        file="synthrelease/generators/maximum_entropy.py",
        old="* (weight / measured.n**2)",
        new="* (1 / measured.n**2)",
        tests=(MINIMUM,),
    ),
    Mutation(
        name="maximum entropy: shared columns of the prior counted twice",
        file="synthrelease/generators/maximum_entropy.py",
        old="table = np.log(shares) - np.log(spread(given, tree.separator(index), clique))",
        new="table = np.log(shares)",
        tests=(f"{ENTROPY}::test_a_prior_of_huge_weight_is_the_model_and_one_of_small_weight_gives_way",),
    ),
    Mutation(
        name="maximum entropy: the prior not smoothed",
        file="synthrelease/generators/maximum_entropy.py",
        old="_UNIFORM_SHARE = 0.001",
        new="_UNIFORM_SHARE = 0.0",
        tests=(f"{ENTROPY}::test_the_data_fill_what_the_public_table_lacks",),
    ),
    Mutation(
        name="maximum entropy: the fit ends early",
        file="synthrelease/generators/maximum_entropy.py",
        old="_PRECISION = 0.2",
        new="_PRECISION = 4.0",
        tests=(f"{ENTROPY}::test_at_the_usual_precision_the_fit_is_a_fifth_of_the_noise_from_the_minimum",),
    ),
    Mutation(
        name="maximum entropy: a fit that did not converge is used",
        file="synthrelease/generators/maximum_entropy.py",
        old="if not self.converged(self(found.x)[1]):",
        new="if self is None:",
        tests=(f"{ENTROPY}::test_a_fit_that_does_not_converge_rejects_the_round",),
    ),
    Mutation(
        name="maximum entropy: what is not a number has converged",
        file="synthrelease/generators/maximum_entropy.py",
        old="(np.abs(scaled_gradient / self.scale) <= self.tolerance).all()",
        new="not (np.abs(scaled_gradient / self.scale) > self.tolerance).any()",
        tests=(f"{ENTROPY}::test_what_is_not_a_number_has_not_converged",),
    ),
    Mutation(
        name="maximum entropy: a gradient without the ridge",
        file="synthrelease/generators/maximum_entropy.py",
        old="(model - self.target + self.ridge * parameters)",
        new="(model - self.target)",
        tests=(f"{ENTROPY}::test_value_and_gradient_of_the_dual_agree",),
    ),
    Mutation(
        name="maximum entropy: families given one column less",
        file="synthrelease/generators/maximum_entropy.py",
        old="            known.append(column)\n",
        new="            known[:] = [*known, column][-2:]\n",
        tests=(f"{ENTROPY}::test_families_multiply_to_the_shares_of_the_cliques",),
    ),
    Mutation(
        name="marginals: sensitivity 1 instead of 2",
        file="synthrelease/generators/marginals.py",
        old="sensitivity=2, epsilon=epsilon",
        new="sensitivity=1, epsilon=epsilon",
        tests=(f"{FORMULA}::test_every_table_gets_noise_of_scale_two_over_its_own_epsilon",),
        core=True,
    ),
    Mutation(
        name="marginals: half the noise",
        file="synthrelease/generators/marginals.py",
        old="sensitivity=2, epsilon=epsilon",
        new="sensitivity=2, epsilon=epsilon * 2",
        tests=(f"{FORMULA}::test_the_noise_is_discrete_laplace_of_the_stated_scale",),
    ),
    Mutation(
        name="marginals: every table gets the whole budget",
        file="synthrelease/generators/marginals.py",
        old="share * charge.epsilon",
        new="charge.epsilon",
        tests=(FORMULA,),
    ),
    Mutation(
        name="marginals: tables without noise",
        file="synthrelease/generators/marginals.py",
        old="values=noisy, epsilon",
        new="values=exact, epsilon",
        tests=(FORMULA,),
    ),
    Mutation(
        name="marginals: rules left out of the size of cliques",
        file="synthrelease/generators/marginals.py",
        old="[*self.shares(layout), *rules]",
        new="self.shares(layout)",
        tests=(FORMULA,),
    ),
    Mutation(
        name="marginals: all measurements can be shared",
        file="synthrelease/generators/marginals.py",
        old="isinstance(other, Marginals) and other._measured() == self._measured()",
        new="isinstance(other, Marginals)",
        tests=(FORMULA,),
    ),
    Mutation(
        name="measurements: variance of a merged cell that of one cell",
        file="synthrelease/generators/measurements.py",
        old="return self.cells * (",
        new="return np.ones_like(self.cells) * (",
        tests=(MEASURED,),
    ),
    Mutation(
        name="measurements: half the variance",
        file="synthrelease/generators/measurements.py",
        old="(2.0 * float(2 / self.epsilon) ** 2)",
        new="(float(2 / self.epsilon) ** 2)",
        tests=(MEASURED,),
    ),
    Mutation(
        name="common bins: one that refines some other",
        file="synthrelease/configuration.py",
        old="if all(binning.refines(other) for other in binnings)",
        new="if any(binning.refines(other) for other in binnings)",
        tests=(MEASURED,),
    ),
    Mutation(
        name="joint test: half the noise",
        file="synthrelease/criteria/joint_test.py",
        old="least_slack(asked, counts), sensitivity=1.0,",
        new="least_slack(asked, counts), sensitivity=0.5,",
        tests=(f"{JOINT}::test_a_candidate_just_below_a_threshold_passes_with_the_stated_probability_and_hardly_less",),
        core=True,
    ),
    Mutation(
        name="joint test: half the margin",
        file="synthrelease/criteria/joint_test.py",
        old="laplace_tail(sensitivity=1.0,",
        new="laplace_tail(sensitivity=0.5,",
        tests=(JOINT,),
    ),
    Mutation(
        name="joint test: a slack that is not a number is the best",
        file="synthrelease/criteria/joint_test.py",
        old="else -_LIMIT for slack",
        new="else _LIMIT for slack",
        tests=(JOINT,),
    ),
    Mutation(
        name="joint test: public scores ignored",
        file="synthrelease/criteria/joint_test.py",
        old="found.passed for _, found in asked",
        new="True for _, found in asked",
        tests=(JOINT,),
    ),
    Mutation(
        name="joint test: slacks not clipped",
        file="synthrelease/criteria/joint_test.py",
        old="max(-_LIMIT, min(slack, _LIMIT))",
        new="slack",
        tests=(JOINT,),
    ),
    Mutation(
        name="slack: a void candidate passes",
        file="synthrelease/criteria/base.py",
        old="            return -math.inf\n",
        new="            return math.inf\n",
        tests=(JOINT,),
    ),
    Mutation(
        name="slack: not in units of its sensitivity",
        file="synthrelease/criteria/base.py",
        old="(self.threshold - query.figure(counts)) / query.sensitivity",
        new="(self.threshold - query.figure(counts)) * 40",
        tests=(JOINT,),
    ),
    Mutation(
        name="slack of a ratio: threshold r - s",
        file="synthrelease/criteria/marginals.py",
        old="r - s / threshold).min()",
        new="threshold * r - s).min()",
        tests=(f"{JOINT}::test_no_neighbour_moves_a_slack_by_more_than_one",),
        core=True,
    ),
    Mutation(
        name="laplace_tail: the step of rounding left out",
        file="synthrelease/randomness.py",
        old="return (k + 1) * step",
        new="return k * step",
        tests=("tests/test_randomness.py",),
    ),
    Mutation(
        name="laplace_tail: twice the probability",
        file="synthrelease/randomness.py",
        old="float(probability) * (1 + math.exp(-decay))",
        new="float(probability) * 2 * (1 + math.exp(-decay))",
        tests=("tests/test_randomness.py",),
    ),
    Mutation(
        name="one step: factor 2 of replacing dropped",
        file="synthrelease/criteria/regression_one_step.py",
        old="widest = 2 * float(",
        new="widest = float(",
        tests=(f"{ONE_STEP}::test_no_neighbour_moves_the_figure_by_more_than_its_sensitivity",),
        core=True,
    ),
    Mutation(
        name="one step: impossible records count",
        file="synthrelease/criteria/regression_one_step.py",
        old="np.where(regression.possible.reshape(shape), np.abs(residuals), 0.0)",
        new="np.abs(residuals)",
        tests=(ONE_STEP,),
    ),
    Mutation(
        name="one step: possible records left out",
        file="synthrelease/criteria/regression_one_step.py",
        old="np.where(regression.possible.reshape(shape), np.abs(residuals), 0.0)",
        new="np.where(regression.possible.reshape(shape)[:, ::-1], np.abs(residuals), 0.0)",
        tests=(ONE_STEP,),
    ),
    Mutation(
        name="one step: predictions not clipped",
        file="synthrelease/criteria/regression_one_step.py",
        old="np.clip(line.intercept + features @ line.coefficients, *self.range)",
        new="line.intercept + features @ line.coefficients",
        tests=(ONE_STEP,),
    ),
    Mutation(
        name="one step: an undetermined line passes",
        file="synthrelease/criteria/regression_one_step.py",
        old="void = not np.linalg.eigvalsh(products)[0] > _SINGULAR",
        new="void = False",
        tests=(ONE_STEP,),
    ),
    Mutation(
        name="regression prediction: half the bound of the lines",
        file="synthrelease/criteria/regression_prediction.py",
        old="float(np.ptp(possible))",
        new="float(np.abs(possible).max())",
        tests=(ONE_STEP,),
    ),
    Mutation(
        name="plan: charges after acceptance forgotten",
        file="synthrelease/privacy.py",
        old='(in_sequence("figures of the accepted dataset", *after),) if after else ()',
        new="()",
        tests=("tests/test_privacy.py",),
        core=True,
    ),
    Mutation(
        name="plan: names after acceptance not compared",
        file="synthrelease/privacy.py",
        old="once + per_round + after]",
        new="once + per_round]",
        tests=("tests/test_privacy.py",),
    ),
    Mutation(
        name="plan: shared measurements are free",
        file="synthrelease/spec.py",
        old="once, generation = [*once, *generation], []",
        new="generation = []",
        tests=(LOW,),
    ),
    Mutation(
        name="digest: the content of a prior left out",
        file="synthrelease/spec.py",
        old="[[name, file_digest(path)] for",
        new="[[name] for",
        tests=(LOW,),
    ),
    Mutation(
        name="verdict: without scores and test accepted",
        file="synthrelease/attempt.py",
        old="return bool(self.scores) and all(",
        new="return all(",
        tests=(LOW,),
    ),
    Mutation(
        name="figures after acceptance: judged once more",
        file="synthrelease/attempt.py",
        old="replace(score, passed=True)",
        new="score",
        tests=(LOW,),
    ),
    Mutation(
        name="generate: priors ignored",
        file="synthrelease/attempt.py",
        old="prior=None if prior is None else",
        new="prior=None if True else",
        tests=(LOW,),
    ),
    Mutation(
        name="release: measurements always published",
        file="synthrelease/release.py",
        old=" if spec.publish_measurements else None",
        new=" if True else None",
        tests=(LOW,),
    ),
    Mutation(
        name="rehearsal: the same noise for every budget",
        file="synthrelease/rehearsal/attempts.py",
        old="key = (1, index, number, spec.generation_epsilon.numerator, spec.generation_epsilon.denominator)",
        new="key = (1, index, number)",
        tests=(f"{REHEARSED}::test_two_budgets_have_noise_of_their_own",),
    ),
    Mutation(
        name="rehearsal: a criterion passes without the margin",
        file="synthrelease/rehearsal/attempts.py",
        old="passed = tuple(slack >= spec.joint_test.margin",
        new="passed = tuple(slack >= 0",
        tests=(f"{REHEARSED}::test_under_a_joint_test_a_criterion_passes_when_its_slack_alone_reaches_the_margin",),
    ),
    Mutation(
        name="rehearsal: the chance of a joint test without its margin",
        file="synthrelease/rehearsal/attempts.py",
        old="passing(test.margin, slack, 1.0, test.epsilon)",
        new="passing(0.0, slack, 1.0, test.epsilon)",
        tests=(f"{REHEARSED}::test_under_a_joint_test_rehearsed_attempts_are_accepted_as_often_as_those_of_a_release",),
    ),
    Mutation(
        name="rare bins: ties between columns not kept apart",
        file="synthrelease/table.py",
        old="np.lexsort([*reversed(digits), column_of, rarest])",
        new="np.lexsort([*reversed(digits), rarest])",
        tests=("tests/test_table.py",),
    ),
    Mutation(
        name="spread: the offset is not random",
        file="synthrelease/projections/minimum_count.py",
        old="(np.arange(size) + generator.random())",
        new="(np.arange(size) + 0.5)",
        tests=("tests/test_minimum_count.py",),
    ),
    Mutation(
        name="spread: in the order of the table",
        file="synthrelease/projections/minimum_count.py",
        old="rare_first(table.all_digits(), table.counts) if self.keep",
        new="np.arange(len(table.counts)) if self.keep",
        tests=("tests/test_minimum_count.py",),
    ),
    # --- Projection
    Mutation(
        name="projection: minimum count m - 1",
        file="synthrelease/projections/minimum_count.py",
        old="m = self.minimum_count\n",
        new="m = self.minimum_count - 1\n",
        tests=("tests/test_minimum_count.py",),
    ),
    Mutation(
        name="face privacy: rows that occur m - 1 times pass",
        file="synthrelease/criteria/face_privacy.py",
        old="candidate.counts.counts < self.minimum_count",
        new="candidate.counts.counts < self.minimum_count - 1",
        tests=(VALUES,),
    ),
)


@dataclass(frozen=True, kw_only=True)
class Outcome:
    """What the tests said: "caught" (they failed), "survived" (they passed), "hung", or "broken" (they could not run)."""

    verdict: str
    output: str

    @property
    def caught_by(self) -> str:
        """The first test that failed."""
        lines = [line for line in self.output.splitlines() if line.startswith("FAILED ")]
        return lines[0].split(" - ")[0].removeprefix("FAILED ").rpartition("::")[2] if lines else ""


def mutated(mutation: Mutation, root: Path = ROOT) -> str:
    """The text of the file with the mutation. Raises StaleMutation unless its place is found exactly once."""
    text = (root / mutation.file).read_text()
    found = text.count(mutation.old)
    if found != 1:
        raise StaleMutation(
            f"tests/mutations.py is stale: for {mutation.name!r} the text {mutation.old!r} should occur once in "
            f"{mutation.file}, found {found} times"
        )
    return text.replace(mutation.old, mutation.new)


@contextmanager
def copied_tree() -> Iterator[Path]:
    """A copy of the package and its tests in a temporary folder; checks that Python imports the copy."""
    with tempfile.TemporaryDirectory() as folder:
        copy = Path(folder).resolve()
        for name in COPIED:
            source = ROOT / name
            if source.is_dir():
                shutil.copytree(source, copy / name, ignore=shutil.ignore_patterns("__pycache__"))
            else:
                shutil.copy(source, copy / name)
        imported = _python(copy, "-c", "import synthrelease; print(synthrelease.__file__)").stdout.strip()
        if not Path(imported).resolve().is_relative_to(copy):
            raise RuntimeError("the copy of synthrelease is not the one that Python imports")
        yield copy


def run_tests(copy: Path, tests: Sequence[str]) -> Outcome:
    """Run some tests of a copied tree until the first failure."""
    try:
        run = _python(copy, "-m", "pytest", "-x", "-p", "no:cacheprovider", "-p", "no:randomly", *tests)
    except subprocess.TimeoutExpired:
        return Outcome(verdict="hung", output="")
    verdict = {0: "survived", 1: "caught"}.get(run.returncode, "broken")
    return Outcome(verdict=verdict, output=run.stdout + run.stderr)


def try_mutation(copy: Path, mutation: Mutation) -> Outcome:
    """Apply a mutation to the copy, run its tests, and take it back."""
    file = copy / mutation.file
    original = file.read_text()
    file.write_text(mutated(mutation, copy))
    try:
        return run_tests(copy, mutation.tests)
    finally:
        file.write_text(original)


def _python(copy: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    environment = {**os.environ, "PYTHONPATH": str(copy), "PYTHONDONTWRITEBYTECODE": "1"}
    return subprocess.run(
        [sys.executable, *arguments], cwd=copy, env=environment, capture_output=True, text=True, timeout=TIMEOUT, check=False
    )


def main(words: Sequence[str]) -> int:
    """Try all mutations (or those whose name holds a word); 0 when each was caught."""
    chosen = [mutation for mutation in MUTATIONS if not words or any(word in mutation.name for word in words)]
    try:
        for mutation in chosen:
            mutated(mutation)
    except StaleMutation as stale:
        print(stale)  # noqa: T201
        return 2
    with copied_tree() as copy:
        before = run_tests(copy, sorted({test for mutation in chosen for test in mutation.tests}))
        if before.verdict != "survived":
            print(f"The tests do not pass without a mutation ({before.verdict}):\n{before.output}")  # noqa: T201
            return 2
        print("| Mutation | File | Verdict | Caught by |\n|---|---|---|---|")  # noqa: T201
        verdicts = []
        for mutation in chosen:
            outcome = try_mutation(copy, mutation)
            verdicts.append(outcome.verdict)
            file = mutation.file.removeprefix("synthrelease/")
            print(f"| {mutation.name} | `{file}` | {outcome.verdict} | {outcome.caught_by} |", flush=True)  # noqa: T201
    print(f"\n{verdicts.count('caught')} of {len(verdicts)} caught.")  # noqa: T201
    return 0 if set(verdicts) <= {"caught"} else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
