"""The two worlds of a run: sources of noise. The second repeats the answers of the first, and adds up what they told."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any

import numpy as np

from synthrelease.generators.adaptive_mechanism import Budgeted
from synthrelease.privacy.charges import NUMBER_OF_ROWS, Charge
from synthrelease.privacy.noise import SystemEntropy
from synthrelease.privacy.subsets import piece_of
from tests.whole.fuzz.losses import WorstLoss, log_probabilities, of_choice, of_gaussian, of_laplace
from tests.whole.fuzz.pairs import Leak, Rows, replaced

ROUNDING = 1e-9
"""By what share losses in floating point may be above their charge."""


class NoNeighbours(BaseException):
    """The two files are none for this specification: its guarantee says nothing about them."""


@dataclass(frozen=True, kw_only=True)
class Event:
    """One thing that was asked of a world.

    Attributes
    ----------
    what : the kind of draw, the charge that pays for it, and all that is public about it.
    private : what the answer was drawn from; None where it is public.
    """

    what: tuple[Any, ...]
    private: Any = None
    answer: Any = None


@dataclass(kw_only=True)
class Spending:
    """What a mechanism tells while it runs on the private table, in the second world."""

    charge: Charge
    rows: tuple[Rows, Rows]
    loss: WorstLoss = field(default_factory=WorstLoss)

    @property
    def differs(self) -> bool:
        """Whether the replaced row is among those that the mechanism saw."""
        return replaced(*self.rows) != (None, None)


class World(SystemEntropy):
    """Where a release draws from.

    Parameters
    ----------
    seed : of all draws of the first world, and of the public ones of the second.
    first : the world whose answers are repeated; None for the first.
    exact : whether the number of kept rows is published, so that only files that keep as many rows are neighbours.
    in_pieces : whether each record is in one of two pieces.
    """

    def __init__(self, seed: int, first: World | None = None, *, exact: bool = False, in_pieces: bool = False):
        self.seed, self.first, self.exact, self.in_pieces = seed, first, exact, in_pieces
        self.log: list[Event] = []
        self.notes: dict[str, Any] = {}
        self.failures: list[str] = []
        self.told: list[Spending] = []
        self._random = np.random.default_rng([seed, 0])
        self._streams = 0
        self._spending: Spending | None = None
        self._stated: tuple[Any, ...] = ()
        self._each = False

    # --- What a release asks

    def add_laplace(self, values: np.ndarray, scale: float) -> np.ndarray:
        stop = -np.expm1(-1 / scale)
        return self._noisy("laplace", values, scale, lambda size: np.diff(self._random.geometric(stop, (2, size)), axis=0)[0])

    def add_gaussian(self, values: np.ndarray, scale: float) -> np.ndarray:
        return self._noisy(
            "gaussian", values, scale, lambda size: np.rint(self._random.normal(0, scale, size)).astype(np.int64)
        )

    def add_cube(self, values: np.ndarray, rate: Fraction) -> np.ndarray:
        def drawn(size: int) -> np.ndarray:
            radius = int(self._random.geometric(-np.expm1(-float(rate)))) - 1
            return self._random.integers(-radius, radius, size, endpoint=True)

        return self._noisy("cube", values, float(rate), drawn)

    def pick(self, n_choices: int) -> int:
        return int(self.asked(("pick", n_choices), None, lambda: self._random.integers(n_choices)))

    def picks(self, bounds: np.ndarray) -> np.ndarray:
        answer = self.asked(("picks", tuple(bounds.tolist())), None, lambda: self._random.integers(0, bounds))
        if self._spending is None or self.first is None or len(bounds) != len(self._spending.rows[0]):
            return np.array(answer)
        # one draw for each row, in the order of the cells, where the replaced row may stand elsewhere: it keeps its draw
        one, other = self._spending.rows
        gone, came = replaced(one, other)
        if gone == came:
            return np.array(answer)
        place = one.index(gone)
        return np.insert(np.delete(answer, place), other.index(came), answer[place])

    def generator(self) -> np.random.Generator:
        """Public randomness: the same in both worlds."""
        self.asked(("generator",), None, lambda: None)
        self._streams += 1
        return np.random.default_rng([self.seed, self._streams])

    def choose(self, scores: Sequence[int], *, sensitivity: int, epsilon: Fraction, mechanism: str, apart: int = 1) -> int:
        """A private choice. Scores move by `apart` sensitivities: two where they are those of adding or removing a record."""

        def drawn() -> int:
            shares = np.exp(log_probabilities(scores, sensitivity, epsilon, mechanism))
            return int(self._random.choice(len(scores), p=shares / shares.sum()))

        what = ("choice", len(scores), sensitivity, Fraction(epsilon), mechanism, apart)
        return int(self.asked(what, [int(score) for score in scores], drawn))

    def stopping(self, *law: object) -> int:
        """A coin or hidden number of a selection, the same in both worlds: small, so that a search ends soon."""
        return int(self.asked(("stopping", *law), None, lambda: self._random.integers(0, 4)))

    @property
    def of_first(self) -> World:
        """The world whose answers are repeated."""
        if self.first is None:
            raise ValueError("expected a second world")
        return self.first

    # --- What is watched beside the draws

    def read(self, rows: Rows) -> None:
        """The rows that the rules keep of a file."""
        self.notes["kept"] = rows
        if self.first is not None and self.exact and len(rows) != len(self.first.notes["kept"]):
            raise NoNeighbours("the number of kept rows is public, and differs")

    def stating(self, what: tuple[Any, ...], draw: Callable[[], np.ndarray]) -> np.ndarray:
        """A draw whose mechanism states its sensitivity."""
        self._stated = what
        try:
            return draw()
        finally:
            self._stated = ()

    def for_each(self, measure: Callable[[], Any]) -> Any:
        """Numbers whose mechanism states the sensitivity of each: how many of them move at once is in the charge alone."""
        self._each = True
        try:
            return measure()
        finally:
            self._each = False

    def spending(self, charge: Charge, rows: Rows, run: Callable[[], Any]) -> Any:
        """A mechanism that runs on these private rows, paid for by a charge."""
        self._close()
        self.asked(("spend", charge), rows, lambda: None)
        if self.first is None:
            return run()
        before = self.first.log[len(self.log) - 1].private
        # kept rows, which are counted, may be one more or one less: a replaced row of the file may be left out
        if replaced(before, rows) is None or (len(before) != len(rows) and charge.name != NUMBER_OF_ROWS):
            raise Leak(f"{charge.name}: the private tables differ in more than one replaced row: {before} and {rows}")
        self._spending = Spending(charge=charge, rows=(before, rows))
        result = None
        try:
            result = run()
        finally:
            if not isinstance(result, Budgeted):  # which answers after it was opened, until something else is paid for
                self._close()
        return result

    def _close(self) -> None:
        """Hold what the last mechanism told against its charge."""
        if (ended := self._spending) is not None:
            self._spending = None
            self.told.append(ended)
            self._check_charge(ended)

    def saw(self, what: str, result: Any) -> None:
        """A result that must be the same in both worlds, whether it is published or not."""
        self.asked(("result", what), None, lambda: None, (result,))

    # --- How the second world repeats the first

    def asked(self, what: tuple[Any, ...], private: Any, draw: Callable[[], Any], result: Any = None) -> Any:
        if self.first is None:
            self.log.append(Event(what=what, private=private, answer=draw() if result is None else result))
            return self.log[-1].answer
        place = len(self.log)
        if place == len(self.first.log):
            raise Leak(f"the second world asks for more: {_short(what)}")
        event = self.first.log[place]
        if event.what != what:
            raise Leak(f"the worlds ask for different things: {_short(event.what)} and {_short(what)}")
        if result is not None and (found := difference(event.answer, result)):
            raise Leak(f"{what[1]}: {found}")
        self.log.append(event)
        if private is not None and self._spending is not None:
            self._tell(what, event.private, private)
        return event.answer

    def check_ended(self) -> None:
        """Raises Leak when the first world went on, or a record that is in one piece was asked in both."""
        self._close()
        if len(asked := {piece_of(each.charge) for each in self.told if each.differs} - {None}) > 1 and self.in_pieces:
            raise Leak(f"one record is in the pieces {sorted(map(str, asked))}")
        if self.first is not None and len(self.log) < len(self.first.log):
            raise Leak(f"the first world asks for more: {_short(self.first.log[len(self.log)].what)}")

    def _noisy(self, kind: str, values: np.ndarray, scale: float, noise: Callable[[int], np.ndarray]) -> np.ndarray:
        exact = np.array(values, dtype=np.int64)
        what = (kind, len(exact), float(scale), *self._stated)
        return np.array(self.asked(what, exact, lambda: exact + noise(len(exact))))

    def _tell(self, what: tuple[Any, ...], one: Any, other: Any) -> None:
        """Add the loss of a draw to that of its charge, and look whether the mechanism's own statement about it holds."""
        spending, kind = self._spending, what[0]
        if spending is None or kind == "spend":
            return
        if kind == "choice":
            sensitivity, epsilon, mechanism, apart = what[2:]
            moved = max(abs(a - b) for a, b in zip(one, other, strict=True))
            loss = of_choice(one, other, sensitivity=sensitivity, epsilon=epsilon, mechanism=mechanism)
            if moved > apart * sensitivity or loss.epsilon > apart * float(epsilon) * (1 + ROUNDING):
                raise Leak(f"{spending.charge.name}: a score moves by {moved} where its sensitivity is {sensitivity}")
        elif kind == "cube":
            loss = WorstLoss(epsilon=float(np.abs(other - one).max(initial=0)) * what[2])
        else:
            change, scale = other - one, what[2]
            loss = of_laplace(change, scale) if kind == "laplace" else of_gaussian(change, scale)
            moved = int(np.abs(change).sum() if kind == "laplace" else (change**2).sum())
            if self._each:
                moved = int(np.abs(change).max(initial=0))
            if what[3:] and moved > what[3]:
                raise Leak(f"{spending.charge.name}: values move by {moved} where their sensitivity is {what[3]}")
        spending.loss += loss

    def _check_charge(self, spending: Spending) -> None:
        charge = spending.charge
        if charge.renyi is None:
            found, paid, unit = spending.loss.epsilon, float(charge.epsilon), "epsilon"
        else:
            found, paid, unit = spending.loss.rho, float(charge.renyi.rho), "rho"
        if found > paid * (1 + ROUNDING):
            raise Leak(f"{charge.name}: {unit} {found:.9g} is told, and {paid:.9g} is charged")


