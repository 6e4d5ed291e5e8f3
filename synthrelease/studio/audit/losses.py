"""Compute the privacy loss of all noisy answers of a generator for two neighbouring tables, from their exact distributions.

A mechanism asks its source of entropy questions: to add noise to values, or to choose among candidates. A conversation is
one run of a mechanism with its questions and answers. A case is a generator with two neighbouring tables (left and right)
and the loss that it claims.
"""

from __future__ import annotations

import math
import statistics
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import partial
from importlib import import_module
from importlib.util import find_spec
from itertools import chain, repeat, zip_longest
from types import ModuleType, SimpleNamespace
from typing import Any, ClassVar

import numpy as np

from synthrelease.data.counts import Counts
from synthrelease.data.layout import Columns
from synthrelease.data.plausibility import Plausibility
from synthrelease.enclave.door import PrivateCounts
from synthrelease.generators.adaptive import Adaptive, AdaptiveModel, AdaptivePure
from synthrelease.generators.adaptive_mechanism import Gaussian, Laplace
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
from synthrelease.privacy.noise import SYSTEM, Losses, SystemEntropy, rounded_gaussian
from synthrelease.privacy.public_entropy import SeededEntropy
from synthrelease.studio.audit.tiny import World
from synthrelease.studio.parallel import Progress

_NODES = 200  # Number of nodes of the quadrature, which is exact for permute-and-flip among fewer than 400 candidates
_COARSE = 64  # Scale of noise above which rounding reduces a mean loss by less than 1 part in 10,000


def mean_of_gaussian(change: np.ndarray, scale: float) -> float:
    """Return the mean privacy loss of rounded Gaussian noise on integers that differ by `change` between two tables.

    It is the mean of ln(p / q) under p, with p and q the probabilities of the noisy integers for the two tables. Continuous
    noise has a slightly larger mean loss, change^2 / (2 scale^2) for each integer.
    """
    from scipy.special import ndtr

    total, reach = 0.0, math.ceil(8 * scale)
    for moved, times in zip(*np.unique(np.abs(change), return_counts=True), strict=True):
        if scale > _COARSE:
            total += int(times) * float(moved) ** 2 / (2 * scale**2)
        elif moved:
            ends = np.arange(-reach, reach + int(moved) + 1) - 0.5
            masses = [np.diff(ndtr((ends - shift) / scale)) for shift in (0, int(moved))]
            positive = (masses[0] > 0) & (masses[1] > 0)
            total += int(times) * float(
                (masses[0] * np.log(masses[0] / masses[1], where=positive, out=np.zeros(len(positive)))).sum()
            )
    return total


def log_shares(losses: Sequence[int], rate: Fraction, mechanism: str) -> np.ndarray:
    """Return the (n_candidates,) log probabilities with which a private choice selects each candidate, in floating point.

    Parameters
    ----------
    losses : the score of the best candidate minus the score of each candidate. A difference of 1 multiplies the probability
        by exp(-rate).
    """
    exponents = np.array([float(-loss * rate) for loss in losses])
    if mechanism == "exponential":
        return exponents - np.log(np.exp(exponents).sum())
    if len(losses) >= 2 * _NODES:
        raise ValueError(f"the exact distribution needs fewer than {2 * _NODES} candidates, not {len(losses)}")
    # in random order, the first candidate whose coin shows heads is chosen; for candidate i, this has the probability
    # w_i * (integral over t from 0 to 1 of the product over j != i of 1 - t w_j)
    nodes, weights = np.polynomial.legendre.leggauss(_NODES)
    tails = np.log1p(-np.outer((nodes + 1) / 2, np.exp(exponents)))
    product_of_others = np.exp(tails.sum(axis=1, keepdims=True) - tails)
    return exponents + np.log((product_of_others * (weights / 2)[:, None]).sum(axis=0))


