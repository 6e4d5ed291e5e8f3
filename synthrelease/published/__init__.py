"""A published release as anybody reads it: from the folder, without private data and without the steward's files."""

from typing import TYPE_CHECKING

from synthrelease.loading import at_first_use

if TYPE_CHECKING:
    from synthrelease.published.columns import RulePart
    from synthrelease.published.costs import DomainPart
    from synthrelease.published.folder import load
    from synthrelease.published.release import Evaluation, PublishedRelease
else:  # parts of release.json stand in `synthrelease.parts`, too, and import what is here one by one
    __getattr__ = at_first_use(
        __name__,
        {
            "columns": ("RulePart",),
            "costs": ("DomainPart",),
            "folder": ("load",),
            "release": ("Evaluation", "PublishedRelease"),
        },
    )

__all__ = ["DomainPart", "Evaluation", "PublishedRelease", "RulePart", "load"]
