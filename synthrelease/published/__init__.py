"""A published release as anybody reads it: from the folder, without private data and without the steward's files."""

from synthrelease.domain.published_column import PublishedColumn
from synthrelease.published.columns import RulePart
from synthrelease.published.costs import DomainPart
from synthrelease.published.folder import load
from synthrelease.published.release import Evaluation, PublishedRelease

__all__ = ["DomainPart", "Evaluation", "PublishedColumn", "PublishedRelease", "RulePart", "load"]