def _short(what: tuple[Any, ...]) -> str:
    name = what[1].name if isinstance(what[1:2] and what[1], Charge) else what[1:]
    return f"{what[0]} {name}"[:200]


def difference(one: Any, other: Any, place: str = "") -> str:
    """Where two results differ, in words; nothing where they are the same, to the last bit."""
    if type(one) is not type(other):
        return f"{place} is of type {type(one).__name__} and {type(other).__name__}"
    if isinstance(one, np.ndarray):
        same = one.shape == other.shape and np.array_equal(one, other, equal_nan=one.dtype.kind == "f")
        return "" if same else f"{place} is {one} and {other}"
    parts = _parts(one)
    if parts is None:
        return "" if one == other or (one != one and other != other) else f"{place} is {one!r} and {other!r}"
    others = _parts(other) or {}
    if list(parts) != list(others):
        return f"{place} has {list(parts)} and {list(others)}"
    return next(filter(None, (difference(parts[key], others[key], f"{place}.{key}") for key in parts)), "")


def _parts(value: Any) -> dict[Any, Any] | None:
    """What a value is made of; None for one that is compared as it is."""
    if isinstance(value, dict):
        return value
    if isinstance(value, (list, tuple)):
        return dict(enumerate(value))
    if hasattr(value, "__dataclass_fields__") and not isinstance(value, type):
        return {name: getattr(value, name) for name in value.__dataclass_fields__ if not name.startswith("_")}  # "_": caches
    return None
