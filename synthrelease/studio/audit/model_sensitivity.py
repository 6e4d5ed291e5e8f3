"""Check the sensitivities of measurements of generators and models by enumeration: scores, tables, sums and moments."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from fractions import Fraction
from functools import partial
from itertools import combinations, permutations, product

import numpy as np

from synthrelease.criteria.functional import Design, Prior
from synthrelease.criteria.records_mechanism import noisy_sums, records_of_cells
from synthrelease.data.marginals import lattice
from synthrelease.data.rules import Domain
from synthrelease.data.schema import STEPS
from synthrelease.generators.adaptive_mechanism import Gaussian, distances_of, scores_of
from synthrelease.generators.adversarial_mechanism import noisy_frequencies
from synthrelease.generators.clique_tables import CompetingTables
from synthrelease.generators.marginals import Marginals
from synthrelease.generators.measured_noise import TABLE_CHANGE
from synthrelease.generators.models import Measured, read_model
from synthrelease.generators.privbayes_mechanism import _measure, dependence_score, score_sensitivity
from synthrelease.generators.row_functions import SHARES
from synthrelease.generators.row_functions import STEPS as ROW_STEPS
from synthrelease.spec.models import charge_of
from synthrelease.studio.audit.enumeration import Enumeration, Recording, neighbour_pairs
from synthrelease.studio.audit.sweep import CODINGS
from synthrelease.studio.audit.tiny import FROM_0, Coding, World, resized_pairs

PRIOR = Prior(intercept=0.5, coefficients=np.array([0.7]), centres=np.array([0.4]), spreads=np.array([0.5]), uncertainty=0.3)
"""A wrong regression line, as the starting point of the functional mechanism."""


_WHOLE = 24 * STEPS  # A number D that every scale of noise divides, so every loss is a whole multiple of 1/D
# The cases for the generator of marginals. The cases have tables, sums, and bins of column b that are counted separately.
_MEASURED = (
    ("a:b", None, None),
    ("a + 2 b", None, None),
    ("2 a:b + b", None, None),
    ("a", "2 b[-1..4] + a[0..1]", None),
    *(("a:b + 2 b", "a[0..3]:b[-2..1] + 2 b[0 0 1]", bins) for bins in ("b[0 1 0]", "b[1 0 0]", "b[0 1 0] + b[0 0 1]")),
)


Values = Callable[[tuple[int, ...]], np.ndarray]
"""A function that returns the exact integers to which a mechanism adds noise, for a table given by the codes of its records."""


@dataclass(frozen=True, kw_only=True)
class MeasuredModel:
    """The integers to which a generator or criterion adds noise in a tiny world, and their claimed sensitivity.

    Attributes
    ----------
    sensitivity : the claimed l1 sensitivity for a number of rows.
    tight : whether the claim is that at least one pair of neighbours reaches the whole sensitivity.
    """

    name: str
    highs: Mapping[str, int]
    values: Values
    sensitivity: Callable[[int], int]
    tight: bool

    @property
    def kind(self) -> str:
        return self.name.partition(":")[0]

    @classmethod
    def of(
        cls, name: str, world: World, values: Values, sensitivity: int | Callable[[int], int], *, tight: bool = True
    ) -> MeasuredModel:
        sizes = world.layout.sizes
        return cls(
            name=f"{name}, {' x '.join(map(str, sizes))}",
            highs={column: size - 1 for column, size in zip(world.layout.columns, sizes, strict=True)},
            values=values,
            sensitivity=sensitivity if callable(sensitivity) else lambda n: sensitivity,
            tight=tight,
        )


def enumerate_models(most_records: int, wanted: Callable[[str, str], bool] = lambda kind, name: True) -> Iterator[Enumeration]:
    """Check the sensitivity of each measurement on every pair of neighbouring tables in worlds of at most eight cells."""
    for model in _models():
        if wanted(model.kind, model.name):
            yield _enumerated(model, most_records)


def _models() -> Iterator[MeasuredModel]:
    model = MeasuredModel.of
    for highs in ({"p": 1, "x": 1}, {"p": 1, "x": 2}, {"p": 2, "x": 1}):
        world = World(highs)
        yield model("PrivBayes: structure score", world, partial(_score, world), score_sensitivity, tight=False)
    for highs in ({"a": 1, "b": 1}, {"a": 1, "b": 2}):
        world = World(highs)
        for network in _networks(len(highs)):
            name = f"PrivBayes: joint tables {network}"
            yield model(name, world, partial(_tables, world, network), 2 * len(network))
    for words, coding in {"from 0": FROM_0, **CODINGS}.items():
        world = World(dict.fromkeys("abc", 1), coding=coding)
        agreements = Marginals(tables="all 2-way", pairs="agreements")
        yield model(f"marginals: agreements of pairs, {words}", world, partial(_answers, world, agreements), _WHOLE)
    for world in (World({"a": 1, "b": 2}), World({"a": 2, "b": 1})):
        for tables, sums, apart in _MEASURED:
            if apart is None or world.layout.sizes[1] == 3:
                generator = Marginals(tables=tables, sums=sums, rare_bins=apart)
                name = f"marginals: {tables}{f', sums {sums}' if sums else ''}{f', {apart} apart' if apart else ''}"
                yield model(name, world, partial(_answers, world, generator), _WHOLE)
        for columns in ((0,), (1,), (0, 1)):
            question = _asked(world, columns)
            yield model(f"adaptive: table {columns}", world, partial(_answered, world, columns), TABLE_CHANGE)
            scored = partial(_scored, world, question)
            yield model(f"adaptive: score of {columns}", world, scored, TABLE_CHANGE * int(question.weights[0]))
        yield model("networks: frequencies", world, partial(_frequencies, world), 2 * TABLE_CHANGE)
    for prior, words in ((None, "mid-range"), (PRIOR, "a prior")):
        for highs in ({"a": 1, "b": 2}, {"a": 2, "b": 1}, {"a": 1, "b": 1}):
            yield _moments_model(World(highs), prior, FROM_0, words)
    for highs in ({"a": 1, "b": 2}, {"a": 2, "b": 1}):
        yield from _named_models(World(highs), "from 0")
        for words, coding in CODINGS.items():
            if not coding.categories:
                yield from _named_models(World(highs, coding=coding), words)
    for words, coding in CODINGS.items():
        yield _moments_model(World({"a": 1, "b": 1}), None, coding, words)


def _enumerated(model: MeasuredModel, most_records: int) -> Enumeration:
    """Check the sensitivity of one measurement on every pair of neighbouring tables of at most `most_records` records.

    Only values of the code are used, so a disagreement can only concern the resizing theorem.
    """
    world, parts = World(model.highs), []
    for n in range(1, most_records + 1):
        codes, sensitivity = world.all_tables(n), model.sensitivity(n)
        values = np.array([model.values(table) for table in codes])
        first, second = neighbour_pairs(world.dense(codes))
        changes = np.abs(values[first] - values[second]).sum(axis=1)
        worse = changes > sensitivity
        resized = resized_pairs(tuple(model.highs.items()), n, most_records)
        parts.append(
            Enumeration(
                name=model.name,
                kind=model.kind,
                tight=model.tight,
                most_records=n,
                cells=world.layout.n_cells,
                figures=len(codes),
                triples=len(first),
                violations=int(worse.sum()) + resized.touched(first[worse], second[worse]),
                disagreements=resized.contradictions,
                largest=Fraction(int(changes.max(initial=0)), sensitivity),
                files=resized.files,
                coupled=resized.coupled,
            )
        )
    return Enumeration.of_all(parts, most_records)


def _score(world: World, codes: tuple[int, ...]) -> np.ndarray:
    joint = np.bincount(codes, minlength=world.layout.n_cells).reshape(world.layout.sizes)
    return np.array([dependence_score(joint, len(codes))])


def _networks(n_columns: int) -> list[list[tuple[tuple[int, ...], int]]]:
    """Return every Bayesian network over the columns, without circles, as a list of pairs (parents, column)."""
    networks = []
    for order in permutations(range(n_columns)):
        choices = [
            [parents for size in range(position + 1) for parents in combinations(sorted(order[:position]), size)]
            for position in range(n_columns)
        ]
        networks += [list(zip(parents, order, strict=True)) for parents in product(*choices)]
    return networks


def _tables(world: World, network: list[tuple[tuple[int, ...], int]], codes: tuple[int, ...]) -> np.ndarray:
    recorder = Recording()
    _measure(lattice(world.counts(codes)), network, Fraction(1), recorder)
    if recorder.scales != [2.0 * len(network)]:
        raise ValueError(f"expected one draw of noise of scale {2.0 * len(network)}, found scales {recorder.scales}")
    return recorder.values[0]


def _answers(world: World, generator: Marginals, codes: tuple[int, ...]) -> np.ndarray:
    """Return the exact values that a `marginals` generator measures at epsilon 1, divided by the scale of noise, times
    `_WHOLE`.

    The l1 change between two neighbouring tables is then `_WHOLE` times their privacy loss.
    """
    charge, recorder = generator.charge(Fraction(1)), Recording()
    generator.measure(world.private(codes, [charge], recorder), charge)
    if any(_WHOLE % scale for scale in recorder.scales):
        raise ValueError(f"expected scales of noise that divide {_WHOLE}, found {recorder.scales}")
    return np.concatenate([value * int(_WHOLE / scale) for value, scale in zip(recorder.values, recorder.scales, strict=True)])


def _asked(world: World, columns: tuple[int, ...]) -> CompetingTables:
    """Return a made-up question for the private choice of the next table: its distance from counts that a model expects.

    These counts are far from every table of a few records.
    """
    (start, weight, handicap), cells = np.array([[0], [3], [1]]), world.layout.subset(columns).n_cells
    return CompetingTables(
        columns=[columns], expected=np.arange(cells), starts=start, sizes=np.array([cells]), weights=weight, handicaps=handicap
    )


def _answered(world: World, columns: tuple[int, ...], codes: tuple[int, ...]) -> np.ndarray:
    """Return the exact counts of a table, to which an adaptive generator adds Gaussian noise.

    If a record is replaced, two counts change by 1 each, so the squared l2 change equals the l1 change.
    """
    recorder = Recording()
    Gaussian(world.counts(codes), Fraction(1), recorder).table(columns, Fraction(1, 2))
    if [Fraction(scale) ** 2 >= TABLE_CHANGE for scale in recorder.scales] != [True]:
        raise ValueError(f"expected one table, with noise for a change of two counts, found noise of scales {recorder.scales}")
    return recorder.values[0]


def _scored(world: World, question: CompetingTables, codes: tuple[int, ...]) -> np.ndarray:
    exact = (world.counts(codes).marginal(columns) for columns in question.columns)
    return np.array(scores_of(question, distances_of(question, exact)))


def _frequencies(world: World, codes: tuple[int, ...]) -> np.ndarray:
    """Return the exact counts of the bins of all columns, to which a neural generator adds noise.

    If a record is replaced, two counts of each column change. The table of a column costs a rho of 1 / number of columns.
    """
    columns, recorder = len(world.layout.sizes), Recording()
    noisy_frequencies(world.counts(codes), Fraction(1), recorder)
    if [Fraction(scale) ** 2 * 2 >= TABLE_CHANGE * columns for scale in recorder.scales] != [True] * columns:
        raise ValueError(f"expected a table of each column, with noise for two counts, found noise of scales {recorder.scales}")
    return np.concatenate(recorder.values)


def _named_models(world: World, words: str) -> Iterator[MeasuredModel]:
    """Yield the measurements for questions in [[models]]: each sum of a mean or a regression, and the shares of all groups."""
    numbers = {column.name: column.atoms.known_numbers for column in world.schema.columns}
    limits = {name: (float(values[0]), float(values[-1])) for name, values in numbers.items()}
    domains = {column.name: Domain(kind=column.kind, bounds=column.bounds) for column in world.schema.columns}
    questions = ("mean b", "slope b on a", "mean b by a")
    measured = Measured(models=tuple(read_model(text, domains, limits) for text in questions), epsilon=Fraction(1))

    def values(codes: tuple[int, ...], block: int, entries: slice) -> np.ndarray:
        charge, recorder = charge_of(measured), Recording()
        measured.measure(world.private(codes, [charge], recorder), charge, world.transformation)
        costs = [(ROW_STEPS, measured.blocks[0][1]), (2 * SHARES, measured.of_table)]
        if recorder.scales != [float(sensitivity / epsilon) for sensitivity, epsilon in costs]:
            raise ValueError(f"expected noise for the sums of a row and the shares of two rows, found scales {recorder.scales}")
        return recorder.values[block][entries]

    for index, function in enumerate(measured.functions):
        factors = function.key[0]
        of_two = len(numbers[factors[0].partition("(")[0]]) == 2  # the square of -1 and 1 does not move
        of_one = partial(values, block=0, entries=slice(index, index + 1))
        name = f"named models: sum of {' * '.join(factors)}, {words}"
        yield MeasuredModel.of(name, world, of_one, ROW_STEPS, tight=not (of_two and len(set(factors)) < len(factors)))
    shares = partial(values, block=1, entries=slice(None))
    yield MeasuredModel.of(f"named models: shares of groups, {words}", world, shares, 2 * SHARES)


def _moments_model(world: World, prior: Prior | None, coding: Coding, words: str) -> MeasuredModel:
    """Return the measurement of the functional mechanism: sums of products of columns, for a regression."""
    numbers = tuple(np.array([float(coding.number(code)) for code in range(size)]) for size in world.layout.sizes)
    design = Design.of(numbers, np.ones(world.layout.n_cells, bool), prior)

    def values(codes: tuple[int, ...]) -> np.ndarray:
        recorder = Recording()
        records = records_of_cells(np.bincount(codes, minlength=world.layout.n_cells), design.numbers)
        noisy_sums(records, design, Fraction(1), recorder)
        if recorder.scales != [float(design.sensitivity)]:
            raise ValueError(f"expected noise of scale {float(design.sensitivity)}, found scales {recorder.scales}")
        return recorder.values[0]

    return MeasuredModel.of(f"functional mechanism: moments, {words}", world, values, design.sensitivity, tight=False)
