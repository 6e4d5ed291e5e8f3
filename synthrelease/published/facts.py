"""From a loaded release to the public facts that criteria speak from."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from synthrelease.criteria import published_criterion
from synthrelease.criteria.base import Criterion
from synthrelease.criteria.facts import Group, PublicFacts
from synthrelease.errors import InputError
from synthrelease.published.release import PublishedRelease


def public_facts(release: PublishedRelease) -> PublicFacts:
    """What a loaded release says. Its rules for private rows are not among it."""
    return PublicFacts(
        n=release.n_rows,
        columns=release.schema,
        groups=dict(_groups(release)),
        criteria={},
        counts=release.counts,
        linked=release.linked,
    )


def criterion_of(release: PublishedRelease, index: int) -> Criterion | None:
    """The criterion behind a figure; None for a kind that is not known here.

    Raises
    ------
    InputError : when its parameters are not those of its kind.
    """
    score, known = release.criteria[index], {"name", "kind"}
    parameters = {key: value for key, value in release.evaluation.settings[index].items() if key not in known}
    try:
        return published_criterion(
            score.kind, name=score.name, threshold=score.threshold, epsilon=score.epsilon, parameters=parameters
        )
    except ValueError:
        pass
    raise InputError(f"{release.folder}: criterion {score.name!r}: expected the parameters of a {score.kind}, found others.")


def _groups(release: PublishedRelease) -> Iterator[tuple[str, tuple[Group, ...]]]:
    for column in release.schema:
        if (groups := release.evaluation.groups.get(column.name)) is not None:
            yield (
                column.name,
                tuple(
                    Group(label=label, inside=tuple(one in group for one in column.labels))
                    for label, group in zip(_labels(release, column.name, groups), groups, strict=True)
                ),
            )


def _labels(release: PublishedRelease, name: str, groups: Sequence[Sequence[str]]) -> Sequence[str]:
    """What the groups of a column are called; by their bins where that is not stated."""
    return release.evaluation.group_labels.get(name) or [", ".join(group) for group in groups]
