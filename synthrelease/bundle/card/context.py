"""What the templates of the card may use: release.json, the released counts, words, and how figures are written."""

from __future__ import annotations

from typing import Any

import numpy as np

from synthrelease.bundle.card import (
    associations,
    drawn,
    duplicates,
    estimates,
    explanations,
    numbers,
    protection,
    questions,
)
from synthrelease.bundle.card.pictures import FEW_BARS, MOST_BARS
from synthrelease.bundle.card.rare_groups import rare_groups
from synthrelease.bundle.card.useful import Useful
from synthrelease.bundle.card.wording import Wording
from synthrelease.bundle.file_ends import band_columns, error_band
from synthrelease.bundle.interval import LEVEL
from synthrelease.bundle.names import file_lines
from synthrelease.bundle.options import about_figures, listed_rules, sections, statements
from synthrelease.published.associations_file import of_document
from synthrelease.published.base import sha256
from synthrelease.published.document import ReleaseDocument
from synthrelease.published.names import page_name
from synthrelease.published.table import ReleasedTable
from synthrelease.settings.card import LICENCES


def context(document: ReleaseDocument, table: ReleasedTable, language: str) -> dict[str, Any]:
    """The variables of a template, which is no module: hence a dict."""
    wording = Wording.of(document, language)

    def title_of(name: str) -> str:
        return wording.texts.columns.get(name, numbers.words(name))

    of_columns, carried = band_columns(document), of_document(document)
    others = [other for other in document.card.languages if other != language]
    return {
        "document": document,
        "wording": wording,
        "language": language,
        "others": [(page_name(document, other), other, Wording.of(document, other)) for other in others],
        "title_of": title_of,
        "band": error_band(document),
        "band_text": drawn.band_text(document),
        "drawn_text": drawn.drawn_text(document, table.counts),
        "file_ends": drawn.file_ends(document, table.counts),
        "may_error": wording.words["may_error" if not of_columns else "may_error_one" if of_columns == 1 else "may_error_few"],
        "many_left_out": (left_out := protection.rows_left_out(document)) is not None and left_out.many,
        "rare": "; ".join(f"{title_of(name)} ({label})" if label else title_of(name) for name, label in rare_groups(document)),
        "alone": "; ".join(map(title_of, estimates.measured_alone(document))),
        "associations": associations.association_lines(document, carried),
        "rules_tie": any("synthetic" in rule.applies_to for rule in document.rules),
        "lost": "; ".join(" × ".join(map(title_of, pair.split(":"))) for pair in document.not_promised.pairs),
        "columns": [
            (column, part.one_way(place).tolist(), max(part.counts.total, 1), file.of_members, listed_bins(part.one_way(place)))
            for file, part in zip(document.table_files, filter(None, (table.of_roots(), table.of_members())), strict=True)
            for place, column in enumerate(file.columns)
        ],
        "files": file_lines(document),
        "fingerprint": sha256(document.dumped()),
        "licence": LICENCES.get(document.card.licence),
        "level": float(LEVEL),
        "duplicates": duplicates.sentences(document, table),
        "explain": explanations,
        "protect": protection,
        "pieces": about_figures(document),
        "estimates": estimates.sentences(document),
        "few_rows": (useful.rule if (useful := Useful.of(document)) else ""),
        "estimate_example": estimates.example(document),
        "queries": questions.rows(document, carried),
        "statements": statements(document),
        "sections": sections(document),
        "rules": listed_rules(document),
        "n": numbers,
    }


def listed_bins(counts: np.ndarray) -> list[int]:
    """The bins that the card lists: all, or of very many, such as areas, those with the most rows, as in the pictures."""
    if len(counts) <= MOST_BARS:
        return list(range(len(counts)))
    return sorted(np.argsort(-counts, kind="stable")[:FEW_BARS].tolist())
