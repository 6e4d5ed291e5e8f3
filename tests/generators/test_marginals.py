"""The generator of maximum entropy on measured marginals: its formula, its shares, its noise and what it spends."""

from __future__ import annotations

import math
from collections import Counter
from fractions import Fraction
from random import Random

import numpy as np
import pytest
from pydantic import ValidationError
from scipy import stats

from synthrelease.data.counts import DENSE_LIMIT
from synthrelease.data.layout import Layout
from synthrelease.data.plausibility import Plausibility
from synthrelease.enclave.door import PrivateCounts
from synthrelease.generators.base import Background
from synthrelease.generators.marginals import GaussianMarginals, Marginals
from synthrelease.generators.measurements import (
    FormulaTerm,
    NoisyMarginal,
    NoisyMarginals,
    formula_by_cells,
    formula_of,
    read_terms,
    spelled_out,
)
from synthrelease.generators.privbayes import PrivBayes
from synthrelease.privacy.public_entropy import NoNoise
from synthrelease.studio.audit.enumeration import Recording
from tests.helpers.small import World
from tests.privacy.test_randomness import LEVEL, laplace_p_value
from tests.test_contracts import Witness

WORLD = World({"a": 1, "b": 1, "c": 2})
ROWS = [0, 1, 5, 5, 11, 7, 7, 7]


def generator(tables: str, **fields: object) -> Marginals:
    return Marginals.model_validate({"tables": tables, **fields})


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("age", FormulaTerm(columns=("age",), weight=Fraction(1))),
        (" age : region ", FormulaTerm(columns=("age", "region"), weight=Fraction(1))),
        ("2 age:region:sex", FormulaTerm(columns=("age", "region", "sex"), weight=Fraction(2))),
        ("0.25 age", FormulaTerm(columns=("age",), weight=Fraction(1, 4))),
        ("0 age:region", FormulaTerm(columns=("age", "region"), weight=Fraction(0))),
        ("all 2-way", FormulaTerm(ways=2, weight=Fraction(1))),
        ("1.5 all 3-way", FormulaTerm(ways=3, weight=Fraction(3, 2))),
        ("all", FormulaTerm(columns=("all",), weight=Fraction(1))),  # a column may have this name
        ("2 all 2-way with all", FormulaTerm(columns=("all",), ways=2, weight=Fraction(2))),
    ],
)
def test_a_term_is_read_as_it_stands(text: str, expected: FormulaTerm) -> None:
    assert FormulaTerm.of(text) == expected


@pytest.mark.parametrize(
    "text",
    ["", "age,region", "age:", ":age", "age::region", "age:age", "-1 age", "1e3 age", ".5 age", "2age:region:2 sex",
     "all 0-way", "all 10-way", "all 2 way", "2 * age", "1/2 age", "nan age", "age region"],
)  # fmt: skip
def test_anything_else_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="is not a table|names a column twice") as caught:
        FormulaTerm.of(text)
    assert str(caught.value).startswith(repr(text.strip()))
    assert str(caught.value).endswith(
        ". Write for example 'age:region', '2 region', 'all 2-way' or 'all 2-way with age'. Join tables by +"
    )


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"tables": "a + + b"}, "'' is not a table"),
        ({"tables": "0 a", "prior": "p.csv"}, "All tables in '0 a' have weight 0"),
        ({"tables": "a + 0 b"}, "Name a prior, or delete the tables of weight 0"),
        ({"tables": "a", "prior_weight": 0}, "greater than 0"),
        ({"tables": "a", "prior_weight": float("nan")}, "prior_weight"),
        ({"tables": "a", "prior_weight": float("inf")}, "less than or equal to"),
    ],
)
def test_hyperparameters_that_do_not_fit_are_refused(fields: dict[str, object], message: str) -> None:
    with pytest.raises(ValidationError, match=message):
        Marginals.model_validate(fields)


FACTORS = (Fraction(1), Fraction(1), Fraction(1, 2), Fraction(3))
LAYOUT = Layout(columns=("x", "y", "z"), sizes=(2, 3, 4))


def weights(formula: str) -> dict[tuple[int, ...], Fraction]:
    shares = generator(formula).shares(LAYOUT)
    return {table: share / min(shares.values()) for table, share in shares.items()}


