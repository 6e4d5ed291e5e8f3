"""What MWEM and PEP have in common as generators: their hyperparameters, and a fit."""

from __future__ import annotations

from collections.abc import Iterable
from fractions import Fraction
from functools import partial
from typing import TYPE_CHECKING, ClassVar

from pydantic import Field, model_validator

from synthrelease.candidates.generators.base import Background, Generator
from synthrelease.candidates.generators.counting_queries import CELL_LIMIT, QueryPool, Update
from synthrelease.candidates.generators.dense import DenseModel, plausible_cells
from synthrelease.data.layout import Layout
from synthrelease.enclave.door import PrivateCounts
from synthrelease.errors import Unexpected
from synthrelease.privacy.charges import Charge
from synthrelease.settings.base import Mistake

if TYPE_CHECKING:
    from synthrelease.candidates.generators.adaptive.mechanism import PrivateTables


class CountingQueries(Generator):
    """Hyperparameters of MWEM and PEP.

    Attributes
    ----------
    queries : size of the pool of queries; at least `iterations`. Example: `queries = [512, 4096]`, `iterations = 100`.
    iterations : each chooses and measures one query, at an equal part of the budget. Example: `iterations = 100`.
    inner_updates : corrections of the model per iteration, of the measured queries that it answers worst.
        Example: `inner_updates = [25, 100]`.
    marginal : queries are cells of tables of at most so many columns. Example: `marginal = [2, 3]`.
    """

    no_draft: ClassVar[str] = (
        "The numbers of queries and iterations are tuned in a rehearsal, from a draft that runs without them."
    )
    queries: int = Field(ge=1, le=100_000)
    iterations: int = Field(ge=1, le=10_000)
    inner_updates: int = Field(default=25, ge=1, le=1000)
    marginal: int = Field(default=3, ge=1, le=6)

    @model_validator(mode="after")
    def _enough_queries(self) -> CountingQueries:
        if self.queries < self.iterations:
            raise Unexpected(f"at least as many queries as iterations ({self.iterations})", str(self.queries))
        return self

    def mistakes(self, layout: Layout, tied: Iterable[tuple[int, ...]]) -> Iterable[Mistake]:
        if layout.n_cells > CELL_LIMIT:
            expected = f"a table of at most {CELL_LIMIT} cells, because every iteration of {self.family!r} looks at all of them"
            yield Mistake(
                field="family", expected=expected, found=f"{layout.n_cells} cells; the largest columns are {layout.largest()}"
            )

    def _fit(
        self,
        private: PrivateCounts,
        charge: Charge,
        background: Background,
        steps: type[PrivateTables],
        part: Fraction,
        update: Update,
    ) -> DenseModel:
        """Each step costs `part`, and the pool and the plausible cells are public."""
        from synthrelease.candidates.generators.counting_queries.mechanism import answer

        entropy, layout = private.entropy, private.layout
        asked = partial(
            answer,
            pool=QueryPool(layout, self.queries, self.marginal, entropy.generator()),
            free=plausible_cells(background.plausibility),
            steps=steps,
            part=part,
            entropy=entropy,
            iterations=self.iterations,
            inner=self.inner_updates,
            update=update,
        )
        return DenseModel(layout=layout, shares=private.spend(charge, asked).cells)

    def effort(self, layout: Layout) -> float:
        return float(self.iterations * (self.queries + self.inner_updates))

    def seconds(self, layout: Layout, rows: int) -> float:
        """500 iterations of 4,096 queries took 11 s on 207,000 cells; the updates of all cells are most of it."""
        return self.effort(layout) * layout.n_cells * 2.6e-11

    def peak_cells(self, layout: Layout) -> int:
        return 4 * layout.n_cells
