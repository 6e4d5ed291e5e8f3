"""Define the families MWEM and PEP, which repeatedly measure a counting query with a large model error, and correct the
model: MWEM by multiplicative weights, PEP by entropy projections.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from fractions import Fraction
from functools import partial
from typing import TYPE_CHECKING, ClassVar, Literal

import numpy as np
from pydantic import Field

from synthrelease.data.layout import Layout
from synthrelease.enclave.door import PrivateCounts
from synthrelease.errors import Unexpected, so_many
from synthrelease.generators.base import Background, Generator, Guaranteed
from synthrelease.generators.counting_queries import (
    CELL_LIMIT,
    CountingQuery,
    DenseModel,
    NoisyAnswers,
    QueryPool,
    Shares,
    plausible_cells,
    worst_answered,
)
from synthrelease.privacy.charges import GENERATION, Charge, mechanism, zero_concentrated
from synthrelease.privacy.plan import pure_epsilon
from synthrelease.settings.base import Mistake

if TYPE_CHECKING:
    from synthrelease.generators.adaptive_mechanism import PrivateTables


class CountingQueries(Generator):
    """Hyperparameters of MWEM and PEP.

    Attributes
    ----------
    queries : how many queries the generator selects from, at least `iterations`. A query is the count of one cell. Example:
        `queries = [512, 4096]`, `iterations = 100`.
    iterations : the number of iterations, each of which selects and measures one query with an equal part of the budget.
        Example: `iterations = 100`.
    inner_updates : how often the model is corrected in each iteration, by the measured queries with the largest errors.
        Example: `inner_updates = [25, 100]`.
    marginal : the largest number of columns of a table, whose cells are the queries. Example: `marginal = [2, 3]`.
    """

    no_draft = "The numbers of queries and iterations need tuning in a rehearsal, so a draft does not use this generator."
    queries: int = Field(ge=1, le=100_000)
    iterations: int = Field(ge=1, le=10_000)
    inner_updates: int = Field(default=25, ge=1, le=1000)
    marginal: int = Field(default=3, ge=1, le=6)

    def contradictions(self) -> Iterator[str | Unexpected]:
        if self.queries < self.iterations:
            problem = f"There are {self.iterations:,} iterations but only {so_many(self.queries, 'query', 'queries')}"
            yield f"{problem}. There must be at least as many queries as iterations"

    def mistakes(self, layout: Layout, tied: Iterable[tuple[int, ...]]) -> Iterable[Mistake]:
        if layout.n_cells > CELL_LIMIT:
            problem = f"The table has {layout.n_cells:,} cells. {self.family!r} can use at most {CELL_LIMIT:,} cells"
            text = f"{problem}. Choose wider bins or another family. The columns with the most bins are {layout.largest()}"
            yield Mistake(field="family", text=text)

    def _fit(
        self, private: PrivateCounts, charge: Charge, background: Background, kind: type[PrivateTables], budget: Fraction
    ) -> DenseModel:
        from synthrelease.generators.counting_queries_mechanism import answered

        # Plan: the pool of queries, and the initial model. Both are public.
        layout, part = private.layout, budget / (2 * self.iterations)
        pool = QueryPool(layout, self.queries, self.marginal, private.entropy.generator())
        model, noisy = Shares(plausible_cells(background.plausibility)), NoisyAnswers()
        answers = private.spend(charge, partial(answered, budget=budget, entropy=private.entropy, pool=pool, kind=kind))

        # Repeat: choose a query with a large error, measure its count, and correct the model.
        for _ in range(self.iterations):
            number = answers.worst(np.rint(private.n * pool.shares(model)).astype(np.int64), part)
            noisy.add(number, answers.count(number, part) / private.n)
            for query, share in worst_answered(model, pool, noisy, self.inner_updates):
                self.correct(model, query, share)
        return DenseModel(layout=layout, shares=model.cells)

    def correct(self, model: Shares, query: CountingQuery, share: float) -> None:
        """Move the model's share of rows for this query towards the measured share, in place."""
        raise NotImplementedError

    def effort(self, layout: Layout) -> float:
        return float(self.iterations * (self.queries + self.inner_updates))

    def seconds(self, layout: Layout, rows: int) -> float:
        return self.effort(layout) * layout.n_cells * 2.6e-11

    def peak_cells(self, layout: Layout) -> int:
        return 4 * layout.n_cells


