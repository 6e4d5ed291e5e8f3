"""Error bounds for queries that no criterion named, from the released figures alone (docs/estimates.md)."""

from typing import TYPE_CHECKING

from synthrelease.loading import at_first_use

if TYPE_CHECKING:
    from synthrelease.bounds.answer import bound
    from synthrelease.bounds.words import Bound
else:
    __getattr__ = at_first_use(__name__, {"answer": ("bound",), "words": ("Bound",)})

__all__ = ["Bound", "bound"]