@pytest.mark.parametrize(
    ("formula", "same"),
    [
        ("all 2-way with y", "x:y + y:z"),
        ("all 2-way with y + 2 x", "x:y + y:z + 2 x"),
        ("2 x:(y + z) + z", "2 x:y + 2 x:z + z"),
        # roots of 6, 12 and 8 cells; of 3, one column alone counts (3 - 1) / 2 = 1 times
        ("by cells: x:y + 0.5 y:z + 2 x:z", "2.4 x:y + 1.75 y:z + 5.6 x:z"),
        ("by cells: all 2-way with z + all 1-way", "2.8 x:z + 3.5 y:z + 1.4 x + 1.7 y + 2 z"),
    ],
)
def test_a_short_formula_measures_what_the_long_one_does(formula: str, same: str) -> None:
    assert weights(formula) == weights(same) == weights(spelled_out(formula, LAYOUT))


def test_all_pairs_of_an_important_column_stand_in_one_term() -> None:
    assert formula_by_cells(["a:b", "a:c", "b:c", "b:d", "a", "b", "c", "d"], "abcd") == (
        "by cells: all 2-way with b + a:c + all 1-way"
    )


@pytest.mark.parametrize("seed", range(30))
def test_a_written_formula_is_read_as_its_terms(seed: int) -> None:
    random = Random(seed)
    terms = [
        FormulaTerm(columns=tuple(sorted(random.sample("xyz", ways))), weight=random.choice(FACTORS), by_cells=True)
        for ways in random.choices((1, 2, 3), k=random.randint(1, 8))
    ]
    expected = Counter({table: Fraction(0) for term in terms for table in term.sets(LAYOUT)})
    for term in terms:
        expected.update(dict(term.weighted(LAYOUT)))
    written = Counter[tuple[int, ...]]()
    for term in read_terms(formula_of(terms, LAYOUT.columns)):
        written.update(dict(term.weighted(LAYOUT)))
    assert written == expected


@pytest.mark.parametrize(
    ("tables", "expected"),
    [
        ("x", {(0,): 1}),
        ("z:x + 3 y", {(0, 2): Fraction(1, 4), (1,): Fraction(3, 4)}),
        ("all 2-way", {(0, 1): Fraction(1, 3), (0, 2): Fraction(1, 3), (1, 2): Fraction(1, 3)}),
        ("all 3-way", {(0, 1, 2): 1}),
        ("all 7-way", {(0, 1, 2): 1}),  # no more columns than there are
        ("all 1-way + 2 x", {(0,): Fraction(3, 5), (1,): Fraction(1, 5), (2,): Fraction(1, 5)}),
        ("x:y + y:x + 2 z", {(0, 1): Fraction(1, 2), (2,): Fraction(1, 2)}),  # named twice: the weights add up
    ],
)
def test_shares_are_the_weights_and_add_up_to_1(tables: str, expected: dict[tuple[int, ...], Fraction]) -> None:
    found = generator(tables).shares(LAYOUT)
    assert found == expected
    assert sum(found.values()) == 1


def test_a_table_of_weight_0_has_a_share_of_0_and_is_not_measured() -> None:
    chosen = generator("a + b + 0 a:b:c", prior="public.csv")
    assert chosen.shares(WORLD.layout) == {(0,): Fraction(1, 2), (1,): Fraction(1, 2), (0, 1, 2): 0}
    charge = chosen.charge(Fraction(1))
    assert [table.columns for table in chosen.measure(WORLD.private(ROWS, [charge]), charge).tables] == [(0,), (1,)]
    assert chosen.prior_file == "public.csv"


def test_every_table_gets_noise_of_scale_two_over_its_own_epsilon() -> None:
    class OneMore(Recording):
        def add_laplace(self, values: np.ndarray, scale: float) -> np.ndarray:
            return super().add_laplace(values, scale) + 1

    entropy = OneMore()
    chosen = generator("a:b + 2 c")
    charge = chosen.charge(Fraction("0.9"))
    witness = Witness([charge])
    found = chosen.measure(PrivateCounts(WORLD.counts(ROWS), witness, entropy), charge)
    exact = [WORLD.counts(ROWS).marginal(columns) for columns in ((0, 1), (2,))]
    assert [values.tolist() for values in entropy.values] == [exact[0].ravel().tolist(), exact[1].tolist()]
    assert entropy.scales == pytest.approx([2 / 0.3, 2 / 0.6], rel=1e-15)
    assert sum(Fraction(2) / Fraction(scale) for scale in entropy.scales) <= charge.epsilon
    assert witness.spent == [charge]
    for table, counts in zip(found.tables, exact, strict=True):
        assert np.array_equal(table.values, counts + 1)  # what is handed on is what got the noise
        assert np.array_equal(table.cells, np.ones_like(counts))
    assert [table.cost for table in found.tables] == [Fraction("0.3"), Fraction("0.6")]
    assert (found.n, found.layout) == (len(ROWS), WORLD.layout)


