"""Acceptance criteria by the kind used in the acceptance file. To add one: one file, one line here."""

from collections.abc import Mapping
from fractions import Fraction
from typing import Any

from synthrelease.criteria.base import Criterion, Query, Score, Setting, fitted_before, scores_of
from synthrelease.criteria.conditional_means import ConditionalMean
from synthrelease.criteria.conditional_medians import ConditionalMedian
from synthrelease.criteria.face_privacy import FacePrivacy
from synthrelease.criteria.facts import Group, PublicColumn, PublicFacts
from synthrelease.criteria.faithfulness import Faithfulness
from synthrelease.criteria.fitted import Fitted, MeasuredAnswers
from synthrelease.criteria.joint import JointTest
from synthrelease.criteria.linear_regression import RegressionCoefficients
from synthrelease.criteria.logistic_regression import LogisticRegression
from synthrelease.criteria.marginals import AbsoluteMarginalError, RelativeMarginalError
from synthrelease.criteria.offenders import Offender, PublicCounts
from synthrelease.criteria.proportions import DifferenceInProportions
from synthrelease.criteria.regression_one_step import RegressionOneStep
from synthrelease.criteria.regression_prediction import RegressionPrediction
from synthrelease.criteria.typical_marginals import MeanMarginalError, QuantileMarginalError
from synthrelease.criteria.weighted_marginals import WeightedMarginalError

CRITERIA: dict[str, type[Criterion]] = {
    "absolute_marginal_error": AbsoluteMarginalError,
    "relative_marginal_error": RelativeMarginalError,
    "mean_marginal_error": MeanMarginalError,
    "quantile_marginal_error": QuantileMarginalError,
    "weighted_marginal_error": WeightedMarginalError,
    "conditional_mean": ConditionalMean,
    "conditional_median": ConditionalMedian,
    "difference_in_proportions": DifferenceInProportions,
    "regression_coefficients": RegressionCoefficients,
    "regression_one_step": RegressionOneStep,
    "regression_prediction": RegressionPrediction,
    "logistic_regression": LogisticRegression,
    "faithfulness": Faithfulness,
    "face_privacy": FacePrivacy,
}


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
    "PublicColumn",
    "PublicFacts",
    "PublicCounts",
    "Query",
    "Score",
    "Setting",
    "fitted_before",
    "published_criterion",
    "scores_of",
]
