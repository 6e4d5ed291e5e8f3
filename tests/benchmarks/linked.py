"""Households with their persons: how near fits of the wide record are, beside persons who were shuffled between households.

    python tests/benchmarks/linked.py --roots FILE --members FILE [--epsilon 1 2 4] [--fits 5] [--families adaptive ...]

The files are those of docs/linked.md, of a travel survey; one random half of the households is fitted and compared with itself.
Figures are the mean total variation over pairs of columns: of roots; of a column of persons with another, over all persons; and
of a column of one person with a column of another person of the same household. Families with a delta get all of epsilon at
delta = 1e-9, by the exact curve where they are Gaussian. Seconds are the processor's. `--rules` states who was asked about
work and occupation; `--apart` fits every slot by itself; `--seed` repeats the noise.
"""

from __future__ import annotations

import argparse
import tempfile
import time
from dataclasses import replace
from fractions import Fraction
from itertools import combinations, product
from pathlib import Path

import numpy as np

from synthrelease.candidates.candidate import make_candidate
from synthrelease.candidates.generators import GENERATORS, Background
from synthrelease.domain.counts import Counts
from synthrelease.enclave.door import Meter, PrivateCounts
from synthrelease.enclave.ingest import read_public
from synthrelease.enclave.source import Source
from synthrelease.linked import Linked
from synthrelease.randomness import SYSTEM, SeededEntropy
from synthrelease.specification.release_spec import ReleaseSpec
from synthrelease.specification.spec import load_spec
from tests.benchmarks.generators import charge_of

CONFIG = """\
title = "Households"
acceptance = "acceptance.toml"
[unit]
name = "household"
[columns.region]
source = "SUBREGCluster"
kind = "category"
categories = ["1", "2", "3", "4"]
[columns.income]
source = "HHIncome"
kind = "category"
categories = ["1", "2", "3"]
[columns.dwelling]
source = "HHDwelling"
kind = "category"
categories = ["1", "2"]
[members]
key = "household"
most = 6
least = 1
order = ["per_num"]
size = "persons"
[members.columns.age]
source = "PAge"
kind = "integer"
bounds = [0, 10]
alternatives.each = ["0..10"]
[members.columns.gender]
source = "PGender"
kind = "category"
categories = ["1", "2"]
[members.columns.work]
source = "PEmp"
kind = "category"
categories = ["1", "2", "3"]
missing = "bin"
[members.columns.occupation]
source = "POcc"
kind = "category"
categories = ["1", "2", "3", "4", "5", "6", "7", "8", "9", "10"]
missing = "bin"
[[generators]]
family = "adaptive"
[[projections]]
kind = "minimum_count"
minimum_count = 1
[budget]
generation = 1
delta = 1e-9
"""
RULES = """\
[[members.rules]]
never = "work is missing and age > 0"
applies_to = ["synthetic"]
[[members.rules]]
never = "work is not missing and age == 0"
applies_to = ["synthetic"]
[[members.rules]]
never = "age == 1 and work != '3'"
applies_to = ["synthetic"]
[[members.rules]]
never = "occupation is missing and work in ['1', '2']"
applies_to = ["synthetic"]
[[members.rules]]
never = "occupation is not missing and work == '3'"
applies_to = ["synthetic"]
[[members.rules]]
never = "occupation is not missing and work is missing"
applies_to = ["synthetic"]
"""
ACCEPTANCE = '[[criteria]]\nname = "columns"\nkind = "absolute_marginal_error"\nlargest = 1\nthreshold = 0.5\nepsilon = 1\n'


def specification(rules: bool = False) -> ReleaseSpec:
    with tempfile.TemporaryDirectory() as folder:
        (Path(folder) / "linked.toml").write_text(CONFIG + RULES * rules, encoding="utf-8")
        (Path(folder) / "acceptance.toml").write_text(ACCEPTANCE, encoding="utf-8")
        return load_spec(Path(folder) / "linked.toml")


def rows_of(table: Counts) -> np.ndarray:
    """(n_rows, n_columns)"""
    return np.repeat(np.stack(table.bins, axis=1).astype(np.int64), table.counts, axis=0)


def persons_of(rows: np.ndarray, linked: Linked, names: tuple[str, ...]) -> list[np.ndarray]:
    """For each slot the (n, n_columns) of households with such a person, their number of the household first."""
    number = linked.numbers(rows[:, names.index(linked.size)])
    found = []
    for place, slot in enumerate(linked.slots):
        there = np.flatnonzero(number > place)
        found.append(np.column_stack([there, rows[there][:, [names.index(name) for name in slot]]]))
    return found


def shuffled(rows: np.ndarray, linked: Linked, names: tuple[str, ...], generator: np.random.Generator) -> np.ndarray:
    """The same households and the same persons, who live in any of them."""
    found = rows.copy()
    slots = persons_of(rows, linked, names)
    everybody = np.concatenate([slot[:, 1:] for slot in slots])
    generator.shuffle(everybody)
    start = 0
    for slot, columns in zip(slots, linked.slots, strict=True):
        found[np.ix_(slot[:, 0], [names.index(name) for name in columns])] = everybody[start : start + len(slot)]
        start += len(slot)
    return found


