"""Take a criterion from another package: it gives a figure and its sensitivity; noise, charge and comparison stay here."""

from __future__ import annotations

import math
from copy import deepcopy
from functools import partial
from typing import TYPE_CHECKING, Any, ClassVar

from synthrelease.criteria.base import Criterion, Fitted, Setting
from synthrelease.criteria.explanation import Explanation
from synthrelease.criteria.facts import PublicFacts, Query
from synthrelease.data.counts import Counts

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from synthrelease.data.synthetic_table import SyntheticTable


class OutsideCriterion(Criterion):
    """A criterion of another package, registered as an entry point of the group `synthrelease.criteria`.

    A subclass names its settings as fields, says in `words` what its figure is, and has three functions: `figure`,
    `sensitivity`, and `examples`, which `synthrelease.check_kind` tries on all small tables.

    Privacy
    -------
    Its figure gets Laplace noise of the sensitivity that it claims, at the epsilon of the acceptance file, and nothing else of
    it comes out. The guarantee of a release rests on that claim: neighbours replace one record. Card, SIGN.md and release.json
    say whose claim it is.
    """

    words: ClassVar[str]
    """Return the meaning of the criterion value, in one sentence for the card."""
    unit: ClassVar[str] = ""
    """The unit of the figure, in words; empty where it has none."""
    no_measured_bound: ClassVar[str] = "A criterion of another package is asked for its own figure."
    RESERVED: ClassVar[frozenset[str]] = frozenset(
        (
            *("answer", "asked", "charge", "once", "per_score", "prepare", "query", "refit", "released", "score", "_judged"),
            *("asks_something", "compares", "figure_gets_noise", "former_mechanism", "mechanism_words", "own_mechanism"),
            *("own_noise", "model_post_init", "__getattribute__", "__init__"),
        )
    )
    """Names that decide about noise, charge and comparison: a subclass that defines one is refused."""

    def figure(self, table: Counts, candidate: SyntheticTable, setting: Setting) -> float:
        """Return the exact figure of a table beside the candidate: a finite number for any table on the candidate's bins.

        Parameters
        ----------
        table : rows by cell over `candidate.transformation.layout`; the private table in a release.
        """
        raise NotImplementedError

    def sensitivity(self, n: int, candidate: SyntheticTable, setting: Setting) -> float:
        """Return how much the figure can change at most when one of the n rows is replaced, whatever the table: above 0, from
        public values alone."""
        raise NotImplementedError

    @classmethod
    def examples(cls) -> Sequence[Mapping[str, Any]]:
        """Return settings to try the kind with, for columns "a", "b" and "c" of 2, 3 and 4 bins."""
        raise NotImplementedError

    def query(self, n: int, candidate: SyntheticTable, setting: Setting, fitted: Fitted) -> Query:
        candidate = deepcopy(candidate)  # what a package writes into its arrays reaches no released row
        sensitivity = self.sensitivity(n, candidate, setting)
        if not (math.isfinite(sensitivity) and sensitivity > 0):
            raise ValueError(f"expected a sensitivity above 0 of {self.kind}, found {sensitivity}")
        from synthrelease.criteria.outside_mechanism import figure_of  # here, for readers of a release have no use for it

        figure = partial(self.figure, candidate=candidate, setting=setting)
        return Query(figure=partial(figure_of, figure=figure), sensitivity=sensitivity)


class ExplainedByItself(Explanation[OutsideCriterion]):
    """Explain a criterion of another package in the words of its own class."""

    no_sensitivity: ClassVar[str] = "The package that the criterion is from claims the sensitivity."
    no_bounds: ClassVar[str] = "What follows from the figure for other questions is not known here."
    no_offender: ClassVar[str] = "Which part of the table has the largest error is not known here."

    def sentence(self, facts: PublicFacts) -> str:
        package = self.about.kind.partition(":")[0]
        return f"{self.about.words} Figure and sensitivity are those of the package {package!r}."

    def figure_unit(self, facts: PublicFacts) -> str:
        return self.about.unit
