"""`synthrelease init`: drafts of the two files of a release, from a public file (docs/tutorial.md)."""

from synthrelease.drafting.draft import Draft, draft, write_draft

__all__ = ["Draft", "draft", "write_draft"]
