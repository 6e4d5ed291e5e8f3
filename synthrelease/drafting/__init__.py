"""`synthrelease init`: drafts of the two files of a release, from a public file (docs/tutorial.md); and changes in drafts."""

from synthrelease.drafting.adopting import adopt, adopted_before, why_not
from synthrelease.drafting.choosing import AskedFor
from synthrelease.drafting.draft import draft, write_draft
from synthrelease.drafting.drafted import Draft
from synthrelease.drafting.leaving_out import leave_out
from synthrelease.rehearsal.plan_race import Promise

__all__ = ["AskedFor", "Draft", "Promise", "adopt", "adopted_before", "draft", "leave_out", "why_not", "write_draft"]