# MWEM (Hardt, Ligett & McSherry, NIPS 2012), native, on cell counts: pure differential privacy.
#
# The implementation in smartnoise-synth 1.0.8 is not used, for two reasons. The implementation learns the bounds of its
# histogram from the private rows. It also draws a query again, up to ten times, if the query was already measured. Its
# guarantee covers neither (docs/generators.md).


class MWEM(CountingQueries):
    """Multiplicative weights with the exponential mechanism: each iteration selects one cell, measures it, and corrects the
    model.

    Examples
    --------
    >>> MWEM(queries=30, iterations=30, inner_updates=60).guarantee
    'pure'
    """

    words: ClassVar[str] = (
        "MWEM (Hardt, Ligett and McSherry, NIPS 2012): each step privately chooses a count in which the model has a large "
        "error, measures it with noise, and corrects the model by multiplicative weights."
    )
    family: Literal["mwem"] = "mwem"
    guarantee: ClassVar[Guaranteed] = "pure"

    def charge(self, epsilon: Fraction) -> Charge:
        return mechanism(GENERATION, epsilon, f"MWEM: {self.iterations} choices and counts (Hardt, Ligett & McSherry 2012)")

    def fit(self, private: PrivateCounts, charge: Charge, background: Background) -> DenseModel:
        """Repeatedly choose and measure queries and correct the model, and return the model.

        Privacy
        -------
        A fit is eps-DP; neighbours replace one record. Each of T iterations spends eps / (2 T) on an exponential mechanism,
        and eps / (2 T) on a count with discrete Laplace noise. Both have sensitivity 1 (`counting_queries_mechanism`). The
        costs add up (adaptive composition).
        """
        from synthrelease.generators.counting_queries_mechanism import PaperLaplace

        return self._fit(private, charge, background, PaperLaplace, pure_epsilon(charge))

    def correct(self, model: Shares, query: CountingQuery, share: float) -> None:
        model.weigh(query, share)


# PEP, private entropy projection (Liu, Vietri & Wu, NeurIPS 2021, Section 4.1): zero-concentrated, on cell counts.
#
# The model is the table of largest entropy with the measured answers, computed by projecting onto one answer at a time.


class PEP(CountingQueries):
    """Private entropy projection: as MWEM, but the selection and the noise are zero-concentrated, and an entropy projection
    corrects the model.

    Examples
    --------
    >>> PEP(queries=30, iterations=20).guarantee
    'zCDP'
    """

    words: ClassVar[str] = (
        "Private entropy projection (Liu, Vietri and Wu, NeurIPS 2021): each step privately chooses a count in which the model "
        "has a large error, and measures it with noise. The model is the table of largest entropy with the measured counts."
    )
    family: Literal["pep"] = "pep"
    guarantee: ClassVar[Guaranteed] = "zCDP"

    def charge(self, epsilon: Fraction) -> Charge:
        return zero_concentrated(GENERATION, epsilon, f"PEP: {self.iterations} choices and counts (Liu, Vietri & Wu 2021)")

    def fit(self, private: PrivateCounts, charge: Charge, background: Background) -> DenseModel:
        """Repeatedly choose and measure queries and project the model, and return the model.

        Privacy
        -------
        A fit is rho-zero-concentrated; neighbours replace one record. Each of T iterations spends rho / (2 T) on an
        exponential mechanism, and rho / (2 T) on a count with rounded Gaussian noise. The epsilon of the exponential
        mechanism is epsilon_0 = sqrt(8 rho / (2 T)), rounded down. This mechanism is (epsilon_0^2 / 8)-zero-concentrated,
        because it has bounded range (Cesar & Rogers 2021, Lemma 4). Choices and counts have sensitivity 1
        (`counting_queries_mechanism`). The costs add up (adaptive composition).
        """
        from synthrelease.generators.adaptive_mechanism import Gaussian

        return self._fit(private, charge, background, Gaussian, charge.curve().rho)

    def correct(self, model: Shares, query: CountingQuery, share: float) -> None:
        model.project(query, share)