# The privacy loss of a run: the mechanism runs on two neighbouring tables and gets the same noisy answers in both runs. The
# losses of the single answers are added up.
#
# A mechanism learns about a table only through a source of entropy, which adds noise and makes private choices. The class
# `ReplayedEntropy` replaces this source. In the run on the left table, it draws answers. In the run on the right table, it
# repeats them. The exact distribution of each answer is known for both tables. If the answer to a choice depends on both
# tables, the mechanism stops, and starts again with this answer. So the loss of a run is computed and not estimated. Both runs
# must make the same results from the same answers.
#
# For a pure mechanism, the loss of one run is computed. Its answers are chosen to distinguish the tables as well as possible:
# zero noise on the left table, and the choice with the largest ratio of probabilities. The logarithm of the ratio of the
# probabilities of the whole run on the two tables is at most epsilon.
#
# For a zero-concentrated or Gaussian mechanism, the mean loss is computed: the mean of ln(p / q) under p (the Kullback-Leibler
# divergence). The mean losses of the answers add up, each given the earlier answers (chain rule). The sum is at most rho = mu^2
# / 2 in both cases. For zero-concentrated privacy, it is the limit of Renyi divergences whose order goes to 1. For Gaussian
# privacy, post-processing lowers the divergence of N(mu, 1) from N(0, 1), which is mu^2 / 2. Gaussian noise on a table that
# changes by its whole sensitivity has this mean loss. Answers are drawn from their distributions for the left table, and the
# losses of several runs are averaged.

Mechanism = Callable[[tuple[int, ...], SystemEntropy], Any]
"""A function (cells of the records, entropy) -> everything that a mechanism publishes, as arrays."""


@dataclass(frozen=True, kw_only=True)
class AskedDraw:
    """One request of a mechanism to its source of entropy, for noise or for a private choice.

    Attributes
    ----------
    law : the kind of the draw, the number of values or candidates, and the scale or rate. They are the same for both tables.
    values : the exact integers. For a choice, they are the differences between the best candidate and each candidate.
    """

    law: tuple[Any, ...]
    values: np.ndarray

    @property
    def is_choice(self) -> bool:
        return self.law[0] == "choice"

    def log_shares(self) -> np.ndarray:
        return log_shares(self.values.tolist(), self.law[2], self.law[3])

    def drawn(self) -> Any:
        if self.is_choice:
            return SYSTEM.chosen(Losses(self.values.tolist(), self.law[2]), self.law[3])
        return getattr(SYSTEM, f"add_{self.law[0]}")(self.values, self.law[2])


class Unanswered(Exception):
    """The exception that stops a mechanism when it requests a draw for which there is no answer."""


class ReplayedEntropy(SystemEntropy):
    """A source of entropy that repeats given answers, for a run on another table. Public draws come from a key.

    Parameters
    ----------
    answers : answers to the first questions. The answers of `answer` to further questions are appended.
    answer : a function that answers a question, or returns None to stop the mechanism.
    expected : the questions for the other table. The mechanism stops at a question with a different distribution.

    Attributes
    ----------
    stopped : whether the last question had no answer.
    """

    def __init__(
        self,
        answers: list[Any],
        key: int,
        answer: Callable[[AskedDraw], Any] = lambda question: None,
        expected: Sequence[AskedDraw] = (),
    ):
        self._answers, self._answer, self._expected = answers, answer, expected
        self._public = SeededEntropy(key)
        self.questions: list[AskedDraw] = []
        self.stopped = False

    def add_laplace(self, values: np.ndarray, scale: float) -> np.ndarray:
        return self.asked("laplace", values, scale)

    def add_gaussian(self, values: np.ndarray, scale: float) -> np.ndarray:
        return self.asked("gaussian", values, scale)

    def add_cube(self, values: np.ndarray, rate: Fraction) -> np.ndarray:
        return self.asked("cube", values, rate)

    def chosen(self, losses: Losses, mechanism: str) -> int:
        return self.asked("choice", np.array(losses.losses), losses.rate, mechanism)

    def pick(self, n_choices: int) -> int:
        return self._public.pick(n_choices)

    def picks(self, bounds: np.ndarray) -> np.ndarray:
        return self._public.picks(bounds)

    def generator(self) -> np.random.Generator:
        return self._public.generator()

    def asked(self, kind: str, values: np.ndarray, *law: Any) -> Any:
        """Return the answer to a mechanism's request for noise or a choice. Raises Unanswered if there is no answer."""
        index = len(self.questions)
        question = AskedDraw(law=(kind, len(values), *law), values=np.array(values, dtype=np.int64))
        self.questions.append(question)
        as_expected = index >= len(self._expected) or question.law == self._expected[index].law
        if as_expected and index == len(self._answers) and (answer := self._answer(question)) is not None:
            self._answers.append(answer)
        self.stopped |= not as_expected or index >= len(self._answers)
        if self.stopped:
            raise Unanswered
        return self._answers[index] if kind == "choice" else self._answers[index].copy()


