"""`synthrelease init`: drafts of the two files of a release, from a public file (docs/tutorial.md); and changes in drafts."""

from synthrelease.drafting.choosing import AskedFor
from synthrelease.drafting.draft import Draft, draft, write_draft
from synthrelease.drafting.leaving_out import leave_out

__all__ = ["Draft", "AskedFor", "draft", "leave_out", "write_draft"]
