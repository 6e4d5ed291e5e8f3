"""The contract of every acceptance criterion: what it costs, and how it scores a candidate against the private table."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import ClassVar

import numpy as np
from pydantic import Field

from synthrelease.accounting.charges import Charge, mechanism
from synthrelease.candidates.candidate import Candidate
from synthrelease.criteria.drafts import CriterionDraft, FileFacts
from synthrelease.criteria.facts import PublicFacts
from synthrelease.criteria.fitted import Fitted, Regression
from synthrelease.criteria.guarding import LostPair
from synthrelease.criteria.known_errors import KnownError
from synthrelease.criteria.offenders import Offender, PublicCounts
from synthrelease.domain.counts import Counts
from synthrelease.domain.plausibility import Plausibility
from synthrelease.domain.schema import Binning, Layout, Schema, Transformation
from synthrelease.enclave.door import PrivateCounts
from synthrelease.randomness import laplace_figure
from synthrelease.toml.tables import Line, Mistake, Reason, SpecTable


@dataclass(frozen=True, kw_only=True)
class Score:
    """The outcome of one criterion, as it may be published.

    `sensitivity` and `noise_sd` are in the units of `value`; None where no noise is added. A value that is not a number
    does not pass.

    Attributes
    ----------
    noise_bound : where the noise is not added to the figure itself: an estimate of what it moves the figure by at most, in 95
        of 100 cases.
    decides : whether this very figure was compared with the threshold; it is then known only because it passed.
    """

    name: str
    kind: str
    threshold: float
    value: float
    epsilon: Fraction
    mechanism: str
    sensitivity: float | None
    noise_sd: float | None
    passed: bool
    noise_bound: float | None = None
    decides: bool = True


@dataclass(frozen=True, kw_only=True)
class Query:
    """What a criterion asks of the private table about one candidate. Asking is public; only `figure` and `slack` see counts.

    Attributes
    ----------
    figure : the exact figure of a private table; total.
    sensitivity : largest change of the figure when one record is replaced, > 0.
    slack : how far a private table is from failing: at or above 0 just when the figure is at or below the threshold, and of
        sensitivity 1. By default (threshold - figure) / sensitivity; a criterion may know a sharper one.
    void : the candidate fails whatever the private table is (a group without rows, say); the figure is paid for all the same.
    """

    figure: Callable[[Counts], float]
    sensitivity: float
    slack: Callable[[Counts], float] | None = None
    void: bool = False


@dataclass(frozen=True, kw_only=True)
class Setting:
    """The public facts that a criterion may use: schema, group bins, and what combinations a raw row can have."""

    schema: Schema
    groups: Mapping[str, Binning]
    raw: Plausibility
    transformations: tuple[Transformation, ...]
    criteria: Mapping[str, Criterion]

    def possible(self, columns: tuple[str, ...], binnings: tuple[Binning, ...]) -> np.ndarray:
        """(n_cells,) over the product of these bins: False where the raw rules exclude every record of the cell.

        Bins of missing values are left out: a record that lacks one of the columns is in no cell.
        """
        chosen = dict(zip(columns, binnings, strict=True))
        merged = self.raw.merge(
            Transformation(
                schema=self.schema,
                binnings=tuple(chosen.get(column.name, column.atoms) for column in self.schema.columns),
            )
        )
        zeros = merged.structural_zeros([merged.layout.index(name) for name in columns])
        return ~zeros[tuple(slice(binning.present) for binning in binnings)].ravel()


class Criterion(SpecTable):
    """One acceptance criterion, validated as it stands in the acceptance file.

    Adding one takes one file with a subclass and one line in `CRITERIA`. Everything public about a criterion stands on its
    class: what cannot be said has a stated reason (`no_sensitivity`, `no_bounds`, `no_draft`, `no_offender`), and
    tests/test_contracts.py demands one or the other.

    Attributes
    ----------
    name : what the figure is called on the data card and by other criteria; each name once.
        Example: `name = "mean birth weight"`.
    kind : which criterion this is; its further settings follow from it.
    threshold : the figure, with its noise, must be at or below this. In the figure's own unit. Example: `threshold = 0.01`.
    epsilon : what the figure costs. In every round it is scored, so the selection multiplies it (theory 2, selection); with
        [selection] test = "joint", or where a criterion says so, once. Example: `epsilon = 0.01`.
    reason : why this criterion and this budget, in the steward's words. Example: `reason = "The ministry's first question"`.
    """

    figure_gets_noise: ClassVar[bool] = True
    """Whether the figure itself is released with Laplace noise, rather than computed from something already public."""
    counts_rows: ClassVar[bool] = False
    """Whether the figure is a share of the rows."""
    best_figure: ClassVar[float] = 0.0
    """The least that an exact figure can be: a limit below it says no more, and no table would meet it."""
    compares: ClassVar[bool] = True
    """Whether the figure compares the released table with the original one; otherwise it looks at released rows alone."""
    bounds_every_cell: ClassVar[bool] = False
    """Whether the figure bounds the error of every cell of small tables, on which all other bounds rest."""
    asks_single_columns: ClassVar[bool] = False
    """Whether the figure looks at each column by itself, so that a table with independent columns may meet it."""
    no_sensitivity: ClassVar[str] = ""
    """Why, or when, the sensitivity does not follow from what a bundle holds."""
    no_bounds: ClassVar[str] = ""
    """Why the figure says nothing about queries that no criterion named."""
    no_draft: ClassVar[str] = ""
    """Why `init` drafts no such criterion."""
    no_offender: ClassVar[str] = ""
    """Why no part of the public table can be named as the one with the largest error."""
    name: Line = Field(min_length=1, max_length=80)
    kind: str
    threshold: float = Field(gt=0, allow_inf_nan=False)
    epsilon: Fraction = Field(gt=0)
    reason: Reason = ""

    @property
    def figure_range(self) -> tuple[float, float]:
        """What the exact figure can be, from its best value to its worst."""
        return self.best_figure, math.inf

    @property
    def promised_count(self) -> int:
        """How often each row of a candidate that passes occurs at least."""
        return 1

    def every_cell_up_to(self, n_columns: int) -> int:
        """Of how many columns a table may be for the figure to bound the error of each of its cells; 0 for none."""
        return 0

    def guards(self, pair: LostPair) -> bool:
        """Whether the figure is about these two columns together: it names them, or must fail when their tie is lost."""
        return False

    def least_sensitivity(self, n: int) -> float | None:
        """What the sensitivity is at least, for whatever candidate of n rows; None where the settings do not tell."""
        return 1 / n if self.counts_rows else None

    def effort(self, layout: Layout, n: int) -> float:
        """How many numbers one figure reads, about, for tables of n rows over this layout: what grows with the columns."""
        raise NotImplementedError

    def figure_unit(self, facts: PublicFacts) -> str:
        """In what the figure is measured, empty for a plain number."""
        raise NotImplementedError

    def sentence(self, facts: PublicFacts) -> str:
        """What the figure is, for readers of the card."""
        raise NotImplementedError

    def public_sensitivity(self, facts: PublicFacts) -> float | None:
        """The sensitivity of the figure, from public facts alone; None where it does not follow from them."""
        return None

    def public_figure(self, facts: PublicFacts) -> float | None:
        """The figure, where the released table alone decides it; None where it takes private counts."""
        return None

    def known_error(self, limit: float, facts: PublicFacts) -> KnownError | None:
        """What follows about the original table when the exact figure is at most `limit`; None where nothing does."""
        return None

    @classmethod
    def drafts(cls, file: FileFacts) -> Iterable[CriterionDraft | str]:
        """Criteria of this kind for a public file; a text for what was left out, and why."""
        return ()

    def offender(self, public: PublicCounts, candidate: Candidate, setting: Setting, fitted: Fitted) -> Offender | None:
        """Where on public rows the figure comes from; None where the class says why (`no_offender`), or for a perfect
        candidate.

        Parameters
        ----------
        public : a table of public rows on the candidate's bins. Never a private one: see `criteria.offenders`.
        """
        return None

    def mistakes(self, setting: Setting, others: Mapping[str, Criterion]) -> Iterable[Mistake]:
        """What is wrong with this table, given the schema and the criteria before it."""
        return ()

    def joint_test_mistakes(self) -> Iterable[Mistake]:
        """What is wrong with this table where rounds are tested jointly, without figures of their own."""
        return ()

    def once(self) -> tuple[Charge, ...]:
        """Charges before the loop."""
        return ()

    def per_score(self) -> tuple[Charge, ...]:
        """Charges of one `refit` and `score`: in every round, or once after acceptance when the rounds are tested jointly."""
        return (self.charge,)

    @property
    def charge(self) -> Charge:
        return mechanism(f"criterion: {self.name}", self.epsilon, "Laplace mechanism")

    def prepare(self, private: PrivateCounts, setting: Setting) -> Regression | None:
        """Before the loop: spend the charges of `once` and return what later scores need, or None."""
        return None

    def refit(self, private: PrivateCounts, candidate: Candidate, setting: Setting, fitted: Fitted) -> Fitted:
        """Before a score: what is fitted anew for it, together with what was fitted before. Spends a part of `per_score`."""
        return fitted

    def query(self, n: int, candidate: Candidate, setting: Setting, fitted: Fitted) -> Query | Score:
        """What to ask of the private table about a candidate; a score where nothing private is left to ask.

        Parameters
        ----------
        n : the public number of rows.
        fitted : what `prepare` and `refit` have returned.
        """
        raise NotImplementedError

    def score(self, private: PrivateCounts, candidate: Candidate, setting: Setting, fitted: Fitted) -> Score:
        """Ask the query, release its figure with noise and compare it with the threshold.

        Parameters
        ----------
        private : the private table on the candidate's bins, with this round's meter.
        fitted : as for `query`.
        """
        found = self.query(private.n, candidate, setting, fitted)
        return found if isinstance(found, Score) else self._release(private, found)

    def seconds(self, layout: Layout, rows: int) -> float:
        """An estimate of how long a score takes on one core, beyond a few passes through the cells that occur."""
        return 0.0

    def slack(self, query: Query, counts: Counts) -> float:
        """How far a private table is from failing this query; sensitivity 1 (see `Query`). Not a number never passes."""
        if query.void:
            return -math.inf
        return query.slack(counts) if query.slack else (self.threshold - query.figure(counts)) / query.sensitivity

    def _release(self, private: PrivateCounts, query: Query) -> Score:
        """Release the figure of a query with Laplace noise."""
        noisy = private.spend(
            self.charge,
            lambda counts: laplace_figure(
                query.figure(counts), sensitivity=query.sensitivity, epsilon=self.epsilon, entropy=private.entropy
            ),
        )
        value = math.nan if query.void else noisy.value
        return self._judged(value, "Laplace", query.sensitivity, noisy.noise_sd, self.epsilon)

    def _judged(
        self, value: float, mechanism_name: str, sensitivity: float | None, noise_sd: float | None, epsilon: Fraction
    ) -> Score:
        return Score(
            name=self.name,
            kind=self.kind,
            threshold=self.threshold,
            value=value,
            epsilon=epsilon,
            mechanism=mechanism_name,
            sensitivity=sensitivity,
            noise_sd=noise_sd,
            passed=math.isfinite(value) and value <= self.threshold,
        )


def fitted_before(criteria: Iterable[Criterion], private: PrivateCounts, setting: Setting) -> Fitted:
    """What criteria fit before the loop. Spends the charges of `once` of each."""
    found = {criterion.name: criterion.prepare(private, setting) for criterion in criteria}
    return Fitted(regressions={name: regression for name, regression in found.items() if regression is not None})


def scores_of(
    criteria: Iterable[Criterion], private: PrivateCounts, candidate: Candidate, setting: Setting, fitted: Fitted
) -> tuple[Score, ...]:
    """Every criterion's score of a candidate, in order; what one fits anew, later ones can use.

    Privacy
    -------
    Spends `per_score` of every criterion, whatever the others said, so that the time does not tell which one failed.
    """
    found = []
    for criterion in criteria:
        fitted = criterion.refit(private, candidate, setting, fitted)
        found.append(criterion.score(private, candidate, setting, fitted))
    return tuple(found)
