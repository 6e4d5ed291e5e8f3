"""Acceptance criteria by the kind used in the acceptance file. To add one: one file, one line here."""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction
from typing import TYPE_CHECKING, Any

from synthrelease.loading import Kinds, at_first_use

if TYPE_CHECKING:
    from synthrelease.criteria.base import Criterion, Setting
    from synthrelease.criteria.facts import Group, PublicFacts
    from synthrelease.criteria.fitted import Fitted, MeasuredAnswers
    from synthrelease.criteria.joint import JointTest
    from synthrelease.criteria.offenders import Offender, PublicCounts
    from synthrelease.criteria.scores import Query, Score
    from synthrelease.criteria.scoring import figures_of, fitted_before, scores_of
else:
    __getattr__ = at_first_use(
        __name__,
        {
            "base": ("Criterion", "Setting"),
            "facts": ("Group", "PublicFacts"),
            "fitted": ("Fitted", "MeasuredAnswers"),
            "joint": ("JointTest",),
            "offenders": ("Offender", "PublicCounts"),
            "scores": ("Query", "Score"),
            "scoring": ("figures_of", "fitted_before", "scores_of"),
        },
    )

CRITERIA: Mapping[str, type[Criterion]] = Kinds(
    __name__,
    {
        "absolute_marginal_error": "marginals:AbsoluteMarginalError",
        "relative_marginal_error": "marginals:RelativeMarginalError",
        "mean_marginal_error": "typical_marginals:MeanMarginalError",
        "quantile_marginal_error": "typical_marginals:QuantileMarginalError",
        "weighted_marginal_error": "weighted_marginals:WeightedMarginalError",
        "conditional_mean": "conditional_means:ConditionalMean",
        "conditional_median": "conditional_medians:ConditionalMedian",
        "difference_in_proportions": "proportions:DifferenceInProportions",
        "kolmogorov_distance": "kolmogorov_distance:KolmogorovDistance",
        "mean_of_roots": "mean_of_roots:MeanOfRoots",
        "regression_coefficients": "linear_regression:RegressionCoefficients",
        "regression_one_step": "regression_one_step:RegressionOneStep",
        "regression_prediction": "regression_prediction:RegressionPrediction",
        "logistic_regression": "logistic_regression:LogisticRegression",
        "faithfulness": "faithfulness:Faithfulness",
        "face_privacy": "face_privacy:FacePrivacy",
    },
)


def published_criterion(
    kind: str, *, name: str, threshold: float, epsilon: str | Fraction, parameters: Mapping[str, Any]
) -> Criterion | None:
    """The criterion that a release was accepted by, from what is published of it; None for a kind that is not known here.

    Raises
    ------
    ValidationError (a ValueError) : when the parameters are not those of this kind.
    """
    model = CRITERIA.get(kind)
    stated = {"kind": kind, "name": name, "threshold": threshold, "epsilon": epsilon}
    return None if model is None else model.model_validate({**parameters, **stated})


__all__ = [
    "CRITERIA",
    "Criterion",
    "Fitted",
    "Group",
    "JointTest",
    "MeasuredAnswers",
    "Offender",
    "PublicFacts",
    "PublicCounts",
    "Query",
    "Score",
    "Setting",
    "figures_of",
    "fitted_before",
    "published_criterion",
    "scores_of",
]
