"""A world of three columns, moved and scaled, whose named models are measured: for tests of both halves."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction

import numpy as np

from synthrelease.bundle.models import models_part
from synthrelease.data.counts import Counts
from synthrelease.data.member_counts import BinnedCounts
from synthrelease.data.rules import Domain
from synthrelease.data.schema import PublishedColumn, Schema, Transformation
from synthrelease.enclave.door import PrivateCounts
from synthrelease.generators.models import Measured, NamedModel, read_model
from synthrelease.generators.row_functions import NoisyModels
from synthrelease.privacy.charges import Meter
from synthrelease.privacy.noise import SystemEntropy
from synthrelease.privacy.public_entropy import NoNoise
from synthrelease.published import PublishedRelease
from synthrelease.published.columns import ColumnPart
from synthrelease.settings.columns import ColumnTable, InputTable
from synthrelease.spec.columns import build_column
from synthrelease.spec.models import charge_of
from tests.helpers.published import published

SIZES = {"x": 4, "y": 10, "z": 2}
"""Whole numbers of x and y, and categories of z; y may be missing."""
QUESTIONS = (
    "mean x",
    "mean y",
    "mean y where z == 'b'",
    "slope y on x, z == 'b'",
    "ratio y to x",
    "mean y by z",
    "mean x: z == 'a' against z == 'b'",
)


@dataclass(frozen=True, kw_only=True)
class ModelWorld:
    """Values of x and y are `shift` plus multiples of `step`."""

    shift: int = 0
    step: int = 1
    x: int = SIZES["x"]
    y: int = SIZES["y"]

    @property
    def bounds(self) -> dict[str, tuple[int, int]]:
        return {name: (self.shift, self.shift + (size - 1) * self.step) for name, size in (("x", self.x), ("y", self.y))}

    @property
    def domains(self) -> dict[str, Domain]:
        numbers = {name: Domain(kind="integer", bounds=bounds, missing=name == "y") for name, bounds in self.bounds.items()}
        return numbers | {"z": Domain(kind="category", categories=("a", "b"))}

    def measured(self, questions: Sequence[str] = QUESTIONS, epsilon: Fraction = Fraction(1, 3)) -> Measured:
        models = tuple(read_model(question, self.domains, {}) for question in questions)
        return Measured(models=models, epsilon=epsilon)

    @property
    def schema(self) -> Schema:
        tables = {
            name: ColumnTable(
                kind="integer",
                bounds=bounds,
                step=self.step,
                missing="bin" if name == "y" else None,
                alternatives={"one": [f"{bounds[0]}-{bounds[1]}"]},
            )
            for name, bounds in self.bounds.items()
        } | {"z": ColumnTable(kind="category", categories=["a", "b"])}
        return Schema(
            columns=tuple(
                build_column(name, table, InputTable(), [], None, own_values=name != "z") for name, table in tables.items()
            )
        )

    @property
    def bins(self) -> Transformation:
        schema = self.schema
        return Transformation(
            schema=schema, binnings=tuple(next(iter(column.alternatives.values())) for column in schema.columns)
        )

    def counts(self, rows: Sequence[tuple[int, int, int]] | np.ndarray) -> BinnedCounts:
        """Rows by the places of their values; the last one of y is missing."""
        digits = np.array(rows, dtype=np.int64).reshape(-1, 3)
        return BinnedCounts.of_atoms(Counts.of(self.schema.layout, list(digits.T)), self.bins)

    def noisy(
        self, rows: Sequence[tuple[int, int, int]] | np.ndarray, measured: Measured, entropy: SystemEntropy | None = None
    ) -> NoisyModels:
        charge = charge_of(measured)
        private = PrivateCounts(self.counts(rows), Meter([charge])).rehearsed(entropy or NoNoise())
        return measured.measure(private, charge, self.bins)

    def release(
        self, rows: Sequence[tuple[int, int, int]] | np.ndarray, measured: Measured, entropy: SystemEntropy | None = None
    ) -> PublishedRelease:
        """A release with these models; the released rows are nobody's."""
        part = models_part(measured, self.noisy(rows, measured, entropy), self.bins)
        columns: list[PublishedColumn] = [
            ColumnPart.of(column, binning).published()
            for column, binning in zip(self.schema.columns, self.bins.binnings, strict=True)
        ]
        return replace(published(columns, np.zeros((len(rows), 3)), []), models=part)

    def value(self, place: int) -> int:
        return self.shift + self.step * place


def model_of(question: str, world: ModelWorld) -> NamedModel:
    return read_model(question, world.domains, {})
