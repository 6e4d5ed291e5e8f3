"""How near a released table is to its register, for `registers.py`: what a reader would find who had both.

The columns of the file are compared, not those that a release adds. Distances are total variation: the share of rows that are
in a wrong cell of a table, on average over all tables of one, two and three columns, in the released bins (of three columns,
300 tables drawn at random where there are more).
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from itertools import combinations
from pathlib import Path

import numpy as np

import synthrelease
from synthrelease.data.counts import Counts
from synthrelease.data.marginals import lattice
from synthrelease.enclave.ingest import read_public
from synthrelease.spec.load import load_spec
from synthrelease.spec.release_spec import ReleaseSpec
from synthrelease.studio.baselines.base import independent_columns
from synthrelease.studio.drafting.public_file import read_public_file
from synthrelease.studio.rehearsal.attempts import Trials, run_attempts
from synthrelease.studio.rehearsal.dependence import strongest_pairs

SEED = 20261122
_MOST_TRIPLES = 300
_LOST = 0.5
"""A strong pair with less than this share of its Cramer's V in the release is lost."""


def distances(first: Counts, second: Counts, random: np.random.Generator) -> tuple[float, float, float]:
    """Mean total variation distance over the tables of one, two and three columns."""
    left, right, columns = lattice(first), lattice(second), range(len(first.layout.sizes))
    found = []
    for size in (1, 2, 3):
        tables = list(combinations(columns, size))
        if len(tables) > _MOST_TRIPLES and size == 3:
            tables = [tables[place] for place in random.choice(len(tables), _MOST_TRIPLES, replace=False)]
        apart = [np.abs(left.get(t) / first.total - right.get(t) / second.total).sum() / 2 for t in tables]
        found.append(float(np.mean(apart)))
    return found[0], found[1], found[2]


@dataclass(frozen=True, kw_only=True)
class Compared:
    """A released table beside its register.

    Attributes
    ----------
    distances : of the release, the public half and independent columns to the register, in tables of one, two, three columns.
    kept : the share of two-way dependence that is kept, 1 - (release - half) / (independent - half); NaN where independent
        columns are as near to the register as the public half is: so small a register does not show what is lost.
    strong, lost : how many pairs are strong in the register, and those that are lost, the strongest first, with both Vs.
    accepted : how many of the fits to the register were accepted, and how many there were.
    n_kept : rows of the register that the specification keeps.
    """

    distances: dict[str, tuple[float, float, float]]
    kept: float
    strong: int
    lost: list[tuple[float, float, str]]
    accepted: tuple[int, int]
    n_kept: int

    @property
    def kept_in_words(self) -> str:
        release, half, independent = (pairs for _, pairs, _ in self.distances.values())
        if release > max(half, independent):
            return "none: worse than independent columns"
        return "too few rows to tell" if math.isnan(self.kept) else f"{self.kept:.0%}"


def compared(folder: Path, name: str, halves: tuple[Path, Path], fits: int) -> Compared:
    """What a reader would find who had the register."""
    spec = load_spec(folder / "configs" / f"{name}.toml")
    released = synthrelease.load(folder / "released")
    transformation = next(
        each for each in spec.space.transformations
        if all(set(c.labels) <= set(b.labels) for c, b in zip(released.schema, each.binnings, strict=True))
    )  # fmt: skip
    layout, random = transformation.layout, np.random.default_rng(SEED)
    public, whole = (read_public(path, spec.schema, spec.input, spec.raw, spec.unit) for path in halves)
    register = whole.merge(layout, transformation.maps)
    places = [
        np.array([binning.labels.index(label) for label in column.labels])
        for column, binning in zip(released.schema, transformation.binnings, strict=True)
    ]
    made = Counts.of(layout, [place[column] for place, column in zip(places, released.codes.T, strict=True)])
    public, register, made = (_of_file(spec, each) for each in (public.merge(layout, transformation.maps), register, made))
    against = {"the release": made, "real against real": public, "independent columns": independent_columns(register, random)}
    found = {what: distances(table, register, np.random.default_rng(SEED)) for what, table in against.items()}
    ours, real, alone = (pairs for _, pairs, _ in found.values())
    binnings = zip(spec.schema.names, transformation.binnings, strict=True)
    missing = [name for name, binning in binnings if binning.missing is not None]
    of_release = {pair.columns: pair.cramers_v for pair in strongest_pairs(made, missing)}
    strong = [
        (pair.cramers_v, of_release[pair.columns], " and ".join(pair.columns))
        for pair in strongest_pairs(register, missing)
        if pair.strong
    ]
    attempts = run_attempts(
        Trials(spec=spec, counts=whole, seed=SEED), [(0, number) for number in range(fits)], spec.budget.generation
    )
    return Compared(
        distances=found,
        kept=1 - (ours - real) / (alone - real) if alone > real else math.nan,
        strong=len(strong),
        lost=sorted((each for each in strong if each[1] < _LOST * each[0]), reverse=True),
        accepted=(sum(each.accepted for each in attempts), fits),
        n_kept=whole.total,
    )


def _of_file(spec: ReleaseSpec, table: Counts) -> Counts:
    """A table without the columns that no file has, which follow from others and would be strong pairs with these."""
    places = tuple(place for place, column in enumerate(spec.schema.columns) if column.counts is None)
    return Counts.of(table.layout.subset(places), [table.bins[place] for place in places], table.counts)


def means(folder: Path, name: str, private: Path) -> dict[str, str]:
    """How far means of the released table are from those of the register's own values, in standard deviations of a column.

    Nothing is compared where a person has several rows: the first rows of each are released, and the file has all of them.
    """
    spec, released = load_spec(folder / "configs" / f"{name}.toml"), synthrelease.load(folder / "released")
    if spec.unit.key is not None:
        return {}
    texts, off = read_public_file(private).columns, list[tuple[float, float]]()
    for place, column in enumerate(released.schema):
        read = spec.schema[column.name]
        if read.bounds is None or read.part or read.minus or read.counts is not None:
            continue
        missing = {*spec.input.missing_values, *read.missing_values}
        given = {text.strip(): times for text, times in texts[read.source].items() if text and text.strip() not in missing}
        values, rows = np.clip(np.array([*map(float, given)]), *read.bounds), np.array([*given.values()])
        mean = np.average(values, weights=rows)
        spread = np.sqrt(np.average((values - mean) ** 2, weights=rows))
        n_bins, last = len(column.lower), 1 if column.kind == "integer" else 0
        bins = np.bincount(released.codes[:, place], minlength=len(column.labels))[:n_bins]
        ends = zip(column.lower, column.upper, strict=True)
        plain = [high if low == -np.inf else low if high == np.inf else (low + high - last) / 2 for low, high in ends]
        ours = [np.average(np.array(numbers, dtype=float), weights=bins) for numbers in (column.numbers[:n_bins], plain)]
        off.append((abs(ours[0] - mean) / spread, abs(ours[1] - mean) / spread))
    if not off:
        return {"number_columns": "0"}
    stated, edges = zip(*off, strict=True)
    return {
        "number_columns": str(len(off)),
        "mean_error": f"{np.mean(stated):.3f}",
        "mean_error_max": f"{max(stated):.3f}",
        "mean_error_of_edges": f"{np.mean(edges):.3f}",
        "mean_error_of_edges_max": f"{max(edges):.3f}",
    }
