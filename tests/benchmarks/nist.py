"""Adaptive generators on NIST's benchmark: the American Community Survey excerpt national2019, scored by NIST's own report.

    python -m tests.benchmarks.nist --data national2019.csv --out FOLDER [--family adaptive] [--epsilon 1] [--all] [--fits 3]
        [--score COMMAND]

Ten demographic columns, or all 24 with --all, single years of age. Budget: epsilon with delta = 1e-5, replacing one record;
pure families get epsilon. Every fit writes FOLDER/FAMILY-COLUMNS-NUMBER.csv, which COMMAND gets as its argument: a program
that prints "k-marginal SCORE" (of the package sdnist 2.4). Categories are those of the published dictionary, or of the public
file where it names none; DENSITY is a function of PUMA and INDP_CAT of INDP, and both are taken from there. With --all the
score compares every pair of columns within each area (PUMA), which is public: tables of PUMA and another column weigh six
times more.
"""

from __future__ import annotations

import argparse
import resource
import subprocess
import time
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path

import numpy as np
import pandas as pd

from synthrelease.data.counts import Counts
from synthrelease.data.layout import Layout
from synthrelease.data.plausibility import Mask, Plausibility
from synthrelease.enclave.door import PrivateCounts
from synthrelease.generators import GENERATORS
from synthrelease.generators.base import Background
from synthrelease.generators.candidate import sample_plausible
from synthrelease.privacy.charges import GENERATION, Meter, gaussian
from synthrelease.privacy.curves import rho_within
from synthrelease.releasing.selection import one_thread

DELTA = Fraction(1, 10**5)
DEMOGRAPHIC = ["AGEP", "SEX", "MSP", "RAC1P", "HOUSING_TYPE", "OWN_RENT", "EDU", "PINCP_DECILE", "DVET", "DEYE"]
WEIGHT_OF_AREAS = 6
DERIVED = {"DENSITY": "PUMA", "INDP_CAT": "INDP"}
INCOME = "0 1 2000 4000 6000 8000 10000 12500 15000 18000 21000 25000 30000 35000 40000 45000 50000 60000 70000 80000 100000"
WEIGHT = "0 1 5 10 15 20 25 30 40 50 60 70 80 90 100 120 150 200 300 500 9999"
EDGES = {
    "AGEP": list(range(101)),
    "PINCP": [-9000, *map(int, INCOME.split()), 120000, 150000, 200000, 300000, 500000, 1341001],
    "POVPIP": [*range(0, 501, 25), 501, 502],
    "PWGTP": list(map(int, WEIGHT.split())),
    "WGTP": list(map(int, WEIGHT.split())),
}
"""Limits of the bins of numbers: from each up to, not including, the next. Text that is no number is the last bin, alone."""
LISTED = {
    "EDU": [*map(str, range(1, 13)), "N"],
    "PINCP_DECILE": [*map(str, range(10)), "N"],
    "DVET": [*map(str, range(1, 7)), "N"],
    "MSP": list("123456N"),
    "RAC1P": list("123456789"),
    "NOC": [*map(str, range(20)), "N"],
    "NPF": [*map(str, range(2, 21)), "N"],
}
ORDERED = {"EDU", "PINCP_DECILE", "NOC", "NPF"}
UNDER = {"MSP": 15, "EDU": 3, "PINCP": 15, "PINCP_DECILE": 15, "DREM": 5, "DPHY": 5}
"""N just for those who are younger."""


@dataclass(frozen=True, kw_only=True)
class Coding:
    """A column: the labels of its bins, or the limits of numbers with a last bin for N."""

    labels: tuple[str, ...]
    edges: tuple[int, ...] = ()

    @classmethod
    def of(cls, name: str, texts: pd.Series) -> Coding:
        if name in EDGES:
            edges = EDGES[name]
            return cls(labels=(*map(str, edges[:-1]), *(["N"] if (texts == "N").any() else [])), edges=tuple(edges))
        return cls(labels=tuple(LISTED.get(name, sorted(texts.unique()))))

    @property
    def ordered(self) -> int:
        return len(self.labels) - (self.labels[-1] == "N")

    def bins(self, texts: pd.Series) -> np.ndarray:
        if not self.edges:
            return texts.map({label: place for place, label in enumerate(self.labels)}).to_numpy(dtype=np.int64)
        numbers = pd.to_numeric(texts, errors="coerce").to_numpy()
        return np.where(np.isnan(numbers), len(self.labels) - 1, np.searchsorted(self.edges, numbers, side="right") - 1)

    def texts(self, bins: np.ndarray, generator: np.random.Generator) -> np.ndarray:
        """Labels; for numbers a whole number inside the bin, evenly."""
        if not self.edges:
            return np.array(self.labels, dtype=object)[bins]
        known = np.minimum(bins, len(self.edges) - 2)
        numbers = generator.integers(np.array(self.edges)[known], np.array(self.edges)[known + 1])
        return np.where(bins < len(self.edges) - 1, numbers.astype(str).astype(object), "N")