@dataclass(frozen=True, kw_only=True)
class Conversation:
    """The privacy losses of one run of a mechanism.

    Attributes
    ----------
    noise, choices : the losses of noisy values, and the losses of private choices.
    leak : differences between the two tables besides the answers, or an empty string for a correct mechanism.
    """

    noise: float
    choices: float
    leak: str = ""


def converse(mechanism: Mechanism, left: tuple[int, ...], right: tuple[int, ...], *, pure: bool, key: int) -> Conversation:
    """Run a mechanism on two neighbouring tables with the same noisy answers, and return the privacy losses of these answers.

    Parameters
    ----------
    pure : whether to compute the loss of the worst answers; otherwise the mean loss of drawn answers is computed.
    key : key of the public draws, the same for both tables.
    """
    alone = (lambda question: None if question.is_choice else question.values) if pure else AskedDraw.drawn
    loss, answers = (_worst if pure else _mean), list[Any]()
    while True:
        on_left = ReplayedEntropy(answers, key, alone)
        made_left = _heard(mechanism, left, on_left)
        on_right = ReplayedEntropy(answers, key, expected=on_left.questions)
        made_right = _heard(mechanism, right, on_right)
        leak = _difference(on_left, on_right, made_left, made_right)
        if leak or not on_left.stopped:
            break
        answers.append(int((on_left.questions[-1].log_shares() - on_right.questions[-1].log_shares()).argmax()))
    losses = {True: 0.0, False: 0.0}
    for draw, counterpart in zip(on_left.questions, on_right.questions, strict=False):
        if draw.law == counterpart.law:
            losses[draw.is_choice] += loss(draw, counterpart)
    return Conversation(noise=losses[False], choices=losses[True], leak=leak)


def _heard(mechanism: Mechanism, table: tuple[int, ...], replayed: ReplayedEntropy) -> Any:
    try:
        return mechanism(table, replayed)
    except Exception:
        if not replayed.stopped:
            raise
        return None


def _difference(left_entropy: ReplayedEntropy, right_entropy: ReplayedEntropy, made_left: Any, made_right: Any) -> str:
    """Say how the runs on two tables differ although they got the same answers, which would reveal the table, or ""."""
    for question, counterpart in zip_longest(left_entropy.questions, right_entropy.questions):
        if (question and question.law) != (counterpart and counterpart.law):
            return f"it requests {question and question.law} on one table and {counterpart and counterpart.law} on the other"
    if not left_entropy.stopped and not np.array_equal(made_left, made_right):
        return "the results from the same answers differ"
    return ""


def _worst(question: AskedDraw, counterpart: AskedDraw) -> float:
    """Return the largest log ratio of an answer's probabilities on the left and right table; for noise, without noise on
    the left.
    """
    kind, law = question.law[0], question.law[2]
    if question.is_choice:
        return float((question.log_shares() - counterpart.log_shares()).max())
    change = np.abs(question.values - counterpart.values)
    if kind == "gaussian":
        raise ValueError("Gaussian noise has no worst answer. Only a pure mechanism has one")
    return float(change.sum() / law) if kind == "laplace" else float(change.max() * law)


