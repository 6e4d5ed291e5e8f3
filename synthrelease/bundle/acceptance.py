"""What the released figures are figures of: the settings of the criteria, on the released bins.

Without them a reader knows that "mean birth weight" is off by at most so much, but not in which groups. Error bounds for
other queries (`synthrelease.bounds`) rest on them. Everything here is public: it comes from the acceptance file.
"""

from __future__ import annotations

from typing import Any

from synthrelease.criteria import Criterion
from synthrelease.criteria.conditional_means import ConditionalMean
from synthrelease.criteria.faithfulness import Faithfulness
from synthrelease.releasing import Release
from synthrelease.schema import Transformation


def acceptance_table(release: Release) -> dict[str, Any]:
    """The table `acceptance` of release.json.

    `criteria` are the acceptance file's tables without thresholds and budgets (those stand with the figures), in the same
    order; `groups` says for each grouped column which released bins make up each group; `categories` which categories a
    released bin of a category column holds.
    """
    transformation = release.candidate.transformation
    return {
        "criteria": [_settings(criterion, transformation) for criterion in release.spec.criteria],
        "groups": _groups(release),
        "categories": {
            column.name: [
                [label for label, into in zip(column.atoms.labels, binning.of_atom, strict=True) if into == index]
                for index in range(len(binning))
            ]
            for column, binning in zip(transformation.schema.columns, transformation.binnings, strict=True)
            if column.kind == "category"
        },
        "stop_probability": float(release.spec.stop_probability),
    }


def _settings(criterion: Criterion, transformation: Transformation) -> dict[str, Any]:
    settings = criterion.model_dump(mode="json", exclude={"threshold", "epsilon"}, exclude_none=True)
    if isinstance(criterion, Faithfulness):
        steps = criterion.steps(transformation) if criterion.at_most else ()
        settings["similar_to_next"] = {transformation.schema.names[step.column]: step.allowed.tolist() for step in steps}
    return settings


def _groups(release: Release) -> dict[str, list[dict[str, Any]]]:
    transformation, found = release.candidate.transformation, {}
    used = {name for criterion in release.spec.criteria if isinstance(criterion, ConditionalMean) for name in criterion.by}
    for name, grouping in release.spec.setting.groups.items():
        if name in used:
            binning = transformation.binning(name)
            into = binning.map_to(grouping)
            found[name] = [
                {"label": label, "bins": [binning.labels[bin_index] for bin_index in (into == index).nonzero()[0]]}
                for index, label in enumerate(grouping.labels)
            ]
    return found
