"""Criteria, generators and projections in plain words. What has no words here is shown by its parameters alone."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from synthrelease.bundle.card.numbers import figure, rounded_down, rounded_up, words
from synthrelease.published.columns import ColumnPart
from synthrelease.published.document import CriterionPart, IntervalPart, ReleaseDocument

Parameters = Mapping[str, Any]


def criterion_text(criterion: CriterionPart, document: ReleaseDocument) -> str:
    """What the figure of a criterion is."""
    explain = CRITERIA_WORDS.get(criterion.kind)
    return explain(criterion.parameters, document) if explain else f"A criterion of the kind {criterion.kind!r}."


def criterion_unit(criterion: CriterionPart, document: ReleaseDocument) -> str:
    """In what the figure is measured, empty for a plain number."""
    units = {
        "absolute_marginal_error": "share of the rows",
        "relative_marginal_error": "ratio",
        "faithfulness": "share of the rows",
        "face_privacy": "different rows",
    }
    if criterion.kind in units:
        return units[criterion.kind]
    partner = criterion.parameters.get("coefficients")
    found = next((one.parameters for one in document.criteria if one.name == partner), criterion.parameters)
    name = found.get("column") or found.get("target")
    return _unit(name, document) if isinstance(name, str) else ""


def interval_text(interval: IntervalPart | None) -> str:
    """The interval for the exact figure."""
    if interval is None:
        return "not known"
    if interval.how == "exact":
        return "exact"
    if interval.high is None:
        return f"{rounded_down(interval.low)} or more"
    return f"{rounded_down(interval.low)} to {rounded_up(interval.high, 4)}"


def generator_text(family: str) -> str:
    return GENERATOR_WORDS.get(family, "")


def projection_text(parameters: Parameters) -> str:
    words_of = PROJECTION_WORDS.get(str(parameters.get("kind", "")), "")
    return words_of.format(how=_KEEP.get(str(parameters.get("keep", "")), "")) if words_of else ""


def rule_scope(applies_to: Sequence[str]) -> str:
    """Where a rule keeps combinations out."""
    return " and ".join(_SCOPES.get(one, one) for one in applies_to)


def parameter_texts(parameters: Parameters) -> list[tuple[str, str]]:
    """Names and values of parameters as words."""
    return [(words(name), _tables(value) if name == "tables" else _value(value)) for name, value in parameters.items()]


def bin_text(column: ColumnPart, index: int) -> str:
    """What a bin holds, in words: values, edges or categories."""
    one = column.bins[index]
    if one.categories is not None:
        return "" if one.categories == [one.label] else ", ".join(one.categories)
    last = None if one.below is None else one.below - 1 if column.kind == "integer" else one.below
    end = "up to" if column.kind == "integer" else "below"
    if one.lower is None:
        return f"{end} {figure(last)}" if last is not None else "all values"
    if last is None:
        return f"{figure(one.lower)} or more"
    return (
        figure(one.lower)
        if one.lower == last
        else f"{figure(one.lower)} {'to' if end == 'up to' else 'to below'} {figure(last)}"
    )


def _value(value: Any) -> str:
    if isinstance(value, Mapping):
        return ", ".join(f"{words(str(key))}: {_value(inner)}" for key, inner in value.items())
    if isinstance(value, list | tuple):
        return ", ".join(_value(inner) for inner in value)
    if isinstance(value, bool):
        return "yes" if value else "no"
    return figure(value, 10) if isinstance(value, int | float) else words(str(value))


def _tables(value: Any) -> str:
    """A formula of tables such as "age:region + 2 sex" in words."""
    if not isinstance(value, str):
        return _value(value)
    found = []
    for term in value.split("+"):
        first, _, rest = term.strip().partition(" ")
        weighted = bool(rest) and first.replace(".", "", 1).isdigit()
        names = (rest if weighted else term).split(":")
        found.append(" by ".join(words(name.strip()) for name in names) + (f" (weight {first})" if weighted else ""))
    return ", ".join(found)


def _absolute(parameters: Parameters, document: ReleaseDocument) -> str:
    largest = parameters.get("largest")
    tables = f"at most {largest} columns" if largest else "any columns"
    return f"The largest difference between released and original share of the rows, over all cells of all tables of {tables}."


def _relative(parameters: Parameters, document: ReleaseDocument) -> str:
    return (
        "The largest ratio between released and original count (each plus one), in either direction, over all bins of all "
        f"columns. A ratio beyond {_value(parameters.get('clip', ''))} counts as that."
    )


def _mean(parameters: Parameters, document: ReleaseDocument) -> str:
    by = [f"{words(name)}{_groups(name, document)}" for name in parameters.get("by", ())]
    groups = f"over groups by {'; by '.join(by)}" if by else ""
    overall = "over all rows" if parameters.get("overall", True) else ""
    low, high = parameters.get("range", ("", ""))
    return (
        f"The largest difference between released and original mean of {words(str(parameters.get('column', '')))}, "
        f"{' and '.join(part for part in (groups, overall) if part)}. Values count as {_value(low)} to {_value(high)}."
    )


def _coefficients(parameters: Parameters, document: ReleaseDocument) -> str:
    features = ", ".join(map(words, parameters.get("features", ())))
    return (
        f"The distance between the coefficients of the linear regression of {words(str(parameters.get('target', '')))} on "
        f"{features}, fitted on the released and, with noise, on the original records: the sum of the absolute differences, "
        "per standard deviation of each feature."
    )


def _one_step(parameters: Parameters, document: ReleaseDocument) -> str:
    features = ", ".join(map(words, parameters.get("features", ())))
    return (
        "How far one Newton step on the original records moves the coefficients of the linear regression of "
        f"{words(str(parameters.get('target', '')))} on {features} that was fitted on the released rows: the sum of the "
        "absolute differences, per standard deviation of each feature. Where released and original records agree in the spread "
        "and the correlation of the features, this is the distance between the coefficients of the two."
    )


def _prediction(parameters: Parameters, document: ReleaseDocument) -> str:
    low, high = parameters.get("range", ("", ""))
    return (
        "On the original records, the difference between the mean absolute errors of two linear predictions: by the line that "
        "was fitted on the released rows and by the line that was fitted, with noise, on the original ones. Predictions are "
        f"limited to {_value(low)} to {_value(high)}."
    )


def _faithfulness(parameters: Parameters, document: ReleaseDocument) -> str:
    within, at_most = parameters.get("within_one_bin", ()), parameters.get("at_most", 1)
    near = f" and, of {_value(within)}, all but {at_most}, which may be one bin apart" if at_most else f" and {_value(within)}"
    around = parameters.get("exact_around", {})
    exactly = "".join(f" A bin of {words(name)} around {_value(value)} must be the same." for name, value in around.items())
    return (
        "The share of the released rows that cannot be paired, one to one, with similar original records. Two are similar "
        f"when they have the same {_value(parameters.get('exact', ()))}{near}.{exactly}"
    )


def _face(parameters: Parameters, document: ReleaseDocument) -> str:
    minimum = parameters.get("minimum_count")
    return f"How many different rows occur fewer than {minimum} times. It looks at released rows only and needs no noise."


def _groups(name: str, document: ReleaseDocument) -> str:
    return f" ({', '.join(one.label for one in document.groups[name])})" if name in document.groups else ""


def _unit(name: str, document: ReleaseDocument) -> str:
    return next((column.unit for column in document.columns if column.name == name), "")


CRITERIA_WORDS: dict[str, Callable[[Parameters, ReleaseDocument], str]] = {
    "absolute_marginal_error": _absolute,
    "relative_marginal_error": _relative,
    "conditional_mean": _mean,
    "regression_coefficients": _coefficients,
    "regression_one_step": _one_step,
    "regression_prediction": _prediction,
    "faithfulness": _faithfulness,
    "face_privacy": _face,
}
GENERATOR_WORDS = {
    "privbayes": "PrivBayes (Zhang et al., SIGMOD 2014): a Bayesian network is chosen privately, its small tables are measured "
    "with noise, and rows are drawn column by column.",
    "marginals": "Maximum entropy on measured marginals (after McKenna, Sheldon and Miklau, ICML 2019): a fixed set of small "
    "tables is measured with noise, and the rows follow the table of largest entropy, or nearest to a public one, that matches "
    "them.",
    "mwem": "MWEM (Hardt, Ligett and McSherry, NIPS 2012): again and again the count that the model gets most wrong is chosen "
    "privately and measured with noise, and the model is corrected by multiplicative weights.",
    "pep": "Private entropy projection (Liu, Vietri and Wu, NeurIPS 2021): again and again the count that the model gets most "
    "wrong is chosen privately and measured with noise; the model is the table of largest entropy with the measured counts.",
    "mst": "MST (McKenna, Miklau and Sheldon 2021): all single columns and, along a privately chosen tree, pairs of columns "
    "are measured with noise; the rows follow a model of these tables.",
    "dpgan": "DPGAN (Xie, Lin, Wang, Wang and Zhou 2018): two neural networks are trained against each other, one makes rows, "
    "the other tells them from the original records; what the second one learns from the records has noise.",
    "aim": "AIM (McKenna, Mullins, Sheldon and Miklau, PVLDB 2022): in every round the table that the model gets most wrong is "
    "chosen privately and measured with noise; the rows follow a model of these tables.",
}
PROJECTION_WORDS = {
    "minimum_count": "Of the rows that occurred too seldom some were kept, {how}and repeated up to the minimum count; they "
    "take the place of the others.",
}
_KEEP = {"random": "drawn at random, ", "spread": "spread evenly over them, so that rare bins keep their size, "}
_SCOPES = {"raw": "original records", "synthetic": "released rows"}
