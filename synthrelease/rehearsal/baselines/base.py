"""What every method to compare with has in common: what it is given of a public file, and what it gives back.

A method makes whole tables, or answers single questions about the file, or both. One that does not fit a file raises
`DoesNotFit` with one sentence that says why.
"""

from __future__ import annotations

from abc import ABC
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import ClassVar, Literal

import numpy as np

from synthrelease.data.counts import Counts
from synthrelease.data.linked import Linked
from synthrelease.data.plausibility import Plausibility
from synthrelease.data.schema import Transformation
from synthrelease.data.weights import Calibration

NO_GUARANTEE = "no guarantee"

CopyRule = Literal["simple", "partial"]
"""How figures of several copies are combined (`rehearsal.combining`): drawn from one fit, or each from its own."""


class DoesNotFit(ValueError):
    """The method has nothing to give for this file; the message says why, in one sentence without its full stop."""


@dataclass(frozen=True, kw_only=True, eq=False)
class ComparedFile:
    """The public rows over the bins of one configuration, and what was asked for.

    Attributes
    ----------
    table, transformation : the rows, and how their columns are binned.
    plausibility : the rules of a released row.
    known : columns that an intruder is taken to know.
    copies : tables that a method makes.
    generator : public draws by a key of whole numbers, the same for the same key.
    strength : how strongly two columns hang together, from 0 to 1 (Cramer's V).
    risk : (n_cells,) the group of risk of each cell, computed when it is called.
    epsilon : of the whole release; a method with a guarantee gets as much.
    calibration : published totals, on these bins; None where the configuration has none.
    linked : how members stand in the records; None where they have none.
    swap, swap_key, swap_rate : what is swapped, within what (None: the method chooses), and how often.
    """

    table: Counts
    transformation: Transformation
    plausibility: Plausibility
    known: Sequence[int]
    copies: int
    generator: Callable[..., np.random.Generator]
    strength: Callable[[int, int], float]
    risk: Callable[[], np.ndarray]
    epsilon: float
    calibration: Calibration | None = None
    linked: Linked | None = None
    swap: tuple[str, ...] = ()
    swap_key: tuple[str, ...] | None = None
    swap_rate: Fraction = Fraction(1, 20)

    @property
    def names(self) -> tuple[str, ...]:
        return self.table.layout.columns

    def numbers(self, column: int) -> np.ndarray | None:
        """(n_bins,) numbers of the bins of a column, NaN for missing values; None where a value has none."""
        found = self.transformation.numbers(self.names[column])
        return found if np.isfinite(found[: self.transformation.binnings[column].present]).all() else None

    def by_strength(self, column: int, others: Sequence[int]) -> tuple[int, ...]:
        """Other columns, the one that hangs together most with this one first."""
        return tuple(sorted(others, key=lambda other: (-self.strength(column, other), other)))


@dataclass(frozen=True, kw_only=True, eq=False)
class MadeTables:
    """Copies of a whole table.

    Attributes
    ----------
    name : what it is, in words. guarantee : `NO_GUARANTEE`, or the nominal one. epsilon : the number of it; None without one.
    rule : how figures of the copies are combined. notes : what was chosen, and what is odd about the tables.
    """

    name: str
    guarantee: str
    copies: Sequence[Counts]
    epsilon: float | None = None
    rule: CopyRule = "partial"
    notes: tuple[str, ...] = ()


@dataclass(frozen=True, kw_only=True, eq=False)
class AskedNumber:
    """One number that is asked of a table.

    Attributes
    ----------
    words : the question.
    of : the exact number of a table over the bins of the file. Raises DoesNotFit where the table has none.
    """

    words: str
    of: Callable[[Counts], float]


@dataclass(frozen=True, kw_only=True, eq=False)
class MadeAnswers:
    """Many independent draws of the answer to one question, each for the whole epsilon.

    Attributes
    ----------
    name, guarantee, epsilon, notes : as of tables. values : the draws.
    """

    name: str
    guarantee: str
    epsilon: float
    question: AskedNumber
    values: np.ndarray
    notes: tuple[str, ...] = ()


class Baseline(ABC):
    """A method to compare with. To add one: a file with a subclass, and a line in `BASELINES`.

    Attributes
    ----------
    sentence : what it does.
    makes_tables : whether it gives whole tables, which criteria can look at; otherwise it answers one question.
    """

    sentence: ClassVar[str]
    makes_tables: ClassVar[bool] = True

    def tables(self, file: ComparedFile) -> list[MadeTables]:
        """Whole tables, each way of the method with its copies. Raises DoesNotFit."""
        return []

    def question(self, file: ComparedFile) -> AskedNumber:
        """What a method without tables asks of the file, and may be asked of any table. Raises DoesNotFit."""
        raise DoesNotFit("it asks nothing")

    def answers(self, file: ComparedFile) -> list[MadeAnswers]:
        """Answers to its question. Raises DoesNotFit."""
        return []
