"""Every generator on the neighbours that its answers tell apart best: what is claimed, and the loss of all its answers.

A table of counts moves by its whole sensitivity when the replaced record changes its bin in every column. A choice tells most
when the same record moves one candidate's score up and the other's down. Tables that show no pattern were found by a random
search, which proves nothing and need not: what they tell is computed (`answers`).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import partial
from importlib import import_module
from itertools import chain, repeat
from types import ModuleType
from typing import Any

import numpy as np

from synthrelease.audit.answers import Mechanism
from synthrelease.audit.library_losses import installed, seen_from_outside
from synthrelease.audit.worlds import World
from synthrelease.data.plausibility import Plausibility
from synthrelease.generators.adaptive import Adaptive, AdaptivePure
from synthrelease.generators.base import Background, Generator
from synthrelease.generators.gan_networks import Game
from synthrelease.generators.gans import DPCTGAN, DPGAN, PATECTGAN
from synthrelease.generators.marginals import GaussianMarginals, Marginals
from synthrelease.generators.mwem_pep import MWEM, PEP
from synthrelease.generators.nested import Nested, NestedPure
from synthrelease.generators.privbayes import PrivBayes
from synthrelease.generators.smartnoise import AIM, MST
from synthrelease.generators.smartnoise_library import ours
from synthrelease.generators.smartnoise_mechanism import run_aim, run_mst
from synthrelease.privacy.charges import GENERATION, Charge, gaussian
from synthrelease.privacy.curves import zcdp
from synthrelease.privacy.noise import SystemEntropy

EPSILON, RHO = Fraction(1), Fraction(1, 8)
"""Budgets of pure generators, and of the others: mu = 1/2, where rounding to whole numbers takes next to nothing of a loss."""

REPLACING = "replacing a record"
TRIED, AVERAGED = 4, 20
"""Conversations of a pure generator, and of another."""

MADE = 200_000
"""Rows of a model, which two models that differ in a record do not have in common."""

Table = tuple[int, ...]


@dataclass(frozen=True, kw_only=True)
class LossCase:
    """A generator, two neighbours, and what is claimed of them.

    Attributes
    ----------
    generator : its name in `GENERATORS`.
    name : which neighbours or budget, where a generator has several cases.
    claim : epsilon of a pure charge, and otherwise rho.
    conversations : with a pure generator the one that tells most counts, since public draws differ; otherwise the mean.
    because : why the largest loss shown is below 0.95 of the claim; empty where it is not.
    faulty : the claim is known to be wrong, and the audit must find it.
    """

    generator: str
    name: str
    claim: Fraction
    pure: bool
    mechanism: Mechanism
    left: Table
    right: Table
    conversations: int
    because: str = ""
    faulty: bool = False

    def __str__(self) -> str:
        return f"{self.generator}, {self.name}"


def loss_cases(more: Fraction = Fraction(1)) -> Iterator[LossCase]:
    """All generators that are installed.

    Parameters
    ----------
    more : times the epsilon or mu that is claimed is spent; more than once is a fault.
    """
    yield from _tables(more)
    yield from _counting_queries(more)
    yield from _networks(more)
    if installed():
        yield from _libraries(more)


def _case(
    generator: Generator,
    highs: Mapping[str, int],
    left: Table,
    right: Table,
    more: Fraction,
    *,
    name: str,
    charge: Charge | None = None,
) -> LossCase:
    """A whole fit; what it makes of the answers are rows of its model."""
    charge = charge or generator.charge(EPSILON if generator.guarantee == "pure" else RHO)
    claim = charge.epsilon if charge.pure else charge.curve().rho
    spent = (
        replace(charge, epsilon=charge.epsilon * more)
        if charge.pure
        else replace(charge, renyi=zcdp(claim * more**2), because="")
    )
    return LossCase(
        generator=generator.family,
        name=name,
        claim=claim,
        pure=charge.pure,
        mechanism=partial(_rows, generator, highs, spent),
        left=left,
        right=right,
        conversations=TRIED if charge.pure else AVERAGED,
    )


def _rows(generator: Generator, highs: Mapping[str, int], charge: Charge, table: Table, entropy: SystemEntropy) -> np.ndarray:
    world = World(highs)
    free = Background(plausibility=Plausibility(layout=world.layout, masks=()))
    model = generator.fit(world.private(table, [charge], entropy), charge, free)
    return model.sample(MADE, entropy.generator()).dense()


# --- Tables

_THREE = {"a": 2, "b": 2, "c": 2}
_FIRST, _MIDDLE = 0, 13
"""Records that differ in every column."""
_ADAPTIVE = (
    *(100, 60, 280, 70, 110, 170, 70, 120, 130),
    *(100, 160, 130, 40, 320, 20, 160, 180, 100),
    *(80, 30, 110, 40, 60, 70, 10, 180, 100),
)
"""Rows of every cell, beside the one that is replaced."""
_STRUCTURE = (1, 0, 0, 0, 0, 14, 0, 0, 155, 0, 0, 0, 0, 0, 0, 1, 13, 13, 0, 0, 0, 1, 0, 66, 17, 0, 719)
"""The first choice that can be made moves by 0.9 of its sensitivity in both candidates, up and down; so does the second."""


def _with(cells: Sequence[int], record: int) -> Table:
    return (*chain.from_iterable(map(repeat, range(len(cells)), cells)), record)


def _tables(more: Fraction) -> Iterator[LossCase]:
    sums = "2 a[0..1]:b[0..1] + 5 {b[-1..0.5] + c[0..1]}"
    marginals = Marginals(tables="all 2-way + 2 a", sums=sums)
    yield _case(marginals, dict.fromkeys("abc", 1), (0, 3, 3, 7), (3, 3, 7, 7), more, name="tables and sums")
    apart = Marginals(tables="all 2-way + 2 a", sums=sums, rare_bins="a[1 0]")
    yield _case(apart, dict.fromkeys("abc", 1), (0, 3, 3, 7), (3, 3, 7, 7), more, name="a bin counted apart")
    squares = GaussianMarginals(tables="all 2-way + 2 a")
    yield _case(squares, dict.fromkeys("abc", 1), (0, 3, 3, 7), (3, 3, 7, 7), more, name="zero-concentrated")
    apart_squares = GaussianMarginals(tables="all 2-way + 2 a", rare_bins="a[1 0]")
    yield _case(apart_squares, dict.fromkeys("abc", 1), (0, 3, 3, 7), (3, 3, 7, 7), more, name="a bin counted apart")
    whole = gaussian(GENERATION, RHO, "")
    yield _case(squares, dict.fromkeys("abc", 1), (0, 3, 3, 7), (3, 3, 7, 7), more, name="Gaussian", charge=whole)
    levels, wanted = "b:c + a:b + 2 a:c", "0.1 > 0.3"
    pure, other = NestedPure(areas="a", tables=levels, wanted=wanted), Nested(areas="a", tables=levels, wanted=wanted)
    for generator, name in ((pure, "areas"), (other, "areas, zero-concentrated")):
        yield _case(generator, dict.fromkeys("abc", 1), (0, 3, 3, 7), (3, 3, 7, 7), more, name=name)
    structure = PrivBayes(flavour="degree", degree=1, epsilon_split=Fraction(3, 10))
    left, right = _with(_STRUCTURE, _FIRST), _with(_STRUCTURE, _MIDDLE)
    yield _case(structure, _THREE, left, right, more, name="0.3 of it for the structure")
    yield adaptive_case(AdaptivePure(), more)
    yield adaptive_case(Adaptive(), more, name="zero-concentrated")
    yield adaptive_case(Adaptive(), more, name="Gaussian", charge=gaussian(GENERATION, RHO, ""))


def adaptive_case(
    generator: Adaptive | AdaptivePure, more: Fraction = Fraction(1), *, name: str = REPLACING, charge: Charge | None = None
) -> LossCase:
    """An adaptive fit of three columns of three bins, none of which is so rare that it is merged."""
    left, right = _with(_ADAPTIVE, _FIRST), _with(_ADAPTIVE, _MIDDLE)
    return _case(generator, _THREE, left, right, more, name=name, charge=charge)


# --- Counting queries


def _counting_queries(more: Fraction) -> Iterator[LossCase]:
    """Columns of two bins, whose 16 cells are all queries.

    MWEM: of 1,000 rows 9 in 10 have 1 in the first column, and all in the others; the record has 1 in the first on the left,
    and in all others on the right. The model comes near in small steps, so all counts of ones stay above it: on the left the
    error of the first query, which is seldom chosen, is larger by 1, and those of the others are smaller.

    PEP: two rows, and a record that rises in half of the columns and falls in the others. Errors are at most 2, far below the
    noise, so each choice is among queries that are about as likely, half of which rise.
    """
    columns, first, others = {f"c{i}": 1 for i in range(8)}, 0b1000_0000, 0b0111_1111
    mwem = MWEM(queries=16, iterations=4, inner_updates=1, marginal=1)
    rows = (first | others,) * 900 + (others,) * 99
    yield _case(mwem, columns, (*rows, first), (*rows, others), more, name=REPLACING)
    pep = PEP(queries=16, iterations=8, inner_updates=8, marginal=1)
    yield _case(pep, columns, (0, 0b1111_0000), (0, 0b0000_1111), more, name=REPLACING)


# --- Networks

_COLUMNS = {f"c{i}": 1 for i in range(8)}
_SMALL: dict[str, Any] = {"steps": 4, "batch": 20, "critic_width": 1, "generator_width": 4, "latent": 2, "weight_limit": 10}


def _networks(more: Fraction) -> Iterator[LossCase]:
    """The gradients of two records that point to opposite sides; votes on rows of two cells, all of which one record turns.

    That record is the only one of its table, so which of the teachers has it, which nobody learns, makes no difference.
    """
    for network in (DPGAN(**_SMALL), DPCTGAN(**_SMALL)):
        whole = _case(network, _COLUMNS, (0,), (2**8 - 1,), more, name="a critic that begins with steep weights")
        yield replace(whole, mechanism=partial(_steep, import_module(type(network).__module__), whole.mechanism))
    teachers = PATECTGAN(**{**_SMALL, "steps": 3}, labels=20, teachers=2)
    yield _case(teachers, {"a": 1}, (0,), (1,), more, name=REPLACING)


class _SteepGame(Game):
    """A game whose critic begins with other weights, which are public.

    Its one hidden unit has 10 for each bin of one kind and -10 for the other. So both records have long gradients that point to
    opposite sides, and clipped they are 2 clip apart. With the small weights that a game begins with and comes to, those of all
    rows point to about the same side.
    """

    def __init__(self, *given: Any, **more: Any):
        super().__init__(*given, **more)
        first, last = self.critic.weights
        first[:-1:2], first[1:-1:2], first[-1], last[:] = 10, -10, 0, [[0.01], [0]]


def _steep(family: ModuleType, fit: Mechanism, table: Table, entropy: SystemEntropy) -> np.ndarray:
    with ours(family, Game=_SteepGame):
        return fit(table, entropy)


# --- Libraries

_TREE = 0, 0, 4, 6, 6, 6, 11, 11, 13, 21, 21, 21, 21, 22, 23, 24, 24, 24, 26, 27, 29, 29, 30, 30
_OTHER_TREE = 0, 2, 3, 4, 5, 7, 9, 9, 11, 11, 13, 13, 13, 14, 16, 17, 17, 19, 19, 21, 23, 25, 27, 29
_ROUNDS = 0, 0, 3, 4, 4, 4, 5, 5, 6, 6, 6, 6, 7, 8, 9, 10, 11, 12, 13, 14, 14, 14, 14, 15
_OTHER_ROUNDS = 0, 0, 2, 3, 4, 5, 5, 5, 5, 7, 8, 10, 12, 12, 12, 13, 13, 13, 13, 13, 14, 14, 14, 15
"""Cells of 24 records in columns of two bins: errors of tables that come near each other, some of which rise, some fall."""

_TWO_STEPS = (
    "a release pays for two steps, removing and adding, 4 times the rho of one. A replaced record moves a table by 1 in two "
    "cells and not by 2 in one, which is 2 times the rho of one: a release protects more than it states"
)


def _libraries(more: Fraction) -> Iterator[LossCase]:
    """The library's own statement, for adding a record, of a quarter of rho; and that of a release, for replacing one."""
    asked = MST().rho_of_library(MST().charge(RHO * more**2))
    tree, rounds = World(dict.fromkeys("abcde", 1)), World(dict.fromkeys("abcd", 1))
    mst = seen_from_outside("snsynth.mst.mst", partial(run_mst, rho=asked), tree.counts, len(_TREE))
    run = partial(run_aim, rho=asked, degree=2, rounds=8, max_model_size=10.0)
    aim = seen_from_outside("snsynth.aim.aim", run, rounds.counts, len(_ROUNDS))
    for generator, mechanism, one, other, last in (
        (MST().family, mst, _TREE, _OTHER_TREE, 31),
        (AIM().family, aim, _ROUNDS, _OTHER_ROUNDS, 15),
    ):
        case = partial(LossCase, generator=generator, pure=False, mechanism=mechanism, conversations=AVERAGED)
        yield case(name="adding a record, at a quarter of rho", claim=RHO / 4, left=(*one, 0), right=one)
        yield case(name=REPLACING, claim=RHO, left=(*other, 0), right=(*other, last), because=_TWO_STEPS)
