"""The acceptance file of a draft as text."""

from __future__ import annotations

from collections.abc import Sequence

from synthrelease.drafting.bins import bin_texts
from synthrelease.drafting.column_draft import ColumnDraft
from synthrelease.drafting.criteria import AcceptanceDraft
from synthrelease.drafting.public_file import PublicFile
from synthrelease.drafting.toml_text import comment, marked, toml
from synthrelease.specification.json_schema import ACCEPTANCE_NAME

_FAINT_NAMED = 5


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
    lines += [*_lost(draft), *_faint(draft)]
    return "\n".join(lines).rstrip("\n") + "\n"


def _lost(draft: AcceptanceDraft) -> list[str]:
    """The pairs that fits lose, as lines that name them: in comments, because it is the publisher who must know it."""
    if not draft.lost:
        return []
    return [
        "",
        *comment(
            "LOST: these pairs hang together in the public file, but a model cannot hold their tables beside those that are "
            "measured, or the noise of one more table would hide them. A rehearsal shows what becomes of them, and of others. "
            "Where one matters, measure it in place of other tables (in `tables` of [[generators]]), or release coarser bins "
            "or fewer columns; where none does, take out the comment marks and say why: a shortlist that lost what is not "
            "named here is refused, and the card names what is."
        ),
        "# [not_promised]",
        f"# pairs = {toml([':'.join(pair) for pair in draft.lost])}",
        '# why = ""',
    ]


def _faint(draft: AcceptanceDraft) -> list[str]:
    """What is lost of rare values that come together: neither a threshold nor what is kept of all pairs shows it."""
    if not draft.faint:
        return []
    named = "; ".join(f"{' and '.join(pair.columns)} ({pair.cramers_v:.2f})" for pair in draft.faint[:_FAINT_NAMED])
    others = f"; and {len(draft.faint) - _FAINT_NAMED} more" if len(draft.faint) > _FAINT_NAMED else ""
    return [
        "",
        *comment(
            f"NOT KEPT, among few rows: {named}{others}. By Cramer's V, in brackets, these pairs hang together in the public "
            "file, but fewer than one row in a hundred shows it, so no table of them is measured and no figure above tells of "
            "it: what comes together with a rare value is not to be read from this release. Where it matters, measure the "
            "pair (in `tables` of [[generators]]), or make one column of several rare marks, such as whether any of them is "
            "there, before the release."
        ),
    ]
