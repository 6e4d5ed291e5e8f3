"""Rare bins that are counted apart: what is counted, what a replaced record moves, and the rows that are made of it."""

from __future__ import annotations

from fractions import Fraction
from itertools import product

import numpy as np
import pytest
from pydantic import ValidationError

from synthrelease.data.counts import Counts
from synthrelease.data.layout import Layout
from synthrelease.data.plausibility import Mask, Plausibility
from synthrelease.errors import RejectedRound
from synthrelease.generators.base import Background
from synthrelease.generators.candidate import contradicts_its_tables
from synthrelease.generators.marginals import GaussianMarginals, Marginals, WithRareBins
from synthrelease.generators.marginals_mechanism import without
from synthrelease.generators.measurements import NoisyBin, NoisyMarginals, RareBin, bins_of
from synthrelease.generators.nested import Nested, NestedPure
from synthrelease.privacy.noise import SystemEntropy
from synthrelease.privacy.public_entropy import NoNoise
from synthrelease.studio.audit.enumeration import Recording
from tests.helpers.small import World

WORLD = World({"a": 1, "b": 2, "c": 1})
SUMS = "a[0..3]:b[-2 1 0.5] + 2 {b[0 0 1] + c[0 1]}"
ROUNDED = Fraction(1, 10**9)
"""Of scales, which are floats."""
FREE = Plausibility(layout=WORLD.layout, masks=())


def rows_of(*bins: tuple[int, int, int]) -> list[int]:
    return [6 * a + 2 * b + c for a, b, c in bins]


def measured(generator: Marginals, rows: list[int], entropy: SystemEntropy | None = None) -> NoisyMarginals:
    charge = generator.charge(Fraction(1))
    return generator.measure(WORLD.private(rows, [charge], entropy or NoNoise()), charge)


def losses(kind: type[Marginals], **fields: object) -> dict[tuple[int, int], Fraction]:
    """Of every two records, the loss of files that differ in them, or its rho: by the scales of all noises that are drawn."""
    chosen = kind.model_validate({"tables": "a:b + 2 c", **fields})
    answers, scales = [], list[float]()
    for record in range(WORLD.layout.n_cells):
        recorder = Recording()
        measured(chosen, [0, 3, record], recorder)
        answers.append(recorder.values)
        scales = recorder.scales
    found = {}
    for one, other in product(range(WORLD.layout.n_cells), repeat=2):
        changes = [np.abs(first - second) for first, second in zip(answers[one], answers[other], strict=True)]
        if kind is GaussianMarginals:
            parts = [Fraction(int((each**2).sum())) / (2 * Fraction(s) ** 2) for each, s in zip(changes, scales, strict=True)]
        else:
            whole = [each.max() if len(each) == 2 and place == 3 else each.sum() for place, each in enumerate(changes)]
            parts = [Fraction(int(each)) / Fraction(s) for each, s in zip(whole, scales, strict=True)]
        found[one, other] = sum(parts, Fraction(0))
    return found


@pytest.mark.parametrize(
    "apart", ["a[0 1]", "b[0 0 1]", "b[1 0 0] + b[0 1 0]", "b[0 0 1] + a[0 1]", "c[0 1] + b[1 0 0] + a[1 0]"]
)
@pytest.mark.parametrize(("kind", "sums"), [(Marginals, None), (Marginals, SUMS), (GaussianMarginals, None)])
def test_whoever_is_replaced_all_answers_together_cost_no_more(kind: type[Marginals], sums: str | None, apart: str) -> None:
    """Theory 12.14, bins counted apart, for all pairs of records: one that leaves a rare bin costs just as much."""
    found = losses(kind, rare_bins=apart, **({} if sums is None else {"sums": sums}))
    layout = WORLD.layout
    digits = [np.array(column) for column in zip(*product(*map(range, layout.sizes)), strict=True)]
    inside = np.any([digits[each.column] == each.bin for each in bins_of(apart, layout)], axis=0)
    leaving = max(loss for (one, other), loss in found.items() if inside[one] and not inside[other])
    assert max(found.values()) <= 1 + ROUNDED
    assert leaving >= (1 - ROUNDED if sums is None else Fraction(9, 10))  # of few bins none has the most of every score


