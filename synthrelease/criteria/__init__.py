"""Look up the class of a criterion, and of its explanation, by the `kind` in the acceptance file. To add a kind, write one
file and add one line to `CRITERIA`.
"""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction
from importlib import import_module
from typing import TYPE_CHECKING, Any

from synthrelease.resources import Kinds

if TYPE_CHECKING:
    from synthrelease.criteria.base import Criterion
    from synthrelease.criteria.explanation import Explanation

CRITERIA: Kinds[Criterion] = Kinds(
    __name__,
    {
        "absolute_marginal_error": "marginals:AbsoluteMarginalError",
        "relative_marginal_error": "marginals:RelativeMarginalError",
        "mean_marginal_error": "marginals:MeanMarginalError",
        "quantile_marginal_error": "marginals:QuantileMarginalError",
        "weighted_marginal_error": "marginals:WeightedMarginalError",
        "conditional_mean": "groups:ConditionalMean",
        "conditional_median": "groups:ConditionalMedian",
        "difference_in_proportions": "shares:DifferenceInProportions",
        "kolmogorov_distance": "shares:KolmogorovDistance",
        "mean_of_roots": "mean_of_roots:MeanOfRoots",
        "regression_coefficients": "regressions:RegressionCoefficients",
        "regression_one_step": "regressions:RegressionOneStep",
        "regression_prediction": "regressions:RegressionPrediction",
        "logistic_regression": "logistic_regression:LogisticRegression",
        "faithfulness": "faithfulness:Faithfulness",
        "face_privacy": "face_privacy:RareRows",
    },
)


def explanation_of(kind: str) -> type[Explanation[Any]]:
    """Return the class that explains a kind of criterion, such as `MeanMarginalErrorExplained` in the module of
    `MeanMarginalError`. `ExplainedByItself` explains criteria from other packages, whose kinds contain a colon.
    """
    model = CRITERIA[kind]
    if ":" in kind:
        from synthrelease.criteria.outside import ExplainedByItself

        return ExplainedByItself
    explanation: type[Explanation[Any]] = getattr(import_module(model.__module__), f"{model.__name__}Explained")
    return explanation


def explain(criterion: Criterion) -> Explanation[Any]:
    """Return the explanation of a criterion, about rows of members if the setting `of` is given."""
    explanation = explanation_of(criterion.kind)(criterion)
    if getattr(criterion, "of", None) is None:
        return explanation
    from synthrelease.criteria.members import ExplainedOfMembers, OfMembers

    return ExplainedOfMembers(criterion, explanation) if isinstance(criterion, OfMembers) else explanation


def published_criterion(
    kind: str, *, name: str, threshold: float, epsilon: str | Fraction, parameters: Mapping[str, Any]
) -> Criterion | None:
    """Rebuild a criterion of a release from its published settings, or return None for an unknown kind.

    Raises
    ------
    ValidationError (a ValueError) : if this kind of criterion does not have these settings.
    """
    model = CRITERIA.get(kind)
    published = {"kind": kind, "name": name, "threshold": threshold, "epsilon": epsilon}
    return None if model is None else model.model_validate({**parameters, **published})
