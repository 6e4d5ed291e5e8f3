"""Mutations of the code that privacy rests on, each of which some test must catch.

Run by hand (some minutes): `make mutations`, or `python tests/mutations.py`, applies each mutation alone to a copy of the
package, runs the tests named for it there and writes docs/mutations.md from what it saw. `python tests/mutations.py WORD ...`
runs those whose name holds one of the words, and prints. The working tree is otherwise never changed.
tests/test_mutations.py runs the ones marked `core` in the default suite. The machinery is in tests/mutation.py; here are the
mutations of the theory, in mutations_of_ledger.py and mutations_of_leaks.py the others.
"""

from __future__ import annotations

import sys
from pathlib import Path

if str(Path(__file__).resolve().parents[1]) not in sys.path:
    sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from tests.mutation import Mutation, main
from tests.mutations_of_leaks import OF_LEAKS
from tests.mutations_of_ledger import OF_THE_LEDGER

SENSITIVITY = "tests/test_criteria_sensitivity.py"
VALUES = "tests/test_criteria_values.py"
NEIGHBOURS = f"{SENSITIVITY}::test_no_neighbour_moves_a_figure_by_more_than_its_sensitivity"
FIT = "tests/test_privbayes.py"
CONTRACTS = "tests/test_contracts.py"

