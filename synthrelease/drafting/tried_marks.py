"""A draft with numbers of marks is tried beside the one without."""

from __future__ import annotations

from dataclasses import replace

from synthrelease.drafting.areas import ignoring
from synthrelease.drafting.criteria import draft_acceptance, settle
from synthrelease.drafting.marks import draft_marks
from synthrelease.drafting.text import TEST, Choices
from synthrelease.drafting.tried_draft import FIRST, SEED, Tried
from synthrelease.errors import listing
from synthrelease.rehearsal.plan_race import KeptByFits, with_marks_in


def counting_marks(whole: Tried) -> Tried:
    """The draft with the number of marks of each group of rare ones, where it loses fewer pairs by that."""
    drafting, before, choices = whole.drafting, whole.acceptance, whole.choices
    race = drafting.begun[1]
    names, sizes = whole.table.layout.columns, whole.table.layout.sizes
    marks = draft_marks(drafting.columns, whole.table, [*before.lost, *(pair.columns for pair in before.faint)])
    if marks is None:
        return whole
    drafting.progress(f"trying it with the numbers of marks in {listing(marks.groups)} on the public file")

    def tested(choices: Choices) -> KeptByFits | None:
        spec = drafting.loaded(choices, FIRST)
        return race.tested(spec, drafting.read(spec), whole.pairs)

    counting = replace(choices, tables=marks.tables(choices.tables, names, sizes), marks=tuple(marks.lines(0, 0)))
    without, found = tested(choices), tested(counting)
    if without is None or found is None or not found.better(without):
        return whole
    counting = replace(
        counting,
        marks=tuple(marks.lines(len(without.lost), len(found.lost))),
        plan=with_marks_in(choices.plan, len(before.faint), found),
    )
    first = draft_acceptance(drafting.wide, whole.table, whole.pairs)
    first = replace(
        first,
        criteria=tuple(ignoring(list(marks.groups), each) for each in first.criteria),
        lost=tuple(pair.columns for pair in found.lost if pair.strong),
        faint=tuple(pair for pair in found.lost if not pair.strong),
    )
    spec = drafting.loaded(counting, first)
    acceptance, standing = settle(first, spec, drafting.read(spec), SEED, drafting.progress, tied=whole.standing.tied)
    left = counting.limit - counting.rows - TEST - acceptance.epsilon
    if not left > 0 or (whole.standing.good and not standing.good):
        return whole
    counting = replace(counting, generation=drafting.promise.purse(left).cost)
    return replace(whole, choices=counting, acceptance=acceptance, standing=standing)
