"""Sentences of a card and of `plan` that state a probability, each drawn as often as it takes to see it fail.

    python -m tests.benchmarks.card_probabilities [--runs 1000] [--seed 2]

- "is right with a probability of at most ...": an attack. A coin says whether a tiny file or its neighbour is released, which
  differs in one row. An attacker who knows both files and the laws of the noise names the likelier one.
  The number in the sentence is also compared with 1 / (1 + e^-epsilon) at 60 digits, rounded up.
- "the search finds no acceptable table with probability ...": the loop of each shipped selection with rounds that are accepted
  by a coin, beside the number that `plan` prints for the same share of accepted rounds.
- "at most ..." beside it, after a rehearsal: the upper end by 40 attempts with a known share of accepted rounds.
- "so that there were fewer with probability at most 0.001": rows counted and drawn.

Prints Markdown: what is stated, what was seen in how many draws, and the probability of so many by the binomial law at
what is stated (below 0.1%: contradicted).
"""

from __future__ import annotations

import argparse
import random
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from decimal import Decimal, localcontext
from fractions import Fraction
from functools import partial
from pathlib import Path

import numpy as np
from scipy.stats import binom

from synthrelease.bundle.card.sections import right_guess
from synthrelease.bundle.write import release_files
from synthrelease.enclave.door import PrivateRows
from synthrelease.enclave.ingest import read_public
from synthrelease.enclave.resizing import resize
from synthrelease.privacy.charges import SHORTFALL, RowsRule
from synthrelease.releasing.release import release
from synthrelease.releasing.selection import select_by
from synthrelease.spec.load import load_spec
from synthrelease.studio.rehearsal.attempts import bounded_mean
from tests.benchmarks.coverage_card import seeded
from tests.helpers.tiny import MEASURED, write_config, write_data

ROOT = Path(__file__).resolve().parents[2]
CONFIGS = ("births", "births-frontier", "births-measured", "labour")
ACCEPTED = (0.5, 0.73, 0.95)
ATTEMPTS = 40


@dataclass(frozen=True, kw_only=True)
class Drawn:
    """How probable an event is said to be, and how often it came. `exact`: the probability itself is stated, not a limit."""

    statement: str
    stated: float
    events: int
    draws: int
    exact: bool = False

    @property
    def line(self) -> str:
        above = binom.sf(self.events - 1, self.draws, self.stated)
        chance = min(1.0, 2 * min(above, binom.cdf(self.events, self.draws, self.stated))) if self.exact else above
        said = f"{'' if self.exact else 'at most '}{100 * self.stated:.4g}%"
        seen = f"{self.events} of {self.draws:,}, {100 * self.events / self.draws:.2f}%"
        return f"| {self.statement} | {said} | {seen} | {chance:.2g} |"


def tiny(epsilon: str) -> dict[str, str]:
    """A tiny release that spends nearly all of its epsilon on one table."""
    return {
        **MEASURED,
        "generation = 10": f"generation = {epsilon}",
        "epsilon = 0.5\n": "epsilon = 0.0001\n",
        "stop_probability = 0.001": "stop_probability = 0.5",
        "threshold = 0.9": "threshold = 1",
    }


def guesses(epsilon: str, runs: int, folder: Path, seed: int) -> Drawn:
    """How often the likelier one of two neighbouring files is the one that was released."""
    folder.mkdir()
    spec, data = load_spec(write_config(folder, tiny(epsilon))), write_data(folder)
    other = folder / "neighbour.csv"
    other.write_text(data.read_text(encoding="utf-8").replace("head,1\n", "tail,6\n", 1), encoding="utf-8")
    files, own, right, done = (data, other), random.Random(seed), 0, 0
    tables = [read_public(file, spec.schema, spec.input, spec.raw) for file in files]
    stated = 1.0
    while done < runs:
        secret = own.randrange(2)
        released = release(spec, files[secret])
        if released is None or released.measured is None:
            continue
        if not done:
            stated = float(right_guess(release_files(released)[1]).rstrip("%")) / 100
        far = np.zeros(2)
        on = released.candidate.transformation
        for marginal in released.measured.tables:
            for place, table in enumerate(tables):
                exact = table.merge(on.layout, on.maps).marginal(list(marginal.columns)).reshape(marginal.values.shape)
                far[place] += float(marginal.cost) * np.abs(marginal.values - exact).sum()
        guess = own.randrange(2) if far[0] == far[1] else int(far[1] < far[0])
        right, done = right + (guess == secret), done + 1
    return Drawn(statement=f"right guess between neighbours, generation {epsilon}", stated=stated, events=right, draws=runs)