def test_the_counts_are_free_and_the_tables_get_what_they_had() -> None:
    """Scales of the noise of tables and sums are those without the option, beside one for each bin at half of the budget."""
    with_bins, without = Recording(), Recording()
    measured(Marginals(tables="a:b + 2 c", sums=SUMS, rare_bins="b[0 1 0] + b[1 0 0]"), rows_of((0, 0, 0)), with_bins)
    measured(Marginals(tables="a:b + 2 c", sums=SUMS), rows_of((0, 0, 0)), without)
    assert with_bins.scales[:-1] == without.scales
    assert with_bins.scales[-1] == 2.0
    assert [len(each) for each in with_bins.values] == [*(len(each) for each in without.values), 2]


def test_rows_of_a_rare_bin_are_in_its_count_alone() -> None:
    rows = rows_of((1, 1, 0), (1, 1, 1), (0, 2, 1), (0, 2, 0), (0, 2, 1), (0, 0, 0), (0, 0, 1), (1, 0, 0))
    found = measured(Marginals(tables="a:b + c", sums="c[0 1]", rare_bins="b[0 1 0] + b[0 0 1]"), rows)
    assert [(each.of.column, each.of.bin, each.value) for each in found.rare_bins] == [(1, 1, 2), (1, 2, 3)]
    assert found.n == 3
    tables = {table.columns: table.values.tolist() for table in found.tables}
    assert tables == {(0, 1): [[2, 0, 0], [1, 0, 0]], (2,): [2, 1]}
    assert [(one.value, one.sensitivity) for one in found.sums] == [(4096, 4096)]  # one of the three rows has c = 1


def test_a_row_in_rare_bins_of_several_columns_counts_in_the_first_one_alone() -> None:
    rows = rows_of((1, 2, 0), (1, 2, 1), (0, 2, 1), (1, 0, 0), (0, 0, 0), (0, 1, 1), (0, 1, 1))
    found = measured(Marginals(tables="a:b", sums="c[0 1]", rare_bins="b[0 0 1] + a[0 1]"), rows)
    assert [(each.of.column, each.of.bin, each.value) for each in found.rare_bins] == [(1, 2, 3), (0, 1, 1)]
    assert found.n == 3
    assert found.tables[0].values.tolist() == [[1, 2, 0], [0, 0, 0]]
    turned = measured(Marginals(tables="a:b", rare_bins="a[0 1] + b[0 0 1]"), rows)
    assert [each.value for each in turned.rare_bins] == [3, 1]


def test_noisy_counts_stay_between_0_and_all_rows() -> None:
    class Far(NoNoise):
        def add_laplace(self, values: np.ndarray, scale: float) -> np.ndarray:
            return np.array([-5, 400]) if len(values) == 2 else np.asarray(values)

    found = measured(Marginals(tables="a:b", rare_bins="b[0 1 0] + b[0 0 1]"), rows_of(*[(0, 0, 0)] * 4, (0, 1, 0)), Far())
    assert [each.value for each in found.rare_bins] == [0, 5]
    assert found.n == 1


def _model(rows: list[int], apart: str, rules: Plausibility = FREE, ordered: tuple[int, ...] = (2, 3, 2)) -> WithRareBins:
    chosen = Marginals(tables="a:b + b:c", rare_bins=apart, prior_weight=0.001)
    model = chosen.model(measured(chosen, rows), Background(plausibility=rules, ordered=ordered))
    assert isinstance(model, WithRareBins)
    return model


