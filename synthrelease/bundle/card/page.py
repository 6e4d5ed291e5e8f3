"""README.html, and README.LANGUAGE.html for every translation: the card as one self-contained page each."""

from __future__ import annotations

import re

from markupsafe import Markup

from synthrelease.bundle.card import pictures
from synthrelease.bundle.card.context import context
from synthrelease.bundle.card.environment import environment
from synthrelease.bundle.card.schema_org import search_engines
from synthrelease.published.document import ReleaseDocument
from synthrelease.published.table import ReleasedTable
from synthrelease.settings.card import direction


def page_bytes(document: ReleaseDocument, table: ReleasedTable, language: str) -> bytes:
    """The card in a language. The technical part, in English, stands in README.html alone.

    The page needs no other file and no network. It depends on the arguments alone.
    """
    whole = language == document.card.language
    variables = context(document, table, language)
    text = (
        environment()
        .get_template("page.html")
        .render(
            variables,
            whole=whole,
            direction=direction(language),
            protection=pictures.protection(variables["wording"].words, direction(language)),
            figures=pictures.figures(document, table) if whole else None,
            schema_org=Markup(search_engines(document)) if whole else None,
        )
    )
    return (re.sub(r"\n{2,}", "\n", text).strip() + "\n").encode("utf-8")