def formula() -> tuple[int, int]:
    """Of epsilons from 0.0001 to 20 those whose largest probability of a right guess is as an independent computation says."""
    from types import SimpleNamespace

    same, tried = (
        0,
        [Fraction(k, 10000) for k in (1, 10, 100, 500, 1000, 7000, 6999, 7001, 20000, 67000, 98700, 123457, 200000)],
    )
    for epsilon in tried:
        part = SimpleNamespace(epsilon_exact=str(epsilon), delta_exact="0")
        shown = right_guess(SimpleNamespace(guarantee=part))  # type: ignore[arg-type]
        with localcontext() as context:
            context.prec = 60
            exact = 100 / (1 + (-Decimal(epsilon.numerator) / Decimal(epsilon.denominator)).exp())
            above = Decimal(shown.rstrip("%")) - exact
            unit = Decimal(10) ** -len(shown.rstrip("%").partition(".")[2])
        same += 0 <= above <= unit
    return same, len(tried)


def nothing(runs: int) -> Iterator[Drawn]:
    """How often a search ends without a table whose rounds are accepted by a coin."""
    own = random.Random(3)
    for name in CONFIGS:
        rule = load_spec(ROOT / "configs" / f"{name}.toml").selection_rule
        law = rule.law
        if law is None:
            continue
        for share in ACCEPTED:
            ended = sum(select_by(rule, partial(_coin, own, share)) is None for _ in range(runs))
            stated = float(law.nothing(1 - Fraction(str(share))))
            yield Drawn(
                statement=f"no table, {name}.toml, {100 * share:g}% of rounds accepted",
                stated=stated,
                events=ended,
                draws=runs,
                exact=True,
            )


def _coin(own: random.Random, share: float) -> bool | None:
    """A round that is accepted with this probability."""
    return True if own.random() < share else None


def highest(runs: int) -> Iterator[Drawn]:
    """How often the probability of no table is above the upper end that a rehearsal of 40 attempts tells."""
    law, own = load_spec(ROOT / "configs" / "births.toml").selection_rule.law, np.random.default_rng(4)
    if law is None:
        return
    for share in ACCEPTED:
        truth, ends = float(law.nothing(1 - share)), dict[int, float]()
        above = 0
        for _ in range(runs):
            count = int(own.binomial(ATTEMPTS, share))
            if count not in ends:
                low, _ = bounded_mean([1.0] * count + [0.0] * (ATTEMPTS - count))
                ends[count] = float(law.nothing(1 - low))
            above += truth > ends[count]
        yield Drawn(
            statement=f"no table is more probable than the upper end of {ATTEMPTS} attempts, {100 * share:g}% accepted",
            stated=0.025,
            events=above,
            draws=runs,
        )


def shortfall(epsilon: Fraction, runs: int, folder: Path) -> Drawn:
    """How often more rows are drawn than were kept."""
    folder.mkdir()
    spec, data = load_spec(write_config(folder)), write_data(folder)
    kept, rule = read_public(data, spec.schema, spec.input, spec.raw), RowsRule(way="counted", epsilon=epsilon)
    charges = [] if rule.charge is None else [rule.charge]
    rows = PrivateRows(kept, 10_000)
    more = sum(resize(rows, rule, spec.raw, charges).n > kept.total for _ in range(runs))
    return Drawn(
        statement=f"fewer kept rows than were drawn, epsilon {epsilon}", stated=float(SHORTFALL), events=more, draws=runs
    )


@contextmanager
def work() -> Iterator[Path]:
    with tempfile.TemporaryDirectory() as folder:
        yield Path(folder)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runs", type=int, default=1000)
    parser.add_argument("--seed", type=int, default=2)
    options = parser.parse_args()
    print("| event | stated probability | seen | so many by chance |\n|---|---|---|---|")
    with work() as folder, seeded(options.seed):
        for epsilon in ("0.2", "0.7", "2"):
            print(guesses(epsilon, options.runs, folder / epsilon, options.seed).line, flush=True)
        for drawn in nothing(10 * options.runs):
            print(drawn.line, flush=True)
        for drawn in highest(10 * options.runs):
            print(drawn.line, flush=True)
        for part in (Fraction(1, 2), Fraction(1, 20)):
            print(shortfall(part, 10 * options.runs, folder / f"rows-{part.denominator}").line, flush=True)
    print("\nThe number in the sentence of the guess is the exact one, rounded up: {} of {} epsilons.".format(*formula()))


if __name__ == "__main__":
    main()
