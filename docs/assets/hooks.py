"""MkDocs hook: the one script that the offline plugin takes from the network comes from the site itself."""

from __future__ import annotations

from posixpath import dirname, relpath
from typing import Any

_REMOTE = "https://unpkg.com/iframe-worker/shim"
_LOCAL = "assets/iframe-worker.js"


def on_post_page(output: str, page: Any, config: Any) -> str:
    """The page with the local copy of the script, relative to the page."""
    return output.replace(_REMOTE, relpath(_LOCAL, dirname(page.url) or "."))


def on_post_template(output_content: str, template_name: str, config: Any) -> str:
    """The same for pages that are not Markdown (404.html)."""
    return output_content.replace(_REMOTE, _LOCAL)
