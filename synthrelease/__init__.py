"""Differentially private synthetic microdata releases. See docs/architecture.md."""

__version__ = "0.1.0"
