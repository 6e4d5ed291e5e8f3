"""How a release is called in its documents: always as synthetic."""

from __future__ import annotations

from synthrelease.published.document import ReleaseDocument

_SAYS_SO = ("synthetic", "סינתט")


def labelled_title(document: ReleaseDocument) -> str:
    """The publisher's title, with "(synthetic data)" behind one that does not say so itself."""
    return labelled(document.card.title or document.title)


def labelled(title: str) -> str:
    """A title with "(synthetic data)" behind it, where it does not say so itself."""
    return title if any(word in title.casefold() for word in _SAYS_SO) else f"{title} (synthetic data)"
