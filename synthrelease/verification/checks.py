"""What a verification found."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, kw_only=True)
class Check:
    """One thing that was checked.

    Attributes
    ----------
    name : what was checked.
    found : what was found when all is well, in a line.
    problems : what is wrong, one sentence each; empty when all is well.
    made : False when it could not be made, because something before it failed.
    """

    name: str
    found: str = ""
    problems: tuple[str, ...] = ()
    made: bool = True

    @property
    def passed(self) -> bool:
        return self.made and not self.problems


@dataclass(frozen=True, kw_only=True)
class Report:
    """All checks of a bundle. `signed_by` is the fingerprint of the key that signed it, None when nobody did."""

    checks: tuple[Check, ...]
    signed_by: str | None

    @property
    def passed(self) -> bool:
        return all(check.passed for check in self.checks)
