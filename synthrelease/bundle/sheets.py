"""Write QUESTIONS.md (questions with code, for readers), SIGN.md (for the person who signs the release), and a worksheet
for meetings.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import replace
from fractions import Fraction
from itertools import count
from typing import Any

from synthrelease.bundle.card import counts_of, numbers, uses_in_words
from synthrelease.bundle.card.numbers import environment, labelled_title, program, said
from synthrelease.bundle.card.sections import Useful, carried_pairs, data_protection, person_text, right_guess
from synthrelease.bundle.estimates import CSV
from synthrelease.bundle.formats import STATA_WORDS
from synthrelease.bundle.options import statements
from synthrelease.criteria import explain
from synthrelease.criteria.facts import noise_deviation
from synthrelease.data.schema import PublishedColumn
from synthrelease.privacy.charges import decimal_text
from synthrelease.published.charges import ChargePart, CriterionPart
from synthrelease.published.commitment import beyond
from synthrelease.published.document import BEFORE, ReleaseDocument
from synthrelease.published.table import NOTICE
from synthrelease.spec.canonical import WORDS
from synthrelease.spec.release_spec import ReleaseSpec

QUESTIONS_NAME = "QUESTIONS.md"
_MANY = 100  # QUESTIONS.md uses a pair of columns with at most this number of cells, if there is one
_PLAIN = re.compile(r"[A-Za-z_][A-Za-z0-9_]{0,31}")
_SIGNS = re.compile(r"[`$\"\\\n]")  # Characters with a special meaning in a Stata text


def questions_files(document: ReleaseDocument) -> dict[str, bytes]:
    """Write QUESTIONS.md, which answers example questions with code in R, Stata and Python, if the release has
    estimates.csv.
    """
    if CSV not in document.files:
        return {}
    from synthrelease.answers.listed import MOST_CELLS, NAMES, NUMBERS, pairs

    schema = tuple(part.published() for part in document.columns)
    together = [] if document.estimates is None else document.estimates.together
    columns = {column.name for column in document.table_files[0].columns}  # columns of members are in another file
    listed = [pair for pair in pairs(schema, together) if {column.name for column in pair} <= columns]
    pair = max((pair for pair in listed if _cells(pair) <= _MANY), key=_cells, default=min(listed, key=_cells, default=None))
    of_numbers = [pair for pair in listed if _has_numbers(pair[1])]
    means = max(of_numbers, key=lambda pair: (len(pair[1].labels), -len(pair[0].labels)), default=None)
    alone = [column for column in schema if column.name in columns and any(column.name in table for table in together)]
    column = alone[-1] if pair is None else pair[1]
    bins = () if means is None else zip(means[1].labels, means[1].numbers, strict=True)
    every = {frozenset((first, second)) for table in together for first in table for second in table if first != second}
    carried, useful = carried_pairs(document), Useful.of(document)
    return _sheet(
        QUESTIONS_NAME,
        title=labelled_title(document),
        notice=NOTICE,
        file=document.csv,
        numbers=", ".join(f'"{name}"' for name in NUMBERS),
        text_columns=" ".join(str(at) for at, name in enumerate(NAMES, 1) if name not in (*NUMBERS, "confidence")),
        number=count(1).__next__,
        column=column,
        pair=pair,
        means=means,
        bin_numbers={label: number for label, number in bins if number is not None},
        stata=_for_stata([*(pair or (column,)), *(means or ())], [column, *(means or ())]),
        weighted=document.weighted,
        design_weight="" if document.design is None else document.design.weight or "",
        few_rows=useful.rule if useful else "",
        left_out=len(every) - len(listed),
        most=MOST_CELLS,
        lacking=carried is not None and carried.carried < carried.pairs,
        **counts_of(carried),
        program=program(document),
        sampled=not document.not_a_sample,
        sample=said("sampled_as", document),
        not_a_sample=" and ".join(document.not_a_sample),
    )


def _sheet(name: str, **values: Any) -> dict[str, bytes]:
    text = environment().get_template(name).render(values)
    return {name: (re.sub(r"\n{3,}", "\n\n", text).strip() + "\n").encode("utf-8")}


def worksheet(spec: ReleaseSpec, rows: int) -> str:
    """Return an HTML page for a meeting with stakeholders, which shows the draft and has space for their decisions.

    Parameters
    ----------
    rows : approximate number of rows in the file, which determines the noise of the published criterion values.
    """
    from synthrelease.answers.stated import question

    transformation, total = spec.space[0].transformation, spec.plan.total
    facts = replace(spec.setting.facts(transformation), n=rows)
    criteria = []
    for criterion in spec.criteria:
        explained = explain(criterion)
        unit, step = explained.figure_unit(facts), explained.least_sensitivity(rows, spec.setting)
        shared = spec.noises.get(criterion.name)
        noise = noise_deviation(step, criterion.epsilon, shared) if step and criterion.epsilon else None
        criteria.append(
            {
                "name": criterion.name,
                "sentence": explained.sentence(facts),
                "threshold": f"{numbers.figure(criterion.threshold)} {unit}".rstrip(),
                "epsilon": decimal_text(criterion.epsilon),
                "noise": "" if noise is None else f"{numbers.figure(noise, 2)} {unit}".rstrip(),
                "reason": f"{criterion.reason} {criterion.agreed.words if criterion.agreed else ''}".strip(),
            }
        )
    return (
        environment()
        .get_template("worksheet.html")
        .render(
            spec=spec,
            rows=rows,
            criteria=criteria,
            questions=[(question(table), table.why) for table in spec.questions],
            rules=[rule.never for rule in spec.rules],
            columns=facts.columns,
            epsilon=numbers.public_epsilon(str(total.epsilon)),
            delta=numbers.without_exponent(float(total.delta)) if total.delta else "",
            factor=numbers.worst_factor(total.epsilon),
            n=numbers,
        )
    )


def _cells(pair: tuple[PublishedColumn, PublishedColumn]) -> int:
    return len(pair[0].labels) * len(pair[1].labels)


def _has_numbers(column: PublishedColumn) -> bool:
    return column.kind != "category" and None not in column.numbers[: column.present]


def _for_stata(columns: Iterable[PublishedColumn], labelled: Iterable[PublishedColumn]) -> bool:
    """Return whether Stata can use these names and labels without a change."""
    names = [column.name for column in columns]
    labels = [label for column in labelled for label in column.labels]
    return all(_PLAIN.fullmatch(name) and name not in STATA_WORDS for name in names) and not any(map(_SIGNS.search, labels))


# SIGN.md: the claim of a release in a sentence, and eight checks for the person who signs, with commands and expected results.

NAME = "SIGN.md"
AUDIT = "5.2 processor minutes for the release of `configs/births.toml`, about three with two free cores (2026-11-24)"
"""The measured duration of the longest check, as text."""


def sign_files(document: ReleaseDocument) -> dict[str, bytes]:
    """Return SIGN.md by file name, from release.json alone, or an empty dict for a version before 1.0.0."""
    if document.format == BEFORE:
        return {}
    charged = [part for part in document.criteria if part.epsilon_exact != "0"]
    return _sheet(
        NAME,
        document=document,
        uses=uses_in_words(carried_pairs(document)),
        title=labelled_title(document),
        claim=claim(document),
        right=right_guess(document, whole_person=document.domain.persons is not None),
        person=person_text(document),
        protection=data_protection(document),
        statements=statements(document),
        lines=list(charge_lines(document.charges)),
        family=document.configuration["generator"]["family"],
        kinds=sorted({part.kind for part in charged}),
        charged=charged,
        free=[part for part in document.criteria if part.epsilon_exact == "0"],
        refused=[part.name for part in document.columns if "error" in (part.missing, part.outside)],
        laplace_sd_text=laplace_sd_text,
        beyond=list(beyond(document, WORDS)),
        several=[] if document.series is None else ["series"],
        audit=AUDIT,
        n=numbers,
    )


def claim(document: ReleaseDocument) -> str:
    """State the privacy guarantee of a release in one paragraph, which a person who signs SIGN.md confirms."""
    guarantee, domain, person = document.guarantee, document.domain, document.guarantee.person
    epsilon, delta = guarantee.epsilon_exact, guarantee.delta_exact
    if domain.persons is not None:
        files, differ = f"{numbers.figure(domain.persons)} persons", "the rows of one person"
        if person.epsilon_exact is None or person.delta_exact is None:
            return f"Nothing is claimed for two private files of {files} that differ in {differ}: delta would be 1 or more."
        epsilon, delta = person.epsilon_exact, person.delta_exact
    elif document.linked is not None:
        files = f"{numbers.figure(domain.file_rows or document.rows_worked_with)} roots"
        differ = f"one {'root' if person.unit == 'record' else person.unit} with all its members"
    elif domain.file_rows is None:
        files = f"which the public rules keep exactly {numbers.figure(document.rows_worked_with)} rows"
        differ = f"one {person.unit}, which the rules keep in both files"
    else:
        files, differ = f"{numbers.figure(domain.file_rows)} rows", f"one {person.unit}"
    plus = "" if delta == "0" else f", plus delta = {numbers.without_exponent(float(Fraction(delta)))}"
    kind = "pure" if delta == "0" else "approximate"
    loss = numbers.exact_epsilon(epsilon)
    return (
        f"Take any two private files of {files} that differ in {differ}, and any set of possible releases. The probability of "
        f"this set with one file is at most e^{loss} times its probability with the other file{plus} ({kind} differential "
        f"privacy, epsilon = {loss}). The claim covers only the files of this folder. It does not cover what is published "
        f"exactly: {'; '.join(guarantee.invariants)}."
    )


def stated(node: ChargePart) -> str:
    delta = "" if node.delta_exact == "0" else f", delta {float(Fraction(node.delta_exact)):.3g}"
    return numbers.cost(node).removeprefix("epsilon ") + delta


def charge_lines(node: ChargePart, depth: int = 0) -> Iterator[str]:
    """List all charges below a charge as indented lines, as in the command `plan`."""
    for part in node.parts:
        yield f"{'    ' * depth}{stated(part)}  {part.name}"
        yield from charge_lines(part, depth + 1)


def laplace_sd_text(criterion: CriterionPart) -> str:
    """Return the standard deviation of a criterion's own Laplace noise as text, or say why it has none."""
    if criterion.one_noise is not None:
        return f"{criterion.one_noise.figures} values share one noise"
    noise = laplace_noise(criterion)
    return "none: the fitted line has the noise" if noise is None else numbers.figure(noise, 3)


def laplace_noise(criterion: CriterionPart) -> float | None:
    """Return the standard deviation of a criterion's own Laplace noise, or None."""
    if criterion.one_noise is not None or criterion.sensitivity is None:
        return None
    return noise_deviation(float(criterion.sensitivity), Fraction(criterion.epsilon_exact))