def _mean(question: AskedDraw, counterpart: AskedDraw) -> float:
    """Return the mean, over answers for the left table, of the log ratio of their probabilities on both tables."""
    if question.is_choice:
        logs, other_logs = question.log_shares(), counterpart.log_shares()
        return float((np.exp(logs) * (logs - other_logs)).sum())
    if question.law[0] != "gaussian":
        raise ValueError(f"expected Gaussian noise and choices, found {question.law[0]} noise")
    return mean_of_gaussian(question.values - counterpart.values, question.law[2])


# MST and AIM on two neighbouring tables. The library chooses and measures tables; this code sees only its requests.
#
# The library runs as in `generators.smartnoise`. With zero noise, it would report exact tables to its model, so this code
# replaces each exact table by a noisy answer. Fitting the model to noisy tables takes seconds and is post-processing. So a
# model with equal shares replaces the fitted model, and the library's choices compare the exact tables with equal shares.

Run = Callable[..., Any]
"""A function that is called with (counts, entropy=...) and returns the model that a library fits."""


def installed() -> bool:
    return all(find_spec(package) for package in ("snsynth", "mbi"))


def seen_from_outside(module: str, run: Run, table_of: Callable[[tuple[int, ...]], Counts], rows: int) -> Mechanism:
    """Return a mechanism that runs a library and publishes all noisy answers that the library gets.

    Parameters
    ----------
    module : the module of the library. Some names in this module are replaced while the library runs.
    rows : number of rows of the model, which is public.
    """

    def mechanism(table: tuple[int, ...], entropy: SystemEntropy) -> np.ndarray:
        library = import_module(module)
        reports = _Reports(entropy, library.LinearMeasurement)
        models = SimpleNamespace(mirror_descent=lambda domain, measured, **more: _EqualShares(domain, measured, rows))
        with ours(library, LinearMeasurement=reports.reported, estimation=models):
            run(table_of(table), entropy=reports)
        return np.concatenate(reports.answers)

    return mechanism


class _Reports(SystemEntropy):
    """A replacement for the noise source of a library, which adds the noise when the library reports a table to its model."""

    def __init__(self, entropy: SystemEntropy, measurement: Callable[..., Any]):
        self._entropy, self._measurement = entropy, measurement
        self._scale: float | None = None
        self.answers: list[np.ndarray] = []

    def add_gaussian(self, values: np.ndarray, scale: float) -> np.ndarray:
        self._scale = scale
        return values

    def chosen(self, losses: Losses, mechanism: str) -> int:
        return self._entropy.chosen(losses, mechanism)

    def reported(self, values: Any, clique: Any, deviation: float) -> Any:
        """Add noise to a measured table. A table that the library made from another noisy table gets no further noise."""
        if self._scale is not None:
            exact, scale, self._scale = np.rint(np.asarray(values)).astype(np.int64), self._scale, None
            self.answers.append(self._entropy.add_gaussian(exact, scale))
            values = self.answers[-1].astype(float)
        return self._measurement(values, clique, deviation)


class _EqualShares:
    """A model with the same count in every cell, in place of a fitted model, which costs time but no privacy."""

    def __init__(self, domain: Any, measured: list[Any], rows: int):
        self.domain, self.cliques, self._rows = domain, [table.clique for table in measured], rows

    def project(self, columns: Any) -> Any:
        cells = self.domain.size(tuple(columns))
        return SimpleNamespace(datavector=lambda flatten=True: np.full(cells, self._rows / cells))


# Cases: each generator with two neighbouring tables that its answers distinguish well, and its claimed loss.
#
# A table of counts changes by its whole sensitivity if the replaced record changes its bin in every column. A choice has the
# largest loss if the replaced record raises the score of one candidate and lowers the score of another. Tables without a
# pattern come from a random search. The search proves nothing, but the loss for these tables is computed exactly (`answers`).

EPSILON, RHO = Fraction(1), Fraction(1, 8)
"""Epsilon of pure generators, and rho of the other generators. This rho corresponds to mu = 1/2. At this mu, rounding to whole
numbers hardly changes a loss.
"""

