"""A published release: its table, guarantee, figures and schema, as one frozen object."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from synthrelease.data.counts import Counts
from synthrelease.data.layout import Layout
from synthrelease.data.linked import Linked
from synthrelease.data.schema import PublishedColumn
from synthrelease.errors import BudgetError, InputError, Unexpected, closest, listing
from synthrelease.privacy.charges import Charge, decimal_text
from synthrelease.privacy.plan import Guarantee
from synthrelease.published.columns import RulePart
from synthrelease.published.costs import DomainPart
from synthrelease.published.estimates import EstimatesPart, NotSample
from synthrelease.published.measurements import PublishedMeasurement, PublishedSum
from synthrelease.settings.questions import QuestionTable

if TYPE_CHECKING:
    import pandas as pd

    from synthrelease.criteria.facts import Score
    from synthrelease.generators.associations import Association, Associations


@dataclass(frozen=True, kw_only=True)
class Evaluation:
    """What the figures are figures of: the settings of each criterion, and the released bins in each group, with its label."""

    settings: tuple[Mapping[str, Any], ...]
    groups: Mapping[str, tuple[tuple[str, ...], ...]]
    group_labels: Mapping[str, tuple[str, ...]] = field(default_factory=dict)


@dataclass(frozen=True, kw_only=True, eq=False)
class Measurements:
    """The noisy tables behind a release, where they are published.

    Attributes
    ----------
    tables : on the released bins.
    sums : measured sums of scores that the released bins tell of.
    times : how often they were measured before the release, on average at most: 1 where all rounds share them, otherwise the
        mean number of rounds that the search was ready for; infinite where it would never have ended.
    bins : where all rounds share them, the number of transformations on whose bins they could have been released, at most:
        which one was, depends on their noise. Otherwise 1: a round that measures for itself has drawn its bins before.
    """

    tables: tuple[PublishedMeasurement, ...]
    times: float
    bins: int = 1
    sums: tuple[PublishedSum, ...] = ()


@dataclass(frozen=True, kw_only=True, eq=False)
class PublishedRelease:
    """Everything that a release says about itself.

    Attributes
    ----------
    folder : where it was loaded from.
    guarantee : the differential-privacy guarantee, for a record and for a person; `epsilon` is an exact fraction.
    domain : which files it is about: `file_rows`, and the `way` in which the number of rows was found.
    charges : the charge tree that adds up to it.
    criteria : the released figure of every acceptance criterion, with its threshold and noise.
    evaluation : what these figures measure.
    schema : the columns, in the order of the table.
    rules : what never occurs: `never`, in words that `synthrelease` can read, what it `applies_to` and `why`.
    configuration : the transformation, generator and projection that were drawn.

    Examples
    --------
    >>> import synthrelease
    >>> release = synthrelease.load("release")
    >>> release.n_rows
    400
    >>> release.table["year"].cat.categories.tolist()
    ['1-2', '3-4', '5-6', '7-8']
    >>> float(release.guarantee.epsilon)
    17.3805912
    >>> [criterion.name for criterion in release.criteria]
    ['marginals', 'face privacy']
    """

    folder: Path
    title: str
    description: str
    n_rows: int
    guarantee: Guarantee
    domain: DomainPart
    charges: Charge
    criteria: tuple[Score, ...]
    evaluation: Evaluation
    schema: tuple[PublishedColumn, ...]
    rules: tuple[RulePart, ...]
    configuration: Mapping[str, Any]
    codes: np.ndarray = field(repr=False)
    """(n_rows, n_columns) index of the bin of every row in every column."""
    measurements: Measurements | None = field(default=None, repr=False)
    """The noisy tables that the rows were made from; None where they are not published."""
    measured: bool = False
    """Whether such tables are published and limit errors: not where the search might have measured without end."""
    intended: tuple[QuestionTable, ...] = ()
    """The questions that the release is meant to answer."""
    weights: np.ndarray | None = field(default=None, repr=False)
    """(n_rows,) for how many each row stands, where the release was calibrated to published totals; `table` leaves them out."""

    divided_rows: int | None = None
    """Rows of the private file that were divided at random into pieces; None where the release worked with `n_rows`."""
    figures_about: str = ""
    """What the figures are about, a part of a sentence, where that is a piece of the rows; empty where it is all of them."""
    estimates: EstimatesPart | None = None
    """What the noisy tables answer, with an interval for each intended query; None where none are published."""

    not_a_sample: tuple[NotSample, ...] = ()
    """Why its rows are no simple random sample of a population, as far as release.json tells."""

    linked: Linked | None = None
    """How the columns are those of roots and of their members, where each row is a root with all of them."""

    functions: tuple[tuple[str, tuple[str, ...]], ...] = ()
    """Columns that are functions of others in every row, each with these: a region is one of the municipality."""

    def __repr__(self) -> str:
        return (
            f"PublishedRelease({self.title!r}, {self.n_rows} rows, {len(self.schema)} columns, "
            f"epsilon = {decimal_text(self.guarantee.epsilon)})"
        )

    @cached_property
    def layout(self) -> Layout:
        """Column names and numbers of bins."""
        return Layout(columns=tuple(c.name for c in self.schema), sizes=tuple(len(c.labels) for c in self.schema))

    @property
    def measured_rows(self) -> int:
        """How many rows the generator saw: of rows that were divided into pieces, those of the other piece."""
        return self.n_rows if self.divided_rows is None else self.divided_rows - self.n_rows

    @cached_property
    def by_name(self) -> dict[str, PublishedColumn]:
        return {column.name: column for column in self.schema}

    @cached_property
    def counts(self) -> Counts:
        """The table as its distinct rows and how often each occurs."""
        return Counts.of(self.layout, list(self.codes.T))

    def carries(self, *columns: str) -> Association:
        """Say whether the rows carry the association of two or three columns.

        They carry it ("yes") where a table of these columns was measured, or follows from one that was: what is computed of
        them from the rows is then off by the noise and by the drawing of rows. "mostly noise" means that such a table was
        measured, but its noise moves a cell, on average, by more rows than the mean cell has, or the fit, which is drawn to
        its prior, repeats less than 0.8 of an association. "in part" means that no table had both: the rows have what the
        columns in `through` explain of the association, and nothing else of it, so a mean of one by the other can have
        another order, or a slope another sign, than in the file. "no" means independent in the rows, whatever the file
        says. "not known" means that the generator chose its tables with noise, and the choice is not published.

        Parameters
        ----------
        columns : names of two or three different columns. A column of members is meant in the same member; `stays_2` names
            that of the second one, and with it `ward` means the ward of the second one, too.

        Returns
        -------
        Association
            True as a truth value where the rows carry it; `carried`, `how` and `through` say why. `noise` and `mean_cell` are
            in rows, `repeats` is a share; a weak association is lost to less noise than a strong one.

        Raises
        ------
        InputError : for other names, or another number of them.

        Examples
        --------
        >>> import synthrelease
        >>> found = synthrelease.load("release").carries("face", "year")
        >>> found.carried, found.how
        ('not known', 'chosen privately')
        >>> bool(found)
        False
        """
        found, problem = self._associations, ""
        known = [*found.names, *(name for name in found.layout.columns if name not in found.names)]
        for name in columns:
            if name not in known:
                guess = closest(name, known)
                hint = f" Did you mean {guess!r}?" if guess else ""
                raise InputError(f"{self.folder}: expected columns of the release ({listing(known)}), found {name!r}.{hint}")
        if len(columns) not in (2, 3) or len(set(columns)) < len(columns):
            raise InputError(f"carries: expected two or three different columns, found {listing(columns) or 'none'}.")
        try:
            return found.of(*columns)
        except Unexpected as error:
            problem = str(error)
        raise InputError(f"carries: {problem}.")

    @cached_property
    def _associations(self) -> Associations:
        from synthrelease.published.associations import associations_of

        try:
            return associations_of(self)
        except (ValueError, BudgetError):
            problem = f"{self.folder}: expected a generator and its charge in release.json, found others"
        raise InputError(f"{problem}. Does `synthrelease verify` find the release in order?")

    @property
    def table(self) -> pd.DataFrame:
        """The released rows as a fresh pandas frame of categoricals, ordered where the bins have an order.

        Raises
        ------
        InputError : without pandas, which comes with the extra `frames`.
        """
        from synthrelease.libraries import library

        pd = library("pandas", "pandas", "data frames", "frames")
        return pd.DataFrame(
            {
                column.name: pd.Categorical.from_codes(
                    self.codes[:, index],  # type: ignore[arg-type,call-overload]
                    categories=list(column.labels),
                    ordered=column.ordered,
                )
                for index, column in enumerate(self.schema)
            }
        )