def shares(left: np.ndarray, right: np.ndarray, sizes: tuple[int, int]) -> np.ndarray:
    counts = np.bincount(left * sizes[1] + right, minlength=sizes[0] * sizes[1]).astype(float)
    whole: np.ndarray = counts / counts.sum()
    return whole


def tables_of(rows: np.ndarray, spec: ReleaseSpec) -> dict[str, list[np.ndarray]]:
    """The tables of pairs of each kind, as shares."""
    linked, names = spec.schema.linked, spec.schema.names
    assert linked is not None
    sizes = spec.schema.layout.sizes
    roots = [names.index(name) for name in linked.of_roots(names)]
    own = [sizes[names.index(name)] for name in linked.slots[0]]
    slots = persons_of(rows, linked, names)
    people, homes = np.concatenate([slot[:, 1:] for slot in slots]), np.concatenate([slot[:, 0] for slot in slots])
    by_pair = []
    for one, other in combinations(slots, 2):
        _, first, second = np.intersect1d(one[:, 0], other[:, 0], return_indices=True)
        by_pair += [(one[first, 1:], other[second, 1:]), (other[second, 1:], one[first, 1:])]
    left, right = (np.concatenate([pair[side] for pair in by_pair]) for side in (0, 1))
    columns = range(len(own))
    return {
        "household": [shares(rows[:, a], rows[:, b], (sizes[a], sizes[b])) for a, b in combinations(roots, 2)],
        "person": [shares(people[:, a], people[:, b], (own[a], own[b])) for a, b in combinations(columns, 2)]
        + [shares(rows[homes, a], people[:, b], (sizes[a], own[b])) for a, b in product(roots, columns)],
        "within": [shares(left[:, a], right[:, b], (own[a], own[b])) for a, b in product(columns, columns)],
    }


def figures(found: dict[str, list[np.ndarray]], truth: dict[str, list[np.ndarray]]) -> str:
    mean = {
        kind: float(np.mean([np.abs(a - b).sum() / 2 for a, b in zip(found[kind], truth[kind], strict=True)])) for kind in truth
    }
    return " | ".join(f"{value:.3f}" for value in mean.values())


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--roots", type=Path, required=True)
    parser.add_argument("--members", type=Path, required=True)
    parser.add_argument("--epsilon", type=Fraction, nargs="+", default=[Fraction(1), Fraction(2), Fraction(4)])
    parser.add_argument("--families", nargs="+", default=["adaptive", "adaptive_pure"])
    parser.add_argument("--fits", type=int, default=5)
    parser.add_argument("--rules", action="store_true")
    parser.add_argument("--apart", action="store_true")
    parser.add_argument("--seed", type=int)
    options = parser.parse_args()
    spec = specification(options.rules)
    linked, names = spec.schema.linked, spec.schema.names
    assert linked is not None
    source = Source.of(options.roots, members=options.members)
    start = time.process_time()
    rows = rows_of(read_public(source, spec.schema, spec.input, spec.raw))
    print(f"read {len(rows)} households in {time.process_time() - start:.1f} CPU s", flush=True)
    generator = np.random.default_rng(2014)
    generator.shuffle(rows)
    half, rest = rows[: len(rows) // 2], rows[len(rows) // 2 :]
    truth = tables_of(half, spec)
    print("| | household | person | within | CPU s |\n|---|---|---|---|---|")
    print(f"| the other real half | {figures(tables_of(rest, spec), truth)} | |")
    mixed = shuffled(half, linked, names, generator)
    print(f"| persons shuffled between households | {figures(tables_of(mixed, spec), truth)} | |", flush=True)
    table = Counts.of(spec.schema.layout, list(half.T))
    transformation = spec.space[0].transformation
    background = Background(
        plausibility=spec.synthetic.merge(transformation),
        ordered=transformation.ordered,
        linked=None if options.apart else linked,
    )
    for family, epsilon in product(options.families, options.epsilon):
        one = GENERATORS[family].model_validate({})
        charge, lines, seconds, broken = charge_of(one, epsilon), [], [], 0
        configuration = replace(spec.space[0], generator=one)
        for fit in range(options.fits):
            entropy = SYSTEM if options.seed is None else SeededEntropy(options.seed, fit)
            private = PrivateCounts(table, Meter([charge]), entropy).on(transformation)
            start = time.process_time()
            candidate = make_candidate(configuration, private, background, charge)
            seconds.append(time.process_time() - start)
            broken += int(background.plausibility.forbidden(candidate.counts.bins).sum())
            lines.append([float(each) for each in figures(tables_of(rows_of(candidate.counts), spec), truth).split(" | ")])
        shown = " | ".join(f"{value:.3f}" for value in np.median(np.array(lines), axis=0))
        print(f"| {family}, epsilon {float(epsilon):g} | {shown} | {np.median(seconds):.1f} |", flush=True)
        assert not broken


if __name__ == "__main__":
    main()