def test_a_released_table_has_the_counted_rows_of_each_bin_like_rows_of_the_bin_beside() -> None:
    """With exact answers every bin comes back exactly, and what is beside a rare one has the law of its neighbour."""
    here = [*[(0, 0, 0)] * 500, *[(0, 1, 1)] * 300, *[(1, 1, 1)] * 190, *[(0, 2, 0)] * 10]
    made = _model(rows_of(*here), "b[0 0 1]").sample(1000, np.random.default_rng(1))
    assert made.total == 1000
    assert made.marginal((1,)).tolist() == [500, 490, 10]
    assert made.marginal((1, 2)).tolist() == [[500, 0], [0, 490], [0, 10]]  # c as in bin 1 of b, and not as it was
    assert made.marginal((0, 1))[1].tolist()[:2] == [0, 190]


def test_rare_bins_of_two_columns_come_back_each() -> None:
    """A row of one rare bin is copied from rows without any, so no row has two."""
    here = [*[(0, 0, 0)] * 500, *[(0, 1, 1)] * 470, *[(0, 2, 0)] * 10, *[(1, 1, 1)] * 20]
    made = _model(rows_of(*here), "b[0 0 1] + a[0 1]").sample(1000, np.random.default_rng(1))
    assert made.marginal((1,))[2] == 10
    assert made.marginal((0,)).tolist() == [980, 20]
    assert made.marginal((0, 1))[1, 2] == 0


@pytest.mark.parametrize("n", [1, 7, 400, 3000])
def test_other_numbers_of_rows_have_their_share_of_each_rare_bin(n: int) -> None:
    here = [*[(0, 0, 0)] * 80, *[(1, 1, 0)] * 15, *[(0, 2, 0)] * 5]
    model, generator = _model(rows_of(*here), "b[0 1 0] + b[0 0 1]"), np.random.default_rng(2)
    made = [model.sample(n, generator) for _ in range(200)]
    assert {each.total for each in made} == {n}
    for bin_, share in ((1, 0.15), (2, 0.05)):
        rows = np.array([each.marginal((1,))[bin_] for each in made])
        assert rows.max() - rows.min() <= 1  # rounded up or down
        assert abs(rows.mean() / n - share) < 0.02 + 0.05 / n


def test_rules_hold_for_rows_of_rare_bins() -> None:
    """b = 2 is impossible with c = 1, as all of its neighbours are: the next bins are asked, and then any row."""
    forbidden = np.zeros((3, 2), dtype=bool)
    forbidden[2, 1] = True
    rules = Plausibility(layout=WORLD.layout, masks=(Mask(columns=(1, 2), forbidden=forbidden),))
    here = [*[(0, 0, 0)] * 50, *[(0, 1, 1)] * 40, *[(0, 2, 0)] * 10]
    made = _model(rows_of(*here), "b[0 0 1]", rules).sample(100, np.random.default_rng(3))
    assert made.marginal((1, 2)).tolist() == [[50, 0], [0, 40], [10, 0]]


def test_where_no_row_may_be_in_a_rare_bin_a_round_is_rejected() -> None:
    """Released without its rows the bin would be said to have been counted."""
    rules = Plausibility(layout=WORLD.layout, masks=(Mask(columns=(1,), forbidden=np.array([False, False, True])),))
    here = [*[(0, 0, 0)] * 60, *[(0, 1, 1)] * 30, *[(0, 2, 0)] * 10]
    with pytest.raises(RejectedRound, match="may be in a rare bin"):
        _model(rows_of(*here), "b[0 0 1]", rules).sample(100, np.random.default_rng(3))


def test_where_nearly_all_rows_are_rare_they_are_like_many_others() -> None:
    here = [*[(0, 0, 0)] * 5, *[(1, 0, 1)] * 5, *[(0, 2, 0)] * 990]
    made = _model(rows_of(*here), "b[0 0 1]").sample(1000, np.random.default_rng(5))
    assert made.marginal((1,)).tolist()[2] == 990
    assert 400 < made.marginal((0, 1))[1, 2] < 590