def test_gaussian_tables_get_noise_of_the_variance_that_their_own_rho_buys() -> None:
    entropy = Recording()
    chosen = GaussianMarginals(tables="a:b + 2 c")
    charge = chosen.charge(Fraction("0.9"))
    witness = Witness([charge])
    found = chosen.measure(PrivateCounts(WORLD.counts(ROWS), witness, entropy), charge)
    exact = [WORLD.counts(ROWS).marginal(columns) for columns in ((0, 1), (2,))]
    assert [values.tolist() for values in entropy.values] == [exact[0].ravel().tolist(), exact[1].tolist()]
    assert entropy.scales == pytest.approx(
        [math.sqrt(1 / 0.3), math.sqrt(1 / 0.6)], rel=1e-9
    )  # squared change 2 = 2 rho variance
    assert sum(1 / Fraction(scale) ** 2 for scale in entropy.scales) <= charge.curve().rho
    assert witness.spent == [charge]
    assert [(table.cost, table.noise.scale) for table in found.tables] == [
        (Fraction("0.3"), pytest.approx(entropy.scales[0], rel=1e-12)),
        (Fraction("0.6"), pytest.approx(entropy.scales[1], rel=1e-12)),
    ]


def test_gaussian_tables_and_tables_with_laplace_noise_are_no_measurements_of_each_other() -> None:
    pure, gaussian = generator("a:b"), GaussianMarginals(tables="a:b")
    assert gaussian.same_measurements(GaussianMarginals(tables="a:b", prior_weight=7))
    assert not gaussian.same_measurements(pure)
    assert not pure.same_measurements(gaussian)


def test_sums_are_refused_beside_gaussian_tables() -> None:
    with pytest.raises(ValidationError, match="sums"):
        GaussianMarginals.model_validate({"tables": "a", "sums": "b[0 1]"})


@pytest.mark.parametrize("kind", [Marginals, GaussianMarginals])
def test_a_replaced_record_moves_every_table_by_two_at_most_and_some_by_two(kind: type[Marginals]) -> None:
    """By enumeration of all tables of three records and all their neighbours."""
    chosen = kind(tables="all 1-way + all 2-way + a:b:c")
    charge = chosen.charge(Fraction(7))
    tables = {}
    for table in WORLD.all_tables(3):
        private = WORLD.private(table, [charge]).rehearsed(NoNoise())
        tables[table] = [each.values for each in chosen.measure(private, charge).tables]
    assert {len(found) for found in tables.values()} == {7}
    largest, squared = np.zeros(7, dtype=int), np.zeros(7, dtype=int)
    for table, found in tables.items():
        for other in WORLD.neighbours(table):
            moved = [(here - there).ravel() for here, there in zip(found, tables[other], strict=True)]
            largest = np.maximum(largest, [np.abs(one).sum() for one in moved])
            squared = np.maximum(squared, [(one**2).sum() for one in moved])
    assert (largest.tolist(), squared.tolist()) == ([2] * 7, [2] * 7)


@pytest.fixture(scope="module")
def noise() -> np.ndarray:
    """Noise of 10 tables of 2000 cells at a quarter of an epsilon of 2."""
    world = World({"a": 1, "c": 1999})
    chosen = generator("c + 3 a")
    charge = chosen.charge(Fraction(2))
    exact = world.counts(ROWS).marginal((1,))
    drawn = []
    for _ in range(10):
        (table,) = [table for table in chosen.measure(world.private(ROWS, [charge]), charge).tables if table.columns == (1,)]
        drawn.append(table.values - exact)
    return np.array(drawn)


def test_the_noise_is_discrete_laplace_of_the_stated_scale(noise: np.ndarray) -> None:
    """Scale 2 / (2/4) = 4. The test would see a scale that is off by a tenth, which is checked too."""
    drawn = noise.ravel()
    assert laplace_p_value(drawn, 4.0) > LEVEL
    assert laplace_p_value(drawn, 3.6) < LEVEL
    assert laplace_p_value(drawn, 4.4) < LEVEL


