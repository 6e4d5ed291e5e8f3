"""Utility and risk of the shortlisted configurations: several synthetic copies of the public table, compared without noise."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from synthrelease.criteria.linear_regression import RegressionCoefficients
from synthrelease.domain.counts import Counts
from synthrelease.enclave.door import PrivateCounts
from synthrelease.errors import InputError, RejectedRound, closest, listing
from synthrelease.randomness import SeededEntropy
from synthrelease.rehearsal.public_table import PublicTable
from synthrelease.rehearsal.risk import risk_report
from synthrelease.rehearsal.utility import utility_report
from synthrelease.releasing.attempt import generate, prepare
from synthrelease.specification.release_spec import ReleaseSpec


@dataclass(frozen=True, kw_only=True)
class Comparison:
    """What to compare the copies by.

    Attributes
    ----------
    copies : synthetic tables per configuration, at least 2 for the combining rules.
    target, features : columns of the regression; no utility figures without a target.
    quasi_identifiers : columns that an intruder is taken to know.
    """

    copies: int
    target: str | None
    features: tuple[str, ...]
    quasi_identifiers: tuple[str, ...]

    @classmethod
    def of(cls, spec: ReleaseSpec, copies: int, quasi_identifiers: Sequence[str] | None) -> Comparison:
        """The regression of the acceptance criteria; by default an intruder knows every column but its target.

        Raises
        ------
        InputError : for a quasi-identifier that is no column.
        """
        fitted = next((criterion for criterion in spec.criteria if isinstance(criterion, RegressionCoefficients)), None)
        names = spec.schema.names
        for name in quasi_identifiers or ():
            if name not in names:
                guess = closest(name, names)
                raise InputError(
                    f"--quasi-identifiers: expected columns ({listing(names)}), found {name!r}."
                    + (f" Did you mean {guess!r}?" if guess else "")
                )
        target = fitted.target if fitted else None
        return cls(
            copies=copies,
            target=target,
            features=fitted.features if fitted else (),
            quasi_identifiers=tuple(quasi_identifiers or (name for name in names if name != target)),
        )


@dataclass(frozen=True, kw_only=True)
class CopyFigures:
    """Named utility and risk figures of one configuration; empty where a copy could not be made or compared."""

    configuration: int
    utility: dict[str, float]
    risk: dict[str, float]


def copy_figures(
    spec: ReleaseSpec,
    public: PrivateCounts,
    counts: Counts,
    priors: Mapping[str, Counts],
    seed: int,
    index: int,
    comparison: Comparison,
) -> CopyFigures:
    """Make the copies of one configuration and compare them with the public table.

    Parameters
    ----------
    public, counts : the same public rows, as generators take them and as the figures do.
    """
    configuration = spec.space[index]
    transformation = configuration.transformation
    copies = []
    try:
        for number in range(comparison.copies):
            table = public.with_plan(spec.plan.once).rehearsed(SeededEntropy(seed, 2, index, number))
            prepared = prepare(spec, table, priors)
            copies.append(generate(spec, configuration, table, prepared)[1].counts)
    except RejectedRound:
        return CopyFigures(configuration=index, utility={}, risk={})
    original = PublicTable(
        counts=counts.merge(transformation.layout, transformation.maps),
        transformation=transformation,
        public_because="the file was given to `synthrelease rehearse`, which is for public data",
    )
    risk = risk_report(original, copies, quasi_identifiers=comparison.quasi_identifiers).figures()
    utility: dict[str, float] = {}
    if comparison.target is not None:
        try:
            utility = utility_report(original, copies, target=comparison.target, features=comparison.features).figures()
        except ValueError:  # a regression that this table does not determine
            utility = {}
    return CopyFigures(configuration=index, utility=dict(utility), risk=dict(risk))
