"""Print the result of a release in the terminal, with facts from release.json, which is public."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING

from synthrelease.cli.terminal import charge_tree, screen
from synthrelease.data.texts import program, quoted_path
from synthrelease.errors import so_many
from synthrelease.privacy.charges import decimal_text

if TYPE_CHECKING:
    from rich.table import Table
    from rich.text import Text
    from rich.tree import Tree

    from synthrelease.privacy.plan import RowsLeftOut
    from synthrelease.published.document import ReleaseDocument

INDENT = 2


@dataclass(frozen=True)
class Copied:
    """A path or command that is printed on a single line, so that a reader can copy it."""

    text: str


def print_outcome(document: ReleaseDocument, folder: Path, *, charges: bool = False, question: str | None = None) -> None:
    """Print which files were written, what the release cost, how good it is, and what to do next.

    Parameters
    ----------
    charges : whether to print the tree of all charges to the budget.
    question : an example question for `estimate`, or for `bound` if the release publishes no noisy tables.
    """
    for heading, body in (
        ("What was made", _made(document)),
        ("Where it is", _places(document, folder)),
        ("What it cost", _cost(document, charges)),
        ("How good it is", _quality(document)),
        ("What to do next", _next(document, folder, question)),
    ):
        screen.print(f"\n{heading}", style="bold")
        for part in body:
            _print_indented(part)


def _print_indented(part: str | Copied | Text | Table | Tree) -> None:
    from rich.padding import Padding

    if isinstance(part, Copied):
        screen.print(" " * INDENT + part.text, soft_wrap=True)
    else:
        screen.print(Padding(part, (0, 0, 0, INDENT), expand=False))


def _made(document: ReleaseDocument) -> Iterator[str]:
    width, *members = (len(file.columns) for file in document.table_files)
    linked = "".join(f" A second table has the members, with {so_many(columns, 'column')} more." for columns in members)
    yield f"{document.title}: {document.n_rows:,} synthetic rows, {so_many(width, 'column')}.{linked} No row is a person."


def _places(document: ReleaseDocument, folder: Path) -> Iterator[Copied]:
    from synthrelease.published.names import ask_name, has_ask_page

    for file in document.table_files:
        yield Copied(f"{folder / file.stem}.csv")
    yield Copied(f"{folder / 'README.html'}  (the data card)")
    if has_ask_page(document):
        yield Copied(f"{folder / ask_name(document, document.card.language)}  (a page that answers questions)")


def _cost(document: ReleaseDocument, charges: bool) -> Iterator[str | Tree]:
    yield from cost_sentences(document)
    if charges:
        yield charge_tree("Charges", document.charges.charge())


def shown_epsilon(epsilon: Fraction) -> str:
    """Format an epsilon, rounded up to three significant digits, with at least two decimals.

    Examples
    --------
    >>> [shown_epsilon(Fraction(text)) for text in ("0.7", "0.9935478", "17.3805912", "0.00154")]
    ['0.70', '0.994', '17.39', '0.00154']
    """
    decimals = max(2, 2 - math.floor(math.log10(epsilon))) if epsilon else 2
    text = decimal_text(Fraction(math.ceil(epsilon * 10**decimals), 10**decimals))
    whole, _, part = text.partition(".")
    return f"{whole}.{part:0<2}"


def budget_text(epsilon: Fraction, delta: Fraction) -> str:
    """Return a phrase for the spent privacy budget, as the subject of a sentence.

    Examples
    --------
    >>> budget_text(Fraction(7, 10), Fraction(0)), budget_text(Fraction(2), Fraction(1, 10**9))
    ('The budget of 0.70', 'The budget of epsilon 2.00, delta 1e-09')
    """
    shown = shown_epsilon(epsilon)
    return f"The budget of epsilon {shown}, delta {float(delta):.3g}" if delta else f"The budget of {shown}"


def cost_sentences(document: ReleaseDocument) -> Iterator[str]:
    from synthrelease.bundle.card.numbers import without_exponent, worst_factor
    from synthrelease.bundle.card.sections import right_guess

    guarantee, person = document.guarantee, document.guarantee.person
    epsilon, delta = Fraction(guarantee.epsilon_exact), Fraction(guarantee.delta_exact)
    several = person.records > 1
    changed = f"any one {person.unit}" if document.domain.persons is None else "all rows of any one person"
    yield f"epsilon = {shown_epsilon(epsilon)}{f', delta = {float(delta):.3g}' if delta else ''}"
    if several and (person.epsilon_exact is None or person.delta_exact is None):
        yield f"A person with {person.records} rows is not protected: delta would be 1 or more."
        return
    if several:
        epsilon, delta = Fraction(str(person.epsilon_exact)), Fraction(str(person.delta_exact))
        changed = f"all {person.records} rows of any one person"
        yield (
            f"This guarantee is for one {person.unit}. A person has at most {person.records} of them. For a "
            f"person, epsilon = {shown_epsilon(epsilon)}{f', delta = {float(delta):.3g}' if delta else ''}."
        )
    yield (
        f"If {changed} in the file had been different, the probability of any result would have been at most "
        f"{worst_factor(epsilon)} times as large{f', plus {without_exponent(float(delta))}' if delta else ''}."
    )
    yield (
        "If somebody guesses which of two such files was used, the guess is right in at most "
        f"{right_guess(document, whole_person=several)} of cases. A coin would be right in 50%."
    )


def _quality(document: ReleaseDocument) -> Iterator[str | Text | Table]:
    from rich.text import Text

    from synthrelease.bundle.card import uses_in_words
    from synthrelease.bundle.card.numbers import probability, rounded_up
    from synthrelease.bundle.card.sections import carried_pairs, rows_left_out
    from synthrelease.bundle.limits import LEVEL, band_columns, error_band

    test = document.selection.joint_test
    criteria = so_many(len(document.criteria), "acceptance criterion", "acceptance criteria")
    if test is not None:
        yield (
            f"One noisy test of {criteria} accepted the table. A table that misses a threshold passes this test with a "
            f"probability of at most {probability(test.false_acceptance)}."
        )
    else:
        yield f"The table met {criteria}. Each value below, which includes noise, was compared with its threshold."
    if any(criterion.answered for criterion in document.criteria) and (bounds := document.selection.bounds) is not None:
        yield (
            "For some criteria, the value is an upper bound from the published noisy tables. At least one of these bounds is "
            f"wrong with a probability of at most {probability(bounds.risk_exact)}."
        )
    yield _criteria(document)
    if (band := error_band(document)) is not None:
        columns = band_columns(document)
        values = "any combination of values" + (f" of at most {columns} columns" if columns else "")
        yield (
            f"The share of rows with {'any one value of a column' if columns == 1 else values} differs from the share in the "
            f"file by at most {rounded_up(100 * band)} percentage points (confidence {float(LEVEL):.0%})."
        )
    yield from uses_in_words(carried_pairs(document))
    if (excluded := rows_left_out(document)) is not None:
        words = excluded_words(excluded, of_persons=document.domain.persons is not None)
        yield Text(words, style="yellow" if excluded.many else "")


def _criteria(document: ReleaseDocument) -> Table:
    from rich.table import Table

    figures = document.selection.joint_test is None
    table = Table("criterion", "at most", *(["released value", "noise sd"] if figures else []), box=None, header_style="dim")
    for criterion in document.criteria:
        noise = "bound" if criterion.answered else "" if criterion.noise_sd is None else f"{criterion.noise_sd:.3g}"
        table.add_row(criterion.name, f"{criterion.threshold:g}", *([f"{criterion.value:.4g}", noise] if figures else []))
    return table


def excluded_words(excluded: RowsLeftOut, *, of_persons: bool) -> str:
    whole = "the persons in the file" if of_persons else "the file"
    text = f"Rules and missing or unexpected values excluded {excluded.share} of {whole} (estimated with noise)."
    if excluded.many:
        text += (
            " The release describes only the rest. The card names the columns that exclude rows. `synthrelease check --data` "
            "names the columns with values that do not fit."
        )
    return text


def _next(document: ReleaseDocument, folder: Path, question: str | None) -> Iterator[str | Copied]:
    called, path = program(), quoted_path(folder)
    asks = "Ask questions with ask.html, and read" if document.estimates is not None else "Read"
    yield f"{asks} the data card in a browser. Check the files:"
    yield Copied(f"  {called} verify {path}")
    if document.estimates is not None:
        if question is None:
            yield from ["QUESTIONS.md has examples of analyses with intervals."] * ("estimates.csv" in document.files)
        else:
            yield "Ask a question and get an interval:"
            yield Copied(f'  {called} estimate {path} "{question}"')
    elif question is not None:
        yield "Ask a question and get bounds for the answer in the file:"
        yield Copied(f'  {called} bound {path} "{question}"')