OF_THE_THEORY = (
    # --- Sensitivities
    Mutation(
        name="absolute marginal error: sensitivity halved",
        breaks="half the noise that the claim needs",
        file="synthrelease/criteria/marginals.py",
        old="return self._release(private, 1 / n, ",
        new="return self._release(private, 0.5 / n, ",
        tests=(f"{NEIGHBOURS}[absolute_marginal_error-n3-case0]",),
        core=True,
    ),
    Mutation(
        name="relative marginal error: sensitivity halved",
        breaks="half the noise that the claim needs",
        file="synthrelease/criteria/marginals.py",
        old="sensitivity = ratio_sensitivity(synthetic, self.clip)",
        new="sensitivity = ratio_sensitivity(synthetic, self.clip) / 2",
        tests=(NEIGHBOURS,),
    ),
    Mutation(
        name="relative marginal error: steps below the clip not tried",
        breaks="too little noise for rare bins",
        file="synthrelease/criteria/marginals.py",
        old="near = {math.floor(s / clip), s, math.floor(s * clip)}",
        new="near = {math.floor(s * clip)}",
        tests=(VALUES,),
    ),
    Mutation(
        name="relative marginal error: not clipped",
        breaks="a sensitivity without a bound",
        file="synthrelease/criteria/marginals.py",
        old="np.clip(np.maximum(r / s, s / r), 1.0, clip)",
        new="np.maximum(r / s, s / r)",
        tests=(NEIGHBOURS,),
    ),
    Mutation(
        name="conditional mean: sensitivity halved",
        breaks="half the noise that the claim needs",
        file="synthrelease/criteria/conditional_means.py",
        old="sensitivity = (highest - lowest) / min(",
        new="sensitivity = (highest - lowest) / 2 / min(",
        tests=(NEIGHBOURS,),
    ),
    Mutation(
        name="conditional mean: largest group instead of the smallest",
        breaks="too little noise for small groups",
        file="synthrelease/criteria/conditional_means.py",
        old="min(int(size.min()) for size in sizes)",
        new="max(int(size.max()) for size in sizes)",
        tests=(NEIGHBOURS,),
    ),
    Mutation(
        name="conditional mean: short groups not filled up",
        breaks="one record decides the mean of a short group",
        file="synthrelease/criteria/conditional_means.py",
        old="(sums + short * fallback) / np.maximum(counts, sizes)",
        new="(sums + (counts == 0) * fallback) / np.maximum(counts, 1)",
        tests=(NEIGHBOURS,),
    ),
    Mutation(
        name="conditional mean: values not clipped to the range",
        breaks="a value beyond the range moves the mean too far",
        file="synthrelease/criteria/conditional_means.py",
        old="np.clip(candidate.transformation.numbers(self.column), lowest, highest)",
        new="candidate.transformation.numbers(self.column)",
        tests=(NEIGHBOURS,),
    ),
    Mutation(
        name="regression prediction: sensitivity halved",
        breaks="add-or-remove neighbours: half the noise of replacing",
        file="synthrelease/criteria/regression_prediction.py",
        old="2 * (highest - lowest) / private.n",
        new="(highest - lowest) / private.n",
        tests=(NEIGHBOURS,),
    ),
    Mutation(
        name="regression prediction: predictions not clipped",
        breaks="one record's error without a bound",
        file="synthrelease/criteria/functional_mechanism.py",
        old="np.clip(prediction, lowest, highest)",
        new="prediction",
        tests=(NEIGHBOURS,),
    ),
    Mutation(
        name="faithfulness: sensitivity halved",
        breaks="half the noise that the claim needs",
        file="synthrelease/criteria/faithfulness.py",
        old="            1 / private.n,\n",
        new="            0.5 / private.n,\n",
        tests=(NEIGHBOURS,),
    ),
    Mutation(
        name="functional mechanism: factor 2 of replacing dropped",
        breaks="add-or-remove neighbours: half the noise of replacing",
        file="synthrelease/criteria/functional_mechanism.py",
        old="sensitivity=2 * max(sizes)",
        new="sensitivity=max(sizes)",
        tests=(SENSITIVITY,),
    ),
    Mutation(
        name="functional mechanism: the last cell of each piece is not scanned",
        breaks="a record that moves the moments more than the noise hides",
        file="synthrelease/criteria/functional_mechanism.py",
        old=".sum(axis=1).max(initial=1)) for piece in pieces]",
        new=".sum(axis=1)[:-1].max(initial=1)) for piece in pieces]",
        tests=(SENSITIVITY,),
    ),
    Mutation(
        name="PrivBayes: table sensitivity d instead of 2 d",
        breaks="add-or-remove neighbours: half the noise of replacing",
        file="synthrelease/generators/privbayes.py",
        old="sensitivity=2 * len(tables)",
        new="sensitivity=len(tables)",
        tests=(f"{FIT}::test_tables_change_by_two_per_table_when_a_record_is_replaced",),
        core=True,
    ),
    Mutation(
        name="PrivBayes: score sensitivity halved",
        breaks="add-or-remove neighbours: the structure costs twice the claim",
        file="synthrelease/generators/privbayes.py",
        old="return 6 * n + 4",
        new="return 3 * n + 2",
        tests=(FIT,),
    ),
    Mutation(
        name="PrivBayes: every choice gets the whole structure budget",
        breaks="the structure costs d - 1 times the claim",
        file="synthrelease/generators/privbayes.py",
        old="share = epsilon / max(1, len(left))",
        new="share = epsilon",
        tests=(FIT,),
    ),
    Mutation(
        name="PrivBayes: tables get the whole budget",
        breaks="the structure is not paid for",
        file="synthrelease/generators/privbayes.py",
        old="epsilon_tables = charge.epsilon - epsilon_structure",
        new="epsilon_tables = charge.epsilon",
        tests=(FIT,),
    ),
    # --- Accounting
    Mutation(
        name="private selection: factor 2 dropped",
        breaks="the loop costs twice the claim",
        file="synthrelease/privacy.py",
        old="epsilon=2 * one_round.epsilon",
        new="epsilon=one_round.epsilon",
        tests=("tests/test_privacy.py::test_regression_once_costs_9_55",),
        core=True,
    ),
    Mutation(
        name="private selection: delta > 0 accepted",
        breaks="a theorem used where it does not hold",
        file="synthrelease/privacy.py",
        old="if one_round.delta != 0:",
        new="if one_round.delta > 1:",
        tests=("tests/test_privacy.py",),
    ),
    Mutation(
        name="limit: compared with the charge of one round",
        breaks="a plan above the limit runs",
        file="synthrelease/privacy.py",
        old="if limit is not None and self.total.epsilon > limit:",
        new="if limit is not None and sum(charge.epsilon for charge in self.once + self.per_round) > limit:",
        tests=("tests/test_privacy.py",),
    ),
    Mutation(
        name="meter: a charge is not struck off",
        breaks="a charge that pays twice",
        file="synthrelease/private.py",
        old="        del self._left[charge.name]\n",
        new="",
        tests=("tests/test_private.py::test_a_charge_opens_the_door_once",),
        core=True,
    ),
    Mutation(
        name="meter: the planned epsilon is not compared",
        breaks="a mechanism spends more than was planned",
        file="synthrelease/private.py",
        old=" or planned.epsilon != charge.epsilon",
        new="",
        tests=("tests/test_private.py",),
    ),
    Mutation(
        name="door: counts are read before the charge is taken",
        breaks="reading without paying",
        file="synthrelease/private.py",
        old="        self._meter.take(charge)\n        return _opaque(lambda: mechanism(self.__counts))",
        new="        result = _opaque(lambda: mechanism(self.__counts))\n"
        "        self._meter.take(charge)\n"
        "        return result",
        tests=("tests/test_private.py",),
    ),
    Mutation(
        name="door: merged tables get a meter of their own",
        breaks="a charge that pays twice",
        file="synthrelease/private.py",
        old="_opaque(lambda: self.__counts.merge(layout, maps)), self._meter,",
        new="_opaque(lambda: self.__counts.merge(layout, maps)), Meter(tuple(self._meter._left.values())),",
        tests=("tests/test_private.py",),
    ),
    Mutation(
        name="door: a failure carries its cause as context",
        breaks="values in a traceback",
        file="synthrelease/private.py",
        old="        pass  # the failure is raised below, outside this block, so that the cause is not attached to it\n",
        new="        raise PrivateFailure() from None\n",
        tests=("tests/test_private.py",),
    ),
    # --- Figures and verdicts
    Mutation(
        name="verdict: one passed criterion is enough",
        breaks="the accepted event is another one",
        file="synthrelease/attempt.py",
        old="return all(score.passed",
        new="return any(score.passed",
        tests=(VALUES,),
    ),
    Mutation(
        name="difference lattice: cells absent from one side dropped",
        breaks="a sensitivity of several times the claim",
        file="synthrelease/table.py",
        old="        np.concatenate([left.codes, right.codes]),\n        np.concatenate([left.counts, -right.counts]),\n",
        new="        np.intersect1d(left.codes, right.codes),\n"
        "        left.counts[np.isin(left.codes, right.codes)] - right.counts[np.isin(right.codes, left.codes)],\n",
        tests=("tests/test_table.py::test_differences_keep_cells_that_only_one_table_has",),
        core=True,
    ),
    Mutation(
        name="verdict: a value that is not a number passes",
        breaks="an empty table is accepted",
        file="synthrelease/criteria/base.py",
        old="passed=math.isfinite(value) and value <= self.threshold,",
        new="passed=not value > self.threshold,",
        tests=(f"{VALUES}::test_what_is_not_a_number_never_passes",),
    ),
    Mutation(
        name="verdict: an empty group is left out of the maximum",
        breaks="an empty group is accepted",
        file="synthrelease/criteria/conditional_means.py",
        old="        if targets is None:\n",
        new="        if False:\n",
        tests=(VALUES,),
    ),
    Mutation(
        name="verdict: an empty group is not paid for",
        breaks="the time and the meter tell of an empty group",
        file="synthrelease/criteria/conditional_means.py",
        old="            targets = None  #",
        new='            return self._judged(math.nan, "Laplace", 1.0, 1.0, self.epsilon)  #',
        tests=(VALUES,),
    ),
    # --- Noise
    Mutation(
        name="laplace_figure: no allowance for rounding",
        breaks="neighbours that round apart are not covered",
        file="synthrelease/randomness.py",
        old="steps = math.ceil(Fraction(sensitivity) / Fraction(step) + Fraction(1, 2)) + 1",
        new="steps = math.ceil(Fraction(sensitivity) / Fraction(step))",
        tests=("tests/test_randomness.py",),
    ),
    Mutation(
        name="laplace_figure: noise added off the grid",
        breaks="low bits tell the exact figure",
        file="synthrelease/randomness.py",
        old="return NoisyFigure(value=float(noisy[0]) * step,",
        new="return NoisyFigure(value=float(noisy[0]) * step + value - round(value / step) * step,",
        tests=("tests/test_randomness.py",),
    ),
    Mutation(
        name="discrete_laplace: epsilon ignored",
        breaks="noise of another scale",
        file="synthrelease/randomness.py",
        old="scale = _round_up(Fraction(sensitivity) / epsilon)",
        new="scale = _round_up(Fraction(sensitivity))",
        tests=("tests/test_randomness.py",),
    ),
    Mutation(
        name="discrete_laplace: half the scale",
        breaks="half the noise that the claim needs",
        file="synthrelease/randomness.py",
        old="scale = _round_up(Fraction(sensitivity) / epsilon)",
        new="scale = _round_up(Fraction(sensitivity) / epsilon / 2)",
        tests=("tests/test_randomness.py::test_discrete_laplace_has_scale_sensitivity_over_epsilon",),
        core=True,
    ),
    Mutation(
        name="discrete_laplace: scale rounded to nearest, not up",
        breaks="a scale below the claim by a rounding error",
        file="synthrelease/randomness.py",
        old="return nearest if Fraction(nearest) >= value else math.nextafter(nearest, math.inf)",
        new="return nearest",
        tests=("tests/test_randomness.py",),
    ),
    Mutation(
        name="discrete_laplace: one draw for the whole vector",
        breaks="differences of cells are exact",
        file="synthrelease/randomness.py",
        old="return np.array(_laplace_measurement(scale)(np.ascontiguousarray(values, dtype=np.int64)), dtype=np.int64)",
        new="return np.asarray(values, dtype=np.int64) + np.array(_laplace_measurement(scale)(np.zeros(1, dtype=np.int64)))",
        tests=("tests/test_randomness.py",),
    ),
    Mutation(
        name="choose: doubled epsilon",
        breaks="a choice costs twice the claim",
        file="synthrelease/randomness.py",
        old="epsilon=_round_down(epsilon),",
        new="epsilon=_round_down(2 * epsilon),",
        tests=("tests/test_randomness.py",),
    ),
    Mutation(
        name="coin: one side too likely",
        breaks="another stop probability",
        file="synthrelease/randomness.py",
        old="secrets.randbelow(probability.denominator) < probability.numerator",
        new="secrets.randbelow(probability.denominator) <= probability.numerator",
        tests=("tests/test_randomness.py",),
    ),
    Mutation(
        name="criteria: figures released without noise",
        breaks="exact figures",
        file="synthrelease/randomness.py",
        old="    return NoisyFigure(value=float(noisy[0]) * step,",
        new="    return NoisyFigure(value=value,",
        tests=(CONTRACTS,),
    ),
    Mutation(
        name="functional mechanism: moments released without noise",
        breaks="an exact regression",
        file="synthrelease/criteria/functional_mechanism.py",
        old="sums=noisy / design.scales",
        new="sums=sums / design.scales",
        tests=(CONTRACTS,),
    ),
    Mutation(
        name="PrivBayes: tables without noise",
        breaks="exact tables",
        file="synthrelease/generators/privbayes.py",
        old="pieces = np.split(noisy,",
        new="pieces = np.split(flat,",
        tests=(FIT,),
    ),
    Mutation(
        name="PrivBayes: the best pair chosen without noise",
        breaks="an exact choice",
        file="synthrelease/generators/privbayes.py",
        old="chosen = choose(\n",
        new="chosen = (lambda scores, **_: scores.index(max(scores)))(\n",
        tests=(FIT,),
    ),
    # --- Selection
    Mutation(
        name="selection: the first to finish wins",
        breaks="times of rounds choose the output",
        file="synthrelease/selection.py",
        old='return_as="generator"',
        new='return_as="generator_unordered"',
        tests=("tests/test_selection.py",),
    ),
    Mutation(
        name="selection: the stop coin is ignored",
        breaks="the loop may never end",
        file="synthrelease/selection.py",
        old="if coin(stop_probability):",
        new="if coin(stop_probability) and False:",
        tests=("tests/test_selection.py",),
    ),
    Mutation(
        name="selection: a coin of another probability",
        breaks="the loop may never end",
        file="synthrelease/selection.py",
        old="if coin(stop_probability):",
        new="if coin(Fraction(0)):",
        tests=("tests/test_selection.py",),
    ),
    Mutation(
        name="selection: the coin is tossed before the verdict",
        breaks="another law of the output",
        file="synthrelease/selection.py",
        old="            if result.verdict is Verdict.ACCEPTED:\n",
        new="            if coin(stop_probability):\n"
        "                return None\n"
        "            if result.verdict is Verdict.ACCEPTED:\n",
        tests=("tests/test_selection.py",),
    ),
    Mutation(
        name="selection: a failure in private code is a rejected round",
        breaks="an event that the theorem does not cover",
        file="synthrelease/selection.py",
        old="return RoundResult(Verdict.FAILED, None)",
        new="return RoundResult(Verdict.REJECTED, None)",
        tests=("tests/test_selection.py",),
    ),
    Mutation(
        name="selection: an unplanned charge is a rejected round",
        breaks="a mistake in the accounting goes unseen",
        file="synthrelease/selection.py",
        old="    except BudgetError:\n        raise",
        new="    except BudgetError:\n        return RoundResult(Verdict.REJECTED, None)",
        tests=("tests/test_selection.py",),
    ),
    # --- Projection
    Mutation(
        name="projection: minimum count m - 1",
        breaks="rows that are too rare are released",
        file="synthrelease/projections/minimum_count.py",
        old="m = self.minimum_count\n",
        new="m = self.minimum_count - 1\n",
        tests=("tests/test_minimum_count.py",),
    ),
    Mutation(
        name="face privacy: rows that occur m - 1 times pass",
        breaks="rows that are too rare are released",
        file="synthrelease/criteria/face_privacy.py",
        old="candidate.counts.counts < self.minimum_count",
        new="candidate.counts.counts < self.minimum_count - 1",
        tests=(VALUES,),
    ),
)

MUTATIONS = OF_THE_THEORY + OF_THE_LEDGER + OF_LEAKS

if __name__ == "__main__":
    sys.exit(main(MUTATIONS, sys.argv[1:]))
