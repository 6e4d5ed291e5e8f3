"""Households with their persons: how near fits of the wide record are, beside persons who were shuffled between households.

    python tests/benchmarks/linked.py --roots FILE --members FILE [--epsilon 1 2 4] [--fits 5] [--families adaptive ...]

The files are those of docs/linked.md, of a travel survey; one random half of the households is fitted and compared with itself.
Figures are the mean total variation over pairs of columns: of roots; of a column of persons with another, over all persons; and
of a column of one person with a column of another person of the same household. Families with a delta get all of epsilon at
delta = 1e-9, by the exact curve where they are Gaussian. Seconds are the processor's. `--rules` states who was asked about
work and occupation; `--seed` repeats the noise.
"""

from __future__ import annotations

import argparse
import tempfile
import time
from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction
from itertools import product
from pathlib import Path

import numpy as np

from synthrelease.data.counts import Counts
from synthrelease.data.linked import Linked
from synthrelease.enclave.door import PrivateCounts
from synthrelease.enclave.ingest import read_public
from synthrelease.generators import GENERATORS
from synthrelease.generators.base import Background
from synthrelease.generators.candidate import make_candidate
from synthrelease.privacy.charges import Meter
from synthrelease.privacy.noise import SYSTEM
from synthrelease.privacy.public_entropy import SeededEntropy
from synthrelease.sources.source import Source
from synthrelease.spec.load import load_spec
from synthrelease.spec.release_spec import ReleaseSpec
from tests.benchmarks.generators import charge_of
from tests.helpers.linked_errors import MEMBERS, ROOTS, WITHIN, linked_errors, shuffled

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


def figures(table: Counts, linked: Linked, truth: Counts) -> list[float]:
    found = linked_errors(linked, truth, table)
    return [found[kind] for kind in (ROOTS, MEMBERS, WITHIN)]


def line(name: str, found: Sequence[float], seconds: str = "") -> str:
    return f"| {name} | {' | '.join(f'{value:.3f}' for value in found)} | {seconds} |"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--roots", type=Path, required=True)
    parser.add_argument("--members", type=Path, required=True)
    parser.add_argument("--epsilon", type=Fraction, nargs="+", default=[Fraction(1), Fraction(2), Fraction(4)])
    parser.add_argument("--families", nargs="+", default=["adaptive", "adaptive_pure"])
    parser.add_argument("--fits", type=int, default=5)
    parser.add_argument("--rules", action="store_true")
    parser.add_argument("--seed", type=int)
    options = parser.parse_args()
    spec = specification(options.rules)
    linked = spec.schema.linked
    assert linked is not None
    source = Source.of(options.roots, members=options.members)
    start = time.process_time()
    table = read_public(source, spec.schema, spec.input, spec.raw)
    print(f"read {table.total} households in {time.process_time() - start:.1f} CPU s", flush=True)
    generator = np.random.default_rng(2014)
    rows = generator.permutation(table.expand())
    half, rest = (Counts.of(table.layout, list(part.T)) for part in (rows[: len(rows) // 2], rows[len(rows) // 2 :]))
    print("| | household | person | within | CPU s |\n|---|---|---|---|---|")
    print(line("the other real half", figures(rest, linked, half)))
    print(line("persons shuffled between households", figures(shuffled(half, linked, generator), linked, half)), flush=True)
    transformation = spec.space[0].transformation
    background = Background(plausibility=spec.synthetic.merge(transformation), ordered=transformation.ordered)
    for family, epsilon in product(options.families, options.epsilon):
        one = GENERATORS[family].model_validate({})
        charge, lines, seconds, broken = charge_of(one, epsilon), [], [], 0
        configuration = replace(spec.space[0], generator=one)
        for fit in range(options.fits):
            entropy = SYSTEM if options.seed is None else SeededEntropy(options.seed, fit)
            private = PrivateCounts(half, Meter([charge]), entropy).on(transformation)
            start = time.process_time()
            candidate = make_candidate(configuration, private, background, charge)
            seconds.append(time.process_time() - start)
            broken += int(background.plausibility.forbidden(candidate.counts.bins).sum())
            lines.append(figures(candidate.counts, linked, half))
        print(line(f"{family}, epsilon {float(epsilon):g}", np.median(lines, axis=0), f"{np.median(seconds):.1f}"), flush=True)
        assert not broken


if __name__ == "__main__":
    main()
