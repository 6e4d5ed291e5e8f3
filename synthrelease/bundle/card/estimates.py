"""What can be estimated from the published noisy tables, in plain words."""

from __future__ import annotations

from synthrelease.bundle.card.numbers import share
from synthrelease.bundle.identity import program
from synthrelease.data.layout import Layout
from synthrelease.published.document import ReleaseDocument


def sentences(document: ReleaseDocument) -> list[str]:
    """How to estimate, and from which columns; empty where no noisy tables are published."""
    part = document.estimates
    if part is None:
        return []
    together = "; ".join(" × ".join(table) for table in part.together)
    return [
        "The noisy tables that the rows were made from are published (measurements.json). Shares, numbers of rows, means, "
        f"medians and slopes of linear regressions can be estimated from them with {share(float(part.level), 0)} intervals"
        f"{_about(document)}: “synthrelease estimate” does so, from this folder alone "
        f"({program(document)}). {_without(document)}Each interval holds by itself: of many, "
        f"{share(1 - float(part.level), 0)} may miss their numbers. Means and slopes are of the numbers that stand for bins; "
        "beside a mean stands the wider interval for the file's own values. Standard errors computed from the synthetic rows "
        f"leave out the noise and are too small. {_weights(document)}".strip(),
        f"Measured together, so that questions about columns of one of these have an estimate: {together}.",
    ]


def measured_alone(document: ReleaseDocument) -> list[str]:
    """Columns that no table or sum of the model has together with another one: in the rows only rules tie them to others.

    Nobody can tell of a generator that chooses its tables itself and does not publish them, and none is named of a release with
    several models, or with a public table behind its model, which tie columns without a noisy table of both. A column of
    members counts in all slots.
    """
    together = _together(document)
    if not together or document.divided_rows is not None or document.configuration["generator"].get("prior"):
        return []
    tied = {name for table in together if len(set(table)) > 1 for name in table}
    names, linked = [column.name for column in document.columns], document.linked
    if linked is None:
        return [name for name in names if name not in tied]
    slots = dict(zip(linked.names, zip(*linked.slots, strict=True), strict=True))
    return [name for name in linked.of_roots(names) if name not in tied] + [
        name for name, of_slots in slots.items() if tied.isdisjoint(of_slots)
    ]


def _together(document: ReleaseDocument) -> list[list[str]]:
    """The columns of each table and sum of the model, where its tables are stated or published; empty where nobody can tell."""
    from synthrelease.generators import GENERATORS

    settings = document.configuration["generator"]
    kind = GENERATORS.get(str(settings.get("family")))
    if document.linked is None and kind is not None:
        names = tuple(column.name for column in document.columns)
        layout = Layout(columns=names, sizes=tuple(len(column.bins) for column in document.columns))
        try:
            stated = kind.model_validate(settings).stated(layout)
        except ValueError:  # of a document that somebody changed: `verify` says so
            return []
        if stated:
            return [[names[place] for place in table] for table in stated]
    return [] if document.estimates is None else document.estimates.together


def _without(document: ReleaseDocument) -> str:
    """What there is for readers without the program."""
    if "estimates.csv" not in document.files:
        return ""
    return (
        "Without it: estimates.csv has them for the bins of columns, the cells of pairs and the questions below, and "
        "QUESTIONS.md has code for R, Python and, where names allow it, Stata. "
    )


def _about(document: ReleaseDocument) -> str:
    """What the intervals hold."""
    if reasons := document.not_a_sample:
        return (
            f" for the rows of the file that the rules keep, and none for a population (the release declares "
            f"{' and '.join(reasons)}, so they are no simple random sample)"
        )
    return (
        ", one for the rows of the file that the rules keep and one for a population of which they are a simple random sample"
    )


def _weights(document: ReleaseDocument) -> str:
    if not document.weighted:
        return ""
    return "Estimates count every row of the file once: the column of weights is not in them."


def example(document: ReleaseDocument) -> str:
    """A question that has an estimate; empty where none has."""
    part = document.estimates
    if part is None:
        return ""
    asked = next((one.question for one in part.intended if one is not None), None)
    if asked is not None:
        return asked
    columns = {column.name: column for column in document.columns}
    table = [columns[name] for name in max(part.together, key=len)]
    numbered = [one.name for one in table if all(bin_.number is not None or bin_.missing for bin_ in one.bins)]
    if not numbered:
        return f"share {table[0].name} == '{table[0].bins[0].label}'"
    by = next((one.name for one in table if one.name != numbered[-1]), None)
    return f"mean {numbered[-1]}" + (f" by {by}" if by else "")