def test_rare_bins_that_an_alternative_puts_together_are_one_rare_bin() -> None:
    merged = Layout(columns=WORLD.layout.columns, sizes=(2, 2, 2))
    maps = [np.arange(2), np.array([0, 1, 1]), np.arange(2)]
    here = [*[(0, 0, 0)] * 90, *[(0, 1, 1)] * 6, *[(0, 2, 0)] * 4]
    chosen = Marginals(tables="a:b + b:c", rare_bins="b[0 0 1] + b[0 1 0]", prior_weight=0.001)
    found = measured(chosen, rows_of(*here)).merge(merged, maps)
    assert found.rare_bins == (NoisyBin(of=RareBin(column=1, bin=1), value=10),)
    model = chosen.model(found, Background(plausibility=Plausibility(layout=merged, masks=()), ordered=(2, 2, 2)))
    assert model.sample(100, np.random.default_rng(4)).marginal((1,)).tolist() == [90, 10]


def test_rows_of_rare_bins_contradict_no_table() -> None:
    """A third of the rows is counted apart, which no table has: they are no reason to reject a candidate, and others are."""
    here = [*[(0, 0, 0)] * 600, *[(0, 2, 0)] * 300, *[(0, 1, 0)] * 100]
    found = measured(Marginals(tables="b:c", rare_bins="b[0 0 1]"), rows_of(*here))
    rows = Counts(WORLD.layout, np.array(rows_of(*here)))
    assert not contradicts_its_tables(rows, found, FREE)
    assert contradicts_its_tables(without(rows, [RareBin(column=1, bin=0)]), found, FREE)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("a[0 1] + b[0 0 1] + a[0 1]", "names a rare bin twice"),
        ("a[1 1]", "does not name exactly one rare bin"),
        ("a[0 2]", "does not name exactly one rare bin"),
        ("a[0 -1]", "does not name exactly one rare bin"),
        ("a[0 0]", "does not name exactly one rare bin"),
        ("a[0..1]", "is not a rare bin"),
        ("a(0..1)", "is not a rare bin"),
        ("a[0 1]:b[0 0 1]", "is not a rare bin"),
        ("a[0 1] within 0..1", "is not a rare bin"),
        ("2 a[0 1]", "is not a sum of scores"),
        ("", "at least 1 character"),
    ],
)
def test_what_is_no_list_of_bins_is_refused(text: str, message: str) -> None:
    with pytest.raises(ValidationError, match=message):
        Marginals(tables="a", rare_bins=text)


@pytest.mark.parametrize(
    ("text", "expected", "found"),
    [
        ("d[0 1]", "There is no column 'd'", ""),
        ("b[0 1]", "'b' has 3 measured bins", "has 2 numbers"),
        ("a[0 1] + a[1 0]", "All bins of 'a' are named as rare", "one of them must not be rare"),
        ("b[0 0 1] + a[0 1] + a[1 0]", "All bins of 'a' are named as rare", "one of them must not be rare"),
    ],
)
def test_bins_that_the_columns_do_not_have_are_named(text: str, expected: str, found: str) -> None:
    (mistake,) = Marginals(tables="a", rare_bins=text).mistakes(WORLD.layout, ())
    assert mistake.field == "rare_bins"
    assert mistake.text.startswith(expected)
    assert found in mistake.text


@pytest.mark.parametrize("family", [Nested, NestedPure])
def test_areas_have_no_rare_bins(family: type[Nested]) -> None:
    """Their rows are allotted by tables of all rows: a bin that is in no table would be left without any."""
    with pytest.raises(ValidationError, match="rare_bins"):
        family.model_validate({"areas": "a", "tables": "b", "rare_bins": "b[0 0 1]"})


def test_measurements_are_shared_only_with_the_same_bins_apart() -> None:
    one = Marginals(tables="a:b", rare_bins="a[0 1]")
    assert one.same_measurements(Marginals(tables="a:b", rare_bins="a[0 1]", prior_weight=5))
    assert not one.same_measurements(Marginals(tables="a:b"))
    assert not one.same_measurements(Marginals(tables="a:b", rare_bins="b[0 0 1]"))
