"""The templates of the card, and the filters that they use."""

from __future__ import annotations

import re
from functools import lru_cache
from pathlib import Path

from jinja2 import Environment
from markupsafe import Markup, escape

from synthrelease.resources import templates
from synthrelease.settings.card import is_email

FOLDER = Path(__file__).parent / "templates"
_MARKDOWN = re.compile(r"([\\`*_{}\[\]<>#+!|~&])")


@lru_cache(maxsize=1)
def environment() -> Environment:
    """With the filters below."""
    found = templates(FOLDER, __file__)
    filters = (paragraphs, link, plain, sentence, md, md_paragraphs)
    found.filters.update({one.__name__: one for one in filters})
    return found


def paragraphs(text: str) -> Markup:
    """Plain text as paragraphs."""
    return Markup("\n").join(Markup("<p>{}</p>").format(" ".join(part.split())) for part in _parts(text))


def link(address: str) -> Markup:
    """An e-mail or web address as a link."""
    target = f"mailto:{address}" if is_email(address) else address
    if not target.startswith(("mailto:", "https://", "http://")):
        return escape(address)
    return Markup('<a href="{}"><bdi dir="ltr">{}</bdi></a>').format(target, address)


def sentence(text: str) -> str:
    """A text with a full stop at its end."""
    return text if text.endswith((".", "!", "?")) else f"{text}."


def plain(text: object) -> str:
    """A sentence without the tags that were put into it, and with its signs as they are."""
    return escape(text).striptags()


def md(text: object) -> str:
    """Plain text for Markdown: signs that have a meaning there are escaped, line breaks become spaces."""
    plain = _MARKDOWN.sub(r"\\\1", " ".join(str(text).split()))
    return re.sub(r"^(\d+)([.)])", r"\1\\\2", re.sub(r"^([-=])", r"\\\1", plain))


def md_paragraphs(text: str) -> str:
    return "\n\n".join(md(part) for part in _parts(text))


def _parts(text: str) -> list[str]:
    return [part for part in re.split(r"\n\s*\n", text) if part.strip()]
