"""Define the configuration of a candidate, and the public space from which configurations are drawn."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import product

from synthrelease.data.schema import Binning, Column, Schema, Transformation
from synthrelease.generators.base import Generator
from synthrelease.generators.projections import Projection


@dataclass(frozen=True, kw_only=True)
class Configuration:
    """The configuration of a candidate: a binning for every column, a generator with its hyperparameters, and a projection."""

    transformation: Transformation
    generator: Generator
    projection: Projection

    @property
    def model_key(self) -> str:
        """Return a key that is equal for configurations that differ only in the projection, and so share models."""
        described = self.describe()
        return json.dumps([described["transformation"], described["generator"]], sort_keys=True)

    def describe(self) -> dict[str, object]:
        """Return the configuration as plain values."""
        return {
            "transformation": self.transformation.choice,
            "generator": self.generator.model_dump(mode="json", exclude_none=True),
            "projection": self.projection.model_dump(mode="json"),
        }


def join(column: Column, binnings: Sequence[Binning]) -> Binning:
    """Return the coarsest binning that refines each of these binnings: one of them if it refines all others."""
    for binning in binnings:
        if all(binning.refines(other) for other in binnings):
            return binning
    bins: dict[tuple[int, ...], int] = {}
    of_atom = tuple(bins.setdefault(key, len(bins)) for key in zip(*(b.of_atom for b in binnings), strict=True))
    inside: list[list[str]] = [[] for _ in bins]
    for label, index in zip(column.atoms.labels, of_atom, strict=True):
        inside[index].append(label)
    labels = tuple(" or ".join(held) for held in inside)
    missing = None if column.atoms.missing is None else of_atom[-1]  # the last atomic bin has a separate bin
    return Binning(name="common", labels=labels, numbers=(None,) * len(bins), of_atom=of_atom, missing=missing)


@dataclass(frozen=True, kw_only=True)
class ConfigurationSpace:
    """All configurations that a release may try: the product of the binnings of each column, generators and projections.

    Draws are uniform, independent and with replacement, from a distribution that is fixed beforehand. With other schemes,
    such as taking turns or avoiding rejected configurations, the selection theorem would not hold (theory 2.3, what rounds
    may use). A `shortlist` of indices into the product, made with public data, restricts the space.
    """

    schema: Schema
    binnings: Mapping[str, tuple[str, ...]]
    generators: tuple[Generator, ...]
    projections: tuple[Projection, ...]
    shortlist: tuple[int, ...] | None = None

    @cached_property
    def transformations(self) -> tuple[Transformation, ...]:
        choices = [[column.alternatives[name] for name in self.binnings[column.name]] for column in self.schema.columns]
        return tuple(Transformation(schema=self.schema, binnings=choice) for choice in product(*choices))

    @cached_property
    def common(self) -> Transformation:
        """Return the coarsest bins of which every bin of every configuration is a union, for shared measurements."""
        choices = [(column, self.binnings[column.name]) for column in self.schema.columns]
        joined = [join(column, [column.alternatives[name] for name in names]) for column, names in choices]
        return Transformation(schema=self.schema, binnings=tuple(joined))

    def __len__(self) -> int:
        if self.shortlist is not None:
            return len(self.shortlist)
        return len(self.transformations) * len(self.generators) * len(self.projections)

    def __getitem__(self, index: int) -> Configuration:
        if not 0 <= index < len(self):
            raise IndexError(index)
        if self.shortlist is not None:
            index = self.shortlist[index]
        rest, projection = divmod(index, len(self.projections))
        transformation, generator = divmod(rest, len(self.generators))
        return Configuration(
            transformation=self.transformations[transformation],
            generator=self.generators[generator],
            projection=self.projections[projection],
        )

    def __iter__(self) -> Iterator[Configuration]:
        return (self[index] for index in range(len(self)))

    def draw(self) -> Configuration:
        from synthrelease.privacy.noise import SYSTEM  # imported here, because planning does not need it

        return self[SYSTEM.pick(len(self))]
