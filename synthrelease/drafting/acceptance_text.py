"""The acceptance file of a draft as text."""

from __future__ import annotations

from collections.abc import Sequence

from synthrelease.drafting.bins import bin_texts
from synthrelease.drafting.column_draft import ColumnDraft
from synthrelease.drafting.criteria import AcceptanceDraft
from synthrelease.drafting.public_file import PublicFile
from synthrelease.drafting.toml_text import comment, marked, toml
from synthrelease.settings.tables import MOST_PAIRS
from synthrelease.spec.reference import ACCEPTANCE_NAME

_NOT_MEASURED = "No table of these pairs was measured, so that more was left for others"


def acceptance_text(name: str, file: PublicFile, draft: AcceptanceDraft, columns: Sequence[ColumnDraft]) -> str:
    """acceptance/NAME.toml"""
    whole = {column.name: column.kind == "integer" for column in columns}
    lines = [
        *marked(name, file, ACCEPTANCE_NAME),
        *comment("Agree on every threshold with the people who will use the data: they are promises about the release."),
        'description = ""                # what the release must be good for, in one sentence; it is published',
        "",
    ]
    if draft.groups:
        lines += ["# Bins for grouping, each made up of released bins", "[groups]"]
        lines += [f"{column} = {toml(bin_texts(limits, whole=whole[column]))}" for column, limits in draft.groups.items()]
        lines.append("")
    for criterion in draft.criteria:
        lines += [
            *comment(criterion.remark),
            "[[criteria]]",
            *(f"{key} = {toml(value)}" for key, value in criterion.settings.items()),
            "",
        ]
    for text in draft.left_out:
        lines += comment(f"Not drafted: {text}.")
    lines += _not_promised(draft)
    return "\n".join(lines).rstrip("\n") + "\n"


def _not_promised(draft: AcceptanceDraft) -> list[str]:
    """The pairs that fits lose, for the card to name: neither a threshold nor what is kept of all pairs need show it."""
    if not draft.lost and not draft.faint:
        return []
    lines, pairs = [""], list(dict.fromkeys([*draft.lost, *(each.columns for each in draft.faint)]))
    if draft.lost:
        lines += comment(
            f"LOST: {_pairs(draft.lost)}. These pairs hang together in the public file, but a model cannot hold their tables "
            "beside those that are measured, or the noise of one more table would hide them. A rehearsal shows what becomes of "
            "them, and of others."
        )
    if draft.faint:
        named = "; ".join(f"{' and '.join(pair.columns)} ({pair.cramers_v:.2f})" for pair in draft.faint)
        lines += comment(
            f"NOT KEPT, among few rows: {named}. By Cramer's V, in brackets, these pairs hang together in the public file, but "
            "fewer than one row in a hundred shows it, so no table of them is measured and no figure above tells of it: what "
            "comes together with a rare value is not to be read from this release. How many of some rare marks a row has, as "
            "[marks] counts them, may keep more."
        )
    return [
        *lines,
        *comment(
            "The card names them as not kept. Where one matters, measure it in place of other tables (in `tables` of "
            "[[generators]]), or release coarser bins or fewer columns, and take it out here. A shortlist that lost others is "
            "refused."
        ),
        "[not_promised]",
        f"pairs = {toml([':'.join(pair) for pair in pairs[:MOST_PAIRS]])}",
        f"why = {toml(_NOT_MEASURED)}",
    ]


def _pairs(pairs: Sequence[tuple[str, str]]) -> str:
    return "; ".join(" and ".join(pair) for pair in pairs)
