"""Read a published release from its folder, without private data and without the publisher's configuration."""

from typing import TYPE_CHECKING

from synthrelease.resources import at_first_use

if TYPE_CHECKING:
    from synthrelease.published.charges import DomainPart
    from synthrelease.published.columns import RulePart
    from synthrelease.published.folder import PublishedRelease, load
else:
    __getattr__ = at_first_use(
        __name__, {"columns": ("RulePart",), "charges": ("DomainPart",), "folder": ("load", "PublishedRelease")}
    )

__all__ = ["DomainPart", "PublishedRelease", "RulePart", "load"]
