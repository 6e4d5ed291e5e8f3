"""Acceptance criteria by the kind used in the acceptance file. To add one: one file, one line here."""

from synthrelease.criteria.base import Criterion, Query, Score, Setting, fitted_before, scores_of
from synthrelease.criteria.conditional_means import ConditionalMean
from synthrelease.criteria.face_privacy import FacePrivacy
from synthrelease.criteria.faithfulness import Faithfulness
from synthrelease.criteria.fitted import Fitted
from synthrelease.criteria.joint import JointTest
from synthrelease.criteria.linear_regression import RegressionCoefficients
from synthrelease.criteria.marginals import AbsoluteMarginalError, RelativeMarginalError
from synthrelease.criteria.regression_one_step import RegressionOneStep
from synthrelease.criteria.regression_prediction import RegressionPrediction

CRITERIA: dict[str, type[Criterion]] = {
    "absolute_marginal_error": AbsoluteMarginalError,
    "relative_marginal_error": RelativeMarginalError,
    "conditional_mean": ConditionalMean,
    "regression_coefficients": RegressionCoefficients,
    "regression_one_step": RegressionOneStep,
    "regression_prediction": RegressionPrediction,
    "faithfulness": Faithfulness,
    "face_privacy": FacePrivacy,
}

__all__ = ["Fitted", "fitted_before", "scores_of", "CRITERIA", "Criterion", "JointTest", "Query", "Score", "Setting"]
