"""README.md: the card as plain text."""

from __future__ import annotations

import re

from synthrelease.bundle.card.context import context
from synthrelease.bundle.card.environment import environment
from synthrelease.published.document import ReleaseDocument
from synthrelease.published.table import ReleasedTable


def markdown_bytes(document: ReleaseDocument, table: ReleasedTable) -> bytes:
    """README.md, in the card's own language where it has words for it. It depends on the arguments alone."""
    text = environment().get_template("README.md").render(context(document, table, document.card.language))
    return (re.sub(r"\n{3,}", "\n\n", text).strip() + "\n").encode("utf-8")
