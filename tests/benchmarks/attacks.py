"""How often attacks on public twins find a generator with half its noise at a claim of 4, and an honest one.

    python -m tests.benchmarks.attacks [--trials 20] [--fits 1000] [--family FAMILY]

Each trial fits a configuration to twins of a public table, with the noisy tables seen (`synthrelease rehearse` does the same).
Prints a line for each case: trials, how often the claim was contradicted, and how often the intruder was right on average.
"""

from __future__ import annotations

import argparse
import tempfile
import time
from fractions import Fraction
from pathlib import Path

import numpy as np

from synthrelease.data.counts import Counts
from synthrelease.enclave.ingest import read_public
from synthrelease.privacy.public_entropy import SeededEntropy
from synthrelease.spec.load import load_spec
from synthrelease.spec.release_spec import ReleaseSpec
from synthrelease.studio.rehearsal import attacks
from tests.helpers.tiny import MEASURED, write_config, write_data
from tests.studio.rehearsal.test_attacks import attack

CLAIM = {"generation = 10": "generation = 4"}
FAMILIES = {
    "marginals": MEASURED,
    "gaussian_marginals": {
        **MEASURED,
        'family = "privbayes"\nflavour = "degree"\ndegree = 1\nepsilon_split = 0.5': (
            'family = "gaussian_marginals"\ntables = "face:year"'
        ),
        "limit = 25": "limit = 25\ndelta = 1e-9",
    },
    "adaptive_pure": {'family = "privbayes"\nflavour = "degree"\ndegree = 1\nepsilon_split = 0.5': 'family = "adaptive_pure"'},
}


class HalfTheNoise(SeededEntropy):
    """Noise of half the scale that was asked for."""

    def add_laplace(self, values: np.ndarray, scale: float) -> np.ndarray:
        return super().add_laplace(values, scale / 2)

    def add_gaussian(self, values: np.ndarray, scale: float) -> np.ndarray:
        return super().add_gaussian(values, scale / 2)

    def add_cube(self, values: np.ndarray, rate: Fraction) -> np.ndarray:
        return super().add_cube(values, rate * 2)


def trials(spec: ReleaseSpec, public: Counts, fits: int, number: int) -> tuple[int, float]:
    """How many trials contradict the claim, and the mean share of right guesses."""
    got = [attack(spec, public, seed, fits, 1) for seed in range(number)]
    return sum(one.contradicts for one in got), float(np.mean([one.membership[0].right.share for one in got]))


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--trials", type=int, default=20)
    parser.add_argument("--fits", type=int, default=1000)
    parser.add_argument("--family", choices=FAMILIES, help="By default all.")
    asked = parser.parse_args()
    print("family               noise    trials  contradicted  right  CPU s")
    for family in [asked.family] if asked.family else FAMILIES:
        with tempfile.TemporaryDirectory() as folder:
            spec = load_spec(write_config(Path(folder), {**FAMILIES[family], **CLAIM}))
            public = read_public(write_data(Path(folder)), spec.schema, spec.input, spec.raw, spec.unit)
        for name, entropy in (("honest", SeededEntropy), ("half", HalfTheNoise)):
            attacks.SeededEntropy = entropy  # type: ignore[misc, assignment]
            start = time.process_time()
            contradicted, right = trials(spec, public, asked.fits, asked.trials)
            print(
                f"{family:20} {name:8} {asked.trials:6}  {contradicted:12}  {right:.3f}  {time.process_time() - start:.0f}",
                flush=True,
            )


if __name__ == "__main__":
    main()
