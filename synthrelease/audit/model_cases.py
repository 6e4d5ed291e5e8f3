"""Cases of what is fitted: PrivBayes, from counts to a network; MWEM; noisy marginals; the functional mechanism's moments.

What other generators tell is computed (`loss_cases`): so few draws of them show next to nothing.
"""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction
from functools import partial
from itertools import accumulate

import numpy as np

from synthrelease.audit.cases import Case
from synthrelease.audit.model_sensitivity import PRIOR
from synthrelease.audit.worlds import World
from synthrelease.criteria.functional import Design, Prior
from synthrelease.criteria.records_mechanism import noisy_sums, records_of_cells
from synthrelease.data.plausibility import Plausibility
from synthrelease.generators.base import Background
from synthrelease.generators.marginals import Marginals
from synthrelease.generators.mwem_pep import MWEM
from synthrelease.generators.privbayes import PrivBayes
from synthrelease.privacy.charges import decimal_text
from synthrelease.privacy.noise import SYSTEM

FIT_DRAWS = 800
MOMENT_DRAWS = 3_000
_GENERATORS = {
    "degree 1": PrivBayes(flavour="degree", degree=1, epsilon_split=Fraction(1, 2)),
    "degree 1, exponential": PrivBayes(flavour="degree", degree=1, epsilon_split=Fraction(1, 10), selector="exponential"),
    "degree 2": PrivBayes(flavour="degree", degree=2, epsilon_split=Fraction(1, 3)),
    "theta 0.1": PrivBayes(flavour="theta", theta=0.1, epsilon_split=Fraction(3, 10)),
}
_ITERATIVE = MWEM(queries=20, iterations=4)
_FITS = {
    "a lone record moves": ({"a": 1, "b": 1, "c": 1}, (0, 0, 0, 0, 7), (0, 0, 0, 0, 0)),
    "an empty cell fills": ({"a": 1, "b": 2}, (0, 0, 5, 5, 5, 5), (4, 0, 5, 5, 5, 5)),
}
"""Names -> columns, and the cells of the records of two neighbours."""

_MOMENTS = {
    "opposite corners, 2 x 3": ({"a": 1, "b": 2}, (0, 0, 5), (0, 0, 0)),
    "opposite corners, 3 x 2": ({"a": 2, "b": 1}, (0, 3, 5), (0, 3, 0)),
    "two features": ({"a": 1, "b": 1, "c": 2}, (0, 11, 11), (0, 0, 11)),
}


def model_cases() -> Iterator[Case]:
    """Fits and moments at several budgets."""
    for epsilon in (Fraction(1), Fraction(4)):
        for kind in _GENERATORS:
            for name in _FITS:
                yield fit_case(kind, name, epsilon)
    for budget in (Fraction(1, 10), Fraction(1), Fraction(4)):
        for name in _FITS:
            yield asked_case(name, budget)
    for epsilon in (Fraction(1, 2), Fraction(1), Fraction(4)):
        for formula in ("a:b + 2 b", "all 2-way", "a + b"):
            for name in _FITS:
                yield measured_case(formula, name, epsilon)
        for name in _FITS:
            yield measured_case("a", name, epsilon, sums="2 a[0..1]:b[0..1] + b[-1..0.5]")
            yield measured_case("a", name, epsilon, sums="5 {a[0..1]:b[0..1] + a[0..1] + b[-1..0.5]}")
    for epsilon in (Fraction(1, 2), Fraction(1), Fraction(2), Fraction(4)):
        for name, (highs, left, right) in _MOMENTS.items():
            for prior in (None, PRIOR) if len(highs) == 2 else (None,):
                yield _moments_case(name, highs, left, right, prior, epsilon)


def fit_case(kind: str, name: str, epsilon: Fraction, *, spent: Fraction | None = None) -> Case:
    """Networks fitted to two neighbours; `spent` is the budget of the fit, right unless given."""
    highs, left, right = _FITS[name]
    world = World(highs)
    draw = partial(_networks, _GENERATORS[kind], highs, spent or epsilon)
    bins = [
        f"Pr of bin {bin_} of {column}"
        for column, size in zip(world.layout.columns, world.layout.sizes, strict=True)
        for bin_ in range(size)
    ]
    cells = [f"Pr of cell {cell}" for cell in range(world.layout.n_cells)]
    return Case(
        family="PrivBayes fit",
        name=f"{kind}, {name}{', more spent' if spent else ''}, epsilon {decimal_text(epsilon)}",
        claim=float(epsilon),
        left=partial(draw, left),
        right=partial(draw, right),
        features=("structure", *bins, *cells),
        draws=FIT_DRAWS,
        faulty=spent is not None,
    )


