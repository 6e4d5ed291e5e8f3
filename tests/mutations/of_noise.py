"""Mutations of the noise that is drawn in bulk."""

from __future__ import annotations

from tests.mutations.machinery import Mutation

LAWS = "tests/inversion/test_laws.py"
TABLES = "tests/inversion/test_tables.py"
NOISE = "tests/inversion/test_noise.py"
TIES = f"{TABLES}::test_a_tie_is_resolved_by_further_bits"

OF_NOISE = (
    Mutation(
        name="inversion: exponentials of 28 digits",
        breaks="bounds that do not hold",
        place="inversion.laws:exponential",
        old="down.exp(up.divide(above, below).copy_negate())",
        new="down.exp(-up.divide(above, below))",
        tests=(f"{LAWS}::test_bounds_of_an_exponential_hold_and_are_close",),
    ),
    Mutation(
        name="inversion: a quotient rounded inwards",
        breaks="bounds that do not hold",
        place="inversion.laws:quotient",
        old="-((-part.high << bits) // whole.low)",
        new="(part.high << bits) // whole.low",
        tests=(f"{LAWS}::test_bounds_of_a_law_hold_at_any_number_of_bits",),
    ),
    Mutation(
        name="inversion: a biased digit",
        breaks="the highest value of every digit is impossible",
        place="inversion.laws:Geometric.below",
        old="self.rate * self.end",
        new="self.rate * (self.end - 1)",
        tests=(f"{LAWS}::test_floors_are_those_of_the_closed_form",),
    ),
    Mutation(
        name="inversion: the tail of a Gaussian is left out",
        breaks="large noise is impossible",
        place="inversion.laws:FoldedGaussian.below",
        old="sums[-1].high + left",
        new="sums[-1].high",
        tests=(LAWS,),
    ),
    Mutation(
        name="inversion: 0 counts twice in a folded Gaussian",
        breaks="another law, 0 too likely",
        place="inversion.laws:FoldedGaussian.below",
        old="[Between(one, one)]",
        new="[Between(2 * one, 2 * one)]",
        tests=(f"{LAWS}::test_floors_are_those_of_the_closed_form",),
    ),
    Mutation(
        name="inversion: a tie is not resolved",
        breaks="masses off by 2^-64",
        place="inversion.tables:Table.draw",
        old="np.flatnonzero(ties).tolist()",
        new="[]",
        tests=(TIES,),
        core=True,
    ),
    Mutation(
        name="inversion: a tie is resolved by one bit",
        breaks="masses off by 2^-65",
        place="inversion.tables:resolve",
        old="low > word",
        new="low > word or True",
        tests=(TIES,),
    ),
    Mutation(
        name="inversion: the first 16 bits decide every draw",
        breaks="masses off by 2^-16, and values beyond eleven scales impossible",
        place="inversion.tables:Table.of",
        old="first[floors >> np.uint64(_WORD - _FIRST)] = _OPEN",
        new="first.flags.writeable = False",
        tests=(f"{TABLES}::test_the_first_bits_decide_only_where_all_words_agree",),
    ),
    Mutation(
        name="inversion: the values of two open draws are swapped",
        breaks="a draw that depends on another's bits",
        place="inversion.tables:Table.draw",
        old="drawn[left] = places",
        new="drawn[left] = places[::-1]",
        tests=(f"{TABLES}::test_a_vector_is_drawn_place_by_place",),
    ),
    Mutation(
        name="inversion: both geometric variables are made of the same bits",
        breaks="hardly any noise",
        place="inversion.noise:laplace",
        old="_geometric(tables, words[1], read)",
        new="_geometric(tables, words[0], read)",
        tests=(f"{NOISE}::test_discrete_laplace_noise_has_its_law",),
    ),
    Mutation(
        name="inversion: all digits are made of the same bits",
        breaks="digits that tell each other",
        place="inversion.noise:_geometric",
        old="table.draw(bits, read)",
        new="table.draw(words[0], read)",
        tests=(f"{NOISE}::test_discrete_laplace_noise_has_its_law",),
    ),
    Mutation(
        name="inversion: the lowest digit is left out",
        breaks="noise in steps of 256, between which counts stay apart",
        place="inversion.noise:_geometric",
        old="total = tables[0].draw(words[0], read)",
        new="total = 0 * tables[0].draw(words[0], read) + (len(tables) == 1) * tables[0].draw(words[0], read)",
        tests=(f"{NOISE}::test_discrete_laplace_noise_has_its_law",),
    ),
    Mutation(
        name="inversion: Gaussian noise has no sign",
        breaks="counts only grow",
        place="inversion.noise:gaussian",
        old="np.where(signs, -absolute, absolute)",
        new="np.where(signs, absolute, absolute)",
        tests=(f"{NOISE}::test_rounded_gaussian_noise_has_its_law",),
    ),
    Mutation(
        name="inversion: one block's words for all blocks",
        breaks="the difference of two cells is exact",
        place="inversion.noise:laplace",
        old="np.frombuffer(read(2 * 2 * n * len(tables)), dtype=np.uint16)",
        new="np.frombuffer(bytes(range(256)) * (4 * n * len(tables)), dtype=np.uint16)[: 2 * n * len(tables)]",
        tests=(f"{NOISE}::test_no_draw_is_used_twice_across_blocks",),
    ),
    Mutation(
        name="noise in bulk: half the scale",
        breaks="twice the claimed epsilon",
        place="randomness:SystemEntropy.add_laplace",
        old="laplace(Fraction(scale), len(values), secrets.token_bytes)",
        new="laplace(Fraction(scale) / 2, len(values), secrets.token_bytes)",
        tests=("tests/test_randomness.py::test_discrete_laplace_has_scale_sensitivity_over_epsilon",),
    ),
    Mutation(
        name="noise in bulk: half the Gaussian scale",
        breaks="four times the claimed rho",
        place="randomness:SystemEntropy.add_gaussian",
        old="gaussian(Fraction(scale), len(values), secrets.token_bytes)",
        new="gaussian(Fraction(scale) / 2, len(values), secrets.token_bytes)",
        tests=("tests/test_randomness.py::test_gaussian_noise_of_long_and_short_vectors_has_one_law",),
    ),
)
