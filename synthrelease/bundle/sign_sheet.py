"""SIGN.md: the claim of a release in a sentence, and eight checks for whoever signs it off: what to type, what to expect."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator
from fractions import Fraction

from synthrelease.bundle.card import numbers, protection
from synthrelease.bundle.card.environment import environment
from synthrelease.bundle.options import statements
from synthrelease.bundle.titles import labelled_title
from synthrelease.published.charges import ChargePart, CriterionPart
from synthrelease.published.commitment import beyond
from synthrelease.published.document import BEFORE, ReleaseDocument
from synthrelease.spec.canonical import WORDS

NAME = "SIGN.md"
AUDIT = "5.2 processor minutes for the release of `configs/births.toml`, about three with two free cores (2026-11-24)"
"""What the check that takes longest took."""


def sign_files(document: ReleaseDocument) -> dict[str, bytes]:
    """The sheet by its name; none of a release from before there was one. It depends on release.json alone."""
    if document.format == BEFORE:
        return {}
    asked = [one for one in document.criteria if one.epsilon_exact != "0"]
    text = (
        environment()
        .get_template(NAME)
        .render(
            document=document,
            title=labelled_title(document),
            claim=claim(document),
            right=protection.right_guess(document, whole_person=document.domain.persons is not None),
            person=protection.person_text(document),
            statements=statements(document),
            lines=list(charge_lines(document.charges)),
            family=document.configuration["generator"]["family"],
            kinds=sorted({one.kind for one in asked}),
            asked=asked,
            free=[one for one in document.criteria if one.epsilon_exact == "0"],
            refused=[one.name for one in document.columns if "error" in (one.missing, one.outside)],
            by_hand=by_hand,
            beyond=list(beyond(document, WORDS)),
            several=[name for name, part in document.parts.items() if part.names_others],
            audit=AUDIT,
            n=numbers,
        )
    )
    return {NAME: (re.sub(r"\n{3,}", "\n\n", text).strip() + "\n").encode("utf-8")}


def claim(document: ReleaseDocument) -> str:
    """What is claimed, in one sentence."""
    guarantee, domain, person = document.guarantee, document.domain, document.guarantee.person
    epsilon, delta = guarantee.epsilon_exact, guarantee.delta_exact
    if domain.persons is not None:
        files, differ = f"{numbers.figure(domain.persons)} persons", "all rows of one person, replaced by any others"
        if person.epsilon_exact is None or person.delta_exact is None:
            return f"For two private files of {files} that differ in {differ}, nothing is claimed: delta would be 1 or more."
        epsilon, delta = person.epsilon_exact, person.delta_exact
    elif document.linked is not None:
        files = f"{numbers.figure(domain.file_rows or document.rows_worked_with)} roots"
        differ = f"one {'root' if person.unit == 'record' else person.unit} with all its members, replaced by any other"
    elif domain.file_rows is None:
        files, differ = (
            f"which the public rules keep exactly {numbers.figure(document.rows_worked_with)} rows",
            f"one kept {person.unit}, replaced by any other that is kept",
        )
    else:
        files, differ = f"{numbers.figure(domain.file_rows)} rows", f"one {person.unit}, replaced by any other"
    plus = "" if delta == "0" else f", plus delta = {numbers.without_exponent(float(Fraction(delta)))}"
    kind = "pure" if delta == "0" else "approximate"
    shown = numbers.exact_epsilon(epsilon)
    return (
        f"For any two private files of {files} that differ in {differ}, the probability of any set of possible releases from "
        f"one is at most e^{shown} times that from the other{plus} ({kind} differential privacy, epsilon = {shown}); the claim "
        "is about the files of this folder alone, and what is published exactly is not in it: "
        f"{'; '.join(guarantee.invariants)}."
    )


def stated(node: ChargePart) -> str:
    """What a node of the charge tree costs, as `plan` prints it."""
    delta = "" if node.delta_exact == "0" else f", delta {float(Fraction(node.delta_exact)):.3g}"
    return numbers.cost(node).removeprefix("epsilon ") + delta


def charge_lines(node: ChargePart, depth: int = 0) -> Iterator[str]:
    """The parts of a charge in the order of `plan`, indented."""
    for part in node.parts:
        yield f"{'    ' * depth}{stated(part)}  {part.name}"
        yield from charge_lines(part, depth + 1)


def by_hand(criterion: CriterionPart) -> str:
    """The standard deviation of Laplace noise, from sensitivity and epsilon; or why the noise is another one."""
    if criterion.one_noise is not None:
        return f"{criterion.one_noise.figures} figures share one noise"
    if criterion.sensitivity is None:
        return "redrawn on the noisy line"
    return numbers.figure(math.sqrt(2) * float(criterion.sensitivity) / float(Fraction(criterion.epsilon_exact)), 3)
