"""Which associations the rows of a published release carry, from release.json alone."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from synthrelease.accounting.charges import GENERATION, Charge
from synthrelease.linked import NAME_OR_TEXT, Linked
from synthrelease.published.columns import RulePart

if TYPE_CHECKING:
    from synthrelease.candidates.associations import Associations
    from synthrelease.domain.layout import Columns, Layout
    from synthrelease.domain.published_column import PublishedColumn

NAME = "associations.csv"
HEADER = ("first", "second", "third", "carried", "how", "through", "noise", "mean_cell", "repeats", "apart")


def associations_of(
    layout: Layout,
    configuration: Mapping[str, Any],
    *,
    charges: Charge,
    rows: int,
    schema: Sequence[PublishedColumn],
    rules: Sequence[RulePart],
    functions: Iterable[tuple[str, tuple[str, ...]]],
    linked: Linked | None,
) -> Associations:
    """The associations of released rows, of what a loaded release has under the same names.

    Parameters
    ----------
    rows : how many the generator measured.

    Raises
    ------
    ValueError : for the settings of a generator that are none, as in a document that somebody changed.
    """
    from synthrelease.candidates.associations import Associations, all_functions
    from synthrelease.candidates.generators import GENERATORS

    settings = configuration.get("generator", {})
    kind = GENERATORS.get(str(settings.get("family")))
    if kind is None:
        raise ValueError("no known family of generators")
    generator = kind.model_validate(settings)
    charged = [leaf for leaf in charges.leaves() if leaf.name == GENERATION]
    return Associations(
        layout=layout,
        ties=generator.ties(layout),
        ruled=tuple(dict.fromkeys(_ruled(rules, layout))),
        functions=all_functions(functions, rules, [[column] for column in schema]),
        linked=linked,
        noise=generator.count_noise(layout, charged[0]) if len(charged) == 1 else {},
        rows=rows,
        apart=generator.bins_apart(layout),
    )


def _ruled(rules: Iterable[RulePart], layout: Layout) -> Iterator[Columns]:
    """The columns that each rule for released rows names."""
    for rule in rules:
        if "synthetic" in rule.applies_to:
            words = {match[0].partition(".")[0] for match in NAME_OR_TEXT.finditer(rule.never)}
            yield tuple(place for place, name in enumerate(layout.columns) if name in words)
