"""MkDocs hook: the one script that the offline plugin takes from the network comes from the site itself.

What a screen reader needs and the theme leaves out is added: a name for the search, and wide tables that keys can reach.
"""

from __future__ import annotations

import re
from posixpath import dirname, relpath
from typing import Any

_REMOTE = "https://unpkg.com/iframe-worker/shim"
_LOCAL = "assets/iframe-worker.js"
_SEARCH = '<div class="md-search" data-md-component="search" role="dialog"'
_WIDE = re.compile(
    r"<table>(?=(?:(?!</table>).)*<td[^>]*>(?:(?!</td>).)*<code>[^<]{40,}|\s*<thead>\s*<tr>\s*(?:<th[^>]*>[^<]*</th>\s*){4})",
    re.DOTALL,
)
"""A table with four columns, or with a long piece of code in a cell, which does not break: a narrow screen scrolls it."""


def on_post_page(output: str, page: Any, config: Any) -> str:
    """The page with the local copy of the script, relative to the page, and what a screen reader needs."""
    named = output.replace(_REMOTE, relpath(_LOCAL, dirname(page.url) or ".")).replace(
        _SEARCH, f'{_SEARCH} aria-label="Search"'
    )
    return _WIDE.sub('<table tabindex="0">', named).replace("<th></th>", "<td></td>")  # an empty cell is no heading


def on_post_template(output_content: str, template_name: str, config: Any) -> str:
    """The same for pages that are not Markdown (404.html)."""
    return output_content.replace(_REMOTE, _LOCAL)
