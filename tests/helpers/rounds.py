"""Rounds for the tests of the selection loop, in a module of their own so that worker processes can import them."""

from __future__ import annotations

import threading
from collections.abc import Callable
from fractions import Fraction
from itertools import count
from pathlib import Path

import numpy as np

from synthrelease.data.counts import Counts
from synthrelease.data.layout import Layout
from synthrelease.data.marginals import lattice
from synthrelease.enclave.door import PrivateCounts
from synthrelease.errors import PrivateFailure
from synthrelease.privacy.noise import discrete_laplace


class Numbered:
    """A round that learns its number when it is handed to a worker, for tests only."""

    def __init__(self, run: Callable[[int, Path], str | None], folder: Path):
        self.run, self.folder, self.numbers = run, folder, count()

    def __reduce__(self):
        return Fixed, (self.run, self.folder, next(self.numbers))


class Fixed:
    def __init__(self, run: Callable[[int, Path], str | None], folder: Path, number: int):
        self.run, self.folder, self.number = run, folder, number

    def __call__(self) -> str | None:
        return self.run(self.number, self.folder)


class Holding:
    """A round that tells which files its worker could see, and whether the counts it got lie in one of them."""

    def __init__(self, private: PrivateCounts, folder: Path):
        self.private, self.folder = private, folder

    def __call__(self) -> tuple[list[str], bool]:
        counts = self.private._Door__counts  # type: ignore[attr-defined]
        files = [path.name for path in self.folder.rglob("*") if path.is_file()]
        return files, isinstance(counts.codes, np.memmap) or isinstance(counts.counts, np.memmap)


def wait_for(path: Path) -> None:
    while not path.exists():
        threading.Event().wait(0.02)  # a loop without it takes a core from the process that is waited for


def first_is_slow(number: int, folder: Path) -> str | None:
    """Round 0 ends only after round 1 has ended; both are accepted."""
    if number == 0:
        wait_for(folder / "1")
    (folder / str(number)).touch()
    return f"round {number}"


def later_round_fails(number: int, folder: Path) -> str | None:
    """Round 0 is accepted after round 1 has failed in private code."""
    if number == 0:
        wait_for(folder / "1")
        return "round 0"
    (folder / str(number)).touch()
    raise PrivateFailure()


def later_round_breaks(number: int, folder: Path) -> str | None:
    """Round 0 is accepted after round 1 has broken."""
    if number == 0:
        wait_for(folder / "1")
        return "round 0"
    (folder / str(number)).touch()
    return breaks()


def breaks() -> str:
    """Fails in the package, for a reason that is not noise."""
    layout = Layout(columns=("a", "b"), sizes=(2**20, 2**20))
    lattice(Counts(layout, np.arange(3))).get((0, 1))
    return "never"


def third_is_accepted(number: int, folder: Path) -> str | None:
    return "third" if number == 2 else None


def always_rejected() -> None:
    return None


def fails_privately() -> None:
    raise PrivateFailure()


def in_this_order(number: int, folder: Path) -> str | None:
    """Rounds 0 and 1 have the outcomes in the file "outcomes" ("-" is rejected); the one in "slow" ends after the other.

    It waits for round 2, which is handed to a worker when the result of the fast one has come back.
    """
    if number > 1:
        (folder / "another round").touch()
        return "third"
    if number == int((folder / "slow").read_text()):
        wait_for(folder / "another round")
    outcome = (folder / "outcomes").read_text()[number]
    return None if outcome == "-" else outcome


def never_ends_if_slow(number: int, folder: Path) -> str | None:
    """The same, where the slow round does not end at all: only for a loop that does not wait for it, and stops it."""
    if number == int((folder / "slow").read_text()):
        wait_for(folder / "never")
    return (folder / "outcomes").read_text()[number] if number < 2 else "third"


def sixteen_draws() -> list[int]:
    """Noise of a scale of 2^45, drawn in whatever process runs this."""
    noise = discrete_laplace(np.zeros(16, dtype=int), sensitivity=1, epsilon=Fraction(1, 2**45))
    return [int(number) for number in noise]