def _networks(generator: PrivBayes, highs: dict[str, int], epsilon: Fraction, table: tuple[int, ...], draws: int) -> np.ndarray:
    """(draws, k): the order and parents of the columns as one number, every column's shares, every cell's probability."""
    world = World(highs)
    charge, free = generator.charge(epsilon), Background(plausibility=Plausibility(layout=world.layout, masks=()))
    private, found = world.private(table, ()), []
    for _ in range(draws):
        network = generator.fit(private.with_plan([charge]), charge, free)
        structure, joint = 0, np.ones(world.layout.sizes)
        for family in network.families:
            structure = structure * 64 + family.column * 16 + sum(2**parent for parent in family.parents)
            axes = (*family.parents, family.column)
            shape = [size if column in axes else 1 for column, size in enumerate(world.layout.sizes)]
            joint = joint * family.conditional.transpose(np.argsort(axes)).reshape(shape)
        others = [tuple(other for other in range(joint.ndim) if other != column) for column in range(joint.ndim)]
        found.append([structure, *(share for axes in others for share in joint.sum(axis=axes)), *joint.ravel()])
    return np.array(found)


def asked_case(name: str, budget: Fraction, *, spent: Fraction | None = None) -> Case:
    """Everything that MWEM makes public: the shares of all cells."""
    highs, left, right = _FITS[name]
    draw = partial(_shares, _ITERATIVE, highs, spent or budget)
    return Case(
        family="MWEM",
        name=f"MWEM, {name}{', more spent' if spent else ''}, budget {decimal_text(budget)}",
        claim=float(budget),
        left=partial(draw, left),
        right=partial(draw, right),
        features=tuple(f"Pr of cell {cell}" for cell in range(World(highs).layout.n_cells)),
        draws=FIT_DRAWS,
        faulty=spent is not None,
    )


def _shares(
    generator: MWEM,
    highs: dict[str, int],
    budget: Fraction,
    table: tuple[int, ...],
    draws: int,
) -> np.ndarray:
    """(draws, n_cells) shares of all cells."""
    world, charge = World(highs), generator.charge(budget)
    free = Background(plausibility=Plausibility(layout=world.layout, masks=()))
    private, found = world.private(table, ()), []
    for _ in range(draws):
        model = generator.fit(private.with_plan([charge]), charge, free)
        found.append(model.shares.ravel() / model.shares.sum())
    return np.array(found)


def measured_case(
    formula: str, name: str, epsilon: Fraction, *, spent: Fraction | None = None, sums: str | None = None
) -> Case:
    """Everything that the marginals generator measures, as it may be published; what it models of that is post-processing."""
    highs, left, right = _FITS[name]
    measured = f"{formula}, sums {sums}" if sums else formula
    draw = partial(_measurements, Marginals(tables=formula, sums=sums), highs, spent or epsilon)
    return Case(
        family="noisy marginals",
        name=f"{measured}, {name}{', more spent' if spent else ''}, epsilon {decimal_text(epsilon)}",
        claim=float(epsilon),
        left=partial(draw, left),
        right=partial(draw, right),
        features=tuple(f"cell {cell}" for cell in range(draw(left, 1).shape[1])),
        draws=MOMENT_DRAWS,
        faulty=spent is not None,
    )


def _measurements(
    generator: Marginals, highs: dict[str, int], epsilon: Fraction, table: tuple[int, ...], draws: int
) -> np.ndarray:
    """(draws, k) noisy counts of all measured tables, one after the other, and noisy sums, in highest scores.

    Last the largest of each group that shares a noise, which tells tables apart best where all of the group move.
    """
    charge = generator.charge(epsilon)
    private, found = World(highs).private(table, ()), []
    for _ in range(draws):
        measured = generator.measure(private.with_plan([charge]), charge)
        sums = [one.value / one.sensitivity for one in measured.sums]
        ends = accumulate(len(group.sums) for group in generator.sum_groups)
        largest = [max(sums[end - len(group.sums) : end]) for end, group in zip(ends, generator.sum_groups, strict=True)]
        found.append(np.concatenate([*(marginal.values.ravel() for marginal in measured.tables), sums, largest]))
    return np.array(found)


def _moments_case(
    name: str, highs: dict[str, int], left: tuple[int, ...], right: tuple[int, ...], prior: Prior | None, epsilon: Fraction
) -> Case:
    sizes = tuple(high + 1 for high in highs.values())
    design = Design.of(tuple(np.arange(float(size)) for size in sizes), np.ones(int(np.prod(sizes)), dtype=bool), prior)
    draw = partial(_moments, design, epsilon)
    return Case(
        family="functional mechanism",
        name=f"{name}, {'a prior' if prior else 'no prior'}, epsilon {decimal_text(epsilon)}",
        claim=float(epsilon),
        left=partial(draw, left),
        right=partial(draw, right),
        features=tuple(f"moment {i}" for i in range(len(design.scales))),
        draws=MOMENT_DRAWS,
    )


def _moments(design: Design, epsilon: Fraction, table: tuple[int, ...], draws: int) -> np.ndarray:
    """(draws, k) noisy moment sums."""
    counts = np.bincount(table, minlength=int(np.prod([len(axis) for axis in design.numbers])))
    records = records_of_cells(counts, design.numbers)
    return np.array([noisy_sums(records, design, epsilon, SYSTEM) / design.scales for _ in range(draws)])
