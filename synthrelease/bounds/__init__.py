"""Error bounds for queries that no criterion named, from the released figures alone (docs/bounds.md)."""

from synthrelease.bounds.answer import bound
from synthrelease.bounds.words import Bound

__all__ = ["Bound", "bound"]