def test_noise_of_neighbouring_cells_is_independent(noise: np.ndarray) -> None:
    """20,000 draws: the correlation has the standard deviation 0.007."""
    assert stats.pearsonr(noise[:, :-1].ravel(), noise[:, 1:].ravel()).pvalue > LEVEL


def test_measurements_can_be_shared_where_the_measured_tables_are_the_same() -> None:
    chosen = generator("a + 0 a:b", prior="p.csv")
    assert chosen.same_measurements(generator("a", prior_weight=5))
    assert not chosen.same_measurements(generator("2 a + b"))
    assert not chosen.same_measurements(PrivBayes(flavour="degree", degree=1, epsilon_split=Fraction(1, 2)))


def mistakes(tables: str, sizes: tuple[int, ...], tied: list[tuple[int, ...]] | None = None) -> list[str]:
    layout = Layout(columns=tuple("xyzw"[: len(sizes)]), sizes=sizes)
    return [
        f"{each.field}: {each.text}; {each.found}; {each.suggestion}" for each in generator(tables).mistakes(layout, tied or [])
    ]


def test_unknown_columns_are_named_once_with_a_suggestion() -> None:
    assert mistakes("age + age:y + y", (2, 2)) == ["tables: There is no column 'age'. The columns are 'x', 'y'; None; None"]
    layout = Layout(columns=("region", "weight"), sizes=(2, 2))
    (found,) = generator("wieght").mistakes(layout, [])
    assert found.suggestion == "weight"


def test_cliques_above_the_limit_are_refused_also_when_only_the_rules_make_them() -> None:
    """Three columns of 200 bins: 8,000,000 cells in one table; a pair has 40,000."""
    assert 200**3 > DENSE_LIMIT > 200**2
    (found,) = mistakes("x:y:z", (200, 200, 200))
    assert found == (
        f"tables: The tables and the rules together connect 8,000,000 cells. The limit is {DENSE_LIMIT:,}. Name fewer or "
        "smaller tables. The connected columns with the most bins are 'x' (200 bins), 'y' (200 bins), 'z' (200 bins); None; "
        "None"
    )
    assert mistakes("x:y + y:z", (200, 200, 200)) == []
    assert len(mistakes("x:y + y:z + x:z", (200, 200, 200))) == 1  # a cycle needs the whole triangle
    assert len(mistakes("x:y + y:z", (200, 200, 200), [(0, 2)])) == 1


def test_the_model_of_shared_measurements_reads_nothing_private() -> None:
    """Its arguments hold no door to private counts, and the same measurements give the same model."""
    chosen = generator("all 2-way")
    charge = chosen.charge(Fraction(5))
    measured = chosen.measure(WORLD.private(ROWS * 20, [charge]), charge)
    background = Background(plausibility=Plausibility(layout=WORLD.layout, masks=()))
    samples = [chosen.model(measured, background).sample(50, np.random.default_rng(1)).dense().tolist() for _ in range(2)]
    assert samples[0] == samples[1]


def test_tables_that_are_measured_for_a_bound_alone_share_the_budget_and_not_the_model() -> None:
    layout = Layout(columns=("a", "b", "c"), sizes=(2, 3, 4))
    generator = Marginals(tables="a:b + 2 b", only_measured="b:c + a:b")
    assert generator.shares(layout) == {(0, 1): Fraction(2, 5), (1,): Fraction(2, 5), (1, 2): Fraction(1, 5)}
    assert generator.structure(layout) == [(0, 1), (1,)]
    values = {columns: np.full(layout.subset(columns).sizes, 10) for columns in generator.measured_tables(layout, Fraction(1))}
    values[1, 2][:, 0] = 500  # only the model of b:c would follow this
    tables = tuple(
        NoisyMarginal(columns=columns, values=each, cost=Fraction(1), cells=np.ones_like(each))
        for columns, each in values.items()
    )
    free = Background(plausibility=Plausibility(layout=layout, masks=()))
    model = generator.model(NoisyMarginals(layout=layout, n=60, tables=tables), free)
    shares = model.sample(4000, np.random.default_rng(1)).marginal([2]) / 4000
    assert shares == pytest.approx([0.25] * 4, abs=0.01)
    assert not generator.same_measurements(Marginals(tables="a:b + 2 b"))
    (mistake,) = Marginals(tables="a", only_measured="d").mistakes(layout, [])
    assert mistake.field == "only_measured"
    with pytest.raises(ValueError, match="has weight 0. Here, all weights must be above 0"):
        Marginals(tables="a", only_measured="0 b")
