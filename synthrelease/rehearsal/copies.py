"""Utility and risk of the shortlisted configurations: several synthetic copies of the public table, compared without noise."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from synthrelease.criteria.logistic_regression import LogisticRegression
from synthrelease.criteria.regressions import RegressionCoefficients
from synthrelease.data.counts import Counts
from synthrelease.enclave.door import PrivateCounts
from synthrelease.errors import InputError, RejectedRound, closest, listing
from synthrelease.generators.space import Configuration
from synthrelease.privacy.public_entropy import SeededEntropy
from synthrelease.rehearsal.combining import Rule
from synthrelease.rehearsal.public_table import PublicTable
from synthrelease.rehearsal.risk import risk_report
from synthrelease.rehearsal.utility import Odds, utility_report
from synthrelease.releasing.attempt import generate, prepare
from synthrelease.spec.release_spec import ReleaseSpec


@dataclass(frozen=True, kw_only=True)
class CopyComparison:
    """What to compare the copies by.

    Attributes
    ----------
    copies : synthetic tables per configuration, at least 2 for the combining rules.
    target, features : columns of the linear regression.
    odds : the criterion whose logistic regression is the second analysis. No utility figures without either.
    quasi_identifiers : columns that an intruder is taken to know.
    """

    copies: int
    target: str | None
    features: tuple[str, ...]
    quasi_identifiers: tuple[str, ...]
    odds: LogisticRegression | None = None

    @property
    def analyses(self) -> bool:
        """Whether there is a regression to compare."""
        return self.target is not None or self.odds is not None

    @classmethod
    def of(cls, spec: ReleaseSpec, copies: int, quasi_identifiers: Sequence[str] | None) -> CopyComparison:
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
            odds=next((criterion for criterion in spec.criteria if isinstance(criterion, LogisticRegression)), None),
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
    comparison: CopyComparison,
) -> CopyFigures:
    """Make the copies of one configuration and compare them with the public table.

    Parameters
    ----------
    public, counts : the same public rows, as generators take them and as the figures do.
    """
    try:
        copies = [made_copy(spec, public, priors, seed, index, number) for number in range(comparison.copies)]
    except RejectedRound:
        return CopyFigures(configuration=index, utility={}, risk={})
    utility, risk = compared(counts, spec.space[index], copies, comparison)
    return CopyFigures(configuration=index, utility=utility, risk=risk)


def made_copy(
    spec: ReleaseSpec, public: PrivateCounts, priors: Mapping[str, Counts], seed: int, index: int, number: int
) -> Counts:
    """One copy of a configuration at the planned budget. Raises RejectedRound where the attempt gives no candidate."""
    table = public.with_plan(spec.plan.once).rehearsed(SeededEntropy(seed, 2, index, number))
    return generate(spec, spec.space[index], table, prepare(spec, table, priors))[1].counts


def compared(
    counts: Counts, configuration: Configuration, copies: Sequence[Counts], comparison: CopyComparison, rule: Rule = "partial"
) -> tuple[dict[str, float], dict[str, float]]:
    """Utility and risk figures of copies over the bins of a configuration; those of a regression that fails are left out.

    Parameters
    ----------
    counts : the public rows over atomic cells.
    rule : the combining rule of this kind of copies.
    """
    transformation = configuration.transformation
    original = PublicTable(
        counts=counts.merge(transformation.layout, transformation.maps),
        transformation=transformation,
        public_because="the file was given to `synthrelease rehearse`, which is for public data",
    )
    risk = risk_report(original, copies, quasi_identifiers=comparison.quasi_identifiers).figures()
    if not comparison.analyses:
        return {}, dict(risk)
    odds = None if comparison.odds is None else _odds(comparison.odds, configuration)
    utility: dict[str, float] = {}
    for target, second in ((comparison.target, odds), (comparison.target, None), (None, odds)):
        try:  # both regressions, or the one that this table determines
            found = utility_report(original, copies, target=target, features=comparison.features, odds=second, rule=rule)
        except ValueError:
            continue
        utility = dict(found.figures())
        break
    return utility, dict(risk)


def _odds(criterion: LogisticRegression, configuration: Configuration) -> Odds:
    """The regression of a criterion on the bins of a configuration, each of which lies in one of the criterion's."""
    column = configuration.transformation.schema[criterion.target]
    wanted = column.alternatives[criterion.representation[criterion.target]]
    binning = configuration.transformation.binning(criterion.target)
    into = binning.map_to(wanted)
    positive = [label for label, place in zip(binning.labels, into, strict=True) if wanted.labels[place] in criterion.positive]
    return Odds(target=criterion.target, positive=tuple(positive), features=criterion.features)
