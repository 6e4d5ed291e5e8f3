"""The data card: README.html, README.md and the pages in other languages, from release.json and the released table."""

from synthrelease.bundle.card.page import markdown_bytes, page_bytes

__all__ = ["markdown_bytes", "page_bytes"]
