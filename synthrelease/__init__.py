"""Release differentially private synthetic microdata, and check and query releases. See docs/architecture.md.

The public functions and classes are loaded at their first use, so that importing the package is fast.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from synthrelease.resources import VERSION

if TYPE_CHECKING:
    from synthrelease.answers.bounds import Bound, bound
    from synthrelease.answers.estimates import estimate, trend
    from synthrelease.answers.words import Estimate
    from synthrelease.api import plan, rehearse, release
    from synthrelease.criteria.outside import OutsideCriterion
    from synthrelease.errors import SynthreleaseError
    from synthrelease.generators.outside import OutsideGenerator
    from synthrelease.published import PublishedRelease, load
    from synthrelease.studio.audit.contracts import check_kind

__version__ = VERSION
__all__ = [
    "Bound",
    "Estimate",
    "OutsideCriterion",
    "OutsideGenerator",
    "PublishedRelease",
    "SynthreleaseError",
    "bound",
    "check_kind",
    "estimate",
    "load",
    "plan",
    "rehearse",
    "release",
    "trend",
]

_MODULES = {
    "Bound": "synthrelease.answers.bounds",
    "Estimate": "synthrelease.answers.estimates",
    "OutsideCriterion": "synthrelease.criteria.outside",
    "OutsideGenerator": "synthrelease.generators.outside",
    "PublishedRelease": "synthrelease.published",
    "SynthreleaseError": "synthrelease.errors",
    "bound": "synthrelease.answers.bounds",
    "check_kind": "synthrelease.studio.audit.contracts",
    "estimate": "synthrelease.answers.estimates",
    "load": "synthrelease.published",
    "plan": "synthrelease.api",
    "rehearse": "synthrelease.api",
    "release": "synthrelease.api",
    "trend": "synthrelease.answers.estimates",
}


def __getattr__(name: str) -> object:
    if name not in _MODULES:
        raise AttributeError(f"module 'synthrelease' has no attribute {name!r}")
    from importlib import import_module

    return getattr(import_module(_MODULES[name]), name)


def __dir__() -> list[str]:
    return sorted([*globals(), *__all__])
