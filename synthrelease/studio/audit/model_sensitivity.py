"""Sensitivities of what models measure, by enumeration: PrivBayes's score and tables, the functional mechanism's moments."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from fractions import Fraction
from itertools import combinations, permutations, product

import numpy as np

from synthrelease.criteria.functional import Design, Prior
from synthrelease.criteria.records_mechanism import noisy_sums, records_of_cells
from synthrelease.data.marginals import lattice
from synthrelease.data.schema import STEPS
from synthrelease.generators.adaptive_mechanism import Gaussian, score_of
from synthrelease.generators.adversarial_mechanism import noisy_frequencies
from synthrelease.generators.clique_tables import CompetingTable
from synthrelease.generators.marginals import Marginals
from synthrelease.generators.measured_noise import TABLE_CHANGE
from synthrelease.generators.privbayes_mechanism import _measure, dependence_score, score_sensitivity
from synthrelease.studio.audit.cases import FROM_0, Coding, World, pair_numbers, resized_pairs
from synthrelease.studio.audit.enumeration import Enumeration, Recording, neighbour_pairs
from synthrelease.studio.audit.sweep import CODINGS

PRIOR = Prior(
    intercept=0.5,
    coefficients=np.array([0.7]),
    centres=np.array([0.4]),
    spreads=np.array([0.5]),
    uncertainty=0.3,
)
"""A guess that is wrong enough to matter."""


_WHOLE = 24 * STEPS
"""A multiple of every scale of noise, so that losses are whole numbers of it."""
_MEASURED = (
    ("a:b", None, None),
    ("a + 2 b", None, None),
    ("2 a:b + b", None, None),
    ("a", "2 b[-1..4] + a[0..1]", None),
    *(("a:b + 2 b", "a[0..3]:b[-2..1] + 2 b[0 0 1]", bins) for bins in ("b[0 1 0]", "b[1 0 0]", "b[0 1 0] + b[0 0 1]")),
)
"""Tables, sums, and the bins of b that are counted apart."""


@dataclass(frozen=True, kw_only=True)
class Measured:
    """What one mechanism adds noise to: exact integers for a table, and the l1 sensitivity that it claims."""

    values: Callable[[tuple[int, ...]], np.ndarray]
    sensitivity: int


@dataclass(frozen=True, kw_only=True)
class MeasuredModel:
    """Something that a generator measures, in a small world, for every number of rows.

    Attributes
    ----------
    highs : the highest value of each column.
    tight : whether some pair of neighbours moves it by its whole sensitivity.
    """

    name: str
    highs: Mapping[str, int]
    measured: Callable[[int], Measured]
    tight: bool

    @property
    def kind(self) -> str:
        """What the name begins with."""
        return self.name.partition(":")[0]

    @classmethod
    def of(cls, name: str, highs: Mapping[str, int], measured: Callable[[int], Measured], *, tight: bool) -> MeasuredModel:
        shape = " x ".join(str(size) for size in World(highs).layout.sizes)
        return cls(name=f"{name}, {shape}", highs=highs, measured=measured, tight=tight)


def enumerate_models(most_records: int, wanted: Callable[[str, str], bool] = lambda kind, name: True) -> Iterator[Enumeration]:
    """Score, joint tables and moments, over every pair of neighbours of worlds of at most six cells.

    Parameters
    ----------
    wanted : whether an enumeration of this kind and name is asked for; the others cost no time.
    """
    for model in _models():
        if wanted(model.kind, model.name):
            yield _enumerated(model, most_records)


def _models() -> Iterator[MeasuredModel]:
    for highs in ({"p": 1, "x": 1}, {"p": 1, "x": 2}, {"p": 2, "x": 1}):
        world = World(highs)
        yield MeasuredModel.of("PrivBayes: structure score", highs, _score(world), tight=False)
    for highs in ({"a": 1, "b": 1}, {"a": 1, "b": 2}):
        world = World(highs)
        for network in _networks(len(highs)):
            yield MeasuredModel.of(f"PrivBayes: joint tables {network}", highs, _tables(world, network), tight=True)
    for highs in ({"a": 1, "b": 2}, {"a": 2, "b": 1}):
        for tables, sums, apart in _MEASURED:
            if apart is None or highs["b"] == 2:
                generator = Marginals(tables=tables, sums=sums, rare_bins=apart)
                name = f"marginals: {tables}{f', sums {sums}' if sums else ''}{f', {apart} apart' if apart else ''}"
                yield MeasuredModel.of(name, highs, _answers(World(highs), generator), tight=True)
    for highs in ({"a": 1, "b": 2}, {"a": 2, "b": 1}):
        world = World(highs)
        for columns in ((0,), (1,), (0, 1)):
            question = _asked(world, columns)
            yield MeasuredModel.of(f"adaptive: table {columns}", highs, _answered(world, columns), tight=True)
            yield MeasuredModel.of(f"adaptive: score of {columns}", highs, _scored(world, question), tight=True)
    for highs in ({"a": 1, "b": 2}, {"a": 2, "b": 1}):
        world = World(highs)
        yield MeasuredModel.of("networks: frequencies", highs, _frequencies(world), tight=True)
    for prior, name in ((None, "mid-range"), (PRIOR, "a prior")):
        for highs in ({"a": 1, "b": 2}, {"a": 2, "b": 1}, {"a": 1, "b": 1}):
            world = World(highs)
            yield MeasuredModel.of(f"functional mechanism: moments, {name}", highs, _moments(world, prior), tight=False)
    for words, coding in CODINGS.items():
        highs = {"a": 1, "b": 1}
        moments = _moments(World(highs), None, coding)
        yield MeasuredModel.of(f"functional mechanism: moments, {words}", highs, moments, tight=False)


def _enumerated(model: MeasuredModel, most_records: int) -> Enumeration:
    """Compare every pair of neighbours. The code's own values are enumerated, so there is nothing to disagree with
    but the resizing theorem."""
    world = World(model.highs)
    figures = pairs = violations = files = coupled = contradictions = 0
    largest = Fraction(0)
    for n in range(1, most_records + 1):
        mechanism = model.measured(n)
        codes = world.all_tables(n)
        values = np.array([mechanism.values(table) for table in codes])
        first, second = neighbour_pairs(world.dense(codes))
        changes = np.abs(values[first] - values[second]).sum(axis=1)
        figures, pairs = figures + len(codes), pairs + len(first)
        worse = changes > mechanism.sensitivity
        resized = resized_pairs(tuple(model.highs.items()), n, most_records)
        files, coupled = files + resized.files, coupled + resized.coupled
        contradictions += resized.contradictions
        violations += int(worse.sum()) + resized.touched(pair_numbers(first[worse], second[worse], len(codes)))
        largest = max(largest, Fraction(int(changes.max()), mechanism.sensitivity))
    return Enumeration(
        name=model.name,
        kind=model.kind,
        tight=model.tight,
        most_records=most_records,
        cells=world.layout.n_cells,
        figures=figures,
        triples=pairs,
        violations=violations,
        disagreements=contradictions,
        largest=largest,
        files=files,
        coupled=coupled,
    )


def _score(world: World) -> Callable[[int], Measured]:
    def of(n: int) -> Measured:
        def values(table: tuple[int, ...]) -> np.ndarray:
            joint = np.bincount(table, minlength=world.layout.n_cells).reshape(world.layout.sizes)
            return np.array([dependence_score(joint, n)])

        return Measured(values=values, sensitivity=score_sensitivity(n))

    return of


def _networks(n_columns: int) -> list[list[tuple[tuple[int, ...], int]]]:
    """Every network over the columns: each order of them, each choice of parents among the earlier ones."""
    networks = []
    for order in permutations(range(n_columns)):
        choices = [
            [parents for size in range(position + 1) for parents in combinations(sorted(order[:position]), size)]
            for position in range(n_columns)
        ]
        networks += [list(zip(parents, order, strict=True)) for parents in product(*choices)]
    return networks


def _tables(world: World, network: list[tuple[tuple[int, ...], int]]) -> Callable[[int], Measured]:
    def of(n: int) -> Measured:
        def values(table: tuple[int, ...]) -> np.ndarray:
            recorder = Recording()
            _measure(lattice(world.counts(table)), network, Fraction(1), recorder)
            if recorder.scales != [2.0 * len(network)]:
                raise ValueError("expected one vector of noisy tables with noise for two counts in each")
            return recorder.values[0]

        return Measured(values=values, sensitivity=2 * len(network))

    return of


def _answers(world: World, generator: Marginals) -> Callable[[int], Measured]:
    """All noisy tables and sums at epsilon 1, each over the scale of its noise: the l1 change is the loss of all together."""
    charge = generator.charge(Fraction(1))

    def values(codes: tuple[int, ...]) -> np.ndarray:
        recorder = Recording()
        generator.measure(world.private(codes, [charge], recorder), charge)
        if any(_WHOLE % scale for scale in recorder.scales):
            raise ValueError("expected scales of noise that divide all losses")
        return np.concatenate(
            [answer * int(_WHOLE / scale) for answer, scale in zip(recorder.values, recorder.scales, strict=True)]
        )

    return lambda n: Measured(values=values, sensitivity=_WHOLE)


def _asked(world: World, columns: tuple[int, ...]) -> CompetingTable:
    """A table of which the model expects what no table of a few records is."""
    sizes = world.layout.subset(columns).sizes
    return CompetingTable(columns=columns, expected=np.arange(int(np.prod(sizes))).reshape(sizes), weight=3, handicap=1)


def _answered(world: World, columns: tuple[int, ...]) -> Callable[[int], Measured]:
    """A table of an adaptive generator: what gets Gaussian noise, whose squared l2 change is the l1 change of two counts."""

    def values(codes: tuple[int, ...]) -> np.ndarray:
        recorder = Recording()
        Gaussian(world.counts(codes), Fraction(1), recorder).table(columns, Fraction(1, 2))
        if [Fraction(scale) ** 2 >= TABLE_CHANGE for scale in recorder.scales] != [True]:
            raise ValueError("expected one table with noise for two counts")
        return recorder.values[0]

    return lambda n: Measured(values=values, sensitivity=TABLE_CHANGE)


def _frequencies(world: World) -> Callable[[int], Measured]:
    """The columns from which conditions are drawn: two counts of each, at a rho of 1 / columns."""
    columns = len(world.layout.sizes)

    def values(codes: tuple[int, ...]) -> np.ndarray:
        recorder = Recording()
        noisy_frequencies(world.counts(codes), Fraction(1), recorder)
        if [Fraction(scale) ** 2 * 2 >= TABLE_CHANGE * columns for scale in recorder.scales] != [True] * columns:
            raise ValueError("expected a table for each column with noise for two counts")
        return np.concatenate(recorder.values)

    return lambda n: Measured(values=values, sensitivity=TABLE_CHANGE * columns)


def _scored(world: World, asked: CompetingTable) -> Callable[[int], Measured]:
    """The score that a table competes with."""

    def values(codes: tuple[int, ...]) -> np.ndarray:
        exact = world.counts(codes).marginal(asked.columns)
        return np.array([score_of(asked, exact)])

    return lambda n: Measured(values=values, sensitivity=TABLE_CHANGE * asked.weight)


def _moments(world: World, prior: Prior | None, coding: Coding = FROM_0) -> Callable[[int], Measured]:
    numbers = tuple(np.array([float(coding.number(code)) for code in range(size)]) for size in world.layout.sizes)
    design = Design.of(numbers, np.ones(world.layout.n_cells, bool), prior)

    def values(table: tuple[int, ...]) -> np.ndarray:
        recorder = Recording()
        records = records_of_cells(np.bincount(table, minlength=world.layout.n_cells), design.numbers)
        noisy_sums(records, design, Fraction(1), recorder)
        if recorder.scales != [float(design.sensitivity)]:
            raise ValueError("expected one vector of moments with noise for their sensitivity")
        return recorder.values[0]

    return lambda n: Measured(values=values, sensitivity=design.sensitivity)
