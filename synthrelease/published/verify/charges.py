"""Check that the privacy charges add up, in exact fractions, by the rules that the charge tree names."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from fractions import Fraction

from synthrelease.errors import BudgetError, so_many
from synthrelease.privacy.cap import capped
from synthrelease.privacy.charges import (
    ADDED,
    HIDDEN_ROUNDS,
    IN_PARALLEL,
    JOINT_TEST,
    MECHANISM,
    NUMBER_OF_ROWS,
    PRICED,
    REPLACING,
    SELECTION,
    SHORTFALL,
    STATED,
    SUM,
    TOGETHER,
    WITHIN_CAP,
    Charge,
    RowsRule,
    decimal_text,
    in_parallel,
    in_sequence,
    invariants,
    together,
)
from synthrelease.privacy.plan import NEIGHBOURS, UNIT, Guarantee, replacing_one, stated_as_curves, stated_at
from synthrelease.privacy.selection import SelectionRule, private_selection
from synthrelease.privacy.subsets import PIECES, Piece, piece_of
from synthrelease.published.base import upwards
from synthrelease.published.charges import ChargePart
from synthrelease.published.document import ReleaseDocument
from synthrelease.published.verify.checks import Check

# Random pieces of the rows: each charge must be in the part of the piece that it reads.


def pieces(document: ReleaseDocument) -> Iterator[str]:
    """Yield a sentence for each charge that is listed under the wrong piece of rows that were divided at random.

    If rows were divided, the tree must have one node below its root with a part for each piece, whose cost is the larger
    cost of the two. Otherwise it must have no such node.
    """
    root = document.charges
    largest = [node for node in root.nodes() if node.rule == IN_PARALLEL]
    if document.divided_rows is None:
        if largest:
            yield f"charge {largest[0].name!r}: this charge is the largest of several pieces, but release.json has no pieces"
        return
    if len(largest) != 1 or largest[0] not in root.parts or len(largest[0].parts) != len(PIECES):
        yield "charges: there must be one node below the root that takes the larger loss of the two pieces"
        return
    shared_nodes = [node for node in root.parts if node != largest[0]]
    nodes: list[tuple[Piece | None, ChargePart]] = [(None, node) for node in shared_nodes]
    nodes += zip(PIECES, largest[0].parts, strict=True)
    for piece, node in nodes:
        for charge in node.planned():
            if (expected := piece_of(charge.charge())) != piece:
                yield f"charge {charge.name!r}: this charge is {_where(piece)}. It must be {_where(expected)}"


def _where(piece: str | None) -> str:
    return "before the pieces" if piece is None else f"in the part of the piece {piece!r}"


def charges(document: ReleaseDocument) -> Check:
    """Check that all costs follow from their parts, that the total equals the guarantee, and what each criterion costs."""
    problems = [*_node_problems(document.charges, document.selection.rule), *_guarantee_problems(document)]
    problems += [*_domain_problems(document), *_criteria_problems(document), *pieces(document)]
    leaves = sum(1 for _ in document.charges.leaves())
    guarantee = document.guarantee
    total = f"epsilon = {_shown(guarantee.epsilon_exact)}, delta = {_shown(guarantee.delta_exact)}"
    summary = f"the costs of {so_many(leaves, 'mechanism')} add up to {total}"
    return Check(name="privacy charges", found=summary, problems=tuple(problems))


def _shown(exact: str) -> str:
    text = decimal_text(Fraction(exact))
    return text if Fraction(text) == Fraction(exact) else f"{text} (exactly {exact})"


def _node_problems(node: ChargePart, selection: SelectionRule) -> Iterator[str]:
    """Yield a sentence for each charge, from this node downwards, that does not follow from its parts by its rule."""
    yield from _rounding_problems(f"charge {node.name!r}", node)
    for part in node.parts:
        yield from _node_problems(part, selection)
    if node.rule == MECHANISM:
        if node.parts:
            yield f"charge {node.name!r}: a mechanism has no parts, but release.json lists {so_many(len(node.parts), 'part')}"
        return
    if node.rule not in (SUM, SELECTION, HIDDEN_ROUNDS, PRICED, STATED, ADDED, TOGETHER, REPLACING, IN_PARALLEL, WITHIN_CAP):
        yield f"charge {node.name!r}: the rule {node.rule!r} is unknown"
        return
    if not node.parts:
        yield f"charge {node.name!r}: the parts of this charge are missing"
        return
    try:
        charge, composed = node.charge(), _composed(node, selection)
    except (BudgetError, ValueError) as error:
        yield f"charge {node.name!r}: {error}"
        return
    if composed.price != charge.price:
        yield f"charge {node.name!r}: its parts give {_cost(composed)}, but it states {_cost(charge)}"


def _composed(node: ChargePart, selection: SelectionRule) -> Charge:
    """Compute the cost of a charge from its parts, by the stated rule, such as sequential composition."""
    parts = [part.charge() for part in node.parts]
    if node.rule == SUM:
        return in_sequence(node.name, *parts)
    if node.rule == IN_PARALLEL:
        return in_parallel(node.name, *parts)
    if node.rule == WITHIN_CAP:
        return capped(node.name, Fraction(node.epsilon_exact), Fraction(node.delta_exact), tuple(parts))
    if node.rule == TOGETHER:
        return together(node.name, *parts)
    if node.rule in (STATED, ADDED):
        state = stated_at if node.rule == ADDED else stated_as_curves
        return state(in_sequence(node.name, *parts), Fraction(node.delta_exact))
    if node.rule == REPLACING and len(parts) == 1:
        return replacing_one(parts[0])
    if len(parts) == 1 and node.rule in (SELECTION, HIDDEN_ROUNDS, PRICED):
        selected = private_selection(node.name, parts[0], selection, Fraction(node.delta_exact))
        if selected.rule == node.rule:
            return selected
    raise ValueError(f"the rule {node.rule!r} does not fit its parts or the stated selection")


def _cost(charge: Charge) -> str:
    return f"{charge.epsilon} (delta {charge.delta})" if charge.renyi is None else f"the curve {charge.renyi.text()}"


def _rounding_problems(name: str, part: ChargePart) -> Iterator[str]:
    for word, exact, rounded in (("epsilon", part.epsilon_exact, part.epsilon), ("delta", part.delta_exact, part.delta)):
        if float(rounded) != upwards(Fraction(exact)):
            yield f"{name}: {word} {rounded} is not {exact} rounded up"


def _guarantee_problems(document: ReleaseDocument) -> Iterator[str]:
    guarantee, root = document.guarantee, document.charges
    if root.renyi is not None:
        yield "guarantee: the root of the charges states a Renyi curve in place of epsilon and delta"
    if (guarantee.neighbours, guarantee.unit) != (NEIGHBOURS, UNIT):
        yield f"guarantee: the neighbours are not {NEIGHBOURS!r}, or the unit is not {UNIT!r}"
    for word in ("epsilon", "epsilon_exact", "delta", "delta_exact"):
        if getattr(guarantee, word) != getattr(root, word):
            yield f"guarantee: {word} is {getattr(guarantee, word)}, but the charges state {getattr(root, word)}"
    person = guarantee.person
    try:
        again = Guarantee(
            epsilon=Fraction(guarantee.epsilon_exact), delta=Fraction(guarantee.delta_exact), records_per_person=person.records
        ).of_a_person
        follows = None if again is None else (str(again.epsilon), str(again.delta))
    except ArithmeticError:
        follows = None
    promised = None if person.epsilon_exact is None else (person.epsilon_exact, person.delta_exact)
    if person.records < 1 or follows != promised:
        expected, stated = (
            "no guarantee" if loss is None else f"epsilon {loss[0]} and delta {loss[1]}" for loss in (follows, promised)
        )
        of_a_person = f"for a person with {so_many(person.records, 'record')}"
        yield f"guarantee: the charges give {expected} {of_a_person}, but release.json states {stated}"


def _domain_problems(document: ReleaseDocument) -> Iterator[str]:
    """Yield a sentence for each contradiction about the number of rows, its cost, and the exact facts."""
    domain, rows = document.domain, document.rows_worked_with
    secret = document.secret_piece
    if secret and domain.way == "exact":
        yield "domain: the number of rows is 'exact', but for a secret piece it must be counted with noise or stated"
    published_exactly = domain.way == "exact"
    if published_exactly != (domain.file_rows is None):
        yield "domain: file_rows must be null if rows is 'exact', and a number otherwise"
        return
    in_file = rows if domain.file_rows is None else domain.file_rows
    if not (rows <= in_file and (domain.way != "whole" or rows == in_file)):
        yield f"domain: the release used {so_many(rows, 'row')}, but the file has {in_file:,}"
    records = document.guarantee.person.records
    if domain.persons is not None and domain.file_rows != domain.persons * records:
        counted = f"{so_many(domain.persons, 'person')} times {so_many(records, 'row')}"
        yield f"domain: file_rows is {domain.file_rows}. It must be {counted}"
    expected = list(invariants(domain.way, in_file, rows, domain.persons))
    if document.guarantee.invariants != expected:
        yield f"guarantee: the invariants are {document.guarantee.invariants}. They should be {expected}"
    charged = next((leaf for leaf in document.charges.leaves() if leaf.name == NUMBER_OF_ROWS), None)
    if (charged is not None) != (domain.way == "counted"):
        yield f"charge {NUMBER_OF_ROWS!r}: this charge must exist if, and only if, the number of rows was counted with noise"
        return
    epsilon = None if charged is None else Fraction(charged.epsilon_exact)
    margin = RowsRule(way="counted", epsilon=epsilon).margin if epsilon else None
    shortfall = None if charged is None else str(SHORTFALL)
    if (domain.margin, domain.shortfall) != (margin, shortfall):
        found = f"the margin {domain.margin} and the shortfall {domain.shortfall}"
        yield f"domain: release.json states {found}. The right values are the margin {margin} and the shortfall {shortfall}"
    several = domain.persons is not None and records > 1
    # columns without a source follow from the others and exclude no row
    drops = any("drop" in (column.missing, column.outside) for column in document.columns if column.source)
    dropped = secret or several or bool(document.raw_rules) or drops
    if not dropped and domain.way in ("counted", "exact"):
        yield f"domain: the rules exclude no row, so the number of rows cannot be {domain.way!r}"
    if dropped and domain.way == "whole":
        yield "domain: the rules can exclude rows, so the number of rows cannot be 'whole'"


def _criteria_problems(document: ReleaseDocument) -> Iterator[str]:
    leaves = list(document.charges.leaves())
    twice = [name for name, count in Counter(leaf.name for leaf in leaves).items() if count > 1]
    if twice:
        yield f"charge {twice[0]!r}: two charges have this name"
    charged = {leaf.name: leaf.epsilon_exact for leaf in leaves}
    test = "none" if document.selection.joint_test is None else document.selection.joint_test.epsilon_exact
    if charged.get(JOINT_TEST, "none") != test:
        yield f"selection: joint test: the stated epsilon is {test}, but the charge is {charged.get(JOINT_TEST, 'none')}"
    for criterion in document.criteria:
        paid = charged.get(f"criterion: {criterion.name}", "0")
        if paid != criterion.epsilon_exact:
            yield f"criterion {criterion.name!r}: the stated epsilon is {criterion.epsilon_exact}, but the charge is {paid}"
        if float(criterion.epsilon) != upwards(Fraction(criterion.epsilon_exact)):
            yield f"criterion {criterion.name!r}: epsilon {criterion.epsilon} is not {criterion.epsilon_exact} rounded up"
