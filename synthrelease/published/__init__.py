"""A published release as anybody reads it: from the folder, without private data and without the steward's files."""

from synthrelease.published.folder import load
from synthrelease.published.release import Evaluation, PublishedColumn, PublishedRelease

__all__ = ["Evaluation", "PublishedColumn", "PublishedRelease", "load"]
