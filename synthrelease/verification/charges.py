"""The privacy charges add up, in exact fractions, by the rules that the tree names."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator
from fractions import Fraction

from synthrelease.bundle.model import ChargePart, JointTestPart, ReleaseDocument, upwards
from synthrelease.criteria.joint_test import JOINT_TEST, JointTest
from synthrelease.privacy import MECHANISM, NEIGHBOURS, SELECTION, SUM, UNIT, decimal_text
from synthrelease.verification.report import Check


def charges(document: ReleaseDocument) -> Check:
    """Every node follows from its parts, the root is the guarantee, and every criterion is charged what it states."""
    problems = [*_node_problems(document.charges), *_guarantee_problems(document), *_criteria_problems(document)]
    leaves = sum(1 for _ in document.charges.leaves())
    guarantee = document.guarantee
    found = f"{leaves} charges add up to epsilon = {_shown(guarantee.epsilon_exact)}, delta = {_shown(guarantee.delta_exact)}"
    return Check(name="privacy charges", found=found, problems=tuple(problems))


def _shown(exact: str) -> str:
    text = decimal_text(Fraction(exact))
    return text if Fraction(text) == Fraction(exact) else f"{text} (exactly {exact})"


def _node_problems(node: ChargePart) -> Iterator[str]:
    yield from _rounding_problems(f"charge {node.name!r}", node)
    for part in node.parts:
        yield from _node_problems(part)
    parts = [(Fraction(part.epsilon_exact), Fraction(part.delta_exact)) for part in node.parts]
    stated = Fraction(node.epsilon_exact), Fraction(node.delta_exact)
    if node.rule == MECHANISM:
        if parts:
            yield f"charge {node.name!r}: a mechanism has no parts, found {len(parts)}"
        return
    if node.rule == SUM:
        total = sum((epsilon for epsilon, _ in parts), Fraction(0)), sum((delta for _, delta in parts), Fraction(0))
    elif node.rule == SELECTION:
        # Liu & Talwar 2019, Theorem 3.1: pure eps-DP rounds, any number of them, give 2 eps
        if len(parts) != 1 or parts[0][1] != 0:
            yield f"charge {node.name!r}: expected one round with delta 0 below a selection, found something else"
            return
        total = 2 * parts[0][0], Fraction(0)
    else:
        yield f"charge {node.name!r}: expected a known rule, found {node.rule!r}"
        return
    if not parts:
        yield f"charge {node.name!r}: expected parts that add up to it, found none"
    elif total != stated:
        yield f"charge {node.name!r}: its parts give {total[0]} (delta {total[1]}); it states {stated[0]} ({stated[1]})"


def _margin(test: JointTestPart) -> float:
    epsilon, probability = Fraction(test.epsilon_exact), Fraction(test.false_acceptance)
    if not (epsilon > 0 and 0 < probability < Fraction(1, 2)):
        return math.nan
    return JointTest(epsilon=epsilon, false_acceptance=probability).margin


def _rounding_problems(name: str, part: ChargePart) -> Iterator[str]:
    for word, exact, shown in (("epsilon", part.epsilon_exact, part.epsilon), ("delta", part.delta_exact, part.delta)):
        if float(shown) != upwards(Fraction(exact)):
            yield f"{name}: {word} {shown} is not {exact}, rounded up"


def _guarantee_problems(document: ReleaseDocument) -> Iterator[str]:
    guarantee, root = document.guarantee, document.charges
    if (guarantee.neighbours, guarantee.unit) != (NEIGHBOURS, UNIT):
        yield f"guarantee: expected the neighbours {NEIGHBOURS!r} and the unit {UNIT!r}, found others"
    for word in ("epsilon", "epsilon_exact", "delta", "delta_exact"):
        if getattr(guarantee, word) != getattr(root, word):
            yield f"guarantee: {word} is {getattr(guarantee, word)}, the charges say {getattr(root, word)}"
    if not any(f"n = {document.n_rows}" == text.rpartition(", ")[2] for text in guarantee.invariants):
        yield f"guarantee: expected 'n = {document.n_rows}' among the invariants, found it in none"


def _criteria_problems(document: ReleaseDocument) -> Iterator[str]:
    leaves = list(document.charges.leaves())
    twice = [name for name, count in Counter(leaf.name for leaf in leaves).items() if count > 1]
    if twice:
        yield f"charge {twice[0]!r}: expected different names of charges, found this one twice"
    charged = {leaf.name: leaf.epsilon_exact for leaf in leaves}
    test = document.selection.joint_test
    if (charged.get(JOINT_TEST) is not None) != (test is not None) or (test and charged[JOINT_TEST] != test.epsilon_exact):
        yield "selection: expected the charge of the joint test that it states, found another"
    elif test and float(test.margin) != _margin(test):
        yield f"selection: from what the joint test states follows the margin {_margin(test)}, not {test.margin}"
    for criterion in document.criteria:
        paid = charged.get(f"criterion: {criterion.name}", "0")
        if paid != criterion.epsilon_exact:
            yield f"criterion {criterion.name!r}: states epsilon {criterion.epsilon_exact}, is charged {paid}"
        if float(criterion.epsilon) != upwards(Fraction(criterion.epsilon_exact)):
            yield f"criterion {criterion.name!r}: epsilon {criterion.epsilon} is not {criterion.epsilon_exact}, rounded up"