REPLACING = "replacing a record"
TRIED, AVERAGED = 4, 20
"""Number of conversations of a pure generator, and number of conversations of any other generator."""

MADE = 200_000
"""Number of rows of a model; models of two tables that differ in a record have different rows."""

Table = tuple[int, ...]


@dataclass(frozen=True, kw_only=True)
class LossCase:
    """One test of a generator's privacy: two neighbouring tables that its answers distinguish well, and the claimed privacy
    loss.

    Attributes
    ----------
    claim : the claimed epsilon if the charge is pure, otherwise the claimed rho.
    conversations : number of conversations with different public draws. Their largest loss counts for a pure generator,
        otherwise their mean.
    because : the reason why the largest loss found is below 0.95 of the claim; otherwise empty.
    faulty : whether the claim is known to be wrong, so that the audit must find it.
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


def loss_cases(factor: Fraction = Fraction(1)) -> Iterator[LossCase]:
    """Yield the tests of all generators that are installed.

    Parameters
    ----------
    factor : ratio of the spent epsilon or mu to the claim. A ratio above 1 is a fault.
    """
    yield from _tables(factor)
    yield from _counting_queries(factor)
    yield from _networks(factor)
    if installed():
        yield from _libraries(factor)


def case_of_fit(
    generator: Generator,
    highs: Mapping[str, int],
    left: Table,
    right: Table,
    factor: Fraction,
    *,
    name: str,
    charge: Charge | None = None,
) -> LossCase:
    """Return a test in which a generator is fitted to each of two tables, and rows are drawn from its model.

    Parameters
    ----------
    highs : the columns of the tables with their highest whole number.
    factor : ratio of the spent epsilon or mu to the claim.
    """
    charge = charge or generator.charge(EPSILON if generator.guarantee == "pure" else RHO)
    claim = charge.epsilon if charge.pure else charge.curve().rho
    spent = (
        replace(charge, epsilon=charge.epsilon * factor)
        if charge.pure
        else replace(charge, renyi=zcdp(claim * factor**2), because="")
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


# Families that measure tables.

_THREE = {"a": 2, "b": 2, "c": 2}
_FIRST, _MIDDLE = 0, 13  # Two records that differ in every column
# Number of rows of every cell, in addition to the replaced row.
_ADAPTIVE = (
    *(100, 60, 280, 70, 110, 170, 70, 120, 130),
    *(100, 160, 130, 40, 320, 20, 160, 180, 100),
    *(80, 30, 110, 40, 60, 70, 10, 180, 100),
)
# Numbers of rows of the cells, chosen so that replacing a row raises the score of one possible structure by 0.9 of the
# sensitivity and lowers the score of the other structure by the same amount.
_STRUCTURE = (1, 0, 0, 0, 0, 14, 0, 0, 155, 0, 0, 0, 0, 0, 0, 1, 13, 13, 0, 0, 0, 1, 0, 66, 17, 0, 719)


def _with(cells: Sequence[int], record: int) -> Table:
    return (*chain.from_iterable(map(repeat, range(len(cells)), cells)), record)


def _tables(factor: Fraction) -> Iterator[LossCase]:
    tables, sums, rare = "all 2-way + 2 a", "2 a[0..1]:b[0..1] + 5 {b[-1..0.5] + c[0..1]}", "a[1 0]"
    areas: dict[str, Any] = {"areas": "a", "tables": "b:c + a:b + 2 a:c", "wanted": "0.1 > 0.3"}
    for generator, name in (
        (Marginals(tables=tables, sums=sums), "tables and sums"),
        (Marginals(tables=tables, sums=sums, rare_bins=rare), "a bin counted apart"),
        (GaussianMarginals(tables=tables), "zero-concentrated"),
        (GaussianMarginals(tables=tables, rare_bins=rare), "a bin counted apart"),
        (GaussianMarginals(tables=tables), "Gaussian"),
        (NestedPure(**areas), "areas"),
        (Nested(**areas), "areas, zero-concentrated"),
    ):
        charge = gaussian(GENERATION, RHO, "") if name == "Gaussian" else None
        yield case_of_fit(generator, dict.fromkeys("abc", 1), (0, 3, 3, 7), (3, 3, 7, 7), factor, name=name, charge=charge)
    for family in (Marginals, GaussianMarginals):
        agreements = family(tables="all 2-way + all 1-way", pairs="agreements")
        yield case_of_fit(  # three columns of five change
            agreements, dict.fromkeys("abcde", 1), (0, 7, 7, 31), (7, 7, 7, 31), factor, name="agreements of pairs"
        )
    structure = PrivBayes(flavour="degree", degree=1, epsilon_split=Fraction(3, 10))
    left, right = _with(_STRUCTURE, _FIRST), _with(_STRUCTURE, _MIDDLE)
    yield case_of_fit(structure, _THREE, left, right, factor, name="0.3 of the budget for the structure")
    yield adaptive_case(AdaptivePure(), factor)
    yield adaptive_case(Adaptive(), factor, name="zero-concentrated")
    yield adaptive_case(Adaptive(), factor, name="Gaussian", charge=gaussian(GENERATION, RHO, ""))


def adaptive_case(
    generator: Adaptive | AdaptivePure, factor: Fraction = Fraction(1), *, name: str = REPLACING, charge: Charge | None = None
) -> LossCase:
    """Return a test of an adaptive generator with three columns of three bins, none so rare that it is merged."""
    left, right = _with(_ADAPTIVE, _FIRST), _with(_ADAPTIVE, _MIDDLE)
    return case_of_fit(generator, _THREE, left, right, factor, name=name, charge=charge)


# Families that answer counting queries.


def _counting_queries(factor: Fraction) -> Iterator[LossCase]:
    """Yield tests of MWEM and PEP (generators that answer counting queries), with eight columns of two bins and 16 queries.

    MWEM: of 1,000 rows, 9 in 10 have 1 in the first column, and all have 1 in the other columns. The record has 1 in the
    first column on the left, and 1 in all others on the right. The model stays below all counts of rows with ones. So on
    the left, the error of the first query, which is seldom chosen, is larger by 1, and the other errors are smaller.

    PEP: two rows, and a record whose value rises in half of the columns and falls in the others. Errors are at most 2, far
    below the noise, so all queries are about equally likely to be chosen. The counts of half of the queries rise.
    """
    columns, first, rest = {f"c{i}": 1 for i in range(8)}, 0b1000_0000, 0b0111_1111
    mwem = MWEM(queries=16, iterations=4, inner_updates=1, marginal=1)
    rows = (first | rest,) * 900 + (rest,) * 99
    yield case_of_fit(mwem, columns, (*rows, first), (*rows, rest), factor, name=REPLACING)
    pep = PEP(queries=16, iterations=8, inner_updates=8, marginal=1)
    yield case_of_fit(pep, columns, (0, 0b1111_0000), (0, 0b0000_1111), factor, name=REPLACING)


# Families that train networks.

_COLUMNS = {f"c{i}": 1 for i in range(8)}
_SMALL: dict[str, Any] = {"steps": 4, "batch": 20, "critic_width": 1, "generator_width": 4, "latent": 2, "weight_limit": 10}


def _networks(factor: Fraction) -> Iterator[LossCase]:
    """Yield tests of the generators that train neural networks, with records that move the training as far as possible.

    These are two records with opposite gradients, and one record that reverses the votes of teachers. The latter is the
    only record of its table, so it does not matter which teacher has it.
    """
    for network in (DPGAN(**_SMALL), DPCTGAN(**_SMALL)):
        whole = case_of_fit(network, _COLUMNS, (0,), (2**8 - 1,), factor, name="a critic with steep initial weights")
        yield replace(whole, mechanism=partial(_steep, import_module(type(network).__module__), whole.mechanism))
    teachers = PATECTGAN(**{**_SMALL, "steps": 3}, labels=20, teachers=2)
    yield case_of_fit(teachers, {"a": 1}, (0,), (1,), factor, name=REPLACING)


class _SteepGame(Game):
    """An adversarial generator whose critic starts with large weights, so that two records have opposite gradients.

    The only hidden unit has the weight 10 for each bin of one kind and -10 for each bin of the other. So the distance of
    the clipped gradients of the two records is 2 clip. With the usual small weights, all gradients have about the same
    direction. The weights are public.
    """

    def __init__(self, *arguments: Any, **options: Any):
        super().__init__(*arguments, **options)
        first, last = self.critic.weights
        first[:-1:2], first[1:-1:2], first[-1], last[:] = 10, -10, 0, [[0.01], [0]]


def _steep(family: ModuleType, fit: Mechanism, table: Table, entropy: SystemEntropy) -> np.ndarray:
    with ours(family, Game=_SteepGame):
        return fit(table, entropy)


# Families of another library, of which only the requests are seen.

_TREE = 0, 0, 4, 6, 6, 6, 11, 11, 13, 21, 21, 21, 21, 22, 23, 24, 24, 24, 26, 27, 29, 29, 30, 30
_OTHER_TREE = 0, 2, 3, 4, 5, 7, 9, 9, 11, 11, 13, 13, 13, 14, 16, 17, 17, 19, 19, 21, 23, 25, 27, 29
_ROUNDS = 0, 0, 3, 4, 4, 4, 5, 5, 6, 6, 6, 6, 7, 8, 9, 10, 11, 12, 13, 14, 14, 14, 14, 15
# The cells of 24 records in columns of two bins. These cells were chosen so that the candidate tables have similar errors.
# Between neighbours some of these errors rise and others fall.
_OTHER_ROUNDS = 0, 0, 2, 3, 4, 5, 5, 5, 5, 7, 8, 10, 12, 12, 12, 13, 13, 13, 13, 13, 14, 14, 14, 15

_TWO_STEPS = (
    "a release is charged for two steps, removing and adding, with 4 times the rho of one step. But a replaced record changes "
    "two cells by 1, and not one cell by 2, which costs 2 times the rho of one step. So a release protects more than it states"
)


def _libraries(factor: Fraction) -> Iterator[LossCase]:
    """Yield tests of the generators from other libraries, with the library's claim for adding a record (a quarter of rho).

    A second test has the claim of a release for replacing a record.
    """
    of_library = MST().rho_of_library(MST().charge(RHO * factor**2))
    tree, rounds = World(dict.fromkeys("abcde", 1)), World(dict.fromkeys("abcd", 1))
    mst = seen_from_outside("snsynth.mst.mst", partial(run_mst, rho=of_library), tree.counts, len(_TREE))
    run = partial(run_aim, rho=of_library, degree=2, rounds=8, max_model_size=10.0)
    aim = seen_from_outside("snsynth.aim.aim", run, rounds.counts, len(_ROUNDS))
    for generator, mechanism, left, right, last in (
        (MST().family, mst, _TREE, _OTHER_TREE, 31),
        (AIM().family, aim, _ROUNDS, _OTHER_ROUNDS, 15),
    ):
        case = partial(LossCase, generator=generator, pure=False, mechanism=mechanism, conversations=AVERAGED)
        yield case(name="adding a record, at a quarter of rho", claim=RHO / 4, left=(*left, 0), right=left)
        yield case(name=REPLACING, claim=RHO, left=(*right, 0), right=(*right, last), because=_TWO_STEPS)


# Generators with a known fault: the losses of their conversations must exceed the claim.


def faulty_losses() -> Iterator[LossCase]:
    """Yield tests that must fail: every test with twice its epsilon or mu, and generators with a planted fault."""
    for case in loss_cases(Fraction(2)):
        yield replace(case, name=f"{case.name}, half of the noise", faulty=True, conversations=3)
    for fault in (_CountedOnce(), _FreeChoices(), _WithoutNoise()):
        yield replace(adaptive_case(fault), name=fault.fault, faulty=True, conversations=3)


class _CountedOnce(Adaptive):
    fault: ClassVar[str] = "a moved record counted once"

    def fit(self, private: PrivateCounts, charge: Charge, background: Background) -> AdaptiveModel:
        class CountedOnceTables(Gaussian):
            def _noisy(self, values: np.ndarray, part: Fraction) -> np.ndarray:
                return rounded_gaussian(values, squared_sensitivity=1, rho=part, entropy=self._entropy)

        return self._fit(private, charge, background, CountedOnceTables, charge.curve().rho)


class _FreeChoices(AdaptivePure):
    fault: ClassVar[str] = "choices without a charge"

    def fit(self, private: PrivateCounts, charge: Charge, background: Background) -> AdaptiveModel:
        class FreeChoiceTables(Laplace):
            def table(self, columns: Columns, part: Fraction) -> np.ndarray:
                """Measure a table of several columns with the whole budget of its round, although its choice used a tenth
                (planted fault).
                """
                self._take(part)
                exact, whole = self._exact.get(columns), part / Fraction(9, 10) if len(columns) > 1 else part
                return self._noisy(exact.ravel(), whole).reshape(exact.shape)

        return self._fit(private, charge, background, FreeChoiceTables, charge.epsilon)


class _WithoutNoise(Adaptive):
    fault: ClassVar[str] = "the last measurement of the columns without noise"

    def fit(self, private: PrivateCounts, charge: Charge, background: Background) -> AdaptiveModel:
        class BareTables(Gaussian):
            def bins(self, column: int, part: Fraction) -> np.ndarray:
                self._take(part)
                return self._bins.get((column,))

        return self._fit(private, charge, background, BareTables, charge.curve().rho)


# The findings: the largest loss of each generator, compared with the claim.

ROUNDING = 1e-9


@dataclass(frozen=True, kw_only=True)
class LossFinding:
    """The privacy loss that was found for one test of a generator, to compare with the claim.

    Attributes
    ----------
    noise, choices : the losses of noisy values, and of private choices: the epsilon of the conversation with the largest
        loss, or the mean rho.
    error : standard error of the mean loss, or 0 for a pure generator.
    leak : differences between the two tables besides the answers.
    """

    case: LossCase
    noise: float
    choices: float
    error: float
    leak: str
    seconds: float

    @property
    def unit(self) -> str:
        return "epsilon" if self.case.pure else "mu"

    @property
    def claimed(self) -> float:
        return self._stated(float(self.case.claim))

    @property
    def shown(self) -> float:
        """The loss that was found, in the unit of the claim: epsilon, or the mu of Gaussian noise with this mean loss."""
        return self._stated(self.noise + self.choices)

    @property
    def share(self) -> float:
        return self.shown / self.claimed

    @property
    def exceeded(self) -> bool:
        return bool(self.leak) or not self.share <= 1 + ROUNDING

    def _stated(self, loss: float) -> float:
        return loss if self.case.pure else math.sqrt(2 * max(loss, 0.0))


def audit_losses(cases: Sequence[LossCase], progress: Progress = lambda phase, done, total: None) -> list[LossFinding]:
    findings = []
    for done, case in enumerate(cases):
        findings.append(_finding(case))
        progress("losses", done + 1, len(cases))
    return findings


def _finding(case: LossCase) -> LossFinding:
    start, conversations = time.process_time(), list[Conversation]()
    for key in range(case.conversations):
        conversations.append(converse(case.mechanism, case.left, case.right, pure=case.pure, key=key))
        if conversations[-1].leak:
            conversations = conversations[-1:]
            break
    whole = [conversation.noise + conversation.choices for conversation in conversations]
    if case.pure:
        conversations = [conversations[whole.index(max(whole))]]
    return LossFinding(
        case=case,
        noise=statistics.mean(conversation.noise for conversation in conversations),
        choices=statistics.mean(conversation.choices for conversation in conversations),
        error=statistics.stdev(whole) / math.sqrt(len(whole)) if len(conversations) > 1 else 0.0,
        leak=next((conversation.leak for conversation in conversations if conversation.leak), ""),
        seconds=time.process_time() - start,
    )
