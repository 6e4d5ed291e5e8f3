"""Which associations the rows of a published release carry, from release.json alone."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Protocol

from synthrelease.data.linked import NAME_OR_TEXT, Linked
from synthrelease.privacy.charges import GENERATION, Charge
from synthrelease.published.columns import RulePart

if TYPE_CHECKING:
    from synthrelease.data.layout import Columns, Layout
    from synthrelease.data.schema import PublishedColumn
    from synthrelease.generators.associations import Associations

NAME = "associations.csv"
HEADER = ("first", "second", "third", "carried", "how", "through", "noise", "mean_cell", "repeats", "apart")


class Described(Protocol):
    """What tells which associations rows carry: a loaded release, which imports this module."""

    @property
    def layout(self) -> Layout: ...
    @property
    def configuration(self) -> Mapping[str, Any]: ...
    @property
    def charges(self) -> Charge: ...
    @property
    def measured_rows(self) -> int: ...
    @property
    def schema(self) -> Sequence[PublishedColumn]: ...
    @property
    def rules(self) -> Sequence[RulePart]: ...
    @property
    def functions(self) -> Iterable[tuple[str, tuple[str, ...]]]: ...
    @property
    def linked(self) -> Linked | None: ...


def associations_of(release: Described) -> Associations:
    """Return the associations that the rows of a loaded release carry.

    Raises
    ------
    ValueError : for the settings of a generator that are none, as in a document that somebody changed.
    """
    from synthrelease.generators import GENERATORS
    from synthrelease.generators.associations import Associations, all_functions

    layout, rules = release.layout, release.rules
    settings = release.configuration.get("generator", {})
    kind = GENERATORS.get(str(settings.get("family")))
    if kind is None:
        raise ValueError("no known family of generators")
    generator = kind.model_validate(settings)
    charged = [leaf for leaf in release.charges.leaves() if leaf.name == GENERATION]
    return Associations(
        layout=layout,
        ties=generator.ties(layout),
        ruled=tuple(dict.fromkeys(_ruled(rules, layout))),
        functions=all_functions(release.functions, rules, [[column] for column in release.schema]),
        linked=release.linked,
        noise=generator.count_noise(layout, charged[0]) if len(charged) == 1 else {},
        rows=release.measured_rows,
        apart=generator.bins_apart(layout),
    )


def _ruled(rules: Iterable[RulePart], layout: Layout) -> Iterator[Columns]:
    """The columns that each rule for released rows names."""
    for rule in rules:
        if "synthetic" in rule.applies_to:
            words = {match[0].partition(".")[0] for match in NAME_OR_TEXT.finditer(rule.never)}
            yield tuple(place for place, name in enumerate(layout.columns) if name in words)
