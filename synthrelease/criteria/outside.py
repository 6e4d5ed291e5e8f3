"""Define the base class of criteria from other packages, which compute a criterion value and state its sensitivity.
synthrelease adds the noise, charges epsilon, and compares the result with the threshold.
"""

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

    A subclass declares its settings as fields, describes its criterion value in `words`, and has three methods: `figure`,
    `sensitivity` and `examples`. `synthrelease.check_kind` tests the examples on all small tables.

    Privacy
    -------
    The criterion value gets Laplace noise for the sensitivity that the package claims, at the epsilon in the acceptance file.
    Nothing else is released. The guarantee of a release depends on the sensitivity that the package claims; neighbours replace
    one record. Card, SIGN.md and release.json name the package that makes the claim.
    """

    words: ClassVar[str]
    """One sentence for the card that says what the criterion value means."""
    unit: ClassVar[str] = ""
    """The unit of the criterion value, as text; empty if the value has no unit."""
    no_measured_bound: ClassVar[str] = "The package of a criterion must compute the criterion value itself."
    RESERVED: ClassVar[frozenset[str]] = frozenset(
        (
            *("answer", "asked", "charge", "once", "per_score", "prepare", "query", "refit", "released", "score", "_judged"),
            *("asks_something", "compares", "figure_gets_noise", "former_mechanism", "mechanism_words", "own_mechanism"),
            *("own_noise", "model_post_init", "__getattribute__", "__init__"),
        )
    )
    """Methods and attributes that add noise, charge epsilon or compare with the threshold. No subclass may define one of them.
    """

    def figure(self, table: Counts, candidate: SyntheticTable, setting: Setting) -> float:
        """Compare a table with the candidate, and return the exact criterion value, a finite number for every table on its
        bins.

        Parameters
        ----------
        table : the counts by cell of `candidate.transformation.layout`; in a release, the counts of the private table.
        """
        raise NotImplementedError

    def sensitivity(self, n: int, candidate: SyntheticTable, setting: Setting) -> float:
        """Return an upper limit, above 0, on the change of the criterion value when one of the n rows of any table is
        replaced.

        It must depend on public values only.
        """
        raise NotImplementedError

    @classmethod
    def examples(cls) -> Sequence[Mapping[str, Any]]:
        """Return settings with which `check_kind` tests the criterion on tables of the columns "a", "b" and "c" with 2, 3
        and 4 bins.
        """
        raise NotImplementedError

    def query(self, n: int, candidate: SyntheticTable, setting: Setting, fitted: Fitted) -> Query:
        candidate = deepcopy(candidate)  # a package that changes its arrays does not change released rows
        sensitivity = self.sensitivity(n, candidate, setting)
        if not (math.isfinite(sensitivity) and sensitivity > 0):
            raise ValueError(f"The sensitivity of {self.kind} must be a finite number above 0. It is {sensitivity}")
        from synthrelease.criteria.outside_mechanism import figure_of  # readers of a release do not need it

        figure = partial(self.figure, candidate=candidate, setting=setting)
        return Query(figure=partial(figure_of, figure=figure), sensitivity=sensitivity)


class ExplainedByItself(Explanation[OutsideCriterion]):
    """Explain a criterion of another package with the texts of its class."""

    no_sensitivity: ClassVar[str] = "The sensitivity is a claim of the package that contains the criterion."
    no_bounds: ClassVar[str] = "synthrelease does not know which bounds of other quantities follow from the criterion value."
    no_offender: ClassVar[str] = "synthrelease does not know which part of the table has the largest error."

    def sentence(self, facts: PublicFacts) -> str:
        package = self.about.kind.partition(":")[0]
        return f"{self.about.words} The package {package!r} defines the criterion value and its sensitivity."

    def figure_unit(self, facts: PublicFacts) -> str:
        return self.about.unit
