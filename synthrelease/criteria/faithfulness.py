"""Define the criterion faithfulness: the share of released rows that cannot be paired one to one with similar original rows.

Paper 4.5.5; theory 3.6, faithfulness.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping
from functools import partial
from typing import TYPE_CHECKING, Annotated, ClassVar, Literal

import numpy as np
from pydantic import Field

from synthrelease.criteria.base import Criterion, Fitted, Setting
from synthrelease.criteria.columns import unknown_columns
from synthrelease.criteria.explanation import Explanation
from synthrelease.criteria.facts import LostPair, PublicFacts, Query, Unmatched, in_words, words
from synthrelease.data.layout import Layout
from synthrelease.data.linked import Linked
from synthrelease.data.schema import Binning, PublishedColumn, Transformation
from synthrelease.data.synthetic_table import SyntheticTable
from synthrelease.errors import Unexpected, listing
from synthrelease.settings.base import KEYS, AmongColumns, Mistake

if TYPE_CHECKING:
    from synthrelease.criteria.faithfulness_mechanism import Step

_ROWS_FOR_A_CELL = 4  # Rows of the file for each cell of the drafted columns, so that most rows have a similar row


class Faithfulness(Criterion):
    """The share of released rows that cannot be paired one to one with similar private rows. This share is 1 - (largest
    number of pairs of similar rows) / n.

    Two rows are similar if they agree in the columns `exact` and `within_one_bin`, except that they may be one bin apart in
    at most `at_most` columns of `within_one_bin`. If the value of `exact_around` lies strictly inside a bin, this bin must
    match exactly (35-39, if the age 37 matters).

    Privacy
    -------
    The sensitivity is 1/n: for every similarity rule that is fixed beforehand, a replaced record changes the size of a
    maximum matching by at most one pair (Proposition 10). Ignored columns and `any_order` only change this public rule.

    Attributes
    ----------
    exact : the columns in which similar rows must agree. A missing value agrees only with a missing value. Every column
        must be in `exact`, `within_one_bin` or `ignored`. Example: `exact = ["sex"]`.
    within_one_bin : columns with an order, in which similar rows may be one bin apart. Example: `within_one_bin = ["age",
        "weight"]`.
    ignored : the columns that are not compared, such as columns not essential to a row. With many compared columns, hardly
        any row has a similar row, even between two halves of the same file. Example: `ignored = ["month"]`.
    at_most : in how many columns of `within_one_bin` similar rows may differ: 1, or 0 if similar rows must be equal.
        Example: `at_most = 0`.
    exact_around : an important value of a numeric column of `within_one_bin`, such as a legal limit. If it lies strictly
        inside a bin, rows of this bin are similar only to each other. Example: `exact_around = { mother_age = 37 }`.
    any_order : if true, the order of the members of a root does not matter: they are first sorted by the compared columns.
        Needs [members], and every member must have the same compared columns. Example: `any_order = true`.

    Examples
    --------
    >>> judged = Faithfulness(
    ...     kind="faithfulness", name="similar rows", threshold=0.1, epsilon="0.01", exact=["sex"],
    ...     within_one_bin=["age"]
    ... )
    >>> judged.figure_range
    (0.0, 1.0)
    """

    counts_rows: ClassVar[bool] = True
    no_measured_bound: ClassVar[str] = "Similar rows agree in many columns at once, which tables of few columns do not show."
    kind: Literal["faithfulness"]
    exact: AmongColumns = ()
    within_one_bin: AmongColumns = ()
    ignored: AmongColumns = ()
    at_most: int = Field(default=1, ge=0, le=1)
    exact_around: Annotated[Mapping[str, float], KEYS] = Field(default_factory=dict)
    any_order: bool = False

    def query(self, n: int, candidate: SyntheticTable, setting: Setting, fitted: Fitted) -> Query:
        from synthrelease.criteria.faithfulness_mechanism import compared_rows, unmatched_share

        steps = self.steps(candidate.transformation) if self.at_most else ()
        compared, linked = self.compared(candidate.counts.layout), setting.schema.linked if self.any_order else None
        synthetic = compared_rows(candidate.counts, compared, linked)
        return Query(
            sensitivity=1 / n,
            figure=partial(unmatched_share, columns=compared, synthetic=synthetic, steps=steps, rows=n, linked=linked),
        )

    def contradictions(self) -> Iterator[str | Unexpected]:
        named = self.exact + self.within_one_bin + self.ignored
        twice = [name for name in named if named.count(name) > 1]
        if twice:
            yield f"{twice[0]!r} is named twice. Name each column once in exact, within_one_bin or ignored"

    def mistakes(self, setting: Setting, earlier: Mapping[str, Criterion]) -> Iterable[Mistake]:
        lists = ("exact", "within_one_bin", "ignored", "exact_around")
        wrong = [mistake for name in lists for mistake in unknown_columns(setting.schema, name, getattr(self, name))]
        if wrong:
            return wrong
        unnamed = [name for name in setting.schema.names if name not in self.exact + self.within_one_bin + self.ignored]
        if unnamed:
            problem = f"Every column must be in exact, within_one_bin or ignored. Add {listing(unnamed)} to one of these lists"
            wrong.append(Mistake("exact", problem))
        elif not self.exact + self.within_one_bin:
            wrong.append(Mistake("exact", "All columns are ignored. Name at least one column in exact or within_one_bin"))
        wrong += self._unlike(setting.schema.linked) if self.any_order else []
        for name in self.within_one_bin:
            if not setting.schema[name].ordered:
                wrong.append(
                    Mistake("within_one_bin", f"The bins of {name!r} have no order. Name this column in exact or ignored")
                )
        for name in self.exact_around:
            if name not in self.within_one_bin or setting.schema[name].kind == "category":
                wrong.append(Mistake("exact_around", f"{name!r} must be a numeric column that is also in within_one_bin"))
        return wrong

    def _unlike(self, linked: Linked | None) -> Iterable[Mistake]:
        """Yield the mistakes in `any_order`: it needs [members], and the columns of all members, such as age_1 and age_2,
        must be compared in the same way.
        """
        if linked is None:
            yield Mistake("any_order", "any_order = true requires a configuration with [members]")
            return
        treated = {name: how for how in ("exact", "within_one_bin", "ignored") for name in getattr(self, how)}
        for plain, same in zip(linked.names, zip(*linked.slots, strict=True), strict=True):
            ways = {(treated.get(name), self.exact_around.get(name)) for name in same}
            if len(ways) > 1:
                problem = (
                    f"{listing(same)} are the columns of {plain!r} for different members. Put all of them into the same list"
                )
                yield Mistake("any_order", f"{problem}, with the same exact_around")

    def compared(self, layout: Layout) -> tuple[int, ...]:
        return tuple(index for index, name in enumerate(layout.columns) if name not in self.ignored)

    def steps(self, transformation: Transformation) -> tuple[Step, ...]:
        """Return, for each column of `within_one_bin`, which of its bins are similar to the next higher bin."""
        from synthrelease.criteria.faithfulness_mechanism import Step

        compared, steps = self.compared(transformation.layout), []
        for name in self.within_one_bin:
            binning, kind = transformation.binning(name), transformation.schema[name].kind
            allowed = similar_to_next(binning, kind, self.exact_around.get(name))
            steps.append(Step(column=compared.index(transformation.layout.index(name)), allowed=allowed))
        return tuple(steps)


def similar_to_next(bins: Binning | PublishedColumn, kind: str, around: float | None) -> np.ndarray:
    """Return an (n_bins,) mask of the bins that are similar to their next higher bin.

    Parameters
    ----------
    bins : the bins of the column. The last bin, of missing values, is similar only to itself.
    around : a value or None. If it lies strictly inside a bin, rows of this bin must match exactly.
    """
    n_bins, present = len(bins.labels), bins.present
    allowed = np.arange(n_bins) < present - 1
    if around is not None:
        highest = np.array(bins.upper) - (1 if kind == "integer" else 0)
        strict = (np.array(bins.lower) < around) & (around < highest)
        allowed[:present] &= ~strict & ~np.append(strict[1:], False)
    return allowed


class FaithfulnessExplained(Explanation[Faithfulness]):
    """Explain the share of released rows without a similar original row."""

    no_offender: ClassVar[str] = "Several matchings are equally large, and each leaves different rows without a partner."

    def sentence(self, facts: PublicFacts) -> str:
        within, compared = in_words(self.about.within_one_bin), in_words(self.about.exact + self.about.within_one_bin)
        apart = f", except that {self.about.at_most} of {within} may differ by one bin" if within and self.about.at_most else ""
        exactly = "".join(
            f" If {in_words(value)} lies inside a bin of {words(name)}, rows of this bin are similar only to each other."
            for name, value in self.about.exact_around.items()
        )
        ignored = f" Not compared: {in_words(self.about.ignored)}." if self.about.ignored else ""
        ignored += " The members of each root are first sorted by the compared columns." if self.about.any_order else ""
        return (
            "The share of the released rows that cannot be paired, one to one, with similar original records. Two "
            f"records are similar if they agree in {compared}{apart}.{exactly}{ignored}"
        )

    def known_error(self, limit: float, facts: PublicFacts) -> Unmatched | None:
        """Return a bound on the number of original rows without a similar released row, rounded down. None if the order of
        members does not matter (`any_order`).
        """
        if self.about.any_order:
            return None  # members of paired roots may be in different slots
        tolerant = [facts.by_name[name] for name in self.about.within_one_bin if name in facts.by_name]
        steps = {
            column.name: tuple(similar_to_next(column, column.kind, self.about.exact_around.get(column.name)).tolist())
            for column in (tolerant if self.about.at_most else ())
        }
        return Unmatched(rows=math.floor(facts.n * limit), steps=steps, ignored=self.about.ignored, criterion=self.about.name)

    def guards(self, pair: LostPair) -> bool:
        return not self.about.any_order and pair.columns <= set(self.about.exact) and pair.distance > self.about.threshold
