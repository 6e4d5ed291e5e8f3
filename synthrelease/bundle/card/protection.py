"""Whom and what the guarantee covers, in plain words: the files, the persons, and what a guess can gain."""

from __future__ import annotations

import math
from collections.abc import Iterable
from fractions import Fraction

from synthrelease.bundle.card.numbers import exact_epsilon, figure
from synthrelease.privacy.charges import NOT_COVERED
from synthrelease.privacy.curves import exp_up
from synthrelease.privacy.plan import RowsLeftOut, loss_of_groups
from synthrelease.published.columns import ColumnPart
from synthrelease.published.document import ReleaseDocument


def domain_text(document: ReleaseDocument) -> str:
    """Which files the guarantee is about, and how many of their rows the release worked with."""
    domain, n = document.domain, figure(document.rows_worked_with)
    if domain.way == "exact":
        return (
            f"Files of which exactly {n} rows are complete, in range and plausible (below: rows that were left out). A record "
            f"is protected among such rows alone: {NOT_COVERED}."
        )
    whole = f"Files of {figure(domain.file_rows)} rows with the columns and bounds above, whatever their rows hold"
    if domain.persons is not None:
        whole = (
            f"Files of {figure(domain.persons)} persons with the columns and bounds above, whatever their rows hold, and "
            "however many they are"
        )
    if domain.way == "whole":
        return f"{whole}. {'No row' if domain.persons is None else 'No person'} was left out."
    chosen = f"Of the rows that were kept (below) the release worked with {n}, drawn at random"
    if domain.way == "stated":
        how = "a number that the publisher had stated beforehand"
    else:
        how = (
            f"a number found by counting them with noise and taking off {figure(domain.margin)}, so that there were fewer with "
            f"probability at most {float(Fraction(domain.shortfall or 0)):g} (public rows then fill up)"
        )
    protected = "How many rows were kept is protected like everything else in them."
    if (left_out := rows_left_out(document)) is not None:
        protected += f" The noisy count tells that {left_out.share} were left out."
    return f"{whole}. {chosen}: {how}. {protected}"


def rows_left_out(document: ReleaseDocument) -> RowsLeftOut | None:
    """What is known of the records that no row was made from."""
    domain = document.domain
    return RowsLeftOut.told(
        way=domain.way,
        n_file=domain.file_rows,
        n=document.rows_worked_with,
        margin=domain.margin,
        one_each=domain.persons in (None, domain.file_rows),
        secret_piece=document.secret_piece,
    )


def left_out_text(document: ReleaseDocument) -> str:
    """What became of rows with missing values, with values outside, and against the rules for original rows."""
    columns = [one for one in document.columns if one.source]  # others follow from these in the same row, and leave none out
    sentences = [
        (
            "Rows with a missing value, or a text that is no number or date, were left out: {}.",
            [one.name for one in columns if one.missing == "drop"],
        ),
        ("A missing value was counted as a bin of its own, under a label that is no value: {}.", _missing_bins(columns)),
        (
            "Files with a missing value were refused, so none is in the original file, which the guarantee does not cover: {}.",
            [one.name for one in columns if one.missing == "error"],
        ),
        ("Values outside the bounds counted as the nearest bound: {}.", [one.name for one in columns if one.outside == "clip"]),
        ("Rows with a value outside bounds or categories were left out: {}.", _outside(columns, "drop")),
        ("Texts that no category lists were counted as one of their own: {}.", _unlisted(columns)),
        (
            "Files with a value outside bounds or categories were refused, so none is in the original file, which the "
            "guarantee does not cover: {}.",
            _outside(columns, "error"),
        ),
        ("Rows were left out in which one of these occurred: {}.", document.raw_rules),
        (
            "Of each person all rows were left out beyond the first that follow these rules (at most {} of each), and rows "
            "without a key.",
            [str(document.guarantee.person.records)] if document.domain.persons is not None else [],
        ),
    ]
    found = [text.format("; ".join(names)) for text, names in sentences if names]
    return " ".join([*found, *(part.left_out for part in document.parts.values() if part.left_out)])


