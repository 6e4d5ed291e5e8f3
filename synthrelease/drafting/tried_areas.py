"""A draft with areas is tried: the one of the larger areas, with the smallest ones beside it."""

from __future__ import annotations

from dataclasses import replace

from synthrelease.criteria.facts import MOST_UNIQUE
from synthrelease.drafting.areas import AreasDraft
from synthrelease.drafting.criteria import draft_acceptance, settle
from synthrelease.drafting.text import TEST
from synthrelease.drafting.tried_draft import FIRST, SEED, Progress, Tried
from synthrelease.errors import InputError, percent
from synthrelease.rehearsal.yardsticks import once_only


def with_smallest_areas(whole: Tried, areas: AreasDraft, progress: Progress) -> Tried:
    """The draft with the smallest areas, too, and with tables of each level; thresholds that its fits reach.

    Raises
    ------
    InputError : when a level is left out for too few rows.
    """
    progress(f"trying it with {areas.chain[-1]} on the public file")
    before, drafted = whole.drafting, {column.name for column in whole.drafting.columns}
    if gone := [level.name for level in areas.levels if level.name not in drafted]:
        raise InputError(f"--areas: expected {gone[0]!r} among the drafted columns; there are too few rows for it.")
    sizes = dict(zip(whole.table.layout.columns, whole.table.layout.sizes, strict=True))
    noise = before.promise.purse(whole.choices.limit).kind
    n_rows, cost = round(whole.table.total), whole.choices.generation
    measured = areas.measured(whole.choices.tables, sizes, n_rows, cost, noise)
    choices = replace(
        whole.choices,
        areas=areas,
        family="nested" if whole.choices.delta else "nested_pure",
        tables=measured.texts,
        wanted=measured.wanted,
        rules=areas.rules(whole.choices.rules),
    )
    columns = areas.placed(before.columns)
    drafting = before.of(columns, before.left_out, progress)
    spec = drafting.loaded(choices, FIRST)
    transformation = spec.space[0].transformation
    unique = once_only(drafting.read(spec).merge(transformation.layout, transformation.maps))
    choices = replace(choices, unique=unique, minimum_count=1 if unique > MOST_UNIQUE else 2)
    first = draft_acceptance(before.wide, whole.table, whole.pairs, before.of_members, unique=unique)
    first = replace(first, criteria=areas.criteria(first.criteria), lost=whole.acceptance.lost, faint=whole.acceptance.faint)
    spec = drafting.loaded(choices, first)
    acceptance, standing = settle(first, spec, drafting.read(spec), SEED, drafting.progress, tied=whole.standing.tied)
    left = choices.limit - choices.rows - TEST - acceptance.epsilon
    told = "" if standing.kept is None else f" With tables of areas beside the others they keep {percent(standing.kept)}."
    cost = drafting.promise.purse(left).cost if left > 0 else choices.generation
    choices = replace(choices, generation=cost, plan=f"{choices.plan}{told}")
    return replace(whole, drafting=drafting, choices=choices, acceptance=acceptance, standing=standing)