@dataclass(frozen=True, kw_only=True)
class Benchmark:
    """The table on its bins, with its rules and the way back to texts."""

    frame: pd.DataFrame
    codings: dict[str, Coding]

    @classmethod
    def of(cls, path: Path, everything: bool) -> Benchmark:
        frame = pd.read_csv(path, dtype=str)
        names = [name for name in frame if name not in DERIVED] if everything else DEMOGRAPHIC
        return cls(frame=frame, codings={name: Coding.of(name, frame[name]) for name in names})

    @property
    def layout(self) -> Layout:
        return Layout(columns=tuple(self.codings), sizes=tuple(len(coding.labels) for coding in self.codings.values()))

    def counts(self) -> Counts:
        return Counts.of(self.layout, [coding.bins(self.frame[name]) for name, coding in self.codings.items()])

    def plausibility(self) -> Plausibility:
        """What NIST's report counts as broken: by age, by the kind of housing, and more children than a family has members."""
        years = np.array(EDGES["AGEP"][:-1])
        masks = [
            self._mask("AGEP", name, lambda labels, age=age: (years < age)[:, None] != (labels == "N"))
            for name, age in UNDER.items()
        ]
        masks += [
            self._mask("AGEP", name, lambda labels, age=age: (years < age)[:, None] & (labels != "N"))
            for name, age in (("DVET", 15), ("INDP", 16))
        ]
        grades = np.arange(len(LISTED["EDU"]))
        masks.append(
            self._mask(
                "AGEP",
                "EDU",
                lambda labels: (
                    (labels != "N") & (((years < 5)[:, None] & (grades >= 4)) | ((years < 15)[:, None] & (grades >= 11)))
                ),
            )
        )
        group = np.array([[False], [True], [True]])
        for name, label in (("OWN_RENT", "0"), ("WGTP", "0"), ("NOC", "N")):
            masks.append(self._mask("HOUSING_TYPE", name, lambda labels, label=label: group != (labels == label)))
        masks.append(self._mask("HOUSING_TYPE", "NPF", lambda labels: group & (labels != "N")))
        children = np.array([-1 if label == "N" else int(label) for label in LISTED["NOC"]])[:, None]
        family = np.array([99 if label == "N" else int(label) for label in LISTED["NPF"]])
        masks.append(self._mask("NOC", "NPF", lambda labels: children >= family))
        return Plausibility(layout=self.layout, masks=tuple(mask for mask in masks if mask is not None))

    def _mask(self, first, second, forbidden) -> Mask | None:  # type: ignore[no-untyped-def]
        names = list(self.codings)
        if second not in names:
            return None
        table = np.asarray(forbidden(np.array(self.codings[second].labels)))
        places = names.index(first), names.index(second)
        return Mask(columns=tuple(sorted(places)), forbidden=table if places[0] < places[1] else table.T)

    def ordered(self) -> tuple[int, ...]:
        return tuple(coding.ordered if coding.edges or name in ORDERED else 0 for name, coding in self.codings.items())

    def rows(self, made: Counts, generator: np.random.Generator) -> pd.DataFrame:
        digits = made.expand()[generator.permutation(made.total)]
        found = {name: coding.texts(digits[:, place], generator) for place, (name, coding) in enumerate(self.codings.items())}
        for name, source in DERIVED.items():
            if source in found:
                known = self.frame.drop_duplicates(source).set_index(source)[name]
                found[name] = known.loc[found[source]].to_numpy()
        return pd.DataFrame({name: found[name] for name in self.frame if name in found})


def budget(guarantee: str, epsilon: Fraction) -> Fraction:
    """The epsilon itself, or the largest Gaussian rho that yields it at `DELTA`."""
    return epsilon if guarantee == "pure" else rho_within(epsilon, DELTA)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--family", default="adaptive", choices=["adaptive", "adaptive_pure"])
    parser.add_argument("--epsilon", type=Fraction, default=Fraction(1))
    parser.add_argument("--all", action="store_true")
    parser.add_argument("--fits", type=int, default=3)
    parser.add_argument("--score")
    options = parser.parse_args()
    options.out.mkdir(parents=True, exist_ok=True)
    benchmark = Benchmark.of(options.data, options.all)
    table, plausibility, ordered = benchmark.counts(), benchmark.plausibility(), benchmark.ordered()
    broken = int(table.counts[plausibility.forbidden(list(table.bins))].sum())
    print(f"{len(ordered)} columns, {table.total} rows, {broken} of them break a rule")
    names = list(benchmark.codings)
    areas = "".join(f" + {WEIGHT_OF_AREAS} PUMA:{name}" for name in names if "PUMA" in names and name not in ("PUMA", "INDP"))
    fields = {"tables": GENERATORS[options.family].model_fields["tables"].default + areas}
    generator = GENERATORS[options.family].model_validate(fields)
    rho_or_epsilon = budget(generator.guarantee, options.epsilon)
    charge = gaussian(GENERATION, rho_or_epsilon, "") if generator.gaussian else generator.charge(rho_or_epsilon)
    for number in range(options.fits):
        private, start = PrivateCounts(table, Meter([charge])), time.process_time()
        model = one_thread(generator.fit)(private, charge, Background(plausibility=plausibility, ordered=ordered))  # type: ignore[arg-type]
        made = sample_plausible(model, table.total, plausibility, np.random.default_rng())
        seconds = time.process_time() - start
        path = options.out / f"{options.family}-{len(ordered)}-{number}.csv"
        benchmark.rows(made, np.random.default_rng()).to_csv(path, index=False)
        megabytes = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024
        said = f"{path}: {seconds:.1f} processor seconds, {megabytes} MB"
        if options.score:
            said += " " + subprocess.run([options.score, str(path)], capture_output=True, text=True, check=True).stdout.strip()
        print(said, flush=True)


if __name__ == "__main__":
    main()