def _missing_bins(columns: Iterable[ColumnPart]) -> Iterable[str]:
    return [f"{column.name} ({one.label!r})" for column in columns for one in column.bins if one.missing]


def _unlisted(columns: Iterable[ColumnPart]) -> Iterable[str]:
    return [f"{one.name} ({one.outside_label!r})" for one in columns if one.outside_label]


def _outside(columns: Iterable[ColumnPart], policy: str) -> Iterable[str]:
    return [one.name for one in columns if one.outside == policy]


def person_text(document: ReleaseDocument) -> str:
    """What protects a person who stands in more than one record."""
    person, guarantee = document.guarantee.person, document.guarantee
    record = "One record" if person.unit == "record" else f"One record ({person.unit})"
    text = f"{record}; neighbouring files: {guarantee.neighbours}."
    if document.domain.persons is not None:
        return _of_a_key(document)
    if person.records == 1:
        return f"{text} A person with k records is protected at {loss_of_groups(Fraction(guarantee.delta_exact))}."
    why = f" ({person.why})" if person.why else ""
    known = f"{text} A person stands in at most {person.records} records{why} and is protected"
    if person.epsilon_exact is None or person.delta_exact is None:
        return f"{known} by nothing: delta would be 1 or more."
    delta = "" if person.delta_exact == "0" else f", delta = {float(Fraction(person.delta_exact)):.3g}"
    return f"{known} at epsilon = {exact_epsilon(person.epsilon_exact)}{delta}."


def _of_a_key(document: ReleaseDocument) -> str:
    """What protects a person of whom the key of the file tells all rows."""
    person = document.guarantee.person
    named = "" if person.unit == "record" else f" (each a {person.unit})"
    used = (
        "The first row of each person was" if person.records == 1 else f"At most the first {person.records} rows of each were"
    )
    text = (
        f"One person, with all rows of the original file that have the person's key{named}. {used} used, in an order that "
        "depends on that person's rows alone; all others were left out. Neighbouring files have the same persons, and all "
        "rows of one of them are replaced by any others"
    )
    why = f" ({person.why})" if person.why else ""
    if person.epsilon_exact is None or person.delta_exact is None:
        return f"{text}; that is protected by nothing: delta would be 1 or more{why}."
    delta = "" if person.delta_exact == "0" else f", delta = {float(Fraction(person.delta_exact)):.3g}"
    return f"{text}: epsilon = {exact_epsilon(person.epsilon_exact)}{delta}{why}."


def right_guess(document: ReleaseDocument, whole_person: bool = False) -> str:
    """The largest probability of a right guess between two neighbouring files that were equally likely beforehand, rounded up.

    (e^epsilon + delta) / (1 + e^epsilon): theory 1.4, two worlds. Of a `whole_person` the files differ in all records of one.
    """
    guarantee = document.guarantee.person if whole_person else document.guarantee
    if guarantee.epsilon_exact is None or guarantee.delta_exact is None:
        return "100%"
    wrong = (1 - Fraction(guarantee.delta_exact)) / (1 + exp_up(Fraction(guarantee.epsilon_exact)))
    digits = max(2, 1 - math.floor(math.log10(float(wrong)))) if wrong > Fraction(1, 10**12) else 12
    unit = Fraction(1, 10**digits)
    return f"{float(100 * (1 - (wrong // unit) * unit)):.{digits - 2}f}%"


def right_guess_text(document: ReleaseDocument) -> str:
    """How likely a guess between two neighbouring files is right; of a key also between files that differ in a whole person."""
    person = document.guarantee.person
    sentence = "Somebody who guesses which of two such files it was, and would be right half of the time without the release, "
    if document.domain.persons is None or person.records == 1:
        return f"{sentence}is right with probability at most {right_guess(document)}."
    return (
        f"{sentence}is right with probability at most {right_guess(document, whole_person=True)}, and at most "
        f"{right_guess(document)} where they differ in one row alone, to which this epsilon belongs."
    )
