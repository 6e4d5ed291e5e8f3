"""The released figures agree with their noise, their thresholds, their intervals and the released table."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator
from fractions import Fraction

from synthrelease.bundle.document import interval_part
from synthrelease.bundle.file_ends import file_end, rows_were_drawn
from synthrelease.bundle.public import public_facts
from synthrelease.criteria.facts import PublicFacts, shared_noise
from synthrelease.data.plausibility import Plausibility
from synthrelease.errors import RejectedRound, so_many
from synthrelease.privacy.charges import TOGETHER
from synthrelease.privacy.grids import figure_sd, grid_point, noise_grid, shared_grid
from synthrelease.published.charges import BoundsPart, CriterionPart, SelectionPart
from synthrelease.published.document import ReleaseDocument
from synthrelease.published.table import ReleasedTable
from synthrelease.published.verify.checks import Check
from synthrelease.verification.bounds import bound_problems

_REACH = 25
"""Standard deviations of noise: no honest figure is farther off."""
_RELATIVE = 1e-9
"""Figures that are computed again may differ by so much, from one machine to another."""


def figures(document: ReleaseDocument, table: ReleasedTable, raw: Plausibility, measured: bytes = b"") -> Check:
    """Every criterion was met or passed the joint test, and everything beside its figure follows from public facts.

    So does the figure itself where the measurements answer (`verification.bounds`): `measured` is measurements.json.
    """
    names = Counter(criterion.name for criterion in document.criteria)
    problems = [f"criterion {name!r}: expected once, found {count} times" for name, count in names.items() if count > 1]
    facts = public_facts(document, table.counts, raw)
    for criterion in document.criteria:
        found = [*_problems(criterion, facts, document.selection), *_file_problems(criterion, document, facts)]
        problems += [f"criterion {criterion.name!r}: {problem}" for problem in found]
    problems += _sharing_problems(document)
    problems += bound_problems(document, facts, measured)
    beyond = sum(not criterion.decides and criterion.value > criterion.threshold for criterion in document.criteria)
    how = "all met" if document.selection.joint_test is None else "passed by the joint test"
    above = f"; {beyond} of the released figures above the threshold" if beyond else ""
    n_criteria = so_many(len(document.criteria), "criterion", "criteria")
    limits = tuple(_not_stated(document))
    return Check(name="figures", found=f"{n_criteria}, {how}{above}", problems=tuple(problems), limits=limits)


def _not_stated(document: ReleaseDocument) -> Iterator[str]:
    """What an older version did not state of figures, so that nobody misses it, a sentence each."""
    stated = any(one.interval is not None and one.interval.file_high is not None for one in document.criteria)
    if document.first_documents and not stated and rows_were_drawn(document):
        yield f"No figure has a limit for the file: documents of version {document.written_by} have none."
    apart = document.selection.joint_test is not None and all(one.noise is None for one in document.criteria)
    if document.provisional and apart:
        yield f"Each figure has a noise of its own, as in runs of version {document.run_by}."


def _problems(criterion: CriterionPart, facts: PublicFacts, selection: SelectionPart) -> Iterator[str]:
    if not criterion.passed:
        yield "was not met; a release has met all"
    if criterion.decides and not criterion.value <= criterion.threshold:
        yield f"its figure {criterion.value} is beyond its threshold {criterion.threshold}"
    if (criterion.noise_sd is None) != (criterion.epsilon_exact == "0"):
        yield "has noise without epsilon, or epsilon without noise"
    if criterion.sensitivity is not None:
        yield from _noise_problems(criterion, facts)
    known = criterion.criterion()
    exact = None if known is None else known.public_figure(facts)
    if exact is None:
        yield from _range_problems(criterion)
    elif criterion.value != exact:
        yield f"its figure is {criterion.value}; from the table follows {exact:g}"
    if not _same_interval(criterion, facts.n, selection.bounds):
        yield "its interval does not follow from its figure and its noise"


def _range_problems(criterion: CriterionPart) -> Iterator[str]:
    """A figure is as far from what an exact one can be as its noise can reach, and no farther.

    Laplace noise is beyond 25 of its standard deviations with a probability of 4.5e-16 (noise that figures share, less
    often): in a million rounds of a search, below 1e-9. Nothing is added to the distance of a noisy line, which is within
    the range itself. An upper bound by the measurements is computed again instead.
    """
    if criterion.answered:
        return
    added = criterion.noise_sd is not None and criterion.sensitivity is not None
    reach = _REACH * float(criterion.noise_sd or 0) if added else 0.0
    worst = math.inf if criterion.worst is None else float(criterion.worst)
    least, most = float(criterion.best) - reach, worst + reach
    if not least <= float(criterion.value) <= most:
        why = "out of reach of its noise" if added else "no figure of its kind"
        yield f"its figure {criterion.value} is {why}: expected {least:g} to {most:g}"


def _sharing_problems(document: ReleaseDocument) -> Iterator[str]:
    """Which figures share one noise is a function of their epsilons, and each of them says how many and what it cost.

    In bundles of versions before 1.0.0 none may do so, and none does where a law of rounds is accounted as a curve.
    """
    stated = {one.name: one.noise for one in document.criteria if one.noise is not None}
    if document.selection.joint_test is None:
        if stated:
            yield "criteria: figures share one noise, which they do after a joint test alone"
        return
    if not stated and (document.provisional or document.selection.shape is not None):
        return
    if any(leaf.renyi is not None for leaf in document.charges.leaves()):
        paid = {leaf.name for node in document.charges.nodes() if node.rule == TOGETHER for leaf in node.leaves()}
        if unpaid := [name for name in stated if f"criterion: {name}" not in paid]:
            yield f"criteria: {', '.join(unpaid)} share one noise, and beside a curve are not charged as one mechanism"
    kinds = {one.name: one.criterion() for one in document.criteria}
    own = {
        one.name: Fraction(one.epsilon_exact)
        for one in document.criteria
        if one.sensitivity is not None and ((known := kinds[one.name]) is None or known.own_noise)
    }
    noises = shared_noise(own)
    for name in own:
        if stated.get(name) != (expected := noises.get(name)):
            shown = "no noise with others" if expected is None else f"one noise with {expected.figures - 1} other figures"
            yield f"criterion {name!r}: expected {shown}, at the epsilons of all of them; found otherwise"
    yield from (f"criterion {name!r}: shares a noise and has none of its own" for name in stated if name not in own)


def _noise_problems(criterion: CriterionPart, facts: PublicFacts) -> Iterator[str]:
    sensitivity = float(criterion.sensitivity or 0)
    if not (sensitivity > 0 and criterion.epsilon_exact != "0"):
        yield "expected a sensitivity and an epsilon above 0"
        return
    model = criterion.criterion()
    try:
        known = None if model is None else model.public_sensitivity(facts)
    except (LookupError, ValueError, TypeError, RejectedRound):
        known = math.nan
    if known is not None and not _near(known, sensitivity):
        yield f"its sensitivity is {sensitivity:g}; from the table and its parameters follows {known:g}"
    if criterion.noise is None:
        grid = noise_grid(sensitivity, facts.n)
        step, noise_sd = grid.step, figure_sd(grid, Fraction(criterion.epsilon_exact))
    else:
        step, noise_sd = shared_grid(sensitivity, facts.n).step, criterion.noise.sd(sensitivity, facts.n)
    if criterion.noise_bound is not None:
        yield "has noise that is added to it, and a bound of noise that is not"
    if criterion.noise_sd is None or not _near(noise_sd, float(criterion.noise_sd)):
        yield f"its noise has the standard deviation {noise_sd:g}, not {criterion.noise_sd}"
    if grid_point(float(criterion.value), step) * step != float(criterion.value):
        yield f"its figure {criterion.value} is not on the grid of its noise"


def _same_interval(criterion: CriterionPart, n: int, bounds: BoundsPart | None) -> bool:
    stated, found = criterion.interval, interval_part(criterion, n, bounds)
    if stated is None or found is None:
        return stated is None and found is None
    same = (stated.how, stated.level) == (found.how, found.level) and (stated.high is None) == (found.high is None)
    if stated.how not in (
        "noise",
        "noise and selection",
    ):  # sums, in which machines do not differ
        return same and (stated.low, stated.high) == (found.low, found.high)
    return same and _near(stated.low, found.low) and _near(stated.high or 0, found.high or 0)


def _file_problems(criterion: CriterionPart, document: ReleaseDocument, facts: PublicFacts) -> Iterator[str]:
    """Its limit for the file, just where one follows. Documents of version 1.0.0 state none."""
    if criterion.interval is None or (criterion.interval.file_high is None and document.first_documents):
        return
    try:
        expected = file_end(criterion, document, facts) if rows_were_drawn(document) else None
    except (LookupError, ValueError, TypeError):
        expected = None
    stated = criterion.interval.file_high
    if (stated is None) != (expected is None) or (stated is not None and expected is not None and not _near(stated, expected)):
        says, follows = ("nothing" if value is None else f"{value:g}" for value in (stated, expected))
        yield f"its limit for the file is {says}; from its figure and the drawing follows {follows}"


def _near(left: float, right: float) -> bool:
    return math.isclose(left, right, rel_tol=_RELATIVE, abs_tol=1e-12)
