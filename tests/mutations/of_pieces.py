"""Mutations of random pieces, of what they cost, and of the sentence for a member of a sampled population."""

from __future__ import annotations

from tests.mutations.machinery import Mutation

PIECES, SAMPLING = "tests/privacy/test_pieces.py", "tests/privacy/test_sampling.py"
WHOLE, ATTAINED = "tests/whole/test_pieces.py", f"{SAMPLING}::test_the_bound_is_attained_by_noisy_counts"
TREE = f"{PIECES}::test_the_births_in_two_pieces_cost_8_in_place_of_9_55"
LAW = f"{PIECES}::test_the_law_of_the_pieces_is_multivariate_hypergeometric"
DOORS = f"{PIECES}::test_pieces_have_doors_and_meters_of_their_own_and_the_whole_is_closed"
SAMPLE = "tests/spec/test_population.py"
NO_SAMPLE = f"{SAMPLE}::test_what_says_that_it_is_no_simple_random_sample_is_refused"
FORGED = f"{WHOLE}::test_forged_pieces_are_found"
REFUSED = f"{WHOLE}::test_what_does_not_go_together_is_refused"

OF_PIECES = (
    # --- Charges
    Mutation(
        name="pieces: the cheaper piece is charged",
        breaks="a record of the other piece is not paid for",
        place="privacy.charges:in_parallel",
        old="map(max, _losses(parts))",
        new="(min(_losses(parts)[0]), max(_losses(parts)[1]))",
        tests=(TREE,),
        core=True,
    ),
    Mutation(
        name="pieces: the smallest delta is used",
        breaks="a record of the other piece fails more often than stated",
        place="privacy.charges:in_parallel",
        old="map(max, _losses(parts))",
        new="(max(_losses(parts)[0]), min(_losses(parts)[1]))",
        tests=(f"{PIECES}::test_the_largest_epsilon_and_delta_and_coefficient",),
    ),
    Mutation(
        name="pieces: the first curve serves as the largest",
        breaks="a curve is below that of a piece",
        place="privacy.curves:above",
        old="max(curve.constant for curve in curves)",
        new="curves[0].constant",
        tests=(f"{PIECES}::test_a_curve_above_others_is_nowhere_below_them",),
    ),
    Mutation(
        name="pieces: charges of a piece before the rounds are missing",
        breaks="a private fit is free",
        place="privacy.plan:Plan.of",
        old='in_sequence(f"piece: {piece}", *first, *_rounds_and_after(one_round, figures, rule, delta, sharing))',
        new='in_sequence(f"piece: {piece}", *_rounds_and_after(one_round, figures, rule, delta, sharing))',
        tests=(TREE,),
    ),
    Mutation(
        name="pieces: the number of rows is counted for nothing",
        breaks="a noisy count of all rows has no charge",
        place="privacy.plan:Plan.of",
        old='in_sequence("release", *of_piece(once, None), in_parallel("pieces", *pieces))',
        new='in_sequence("release", in_parallel("pieces", *pieces))',
        tests=(TREE,),
    ),
    # --- The door
    Mutation(
        name="pieces: the whole table stays open",
        breaks="a record answers twice for one charge",
        place="enclave.door:Door._pieces",
        old="self._divided = True",
        new="pass",
        tests=(DOORS,),
        core=True,
    ),
    Mutation(
        name="pieces: both pieces share one meter",
        breaks="both pieces may answer every question",
        place="privacy.subsets:of_piece",
        old="piece_of(charge) == piece",
        new="True",
        tests=(f"{WHOLE}::test_each_piece_pays_its_own_charges_alone",),
    ),
    Mutation(
        name="pieces: rows of the first are in the second, too",
        breaks="a record in two pieces that are charged as one",
        place="enclave.door:random_pieces",
        old="left.with_counts(left.counts - piece)",
        new="left",
        tests=(LAW,),
        core=True,
    ),
    Mutation(
        name="pieces: rows are cut in the order of their cells",
        breaks="the pieces depend on values",
        place="enclave.door:_marked",
        old="entropy.picks(np.full(min(missing, _AT_ONCE), bound))",
        new="np.arange(size)",
        tests=(LAW,),
    ),
    Mutation(
        name="pieces: criteria use the piece of the generator",
        breaks="one piece pays twice and is charged once",
        place="releasing.attempt:generate",
        old="merged.score",
        new="merged.fit",
        tests=(f"{WHOLE}::test_the_generator_and_the_criteria_read_different_rows",),
    ),
    Mutation(
        name="pieces: candidates have as many rows as the generator's piece",
        breaks="sensitivities belong to tables of another size",
        place="releasing.attempt:generate",
        old="score.n",
        new="merged.fit.n",
        tests=(f"{WHOLE}::test_a_bundle_says_it_and_verify_agrees",),
    ),
    # --- What is said
    Mutation(
        name="verify: undescribed pieces are accepted",
        breaks="a maximum replaces a sum",
        place="published.verify.charges:pieces",
        old="document.divided_rows is None",
        new="document.divided_rows is None and not largest",
        tests=(FORGED,),
    ),
    Mutation(
        name="verify: a charge may be in any piece",
        breaks="an expensive charge is in a cheap piece",
        place="published.verify.charges:pieces",
        old="(expected := piece_of(charge.charge())) != piece",
        new="(expected := piece) != piece",
        tests=(FORGED,),
    ),
    Mutation(
        name="verify: sizes of pieces are not recomputed",
        breaks="sizes may depend on the data",
        place="published.verify.options:of_partition",
        old="sizes == (part.fit_rows, part.score_rows)",
        new="True",
        tests=(FORGED,),
    ),
    Mutation(
        name="bounds: values of a piece serve for all rows",
        breaks="the original answer may lie outside the range",
        place="answers.facts:Knowledge.__init__",
        old="if release.figures_about:",
        new="if False:",
        tests=(f"{WHOLE}::test_no_bound_for_all_rows_follows",),
    ),
    Mutation(
        name="pieces: answers from measurements are allowed",
        breaks="bounds cover rows that were not measured",
        place="spec.register:check_partition",
        old="criterion.answered_by is not None or criterion.measured_line",
        new="False",
        tests=(REFUSED,),
    ),
    # --- The population
    Mutation(
        name="population: epsilon itself is multiplied by the share",
        breaks="less than the sample gives",
        place="privacy.plan:of_the_population",
        old="log_up(1 + share * (exp_up(loss.epsilon) - 1))",
        new="share * loss.epsilon",
        tests=(ATTAINED,),
        core=True,
    ),
    Mutation(
        name="population: it is rounded down",
        breaks="epsilon is understated",
        place="privacy.curves:log_up",
        old="_up(Fraction(_ln(value)))",
        new="_up(Fraction(_ln(value))) - Fraction(1, _STATED)",
        tests=(ATTAINED,),
    ),
    Mutation(
        name="population: clusters of a person's records pass for a simple random sample",
        breaks="a bound is wrong",
        place="spec.register:check_population",
        old="release.unit.records > 1",
        new="False",
        tests=(NO_SAMPLE,),
    ),
    Mutation(
        name="population: every design is accepted",
        breaks="a bound is wrong",
        place="settings.options:PopulationTable",
        old="SIMPLE.__eq__",
        new="bool",
        tests=(NO_SAMPLE,),
    ),
    Mutation(
        name="population: half of the release is amplified",
        breaks="a part in place of the sum",
        place="bundle.options:_population",
        old="of_the_population(Loss(guarantee.epsilon, guarantee.delta), rows, population.size)",
        new="of_the_population(Loss(guarantee.epsilon / 2, guarantee.delta), rows, population.size)",
        tests=(f"{SAMPLE}::test_a_member_of_the_population_has_a_sentence_of_his_own",),
    ),
)
